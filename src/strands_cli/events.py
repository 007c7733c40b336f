"""The events of a run, as frozen values for the progress view, traces and event files."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from strands_cli.quick_dataclass import dataclass

# How far a run is.
RunStatus = Literal[
    "scheduled", "queued", "running", "waiting", "needs-decision", "interrupted", "completed", "failed", "cancelled"
]
StepKind = Literal["agent", "gate", "call"]

# These two report cached tokens beside the input tokens; all others count them among the input tokens.
# https://platform.claude.com/docs/en/build-with-claude/prompt-caching
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html
CACHE_BESIDE_INPUT = frozenset({"anthropic", "bedrock"})


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of model calls, as their models report them; estimates where a model reports none.

    Attributes:
        estimated_tokens: How many of the input and output tokens are estimates.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    estimated_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """The sum of input and output tokens, as budgets count them."""
        return self.input_tokens + self.output_tokens

    @property
    def is_unknown(self) -> bool:
        """Whether a model has reported none."""
        return not (self.total_tokens or self.cache_read_tokens or self.cache_write_tokens)

    @property
    def marked_total(self) -> str:
        """The sum of input and output tokens for people, with how many of them are estimated."""
        if not self.estimated_tokens:
            return f"{self.total_tokens} tokens"
        part = "" if self.estimated_tokens == self.total_tokens else f"{self.estimated_tokens} of them "
        return f"{self.total_tokens} tokens ({part}estimated)"

    def of_prompts(self, model: str) -> int:
        """Return the tokens of all requests, cached or not; `model` is the provider, and the model behind a `/`."""
        beside = self.cache_read_tokens + self.cache_write_tokens
        return self.input_tokens + (beside if model.partition("/")[0] in CACHE_BESIDE_INPUT else 0)

    def counts(self) -> dict[str, int]:
        """Return the tokens as JSON documents have them; how many are estimated, where some are."""
        counts = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        return counts | ({"estimated_tokens": self.estimated_tokens} if self.estimated_tokens else {})

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.estimated_tokens + other.estimated_tokens,
        )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Usage:
        """Return the usage from the journal's form; ignore unknown keys, so that older versions read newer rows."""
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
    """A run began; `resumed` if its journal already has entries.

    The fields after it are the usage of its earlier processes; `cost_usd` is None if that is unknown.
    """

    run_id: str
    workflow: str
    pattern: str
    steps: int
    resumed: bool = False
    seconds: float = 0.0
    usage: Usage = Usage()
    model_calls: int = 0
    tool_calls: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """A step began; `who` is its agent, its tool or `person`."""

    key: str
    kind: StepKind
    who: str


@dataclass(frozen=True, slots=True)
class StepFinished(Event):
    """A step succeeded; `text` is its response, `replayed` if it comes from the journal."""

    key: str
    kind: StepKind
    who: str
    text: str
    seconds: float
    usage: Usage
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class StepFailed(Event):
    """A step failed; `error` is one sentence without secrets."""

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
    """A model call failed for `reason` and is repeated in `wait_s` seconds; text of the failed attempt is discarded.

    `attempt` is the number of the failed attempt, from 1 on. `next_model` goes on with the call; empty for the same.
    """

    key: str
    agent: str
    model: str
    attempt: int
    wait_s: float
    reason: str
    next_model: str = ""


@dataclass(frozen=True, slots=True)
class ModelWaits(Event):
    """A request waits for `wait_s` seconds, since its server takes no more of this machine before."""

    key: str
    agent: str
    model: str
    wait_s: float


@dataclass(frozen=True, slots=True)
class ModelText(Event):
    """A piece of text as the model streams it."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ModelCallFinished(Event):
    """A model answered; `calls` are the names of the tools that it calls, `cost_usd` is None if unknown."""

    key: str
    agent: str
    model: str
    usage: Usage
    seconds: float
    calls: tuple[str, ...] = ()
    replayed: bool = False
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class ToolCallDecided(Event):
    """Policy decided one call; `rule` is the text of the deciding rule."""

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
    """A tool call ended; `error_code` is None for a success.

    Of a failed one `reason` is a sentence, and `fix` the change that permits or repairs such a call, where its tool
    names it.
    """

    key: str
    tool: str
    status: str
    seconds: float
    error_code: str | None = None
    truncated: bool = False
    replayed: bool = False
    reason: str | None = None
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class PathEnded(Event):
    """No condition of a graph node's edges is true, and there is no `else`: the path ends at the node."""

    node: str


@dataclass(frozen=True, slots=True)
class HumanAsked(Event):
    """A question was shown to a person, or stored for one."""

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
    """A warning that does not stop the run: a budget is nearly spent, a tool was not closed.

    One with a `code` is among the findings of the run's JSON, with its `fix`.
    """

    message: str
    code: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class ArtifactWritten(Event):
    """A file was written: its path, its SHA-256 digest and its size in bytes."""

    path: str
    digest: str
    size: int


# In the detail of a model turn: the agent's own model, where another one answered in its place.
INSTEAD_OF = "instead_of"
# In the detail of a model turn: the reason of its end, where that is unknown.
UNKNOWN_END_OF_ROW = "unknown_end"
# The marks in the detail of a denied call: that a person could have allowed it, and the word for `--allow`.
NO_PERSON, ALLOWED_BY = "no_person", "allowed_by"
# The option that denies calls in place of a person.
DENY = "--deny"


@dataclass(frozen=True, slots=True)
class Denials:
    """Calls of one tool that were denied for one reason, beside all calls of it in the run.

    `no_person` is true if a person could have allowed them and none was there to be asked, `by_tool` if the tool itself
    refused them; then `fix` is the change that permits them, where it names one.
    """

    tool: str
    rule: str
    denied: int
    calls: int
    no_person: bool = False
    by_tool: bool = False
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Failures:
    """Calls of one tool that failed or were denied for one reason, beside all calls of it in the run."""

    tool: str
    code: str
    reason: str
    failed: int
    calls: int
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on the last draft of a run: its score of 100, and whether that, or a person, accepted it."""

    accepted: bool
    score: float
    min_score: float
    drafts: int

    def __str__(self) -> str:
        drafts = "1 draft" if self.drafts == 1 else f"{self.drafts} drafts"
        word = "accepted" if self.accepted else "not accepted"
        return f"{word}: {self.score:g} of {self.min_score:g} after {drafts}"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that the JSON of a run has."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """A run ended or waits; `reason` is why it did not complete, `cost_usd` is None if unknown.

    `failed_calls` of the `tool_calls` failed or were denied; `failures` has the first different reasons.
    """

    run_id: str
    status: RunStatus
    seconds: float
    usage: Usage
    model_calls: int
    tool_calls: int
    reason: str | None = None
    cost_usd: float | None = None
    denials: tuple[Denials, ...] = ()
    failed_calls: int = 0
    failures: tuple[Failures, ...] = ()
    verdict: Verdict | None = None


def never_asked(denials: Sequence[Denials]) -> list[str]:
    """Return the tools of which no call was made, and one or more without a person's answer."""
    denied: Counter[str] = Counter()
    for denial in denials:
        denied[denial.tool] += denial.denied if not denial.by_tool else 0
    return list(
        dict.fromkeys(denial.tool for denial in denials if denial.no_person and denied[denial.tool] == denial.calls)
    )
