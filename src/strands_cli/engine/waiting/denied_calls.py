"""How a run continues whose calls were denied: the command that allows them, or lets them wait for a person."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from strands_cli.engine.denials import failure_in, is_refusal
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.run_parts import whole_of
from strands_cli.engine.ports.store_port import StoredJournal
from strands_cli.engine.waiting.cut_off_calls import rows_before
from strands_cli.engine.waiting.questions import final_refusal
from strands_cli.engine.waiting.run_hooks import tell_of_questions
from strands_cli.engine.waiting.sendable_questions import portable_command
from strands_cli.errors import CallDenied, ExitCode, StrandsCliError, WaitingForPerson
from strands_cli.events import ALLOWED_BY, NO_PERSON

if TYPE_CHECKING:
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.secrets.redactor import Redactor


async def explain_stop(
    error: StrandsCliError, planned: Plan, journal: StoredJournal, redactor: Redactor, retry: Sequence[str] = ()
) -> None:
    """Add to the error of a run with denied calls how it continues; tell the plugins about questions that wait."""
    if isinstance(error, CallDenied):
        error.fix = way_after_denial(journal, retry)
    elif isinstance(error, WaitingForPerson):
        await tell_of_questions(planned, journal, redactor)


def way_after_denial(journal: StoredJournal, retry: Sequence[str] = ()) -> str:
    """Return the command that does what was denied; where only a rule denies it, after a change of that rule.

    A step whose model, or what follows it, has read that the call was denied is done in a new run. A part of a run is
    run again with the others that failed.

    Args:
        retry: The command that runs failed parts again; without one, that which shows the whole is named.
    """
    denied, refused = _denied_calls(journal)
    alone = _without_person(denied)
    options = [word for name in _allowed_by(alone) for word in ("--allow", name)]
    whole = whole_of(journal.run_id)
    if whole is None and any(ALLOWED_BY not in row.detail for row in alone):  # a person alone can answer, now or later
        options = [*options, "--detach"]
    if whole is None:
        words = [*_continuation(journal, alone or denied or refused), *options]
    else:
        words = [*retry, *options] if retry else ["runs", "show", whole]
    first = "" if alone else "change the rule that denies it, then: "
    if refused:
        fixes = dict.fromkeys(failure.fix for failure in map(failure_in, refused) if failure and failure.fix)
        first = f"{'; '.join(fixes) or 'change what the tool refuses'}; then: "
    return first + portable_command(*words, store=journal.place)


def tools_to_allow(journal: StoredJournal) -> list[str]:
    """Return what `--allow` must name for the calls which a run was denied without a person."""
    return _allowed_by(_without_person(_denied_calls(journal)[0]))


async def redo_denied(journal: StoredJournal) -> None:
    """Record that a run which failed since something was denied, or refused by a person, begins there again.

    So a person is asked again, and all that follows is done again.
    """
    key = final_refusal(journal)
    if key is None and journal.get("status") == "failed" and journal.get("exit_code") == int(ExitCode.DENIED):
        denied, refused = _denied_calls(journal)
        key = _step_in_new_run(journal, _without_person(denied) or denied or refused)
    if key is None:
        return
    before = {row.key for row in rows_before(journal, key)}
    for row in [row for row in journal.rows() if row.status == "done" and row.key not in before]:
        detail = {**row.detail, **row.as_replaced(), "error": "done again, since it was denied or refused"}
        await journal.write(dataclasses.replace(row, status="failed", detail=detail))


def _denied_calls(journal: StoredJournal) -> tuple[list[Row], list[Row]]:
    """Return the calls that were denied, and where there are none those that their tools have refused."""
    denied = [row for row in journal.rows("tool") if row.detail.get("decision") == "deny"]
    return denied, [row for row in journal.rows("tool") if is_refusal(failure_in(row))] if not denied else []


def _without_person(denied: Sequence[Row]) -> list[Row]:
    return [row for row in denied if row.detail.get(NO_PERSON)]


def _allowed_by(alone: Sequence[Row]) -> list[str]:
    return [name for name in dict.fromkeys(row.detail.get(ALLOWED_BY) for row in alone) if name]


def _continuation(journal: StoredJournal, calls: Sequence[Row]) -> Iterator[str]:
    if (key := _step_in_new_run(journal, calls)) is None:
        yield from ("resume", journal.run_id)
        return
    yield from ("rerun", journal.run_id, "--from", key)
    if journal.row("artifacts") is not None:
        yield "--force"


def _step_in_new_run(journal: StoredJournal, calls: Sequence[Row]) -> str | None:
    """Return the first step with one of these calls, unless a resumed run asks about all of them again."""
    steps = {row.key.partition("/")[0] for row in calls}
    first = next((row.key for row in journal.rows("step") if row.key in steps), None)
    return first if any(_is_known(journal, row) for row in calls) else None


def _is_known(journal: StoredJournal, call: Row) -> bool:
    """Return whether a model has read that a call was denied, or what it is a part of is done."""
    parts = call.key.split("/")[:-1]
    around = [journal.row("/".join(parts[: number + 1])) for number in range(len(parts))]
    if any(row is not None and row.status == "done" for row in around):
        return True
    step = "/".join(parts)
    keys = [row.key for row in journal.rows(None, step)]
    return any(key.startswith(f"{step}/model.") for key in keys[keys.index(call.key) + 1 :])
