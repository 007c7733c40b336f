"""The tools of one step's agent: those that were planned, those that come late, and names that no tool has."""

from __future__ import annotations

import copy
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from strands import Agent
from strands.hooks import AfterToolCallEvent, HookRegistry
from strands.middleware import ExecuteToolContext, ExecuteToolStage, InvokeModelContext, InvokeModelStage
from strands.models import Model
from strands.tools.structured_output.structured_output_tool import StructuredOutputTool
from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.errors import AgentLoop, StrandsCliError
from strands_cli.events import RunWarning
from strands_cli.planning.plan_values import PlannedTool
from strands_cli.planning.planned_tool import LateTool
from strands_cli.policy.rule import LATE
from strands_cli.tools.calls.approval import BY_HOOKS, AgentChanges, LateSpecs
from strands_cli.tools.calls.deferred_tools import DeferredTools
from strands_cli.tools.calls.inner_calls import InnerCaller, OpenCall, agent_itself, call_of, open_call
from strands_cli.tools.calls.loops import LoopWatch
from strands_cli.tools.calls.ordering import Order
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.manifest_check import LoadedTool, loaded_tool
from strands_cli.tools.schema_for_provider import offered_spec
from strands_cli.tools.tool_forms import NotAToolError, RawTool, read_agent_tool
from strands_cli.tools.tool_loading import Toolbox
from strands_cli.tools.tool_results import error_result, plain_json

if TYPE_CHECKING:
    from strands import Agent
    from strands.tools.registry import ToolRegistry

    from strands_cli.workflow.sections import Loops


NO_CALL = "it is not known for which call of a tool this one is made: use the agent that the tool got for the call"


# Makes a call of a tool: with its use, and the SDK's invocation state.
Make = Callable[[LoadedTool, Mapping[str, Any], dict[str, Any]], Awaitable[Any]]


class AgentTools:
    """Leads every call of an agent's model to the permission check, whatever tool the SDK has found for it.

    The SDK offers a model the tools of the agent's registry. Other tools may change that, and hooks the tool of a call.
    So the check is in the last stage before a tool: it wraps the tool that was found.

    Args:
        offered: The tools that were planned.
        broken_inputs: Returns the arguments of the model's last turn that were not JSON, by tool-use id.
        loops: When an agent that repeats calls gets a hint, and when it is stopped; None for never.
        deferred: Those of them whose definitions the model loads itself; None if it sees all.
    """

    def __init__(
        self,
        scope: StepScope,
        offered: Sequence[LoadedTool],
        check: PermissionCheck,
        broken_inputs: Callable[[], Mapping[str, str]],
        loops: Loops | None = None,
        deferred: DeferredTools | None = None,
    ) -> None:
        self._scope = scope
        polling = {loaded.planned.name for loaded in offered if loaded.claims.get("polls") is True}
        self._loops = LoopWatch(loops, scope, polling) if loops is not None else None
        self._check = check
        self._deferred = deferred
        offered = offered if deferred is None else [deferred.finder, *offered]
        self._order = Order(scope, [loaded.planned for loaded in offered])
        self._broken_inputs = broken_inputs
        self.planned: list[Any] = [CheckedTool(loaded, self._call_of_tool) for loaded in offered]
        self._checked: dict[AgentTool, LoadedTool] = {tool: tool.loaded for tool in self.planned}

    def join(self, agent: Agent) -> None:
        """Check the calls of an agent from now on; it must have no middleware that the caller does not know."""
        agent.add_middleware(ExecuteToolStage, self._checked_call)
        agent.add_middleware(InvokeModelStage, self._with_late_tools)
        self._agent, self._model = weakref.ref(agent), agent.model
        self._changes = AgentChanges(agent, LateSpecs(self._late_specs, self._put_back))
        self._scope.changes, self._scope.loops = self._changes, self._loops
        self._stored = _changes_at_requests(self._scope)
        agent.tool_caller = InnerCaller(agent, self.call_by_name)  # type: ignore[assignment]
        # A later one would come between the check and the tool.
        agent.add_middleware = _refuse  # type: ignore[method-assign]
        agent.hooks.add_hook(self)

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        """Look for calls that were not made."""
        registry.add_callback(AfterToolCallEvent, self._after_call)

    async def _with_late_tools(self, context: InvokeModelContext, next_fn: Any) -> AsyncGenerator[Any]:
        """Look for tools that came late, after all hooks and before the model sees the tools.

        The request goes to the planned model: another one would have no row and no budget.
        """
        self._changes.before_request(self._stored.get(self._scope.next_request))
        if context.model is not self._model:
            context.agent.model = self._model
            message = "a tool or a hook has put another model in its agent, which has no effect: the workflow names it"
            self._scope.emit(RunWarning(self._scope.now(), message))
        specs: Any = self._registry.get_all_tool_specs()
        if self._deferred is not None:
            specs = self._deferred.specs(specs, context.messages, self._late_tools())
        specs = copy.deepcopy(specs)
        async for event in next_fn(context.replace(model=self._model, tool_specs=specs)):
            yield event

    @property
    def _registry(self) -> ToolRegistry:
        """The registry that the SDK calls tools of, also where a tool has replaced it."""
        agent = self._agent()
        if agent is None:
            raise RuntimeError("the agent of these tools is gone")
        return agent.tool_registry

    def take_in(self, registry: ToolRegistry, by: str = "") -> None:
        """Put the permission check around tools that another one has registered, and take out other objects."""
        came = False
        for tools in (registry.registry, registry.dynamic_tools):
            for name, tool in list(tools.items()):
                if tool in self._checked or _is_answer(tool):
                    continue
                del tools[name]
                try:
                    # The SDK has two places for tools; a resumed run finds all of them in one.
                    registry.registry[name] = self._wrapped(tool, by)
                    came = True
                except (NotAToolError, StrandsCliError) as error:
                    message = f"the tool {name!r}, which was registered during the run, cannot be called: {error}"
                    self._scope.emit(RunWarning(self._scope.now(), self._check.redactor.text(message)))

        if came:
            self._sort()

    def _wrapped(self, tool: Any, by: str = "") -> CheckedTool:
        """Return a late tool with the permission check around it."""
        try:
            raw = read_agent_tool(tool)
            planned = _late(raw.name, f"registered by {by}" if by else "registered during the run")
            loaded = loaded_tool(planned, raw, raw.spec)
            plain_json(offered_spec(loaded))
        except (NotAToolError, StrandsCliError):
            raise
        except Exception as error:
            raise NotAToolError(f"{type(error).__name__}: {error}") from error
        checked = CheckedTool(loaded, self._call_of_tool)
        self._checked[checked] = loaded
        return checked

    def _late_specs(self, by: str) -> Mapping[str, Any]:
        """Return the data to offer each late tool again, by name; `by` is the tool whose call has just ended."""
        self.take_in(self._registry, by)
        late = self._late_tools().items()
        return {name: {"spec": tool.tool_spec, "by": tool.loaded.planned.distribution} for name, tool in late}

    def _put_back(self, name: str, stored: Any) -> None:
        """Offer a tool again that an earlier process had registered; its code is not here."""
        self._registry.registry.pop(name, None)
        if stored is not None:
            checked = CheckedTool(_lost(name, stored), self._call_of_tool)
            self._checked[checked] = checked.loaded
            self._registry.registry[name] = checked
        self._sort()

    def _late_tools(self) -> dict[str, CheckedTool]:
        checked = [(name, tool) for name, tool in self._registry.registry.items() if isinstance(tool, CheckedTool)]
        return {name: tool for name, tool in checked if isinstance(tool.loaded.planned, LateTool)}

    def _sort(self) -> None:
        """Let late tools follow the others by name, so that a resumed run offers them in the same order."""
        tools = self._registry.registry
        for name in sorted(self._late_tools()):
            tools[name] = tools.pop(name)

    async def _checked_call(self, context: ExecuteToolContext, next_fn: Any) -> AsyncGenerator[Any]:
        """Make the call of whatever tool the SDK has found, through the permission check."""
        tool = context.tool
        if tool is None or not _is_answer(tool):
            # A new one for each call: changes of other tools to those of the registry do not matter.
            tool = CheckedTool(self._loaded(tool, str(context.tool_use["name"])), self._call_of_model)
        async for event in next_fn(context.replace(tool=tool)):
            yield event

    def _loaded(self, tool: AgentTool | None, name: str) -> LoadedTool:
        checked_tool = None if tool is None else self._checked.get(tool)
        if checked_tool is not None:
            return checked_tool
        if tool is None:
            return _absent(name, "unknown_tool", f"no tool has the name {name!r}")
        try:
            return self._wrapped(tool).loaded
        except (NotAToolError, StrandsCliError) as error:
            return _absent(name, "unavailable", f"it was registered during the run, and cannot be called: {error}")

    async def _call_of_tool(self, tool: LoadedTool, tool_use: Mapping[str, Any], state: dict[str, Any]) -> Any:
        """Make a call that a tool makes itself, or an agent that a tool has made of tools of its own agent."""
        agent = state.get("agent")
        call = open_call(agent_itself(agent), call_of(agent))
        if call is None:
            raise RuntimeError(NO_CALL)
        return await call.through(lambda: self._inner_call(call, tool, tool_use, state))

    def call_by_name(
        self, agent: Agent, name: str, arguments: Mapping[str, Any], outer_call: OpenCall | None = None
    ) -> Any:
        """Make a call for `agent.tool.NAME(...)`, in a thread of a tool.

        Raises:
            AttributeError: The agent has no such tool.
            RuntimeError: It is not clear for which call this one is made, or it would wait for itself.
        """
        call = open_call(agent, outer_call)
        if call is None:
            raise RuntimeError(NO_CALL)
        own_arguments = {key: value for key, value in arguments.items() if agent_itself(value) is not agent}
        again = f"await asyncio.to_thread(agent.tool.{name}, ...)"
        return call.through_from_thread(lambda: self._call_named(call, agent, name, own_arguments), again)

    async def _call_named(self, call: OpenCall, agent: Agent, name: str, arguments: Mapping[str, Any]) -> Any:
        self.take_in(agent.tool_registry)
        tools = agent.tool_registry.registry
        tool = tools.get(name) or next((tool for key, tool in tools.items() if key.replace("-", "_") == name), None)
        if tool is None:
            raise AttributeError(f"Tool '{name}' not found")
        tool_use = {"toolUseId": f"{call.effect.key}.{call.made}", "name": name, "input": arguments}
        return await self._inner_call(call, self._loaded(tool, name), tool_use, dict(call.state))

    async def _inner_call(
        self, call: OpenCall, tool: LoadedTool, tool_use: Mapping[str, Any], state: dict[str, Any]
    ) -> Any:
        scope = call.scope_of_call()
        scope.changes = self._changes
        try:
            result = await self._check.call(tool, tool_use, scope, state)
        finally:
            scope.over.set()
        if scope.stopped is not None:
            call.stop(scope.stopped)
        return result

    async def _call_of_model(self, tool: LoadedTool, tool_use: Mapping[str, Any], state: dict[str, Any]) -> Any:
        if open_call() is not None:
            return await self._call_of_tool(tool, tool_use, state)
        # The SDK makes an empty object of arguments in broken JSON; the tool must not be called with that.
        written = self._broken_inputs().get(tool_use["toolUseId"])
        tool_use = tool_use if written is None else {**tool_use, "input": written}
        agent = state["agent"]
        if self._loops is not None:
            self._loops.begin_turn(agent.messages[-1])
            if isinstance(self._scope.stopped, AgentLoop):
                return error_result(tool_use["toolUseId"], "unavailable", "the run stops here")
        async with self._order.call(tool_use["toolUseId"], agent.messages, _answers(agent)) as scope:
            result = await self._check.call(tool, tool_use, scope, state)
        if tool.absent is None or tool.absent[0] != "unknown_tool" or scope.stopped is not None:
            return result
        # The SDK's words, and perhaps a hint.
        hint = [block for block in result["content"][1:] if "text" in block]
        return {**result, "content": [{"text": f"Unknown tool: {tool_use['name']}"}, *hint]}

    def _after_call(self, event: AfterToolCallEvent) -> None:
        agent: Any = event.agent
        if event.cancel_message is not None:
            self._order.leave_out(event.tool_use["toolUseId"], agent.messages, _answers(agent))


def _refuse(*_: Any, **__: Any) -> None:
    raise RuntimeError("a tool cannot add middleware to the agent of a workflow: the permission check is the last one")


def _is_answer(tool: Any) -> bool:
    """Return whether this is the SDK's own tool for an answer with a schema, as the SDK has made it."""
    return type(tool) is StructuredOutputTool and "stream" not in vars(tool)


def _answers(agent: Any) -> list[str]:
    """Return the names of the SDK's own tools, whose calls do not come here."""
    return [name for name, tool in agent.tool_registry.dynamic_tools.items() if _is_answer(tool)]


def _changes_at_requests(scope: StepScope) -> dict[str, Mapping[str, Any]]:
    """Return the changes of hooks before requests in the journal, by the request's key."""
    rows = scope.run.rows_below(scope.key, "model") if scope.may_have_rows else ()
    return {row.key: row.detail[BY_HOOKS] for row in rows if row.status == "done" and BY_HOOKS in row.detail}


def _late(name: str, origin: str) -> LateTool:
    entry = f"{LATE}:{name}"
    record = ToolRecord(name, f"({origin})", None, entry, name, module="", attribute=None, path="")
    return LateTool(name=name, ref=entry, record=record)


def _lost(name: str, stored: Mapping[str, Any]) -> LoadedTool:
    spec, by = stored["spec"], stored["by"].strip("()")
    message = f"it was {by} in a process that has ended; it has to be registered again"
    planned = _late(name, by)
    return LoadedTool(planned, spec, RawTool(name, spec, _never), absent=("unavailable", message))


def _absent(name: str, code: str, message: str) -> LoadedTool:
    """Return the substitute of a tool that cannot be called; each call of it has this error."""
    spec = {"name": name, "description": name, "inputSchema": {"json": {"type": "object", "properties": {}}}}
    return LoadedTool(_late(name, "no tool"), spec, RawTool(name, spec, _never), absent=(code, message))


async def _never(*_: Any) -> Any:
    raise RuntimeError("there is no tool to call")


class CheckedTool(AgentTool):
    """A tool as one step's agent has it."""

    def __init__(self, tool: LoadedTool, make: Make) -> None:
        super().__init__()
        self.loaded = tool
        self._make = make
        self._spec: Any = offered_spec(tool)

    @property
    def tool_name(self) -> str:
        """The model-facing name."""
        return self.loaded.planned.name

    @property
    def tool_spec(self) -> Any:
        """The spec as the SDK hands it to the provider."""
        return self._spec

    @property
    def tool_type(self) -> str:
        """The SDK's word for this kind of tool."""
        return "checked"

    async def stream(self, tool_use: Any, invocation_state: dict[str, Any], **kwargs: Any) -> Any:
        """Make the call through the permission check; the only event is its result."""
        yield ToolResultEvent(await self._make(self.loaded, tool_use, {**invocation_state, **kwargs}))


# Calls of steps without a model: with an agent without a model, so that tools have the same attributes as elsewhere.


NO_MODEL = "a `tool:` step has no model: call the tool in a step with an agent, or give it a model of its own"


class CheckedToolCaller:
    """Calls tools for steps without a model, through the same permission check."""

    def __init__(self, toolbox: Toolbox, check: PermissionCheck) -> None:
        self._toolbox = toolbox
        self._check = check

    async def close(self) -> list[str]:
        """Close tools with state; return the problems, one line each."""
        return await self._toolbox.close()

    async def call_tool(self, tool: PlannedTool, arguments: Mapping[str, Any], scope: StepScope) -> Mapping[str, Any]:
        """Make one call; raise the reason where the permission check says that the run must stop."""
        tool_use = {"toolUseId": f"{scope.key}.call", "name": tool.name, "input": dict(arguments)}
        loaded = self._toolbox.single_tool(tool)
        agent = self._agent(loaded, scope)
        try:
            result = await self._check.call(loaded, tool_use, scope, {"agent": agent})
        finally:
            scope.changes = None
        if scope.stopped is not None:
            raise scope.stopped
        return result

    def _agent(self, loaded: LoadedTool, scope: StepScope) -> Agent:
        """Return an agent with the tools of the workflow; of a name that several have, the step's own."""
        by_name: dict[str, list[LoadedTool]] = {}
        for tool in (tool for group in self._toolbox.tools.values() for tool in group):
            by_name.setdefault(tool.planned.name.replace("-", "_"), []).append(tool)
        by_name[loaded.planned.name.replace("-", "_")] = [loaded]
        offered = [tools[0] for tools in by_name.values() if len(tools) == 1]
        tools = AgentTools(scope, offered, self._check, dict)
        agent = AgentOfStep(model=NoModel(), tools=tools.planned, name=scope.who, callback_handler=None)
        tools.join(agent)
        return agent


class AgentOfStep(Agent):
    """An agent that only calls tools; each call of a step has a signal of its own."""

    has_model = False


class NoModel(Model):
    """The substitute of an absent model."""

    def update_config(self, **model_config: Any) -> None:
        """Configure nothing."""

    def get_config(self) -> Any:
        """Return no configuration."""
        return {}

    def structured_output(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: there is no model."""
        raise RuntimeError(NO_MODEL)

    def stream(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: there is no model."""
        raise RuntimeError(NO_MODEL)
