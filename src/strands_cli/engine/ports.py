"""The ports of the engine to models, tools, people, the clock and a tracer; the port to stores is `store_port`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli.engine.effects.budget import Budget
from strands_cli.engine.effects.provider_limits import UNLIMITED, ProviderLimits
from strands_cli.engine.effects.spending import Spending
from strands_cli.engine.journal.journal_rows import Clock, Human, Journal
from strands_cli.errors import StrandsCliError, WaitingForPerson
from strands_cli.events import RunStatus, Usage
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor

if TYPE_CHECKING:
    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.events import RunStatus, StepKind, Usage
    from strands_cli.planning.attachments import Attachment
    from strands_cli.planning.plan_values import PlannedAgent, PlannedTool


# The machine's own clock.


class SystemClock:
    """Real time: seconds since the epoch for the journal, monotonic seconds for durations."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never jump back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; a cancelled task stops waiting."""
        await asyncio.sleep(seconds)


# The port to a tracer of runs and steps, so that the engine does not depend on OpenTelemetry.


class TraceSpan(Protocol):
    """The span of a run or of a step while it is open."""

    def ended(self, status: RunStatus, usage: Usage, reason: str | None = None, **attributes: Any) -> None:
        """Write how it ended, without attributes of None."""


class Tracing(Protocol):
    """Opens spans of runs and steps; each is the current span while its context is open."""

    def run(self, run_id: str, workflow: str, pattern: str) -> AbstractContextManager[TraceSpan]:
        """Open the span of a run."""

    def step(self, key: str, kind: StepKind, who: str) -> AbstractContextManager[TraceSpan]:
        """Open the span of an executed step, not of one from the journal."""


class NoTracing:
    """Traces nothing."""

    def run(self, run_id: str, workflow: str, pattern: str) -> AbstractContextManager[TraceSpan]:
        """Open nothing."""
        return contextlib.nullcontext(self)

    def step(self, key: str, kind: StepKind, who: str) -> AbstractContextManager[TraceSpan]:
        """Open nothing."""
        return contextlib.nullcontext(self)

    def ended(self, status: RunStatus, usage: Usage, reason: str | None = None, **attributes: Any) -> None:
        """Write nothing."""


UNTRACED = NoTracing()

# The tracer provider of the run around the caller, None outside of a traced run. It is not a global variable: a program
# may have a provider of its own, and several runs at the same time.
provider_here: ContextVar[Any] = ContextVar("provider_here", default=None)


@contextlib.contextmanager
def traced_step(tracing: Tracing, scope: StepScope, kind: StepKind, who: str) -> Iterator[None]:
    """Open the span of a step during its work, and write how that ended."""
    with tracing.step(scope.key, kind, who) as span:
        try:
            yield
        except WaitingForPerson as error:
            span.ended("waiting", scope.usage, error.message)
            raise
        except StrandsCliError as error:
            span.ended("failed", scope.usage, error.message, cost_usd=scope.cost_usd)
            raise
        except BaseException as error:
            span.ended("interrupted", scope.usage, type(error).__name__)
            raise
        span.ended("completed", scope.usage, cost_usd=scope.cost_usd)


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One step of one agent: the agent, the rendered prompts, the tools, and the schema of the answer.

    `history` are the messages of the agent's earlier steps, as `AgentAnswer.messages` had them, and `state` is its
    state after the latest of them. `prompt_end` ends the system prompt, behind the notes. `stored` returns the bytes
    of an attachment in the history by their digest.
    """

    agent: PlannedAgent
    prompt: str
    system_prompt: str
    tools: tuple[PlannedTool, ...]
    output_schema: Mapping[str, Any] | None = None
    history: tuple[Any, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    prompt_end: str = ""
    attachments: tuple[Attachment, ...] = ()
    stored: Callable[[str], bytes] = lambda _digest: b""


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """The answer of an agent: its text without the trailing newline, and structured output if it has a schema.

    `messages` are those that the step added to the conversation of an agent that remembers, as JSON; with
    `restated` they are the whole conversation, in which a summary has replaced older messages. `state` are the values
    that tools have left in its state.
    """

    text: str
    stop_reason: str
    usage: Usage = field(default_factory=Usage)
    output: Any = None
    messages: tuple[Any, ...] = ()
    restated: bool = False
    state: Mapping[str, Any] = field(default_factory=dict)


class AgentRunner(Protocol):
    """Runs a new agent for one step; every model and tool call goes through the scope."""

    async def run_agent(self, request: AgentRequest, scope: StepScope) -> AgentAnswer:
        """Return the answer, or raise the reason why the agent stopped."""


class ToolCaller(Protocol):
    """Calls one tool without a model, through the same permission check as an agent's calls."""

    async def call_tool(self, tool: PlannedTool, arguments: Mapping[str, Any], scope: StepScope) -> Mapping[str, Any]:
        """Return the tool result `{"status", "content"}`; a failing tool is a result, not an exception."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything that a run needs from outside.

    Attributes:
        budget: The limits of many runs together; None for a run of its own.
        provider_limits: How often the runs of this process may ask each provider.
        spending: What the run spends, and the limits over time on that.
        fail_on_denied: Whether any denied call fails the run.
        beside: The directory that relative paths start from, besides the folder of the workflow.
        redactor: Hides secrets in attachments.
        keeps_texts: Whether the journal keeps the texts of artifacts: who reads it may be on another machine.
    """

    journal: Journal
    agents: AgentRunner
    tools: ToolCaller
    human: Human
    clock: Clock
    tracing: Tracing = UNTRACED
    budget: Budget | None = None
    provider_limits: ProviderLimits = UNLIMITED
    spending: Spending = field(default_factory=lambda: Spending(SystemClock()))
    keeps_texts: bool = False
    fail_on_denied: bool = False
    beside: Path = field(default_factory=Path.cwd)
    redactor: Redactor = HIDE_NOTHING
