"""The hooks by name, with what each gets and gives; pluggy holds every implementation against these signatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pluggy

from strands_cli.catalog import ToolRecord
from strands_cli.hooks.hook_values import Check, HookContext, ToolCall, Wrapper
from strands_cli.policy import Decision

PROJECT = "strands_cli"
GROUP = "strands_cli.hooks"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def strands_register_tools(context: HookContext) -> Iterable[ToolRecord]:  # type: ignore[empty-body]
    """Give records of tools; those of all implementations are joined.

    They are added to those of the installed distributions. A record is data: what it names is imported only
    when a workflow uses it, from the distribution it names, which must be installed.
    """


@hookspec
def strands_allow_tool(record: ToolRecord | None, ref: str, context: HookContext) -> Decision | None:
    """Say whether a tool that a workflow names as `ref` may be used at all; asked before anything is imported.

    The strongest answer holds: deny, then ask, then allow; None leaves it to the others. Policy's answer, which is
    `context.rules` over `context.request`, is always among them. `record` is None for Python that the workflow
    names itself. An implementation that raises denies.
    """


@hookspec
def strands_decide_call(record: ToolRecord | None, call: ToolCall, context: HookContext) -> Decision | None:
    """Say whether this one call may be made.

    The strongest answer holds, and policy's is always among them: an implementation can only tighten. A question is
    put to a person; no option of the command line answers it. An implementation that raises denies.
    """


@hookspec
def strands_before_load(record: ToolRecord) -> None:
    """Learn that a tool is about to be imported."""


@hookspec
def strands_after_load(
    record: ToolRecord, spec: Mapping[str, Any] | None, seconds: float, error: BaseException | None
) -> None:
    """Learn that a tool was imported in so many seconds: its spec, or the error that kept it from that."""


@hookspec
def strands_after_call(
    record: ToolRecord | None, call: ToolCall, result: Mapping[str, Any], context: HookContext
) -> None:
    """Learn what came of a call; `result` is what the model gets, redacted and cut."""


@hookspec
def strands_wrap_tool(record: ToolRecord | None) -> Wrapper | None:
    """Give an async function that wraps every call of a tool: `async def wrapper(call, proceed)`.

    It runs after the decision and after the arguments were validated, awaits `proceed()` for the result, and returns
    that, another one, or one it has kept. The arguments are settled: it cannot change them.
    """


@hookspec
def strands_register_providers() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Give model providers as `name -> "module:attribute"`; the attribute makes a model of the SDK."""


@hookspec
def strands_register_commands() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Give commands as `name -> "module:attribute"`; the attribute gets the arguments and returns an exit code."""


@hookspec
def strands_doctor_checks(context: HookContext) -> Iterable[Check]:  # type: ignore[empty-body]
    """Give lines for `strands doctor`."""


NAMES = tuple(name for name in list(globals()) if name.startswith("strands_"))
