"""Results in words of the earlier format: what a step that is done, several answers and a count are called there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strands_cli.engine.step_results import StepResult, WithMore, describe
from strands_cli.workflow.steps.step_models import GateStep

if TYPE_CHECKING:
    from strands_cli.workflow.steps.step_models import Step

# An estimate, as the earlier program made.
_CHARACTERS_A_TOKEN = 4


class _Success(str):
    """The status of what is done: `success`, and equal to `completed` too."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other == "completed" or super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__()


SUCCESS = _Success("success")


@dataclass(frozen=True, slots=True)
class EarlierResult(StepResult):
    """A result with the fields that it had: `type` and `prompt` of a gate, and an estimate of its tokens."""

    type: str = field(default="", repr=False)
    prompt: str = field(default="", repr=False)
    tokens_estimated: int = field(default=0, repr=False)


def as_earlier(result: StepResult, step: Step, prompt: str = "") -> StepResult:
    """Return a result of a step in words of the earlier format."""
    fields = {name: getattr(result, name) for name in ("response", "agent", "index", "output", "approved")}
    status = SUCCESS if result.status == "completed" else result.status
    kind = "hitl" if isinstance(step, GateStep) else describe(step)[0]
    tokens = len(result.response) // _CHARACTERS_A_TOKEN
    return EarlierResult(**fields, status=status, type=kind, prompt=prompt, tokens_estimated=tokens)


def with_fields(shown: dict[str, Any], result: StepResult) -> dict[str, Any]:
    """Return what templates see of a result, with the fields that it had in the earlier format if it is of that."""
    if not isinstance(result, EarlierResult):
        return shown
    return WithMore(shown, type=result.type, prompt=result.prompt, tokens_estimated=result.tokens_estimated)


def joined_branches(branches: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the answers of branches as one text: by name, each below its own."""
    done = {name: one["response"] for name, one in sorted(branches.items()) if one["status"] == "completed"}
    return "\n---\n\n".join(f"Branch {name}:\n{response}" for name, response in done.items())


def joined_workers(workers: Iterable[Mapping[str, Any]]) -> str:
    """Return the answers of workers as one text."""
    return "\n".join(f"Worker {one['index']}: {one['response']}" for one in workers)


class Counted(int):
    """The number of some results, which can be read as the list of them too."""

    _each: Sequence[Any]

    @classmethod
    def of(cls, each: Sequence[Any]) -> Counted:
        """Return the number of these."""
        counted = cls(len(each))
        counted._each = each
        return counted

    def __len__(self) -> int:
        return len(self._each)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._each)

    def __getitem__(self, place: Any) -> Any:
        return self._each[place]
