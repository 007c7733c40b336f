"""The words of a run: what happened, as frozen values that live view, trace and event files speak."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

RunStatus = Literal["running", "waiting", "needs-decision", "interrupted", "completed", "failed", "cancelled"]
StepKind = Literal["agent", "gate", "call"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a model reported for its calls; zero where it reported nothing."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output together, as budgets count them."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Usage:
        """Read the journal's form; unknown keys are left out, so that older versions read newer rows."""
        return cls(**{field.name: int(values.get(field.name) or 0) for field in dataclasses.fields(cls)})


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run. `at` is seconds since the epoch, by the run's clock."""

    at: float

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON Lines shape: the event's name under `event`, then its fields."""
        return {"event": type(self).__name__, **dataclasses.asdict(self)}


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """A run began; `resumed` when its journal already held something."""

    run_id: str
    workflow: str
    pattern: str
    steps: int
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """A step began; `who` is its agent, its tool or `person`."""

    key: str
    kind: StepKind
    who: str


@dataclass(frozen=True, slots=True)
class StepFinished(Event):
    """A step ended well; `text` is its response, `replayed` when the journal answered."""

    key: str
    kind: StepKind
    who: str
    text: str
    seconds: float
    usage: Usage
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class StepFailed(Event):
    """A step ended badly; `error` is one sentence without secrets."""

    key: str
    kind: StepKind
    who: str
    error: str


@dataclass(frozen=True, slots=True)
class ModelCallStarted(Event):
    """A request is about to be sent to a model."""

    key: str
    agent: str
    model: str


@dataclass(frozen=True, slots=True)
class ModelRetried(Event):
    """An attempt to ask a model failed for `reason`, and the next begins in `wait_s`; text that came of it is void.

    `attempt` is the number of the one that failed, from 1 on.
    """

    key: str
    agent: str
    model: str
    attempt: int
    wait_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class ModelText(Event):
    """A piece of text as the model streams it."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ModelCallFinished(Event):
    """A model answered; `calls` are the names of the tools it asks for."""

    key: str
    agent: str
    model: str
    usage: Usage
    seconds: float
    calls: tuple[str, ...] = ()
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallDecided(Event):
    """Policy answered for one call; `rule` is the deciding rule in words."""

    key: str
    tool: str
    effect: str
    rule: str
    distribution: str


@dataclass(frozen=True, slots=True)
class ToolProgress(Event):
    """An intermediate value of a streaming tool, as JSON or text."""

    key: str
    tool: str
    value: Any


@dataclass(frozen=True, slots=True)
class ToolCallFinished(Event):
    """A tool call ended; `error_code` is None for a success."""

    key: str
    tool: str
    status: str
    seconds: float
    error_code: str | None = None
    truncated: bool = False
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class PathEnded(Event):
    """No choice of a graph node's edges holds, and there is no `else`: its path ends there."""

    node: str


@dataclass(frozen=True, slots=True)
class HumanAsked(Event):
    """A question was put to a person, or stored for one."""

    key: str
    prompt: str


@dataclass(frozen=True, slots=True)
class HumanAnswered(Event):
    """A person answered, or the default took effect."""

    key: str
    answer: str
    by: str


@dataclass(frozen=True, slots=True)
class RunWarning(Event):
    """Something a person should know and that does not stop the run: a budget nearly spent, a tool not closed."""

    message: str


@dataclass(frozen=True, slots=True)
class ArtifactWritten(Event):
    """A file was written: its path, its SHA-256 digest and its size in bytes."""

    path: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """A run ended or came to rest; `reason` says why where it did not complete, `cost_usd` is None where not known."""

    run_id: str
    status: RunStatus
    seconds: float
    usage: Usage
    model_calls: int
    tool_calls: int
    reason: str | None = None
    cost_usd: float | None = None
