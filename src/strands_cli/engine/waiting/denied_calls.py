"""How a run continues whose calls were denied: the command that allows them, or lets them wait for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from strands_cli.engine.denials import failure_in, is_refusal
from strands_cli.engine.journal import Row
from strands_cli.engine.ports import StoredJournal
from strands_cli.engine.waiting.question_hooks import tell_of_questions
from strands_cli.engine.waiting.sendable_questions import portable_command
from strands_cli.errors import CallDenied, StrandsCliError, WaitingForPerson
from strands_cli.events import ALLOWED_BY, NO_PERSON

if TYPE_CHECKING:
    from strands_cli.planning.plan import Plan
    from strands_cli.secrets import Redactor


async def explain_stop(error: StrandsCliError, planned: Plan, journal: StoredJournal, redactor: Redactor) -> None:
    """Add to the error of a run with denied calls how it continues; tell the plugins about questions that wait."""
    if isinstance(error, CallDenied):
        error.fix = way_after_denial(journal)
    elif isinstance(error, WaitingForPerson):
        await tell_of_questions(planned, journal, redactor)


def way_after_denial(journal: StoredJournal) -> str:
    """Return the command that does what was denied; where only a rule denies it, after a change of that rule.

    A step whose model, or what follows it, has read that the call was denied is done in a new run.
    """
    denied = [row for row in journal.rows("tool") if row.detail.get("decision") == "deny"]
    unasked = [row for row in denied if row.detail.get(NO_PERSON)]
    names = dict.fromkeys(row.detail.get(ALLOWED_BY) for row in unasked)
    options = [word for name in names if name for word in ("--allow", name)]
    if any(ALLOWED_BY not in row.detail for row in unasked):  # a person alone can answer, now or later
        options = [*options, "--detach"]
    refused = [row for row in journal.rows("tool") if is_refusal(failure_in(row))] if not denied else []
    words = [*_continuation(journal, unasked or denied or refused), *options]
    first = "" if unasked else "change the rule that denies it, then: "
    if refused:
        fixes = dict.fromkeys(failure.fix for failure in map(failure_in, refused) if failure and failure.fix)
        first = f"{'; '.join(fixes) or 'change what the tool refuses'}; then: "
    return first + portable_command(*words, store=journal.place)


def _continuation(journal: StoredJournal, denied: list[Row]) -> Iterator[str]:
    again = {row.key.partition("/")[0] for row in denied}
    from_key = next((row.key for row in journal.rows("step") if row.key in again), None)
    if from_key is None or not any(_is_known(journal, row) for row in denied):
        yield from ("resume", journal.run_id)
        return
    yield from ("rerun", journal.run_id, "--from", from_key)
    if journal.row("artifacts") is not None:
        yield "--force"


def _is_known(journal: StoredJournal, call: Row) -> bool:
    """Return whether a model has read that a call was denied, or its step is done: a resumed run does not ask again."""
    step = journal.row(call.key.partition("/")[0])
    if step is not None and step.status == "done":
        return True
    around = call.key.rpartition("/")[0]
    keys = [row.key for row in journal.rows(None, around)]
    return any(key.startswith(f"{around}/model.") for key in keys[keys.index(call.key) + 1 :])
