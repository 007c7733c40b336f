"""Results of steps and tool calls, as later templates see them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strands_cli.texts.phrases import with_fix
from strands_cli.workflow.steps.step_models import CallStep, GateStep

if TYPE_CHECKING:
    from strands_cli.events import StepKind
    from strands_cli.workflow.steps.step_models import Step


# The code of a failed call that names none.
TOOL_FAILED = "tool_failed"


# Of a field that is neither in the text nor in the JSON of a whole result, which are as before there was the field.
UNSHOWN = {"is_shown": False}
_CHARACTERS_A_TOKEN = 4


class CompletedAs(str):
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
    """What later templates may use of a step, such as `steps[0].response`.

    `status` is `completed` or the workflow's word for it, `failed` (then `response` is the error) or `skipped`.
    `approved` says of a gate whether its answer is one of `APPROVALS`; any other answer does not approve. `type` is
    `agent`, `call` or `hitl`, and `prompt` the question of a gate.
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

    @property
    def tokens_estimated(self) -> int:
        """The number of tokens of its response, estimated from its length."""
        return len(self.response) // _CHARACTERS_A_TOKEN

    @classmethod
    def of_call(cls, result: Mapping[str, Any], tool: str, index: int) -> StepResult:
        """Return the result of a tool call as that of a step."""
        return cls(text_of(result), tool, index, json_of(result))


class WithMore(dict[str, Any]):
    """A mapping with more names than its text has: a template that prints the whole makes the same prompt as before."""

    def __init__(self, shown: dict[str, Any], **more: Any) -> None:
        super().__init__(shown)
        self._more = more

    def __missing__(self, name: str) -> Any:
        return self._more[name]


def with_unshown(shown: dict[str, Any], result: StepResult) -> dict[str, Any]:
    """Return what templates see of a result in a mapping, with what its text does not have."""
    return WithMore(shown, type=result.type, prompt=result.prompt, tokens_estimated=result.tokens_estimated)


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
    return {**names, "hitl_response": result.response} if isinstance(step, GateStep) else names


def text_of(result: Mapping[str, Any]) -> str:
    """Return the text blocks of a tool result, or its JSON where it has no text."""
    texts = [str(block["text"]) for block in result["content"] if "text" in block]
    if texts:
        return "\n".join(texts).rstrip("\n")
    return "\n".join(json.dumps(block["json"], ensure_ascii=False) for block in result["content"] if "json" in block)


@dataclass(frozen=True, slots=True)
class CallFailure:
    """Why a tool call did not do what was asked.

    Attributes:
        code: One of docs/reference/tool-errors.md, or a word of the tool.
        fix: What permits or repairs such a call, for the person who runs the workflow, where the tool names it.
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

    The second is how a tool reports what came of running something, such as code that raised: for a model, an answer.
    """
    value = json_of(result)
    error = value.get("error") if isinstance(value, Mapping) else None
    return result.get("status") != "success" or (isinstance(error, (str, Mapping)) and bool(error))


def json_of(result: Mapping[str, Any]) -> Any:
    """Return the first JSON block of a tool result, or None."""
    return next((block["json"] for block in result["content"] if "json" in block), None)
