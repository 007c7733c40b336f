"""What the engine needs from above and from the machine: Protocols, and the values that cross them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli.engine.journal_rows import Answer, Clock, Human, Journal, Question, Row, RowKind, RowStatus
from strands_cli.engine.tracing_port import UNTRACED, Tracing
from strands_cli.events import Usage

if TYPE_CHECKING:
    from strands_cli.engine.scope import StepScope
    from strands_cli.planning.plan import PlannedAgent, PlannedTool

__all__ = [
    "AgentAnswer",
    "AgentRequest",
    "AgentRunner",
    "Answer",
    "Clock",
    "Human",
    "Journal",
    "Ports",
    "Question",
    "Row",
    "RowKind",
    "RowStatus",
    "ToolCaller",
]


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One step of one agent: its plan, the prompts as rendered, its tools, and what its answer must satisfy.

    `history` is what the agent has said in earlier steps, as their answers' `messages` had it.
    """

    agent: PlannedAgent
    prompt: str
    system_prompt: str
    tools: tuple[PlannedTool, ...]
    output_schema: Mapping[str, Any] | None = None
    history: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """What an agent said: text without its trailing newline, structured output if it has a schema.

    `messages` are those that the step added to the conversation of an agent that keeps it, as JSON; with `restated`
    they are the whole conversation, since older messages gave way to a summary.
    """

    text: str
    stop_reason: str
    usage: Usage = field(default_factory=Usage)
    output: Any = None
    messages: tuple[Any, ...] = ()
    restated: bool = False


class AgentRunner(Protocol):
    """Runs one fresh agent for one step; every model and tool call inside goes through the scope."""

    async def run_agent(self, request: AgentRequest, scope: StepScope) -> AgentAnswer:
        """Run it to its end, or raise the reason why it stopped."""


class ToolCaller(Protocol):
    """Calls one tool without a model, through the same gate as an agent's calls."""

    async def call_tool(self, tool: PlannedTool, arguments: Mapping[str, Any], scope: StepScope) -> Mapping[str, Any]:
        """Return the tool result `{"status", "content"}`; a failing tool is a result, not an exception."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a run is given from outside, in one value."""

    journal: Journal
    agents: AgentRunner
    tools: ToolCaller
    human: Human
    clock: Clock
    tracing: Tracing = UNTRACED
