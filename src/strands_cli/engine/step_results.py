"""Results of steps and tool calls, as later templates see them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal.journal_rows import Row
from strands_cli.errors import CallDenied
from strands_cli.events import NO_PERSON, Denials, Failures, never_asked
from strands_cli.texts.phrases import joined, with_fix
from strands_cli.workflow.steps import CallStep, GateStep

if TYPE_CHECKING:
    from strands_cli.events import StepKind
    from strands_cli.workflow.steps import Step


# The code of a failed call that names none.
TOOL_FAILED = "tool_failed"


# For a field in neither the text nor the JSON of a whole result, which stay as before the field was added.
UNSHOWN = {"is_shown": False}
_CHARACTERS_A_TOKEN = 4


class CompletedStatus(str):
    """A workflow's word for the status `completed`, to which it is equal too."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other == "completed" or super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__()


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step for later templates, such as `steps[0].response`.

    `status` is `completed` or the workflow's word for it, `failed` (then `response` is the error) or `skipped`.
    `approved` says of a gate whether its answer is one of `APPROVALS`; any other answer does not approve. `type` is
    `agent`, `call` or `hitl`, `prompt` the question of a gate, and `note` the note with its answer.
    """

    response: str
    agent: str = ""
    index: int = 0
    output: Any = None
    status: str = "completed"
    # Not in the text of a whole step: a template that prints one makes the same prompt as before.
    approved: bool | None = field(default=None, repr=False)
    type: str = field(default="", repr=False, metadata=UNSHOWN)
    prompt: str = field(default="", repr=False, metadata=UNSHOWN)
    note: str = field(default="", repr=False, metadata=UNSHOWN)

    @property
    def of_person(self) -> dict[str, Any]:
        """The names of the answer of a gate."""
        return {"hitl_response": self.response, "hitl_note": self.note}

    @property
    def tokens_estimated(self) -> int:
        """The number of tokens of its response, estimated from its length."""
        return len(self.response) // _CHARACTERS_A_TOKEN

    @classmethod
    def of_call(cls, result: Mapping[str, Any], tool: str, index: int) -> StepResult:
        """Return the result of a tool call as that of a step."""
        return cls(text_of(result), tool, index, json_of(result))


class ExtendedMapping(dict[str, Any]):
    """A mapping with more names than its text has: a template that prints the whole makes the same prompt as before."""

    def __init__(self, names: dict[str, Any], **more: Any) -> None:
        super().__init__(names)
        self._more = more

    def __missing__(self, name: str) -> Any:
        return self._more[name]


def with_unshown(names: dict[str, Any], result: StepResult) -> dict[str, Any]:
    """Return a result as a mapping for templates, with the fields that its text lacks."""
    return ExtendedMapping(
        names, type=result.type, prompt=result.prompt, note=result.note, tokens_estimated=result.tokens_estimated
    )


def describe(step: Step) -> tuple[StepKind, str]:
    """Return the kind of a step and who acts in it."""
    if isinstance(step, GateStep):
        return "gate", "person"
    if isinstance(step, CallStep):
        return "call", step.tool
    return "agent", step.agent


def after(step: Step, result: StepResult) -> dict[str, Any]:
    """Return the names that a step leaves to those that follow it."""
    names = {"last_response": result.response}
    return {**names, **result.of_person} if isinstance(step, GateStep) else names


def text_of(result: Mapping[str, Any]) -> str:
    """Return the text blocks of a tool result, or its JSON where it has no text."""
    texts = [str(block["text"]) for block in result["content"] if "text" in block]
    if texts:
        return "\n".join(texts).rstrip("\n")
    return "\n".join(json.dumps(block["json"], ensure_ascii=False) for block in result["content"] if "json" in block)


@dataclass(frozen=True, slots=True)
class CallFailure:
    """Why a tool call failed.

    Attributes:
        code: One of docs/reference/tool-errors.md, or a word of the tool.
        fix: The change that permits or repairs such a call, for the person who runs the workflow, where the tool names
            it.
    """

    code: str
    reason: str
    fix: str | None = None

    def __str__(self) -> str:
        return f"{self.code}: {with_fix(self.reason, self.fix)}"


def failure_of(result: Mapping[str, Any]) -> CallFailure | None:
    """Return why a tool call failed; None if it succeeded.

    A result without a code, such as one about code that raised, has `tool_failed`.
    """
    if not reports_error(result):
        return None
    blocks = [block["json"] for block in result["content"] if isinstance(block.get("json"), Mapping)]
    error = next((block["error"] for block in blocks if block.get("error")), None)
    if not isinstance(error, Mapping):
        return CallFailure(TOOL_FAILED, error if isinstance(error, str) else text_of(result))
    details = error.get("details")
    fix = details.get("fix") if isinstance(details, Mapping) else None
    message = str(error.get("message") or text_of(result))
    if "code" in error:
        return CallFailure(str(error["code"]), message, fix if isinstance(fix, str) else None)
    kind, fix = error.get("type"), error.get("fix")
    return CallFailure(TOOL_FAILED, f"{kind}: {message}" if kind else message, fix if isinstance(fix, str) else None)


def reports_error(result: Mapping[str, Any]) -> bool:
    """Return whether a tool result reports an error: by its status, or as `error` in its JSON.

    With the second, a tool reports the result of code that it ran, such as an exception: for a model, an answer.
    """
    value = json_of(result)
    error = value.get("error") if isinstance(value, Mapping) else None
    return result.get("status") != "success" or (isinstance(error, (str, Mapping)) and bool(error))


def json_of(result: Mapping[str, Any]) -> Any:
    """Return the first JSON block of a tool result, or None."""
    return next((block["json"] for block in result["content"] if "json" in block), None)


# The calls of a run that failed or were denied, from its journal.


# In the detail of a tool call that failed.
ERROR_CODE = "error_code"
# The codes with which a tool says that it must not do this.
_REFUSALS = ("denied", "sandbox_violation")
# More different reasons are counted and not listed.
_MOST_REASONS = 50


@dataclass(frozen=True, slots=True)
class FailedCalls:
    """The calls of a run that failed or were denied.

    Attributes:
        number: How many they are.
        failures: One value for each tool and reason, the first 50.
        denials: Of them, those that policy, a person or the tool itself refused, one value for each tool and reason.
    """

    number: int = 0
    failures: tuple[Failures, ...] = ()
    denials: tuple[Denials, ...] = ()


def failed_calls_of(rows: Iterable[Row]) -> FailedCalls:
    """Return the calls that failed among rows of tool calls, without those of a run that this one goes on from."""
    calls: Counter[str] = Counter()
    failed: Counter[tuple[str, str, str, str | None]] = Counter()
    denied: Counter[tuple[str, str, bool, bool, str | None]] = Counter()
    for row in rows:
        if row.is_reused:
            continue
        tool = tool_of(row.key)
        calls[tool] += 1
        failure = failure_in(row)
        by_policy = row.detail.get("decision") == "deny"
        if failure is not None:
            failed[tool, failure.code, failure.reason, failure.fix] += 1
        if by_policy:
            denied[tool, row.detail.get("rule", ""), bool(row.detail.get(NO_PERSON)), False, None] += 1
        elif failure is not None and is_refusal(failure):
            denied[tool, failure.reason, False, True, failure.fix] += 1
    return FailedCalls(
        failed.total(),
        tuple(
            Failures(tool, code, reason, number, calls[tool], fix)
            for (tool, code, reason, fix), number in list(failed.items())[:_MOST_REASONS]
        ),
        tuple(
            Denials(tool, rule, number, calls[tool], no_person, by_tool, fix)
            for (tool, rule, no_person, by_tool, fix), number in denied.items()
        ),
    )


def require_done(denials: Sequence[Denials], *, fail_on_denied: bool) -> None:
    """Check that denied calls do not mean that the work of a run was not done.

    They mean it where no call of a tool was made and a person could have allowed one, and with `fail_on_denied` always.

    Raises:
        CallDenied: They do; its fix is added where the store of the run is known.
    """
    failing = list(dict.fromkeys(denial.tool for denial in denials)) if fail_on_denied else never_asked(denials)
    if failing:
        which = "calls" if fail_on_denied else "every call"
        rules = "; ".join(f"{denial.tool}: {denial.rule}" for denial in denials if denial.tool in failing)
        error = CallDenied(f"denied: {which} of {joined(failing)} ({rules})")
        error.brief = f"{which} of {joined(failing)} {'were' if fail_on_denied else 'was'} denied"
        raise error


def is_refusal(failure: CallFailure | None) -> bool:
    """Return whether a call failed since its tool must not do this."""
    return failure is not None and failure.code in _REFUSALS


def failure_in(row: Row) -> CallFailure | None:
    """Return why the call of a row failed; None if it succeeded, or if its result cannot be read."""
    if row.status != "done" or not may_have_failed(row) or not isinstance(row.output, Mapping):
        return None
    try:
        return failure_of(row.output)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def may_have_failed(row: Row) -> bool:
    """Return whether a row's call failed, so that its result has the reason."""
    return row.kind == "tool" and ERROR_CODE in row.detail


def has_denial(rows: Iterable[Row]) -> bool:
    """Return whether a call among the rows of a step was denied without the answer of a person."""
    all_rows = list(rows)
    answered_keys = {row.key for row in all_rows if row.kind == "human"}
    denied = [row for row in all_rows if row.detail.get("decision") == "deny"]
    return any(row.detail.get(NO_PERSON) or f"{row.key}/approval" not in answered_keys for row in denied)


def tool_of(key: str) -> str:
    """Return the name of the tool from the key of a call."""
    return key.rpartition("/")[2].split(".", 2)[-1]
