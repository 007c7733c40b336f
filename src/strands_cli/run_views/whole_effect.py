"""One effect of a run as a whole, read from its own row; for a step also from those below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from strands_cli.engine.effects.budget import REUSED
from strands_cli.engine.journal.answers import stored_question
from strands_cli.engine.journal.journal_rows import Row, in_order_of_request
from strands_cli.engine.store_port import StoredJournal
from strands_cli.engine.stored_runs.described import run_status
from strands_cli.engine.stored_runs.summary import EffectKind, EffectStatus, EffectSummary
from strands_cli.errors import RunRecordError, suggest
from strands_cli.events import INSTEAD_OF, Usage
from strands_cli.run_views.open_questions import command
from strands_cli.secrets.redactor import Redactor
from strands_cli.texts.phrases import first_of, with_fix

# The most keys among which a mistyped one is looked for.
MOST_COMPARED = 2000


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool that a model called; `arguments` as the model wrote them."""

    tool: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question to a person, and the answer.

    Attributes:
        prompt: The question.
        context: The text shown with it.
        answer: The answer; None while it waits.
        by: Who answered: `person`, `program`, or `default`.
        who: The name or the account of the person.
        arguments: Those of the call as the person has changed them.
        note: The note with it.
        answers: Those of other people before, each with `text` and `who`.
        reason: Why a person rejected.
    """

    prompt: str
    context: str = ""
    words: Sequence[str] = ()
    answer: str | None = None
    by: str | None = None
    reason: str | None = None
    who: str | None = None
    arguments: Mapping[str, Any] | None = None
    note: str | None = None
    answers: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeEffect:
    """One effect; a part that it lacks is None or empty.

    Attributes:
        who: The agent of a step or a model turn, the name of a tool, or `person`.
        model: The model that answered; of a step those of its turns, joined.
        instead_of: The agent's own model, where another one answered in its place.
        usage: The tokens; of a step the sum of the effects below it, without those reused from another run.
        cost: In US dollars, likewise; None where one of them is unknown.
        request: The end of a model's request; of a step that of its first turn.
        answer: The text of a model turn, the response of a step.
        value: The answer of a step as JSON.
        calls: The tools that a model called.
        arguments: Of a tool call, as written; cut where `arguments_cut` says so.
        called_with: The arguments that the tool got, where they differ.
        edited_by: The person who has changed them before the call.
        result: The text of a tool's result.
        result_json: Its JSON; of other kinds (`notes`, `artifacts`) the whole output.
        error: Why it failed, also the message of a tool's error.
        error_code: The code of a tool's error.
        loop: How many times the call had this result when the model got a hint with it.
        layers: The walls around the code that a tool ran, as the tool says.
        failures: Why earlier attempts of a model turn failed.
        waits_for: The reason why a call waits.
        damage: The parts of its row that cannot be read; they are left out.
        below: The keys below it, the calls of a turn in the order of its request.
    """

    key: str
    kind: EffectKind
    status: EffectStatus
    who: str
    attempt: int
    started_at: float
    ended_at: float | None
    model: str | None = None
    instead_of: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    reused: bool = False
    decision: str | None = None
    rule: str | None = None
    distribution: str | None = None
    engine: str | None = None
    loop: int | None = None
    layers: Sequence[str] = ()
    request: str | None = None
    answer: str | None = None
    value: Any = None
    calls: Sequence[CalledTool] = ()
    arguments: Any = None
    arguments_cut: bool = False
    called_with: Any = None
    edited_by: str | None = None
    result: str | None = None
    result_json: Any = None
    error: str | None = None
    error_code: str | None = None
    failures: Sequence[str] = ()
    question: AnsweredQuestion | None = None
    waits_for: str | None = None
    damage: str | None = None
    below: Sequence[str] = ()

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it is not done."""
        return None if self.ended_at is None else max(0.0, self.ended_at - self.started_at)

    def redacted(self, redactor: Redactor) -> WholeEffect:
        """Return it without secrets."""
        calls = tuple(redactor.record(call) for call in self.calls)
        question = redactor.record(self.question) if self.question else None
        return replace(redactor.record(self), calls=calls, question=question)


def effect_of(journal: StoredJournal, key: str) -> WholeEffect:
    """Return one effect of a run; of a damaged row the readable part.

    Raises:
        RunRecordError: The run has no such effect.
    """
    journal = journal.tolerant()
    # A call that has not begun since a person was asked has only the row of its question.
    row = journal.row(key) or journal.row(f"{key}/approval")
    if row is None:
        raise _unknown(key, journal)
    key = row.key
    effect = EffectSummary(row)
    below = in_order_of_request(journal.rows(below=key))
    facts = {"step": _step, "model": _model, "tool": _tool, "human": _human}.get(row.kind, _other)(effect, journal)
    return WholeEffect(
        key=key,
        kind=effect.kind,
        status=effect.status_in(run_status(journal)),
        who=effect.who,
        attempt=row.attempt,
        started_at=row.started_at,
        ended_at=row.ended_at,
        reused=bool(row.detail.get(REUSED)),
        below=tuple(row.key for row in below),
        **_spent([row, *below]),
        **facts,
        damage=effect.damage,
    )


def _unknown(key: str, journal: StoredJournal) -> RunRecordError:
    """Return the error for a key without a row, with the meant key, or those below it."""
    name = journal.run_id
    keys = [row.key for row in journal.rows()]
    below = [key_below for key_below in keys if key_below.startswith(f"{key}/")]
    if below:
        return RunRecordError(f"{key} is only a part of keys in the run {name}", fix=f"they are: {first_of(below, 5)}")
    # Similar keys begin alike: to compare a key with 10,000 others takes seconds.
    alike = [key_below for key_below in keys if key_below[: len(key) // 2] == key[: len(key) // 2]] or keys
    listing_command = command("runs", "show", name, store=journal.place)
    fix = suggest(key, alike[:MOST_COMPARED], f"see `{listing_command}`")
    return RunRecordError(f"the run {name} has no effect {key!r}", fix=fix)


def _spent(rows: Sequence[Row]) -> dict[str, Any]:
    own = [row for row in rows if not row.detail.get(REUSED)]
    costs = [row.cost for row in own if row.kind == "model" and row.paid_calls]
    models = dict.fromkeys(str(row.detail["model"]) for row in rows if "model" in row.detail)
    return {
        "usage": sum((row.usage for row in own), Usage()),
        "cost": None if None in costs else sum(costs),
        "model": ", ".join(models) or None,
    }


def _step(effect: EffectSummary, journal: StoredJournal) -> dict[str, Any]:
    first = journal.row(f"{effect.row.key}/model.0")
    return {
        "request": EffectSummary(first).asked if first else None,
        "answer": effect.text,
        "value": effect.value,
        "error": effect.error,
    }


def _model(effect: EffectSummary, _: StoredJournal) -> dict[str, Any]:
    return {
        "request": effect.asked,
        "answer": effect.text,
        "calls": tuple(CalledTool(tool, arguments) for tool, arguments in effect.calls),
        "error": effect.error,
        "failures": tuple(effect.row.detail.get("failures", ())),
        "instead_of": effect.row.detail.get(INSTEAD_OF),
    }


def _tool(effect: EffectSummary, _: StoredJournal) -> dict[str, Any]:
    detail: Mapping[str, Any] = effect.row.detail
    names = ("decision", "rule", "distribution", "engine", "arguments", "called_with", "edited_by", "loop")
    failure = effect.tool_error
    return {
        **{name: detail.get(name) for name in names},
        "arguments_cut": bool(detail.get("arguments_cut")),
        "layers": tuple(detail.get("layers", ())),
        "result": effect.text,
        "result_json": effect.value,
        "error": with_fix(failure.reason, failure.fix) if failure else effect.error,
        "error_code": failure.code if failure else None,
        "waits_for": detail.get("stopped"),
    }


def _human(effect: EffectSummary, _: StoredJournal) -> dict[str, Any]:
    row = effect.row
    question = stored_question(row)
    answer: Mapping[str, Any] = row.output if row.status == "done" and isinstance(row.output, Mapping) else {}
    texts = {name: None if answer.get(name) is None else str(answer[name]) for name in ("by", "reason", "who", "note")}
    reviewer: dict[str, Any] = {**texts, "arguments": answer.get("arguments"), "answers": question.answers}
    reviewer["answers"] = answer.get("answers") or question.answers
    return {
        "question": AnsweredQuestion(question.prompt, question.context, question.words, effect.text, **reviewer),
        "error": effect.error,
    }


def _other(effect: EffectSummary, _: StoredJournal) -> dict[str, Any]:
    return {"result_json": effect.whole, "error": effect.error}
