"""The hooks by name, with their arguments and results; pluggy checks every implementation against these signatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pluggy

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.default_parts import HOOKS
from strands_cli.hooks.hook_values import (
    Check,
    HookContext,
    PlanFacts,
    PlanProblem,
    RunEnded,
    RunStarted,
    ToolCall,
    WaitingQuestion,
    Wrapper,
)
from strands_cli.policy.decision import Decision

PROJECT = "strands_cli"
GROUP = HOOKS

hookspec = pluggy.HookspecMarker(PROJECT)
# Marks a function as the implementation of the hook of its name.
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def strands_register_tools(context: HookContext) -> Iterable[ToolRecord]:  # type: ignore[empty-body]
    """Return records of tools, to add to those of the installed distributions.

    `ToolRecord.from_source` makes one from a module's name or a `TOOL_SPEC`. A record is data: its module is imported
    only when a workflow uses the tool.
    """


@hookspec
def strands_allow_tool(record: ToolRecord | None, ref: str, context: HookContext) -> Decision | None:
    """Decide whether a tool that a workflow names as `ref` may be used; called before anything is imported.

    The strictest answer applies: deny, then ask, then allow; None abstains. Policy's answer (`context.rules` applied to
    `context.request`) is always one of them. `record` is None for custom Python of the workflow, whose import a plugin
    with `may: allow` grants by allowing it. An implementation that raises denies.
    """


@hookspec
def strands_decide_call(record: ToolRecord | None, call: ToolCall, context: HookContext) -> Decision | None:
    """Decide whether this one call may be made.

    The strictest answer applies, and policy's is always one of them. To allow has an effect where only the tool itself
    asks, and the plugin is switched on with `may: allow`. If the answer of a plugin is to ask, a person decides; no
    option of the command line does. An implementation that raises denies.
    """


@hookspec
def strands_plan_checks(plan: PlanFacts, context: HookContext) -> Iterable[PlanProblem]:  # type: ignore[empty-body]
    """Return the problems of a plan; an error keeps the workflow from running.

    Called by everything that plans, such as `plan`, `run` and `resume`. An implementation that raises is an
    error too.
    """


@hookspec
def strands_run_started(run: RunStarted, context: HookContext) -> None:
    """Observe that a run begins, or continues: its journal is there, and no step has begun.

    All plugins together have five seconds.
    """


@hookspec
def strands_run_ended(run: RunEnded, context: HookContext) -> Iterable[str] | None:
    """Observe that this process does not work on a run any more: it completed, failed, waits, or was interrupted.

    It returns lines for the person. A killed process cannot call it. All plugins together have five seconds.
    """


@hookspec
def strands_before_load(record: ToolRecord) -> None:
    """Observe that a tool is about to be imported."""


@hookspec
def strands_after_load(
    record: ToolRecord, spec: Mapping[str, Any] | None, seconds: float, error: BaseException | None
) -> None:
    """Observe that a tool was imported, with its spec and the seconds it took, or that an error prevented it."""


@hookspec
def strands_after_call(
    record: ToolRecord | None, call: ToolCall, result: Mapping[str, Any], context: HookContext
) -> None:
    """Observe the result of a call, as the model gets it: redacted and cut."""


@hookspec
def strands_wrap_tool(record: ToolRecord | None) -> Wrapper | None:
    """Return an async function that wraps every call of a tool: `async def wrapper(call, proceed)`.

    It runs after the decision and the validation of the arguments, awaits `proceed()` for the result, and returns
    that, another one, or a stored one. It cannot change the arguments.
    """


@hookspec
def strands_question_waiting(questions: Sequence[WaitingQuestion], context: HookContext) -> None:
    """Observe that a run has stored questions for a person, and stops to wait for their answers.

    `context.run` is its id. All plugins together have five seconds.
    """


@hookspec
def strands_doctor_checks(context: HookContext) -> Iterable[Check]:  # type: ignore[empty-body]
    """Return lines for `strands doctor`."""


# Asked one by one, so that each answer has its plugin and none can change another's; no wrapper is taken for them.
DECIDING = ("strands_allow_tool", "strands_decide_call")
NAMES = tuple(name for name in list(globals()) if name.startswith("strands_"))
