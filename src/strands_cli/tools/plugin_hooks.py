"""Hook plugins around one call of a tool: they decide, wrap it, and are notified; none of them stops the loop."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from strands_cli.errors import RaisedException
from strands_cli.hooks.hook_values import HookContext, ToolCall, Wrapper
from strands_cli.hooks.manager import Hooks
from strands_cli.policy.decision import Decision, decide
from strands_cli.policy.rule import Request, Rule
from strands_cli.tools.invocation import AsksPersonError
from strands_cli.tools.manifest_check import LoadedTool
from strands_cli.tools.timeouts import bounded
from strands_cli.tools.tool_results import Result, error_result, well_formed

if TYPE_CHECKING:
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.planning.plan_values import PlannedTool


# How long the plugins of one hook may take together over one call.
ANSWER_S = 60.0

Invoke = Callable[[], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class CallHooks:
    """The hooks of calls, as the permission check asks them.

    Attributes:
        rules: All rules of policy in force.
        hooks: The plugins; without them policy alone answers.
    """

    rules: Sequence[Rule]
    hooks: Hooks | None = None
    workflow: str | None = None

    async def decide(self, tool: LoadedTool, request: Request, scope: StepScope) -> Decision:
        """Return the strongest answer on a call; plugins that do not answer in time have denied it."""
        hooks = self.hooks
        if hooks is None:
            return decide(self.rules, request)
        plugins = hooks.implementers("strands_decide_call")
        if not plugins:
            return decide(self.rules, request)
        record, call, context = tool.planned.declared, call_of(tool, request, scope), self._context(request, scope)
        try:
            answer = await bounded(lambda: asyncio.to_thread(hooks.decide_call, record, call, context), ANSWER_S)
        except TimeoutError:
            message = f"no answer within {ANSWER_S:g} s of the hook plugin {' or '.join(plugins)}"
            return Decision("deny", message, plugin=plugins[0])
        if isinstance(answer, RaisedException):
            raise answer.error
        decision: Decision = answer
        return decision

    async def tell(self, tool: LoadedTool, request: Request, scope: StepScope, result: Result) -> None:
        """Notify plugins of the result of a call that was made or refused."""
        hooks = self.hooks
        if hooks is None or not hooks.implementers("strands_after_call"):
            return
        record, call, context = tool.planned.declared, call_of(tool, request, scope), self._context(request, scope)
        try:
            answer = await bounded(lambda: asyncio.to_thread(hooks.after_call, record, call, result, context), ANSWER_S)
        except TimeoutError:
            named = " or ".join(hooks.implementers("strands_after_call"))
            hooks.tell(f"warning: the hook plugin {named} took over {ANSWER_S:g} s in strands_after_call")
            return
        if isinstance(answer, RaisedException):
            raise answer.error

    def _context(self, request: Request, scope: StepScope) -> HookContext:
        return HookContext(self.workflow, tuple(self.rules), request, scope.run_id, scope.key)


def call_of(tool: LoadedTool, request: Request, scope: StepScope) -> ToolCall:
    """Return a call as plugins see it."""
    return ToolCall(tool.planned.name, request.arguments or {}, scope.who)


async def through_wrappers(
    wrappers: Sequence[tuple[str, Wrapper]],
    call: ToolCall,
    invoke: Invoke,
    tool_use_id: str,
    seconds: float,
    elsewhere: Callable[[], float] = lambda: 0.0,
) -> Result:
    """Make a call from inside the wrappers of plugins; one that fails or hangs is an error result that names it.

    Args:
        wrappers: The outermost first, each with its plugin's name.
        seconds: The limit for all of it.
        elsewhere: Returns how many seconds of it do not count so far.

    Raises:
        AsksPersonError: the tool asks a person; no wrapper can keep that to itself.
    """
    for plugin, wrapper in reversed(wrappers):
        invoke = _around(plugin, wrapper, call, invoke, tool_use_id)
    try:
        answer = await bounded(invoke, seconds, elsewhere)
    except TimeoutError:
        named = " or ".join(plugin for plugin, _ in wrappers)
        message = f"no answer within {seconds:g} s of the hook plugin {named} around the call"
        return error_result(tool_use_id, "timeout", message, retryable=True)
    if isinstance(answer, RaisedException):
        raise answer.error
    result: Result = answer
    return result


def _around(plugin: str, wrapper: Wrapper, call: ToolCall, inner: Invoke, tool_use_id: str) -> Invoke:
    async def invoke() -> Result:
        asking: list[AsksPersonError] = []
        calls: list[bool] = []

        async def proceed() -> Mapping[str, Any]:
            if calls:
                raise RuntimeError("proceed() makes the call once, and while the wrapper runs")
            calls.append(True)
            try:
                return copy.deepcopy(await inner())
            except AsksPersonError as error:
                asking.append(error)
                raise

        try:
            own = replace(call, arguments=copy.deepcopy(dict(call.arguments)))
            answer = await wrapper(own, proceed)
            problem = None if isinstance(answer, Mapping) else f"it returned {type(answer).__name__}, not a result"
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
            answer, problem = {}, f"{type(error).__name__}: {error}"
        finally:
            calls.append(True)
        if asking:
            raise asking[0]
        if problem is not None:
            message = f"the hook plugin {plugin} failed in strands_wrap_tool: {problem}"
            return error_result(tool_use_id, "unavailable", message)
        return well_formed(answer, tool_use_id)

    return invoke


async def load_with_hooks(
    hooks: Hooks | None, record: ToolRecord | None, load: Callable[[], Awaitable[list[LoadedTool]]]
) -> list[LoadedTool]:
    """Load the tools of a record, and notify plugins before and after; without a record there is no notification.

    Raises:
        BaseException: every exception of loading.
    """
    if hooks is None or record is None:
        return await load()
    hooks.before_load(record)
    started, failed = time.monotonic(), None
    loaded: list[LoadedTool] = []
    try:
        loaded = await load()
    except BaseException as error:
        failed = error
        raise
    finally:
        spec = loaded[0].spec if len(loaded) == 1 else None
        hooks.after_load(record, spec, time.monotonic() - started, failed)
    return loaded


def wrapped(hooks: Hooks | None, planned: PlannedTool, loaded: list[LoadedTool]) -> list[LoadedTool]:
    """Return tools with the wrappers of plugins around their calls.

    Raises:
        Denied: a plugin failed to give its wrapper.
    """
    wrappers = hooks.wrappers(planned.declared) if hooks is not None else ()
    return [replace(tool, wrappers=wrappers) for tool in loaded] if wrappers else loaded
