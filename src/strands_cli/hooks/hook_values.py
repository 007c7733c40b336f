"""Arguments and results of hooks: frozen values, never live objects of the program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from strands_cli.events import Denials
from strands_cli.policy.rule import Request, Rule
from strands_cli.quick_dataclass import dataclass

# Calls the tool, or the next wrapper around it.
Proceed = Callable[[], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class HookContext:
    """The surroundings of a hook.

    Attributes:
        workflow: The workflow's file, None where there is none (`list-tools`, `tools run`).
        rules: Every rule of policy in force, the workflow's own among them.
        request: The tool or the call as policy sees it, in the hooks that decide; None in the others.
        run: The run's id, None before it has one.
        step: The key of the step that calls, None outside a step.
    """

    workflow: str | None = None
    rules: tuple[Rule, ...] = ()
    request: Request | None = None
    run: str | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool, as the model or the step asks for it.

    Attributes:
        name: The tool's name for the model.
        arguments: The input, with defaults filled in; a copy, so that changing it changes nothing.
        who: The agent, or the tool itself where a step calls it.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    who: str = ""


# Gets the call and the function that makes it; its result is taken as the tool's result.
Wrapper = Callable[[ToolCall, Proceed], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of `strands doctor`.

    Attributes:
        name: The checked thing, in a few words.
        status: `ok`; `warning` (works, but not as it should); `failed` (something will not work).
        message: The result.
        fix: The remedy.
    """

    name: str
    status: Literal["ok", "warning", "failed"]
    message: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedAgentFacts:
    """The plan of one agent: its id, its model, and the tools by their references."""

    id: str
    provider: str
    model: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The plan of a run, as far as a check of a plugin sees it.

    Attributes:
        name: The workflow's name.
        pattern: Its pattern, such as `chain`.
        agents: The agents with their models and tools; one with several models is there with each of them.
        tools: The references of every tool that steps call.
        document: The workflow's file as data: a copy.
    """

    name: str
    pattern: str
    agents: tuple[PlannedAgentFacts, ...]
    tools: tuple[str, ...]
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """A problem that a plugin reports about a plan; an error keeps the workflow from running.

    Attributes:
        pointer: The place in the workflow as a JSON pointer, such as `/agents/writer`; empty for the whole.
    """

    message: str
    fix: str | None = None
    pointer: str = ""
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run whose first step is about to begin, or that continues.

    Attributes:
        store: Where it is stored: a directory, or an address without its password.
        continued: Whether an earlier process has begun it.
    """

    id: str
    name: str
    store: str
    continued: bool = False


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run that this process does not work on any more; its texts are without secrets, escaped and cut.

    Attributes:
        status: `completed`, `failed`, `waiting`, `needs-decision` or `interrupted`.
        store: Where it is stored: a directory, or an address without its password.
        error: Why it failed or stopped; None for a run that completed.
        seconds: How long this process worked on it.
        model_calls: Those of the whole run, as are the tokens and the costs.
        tokens: Those of input and output together.
        cost_usd: None where a price is unknown.
        watched: Whether a person watches it at a terminal.
        usage: The tokens by their kind, such as `input_tokens`.
        denials: The calls that were denied, by tool.
        commands: The command lines that show it, and that continue one which nothing prevents from it.
        started_at: When it began, in seconds since 1970, as is `ended_at`.
        worked_s: How long processes have worked on it, in seconds; None where this is unknown.
    """

    id: str
    name: str
    status: str
    store: str
    error: str | None = None
    seconds: float = 0.0
    model_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    watched: bool = False
    usage: Mapping[str, int] = field(default_factory=dict)
    denials: tuple[Denials, ...] = ()
    commands: tuple[str, ...] = ()
    started_at: float = 0.0
    ended_at: float | None = None
    worked_s: float | None = None


@dataclass(frozen=True, slots=True)
class WaitingQuestion:
    """A question of a waiting run; its texts are without secrets, escaped and cut.

    Attributes:
        key: The question's path in the workflow.
        kind: `gate`, `approval` of a tool call, `interrupt` (a tool asks), or `decision` about a call that was cut off
            or has lost its object.
        prompt: The question.
        approve_answers: The answer of `approve` by itself; None where `--answer` is needed, and for a decision.
        commands: The command lines that answer it, which work in any folder of this machine; of a call, the last one
            changes its arguments first.
        delegate: The person who should answer; empty where the question names none.
    """

    key: str
    kind: str
    prompt: str
    approve_answers: str | None = None
    commands: tuple[str, ...] = ()
    delegate: str = ""
