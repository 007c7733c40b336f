"""What hooks get and give: frozen values, never live objects of the program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from strands_cli.policy.rules.rule import Rule
from strands_cli.policy.rules.tool_request import Request
from strands_cli.quick_dataclass import dataclass

# Calls the tool, or the next wrapper around it.
Proceed = Callable[[], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class HookContext:
    """What a hook may know of its surroundings.

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
        name: What the model calls the tool.
        arguments: The input, with defaults filled in; a copy, so that changing it changes nothing.
        who: The agent, or the tool itself where a step calls it.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    who: str = ""


# Gets the call and the function that makes it; what it returns is taken as the tool's result.
Wrapper = Callable[[ToolCall, Proceed], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of `strands doctor`.

    Attributes:
        name: What was looked at, in a few words.
        status: `ok`; `warning` (works, but not as it should); `failed` (something will not work).
        message: What was found.
        fix: What to do about it.
    """

    name: str
    status: Literal["ok", "warning", "failed"]
    message: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingQuestion:
    """What a run waits for; its texts are without secrets, escaped and cut.

    Attributes:
        key: The question's path in the workflow.
        kind: `gate`, `approval` of a tool call, `interrupt` (a tool asks), or `decision` about a call that was
            cut off or has lost its object.
        prompt: What is asked.
        approve_answers: What `approve` answers by itself; None where `--answer` is needed, and for a decision.
        commands: The command lines that answer it, which work in any folder of this machine.
    """

    key: str
    kind: str
    prompt: str
    approve_answers: str | None = None
    commands: tuple[str, ...] = ()
