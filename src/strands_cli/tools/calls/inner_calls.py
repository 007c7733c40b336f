"""The calls that a tool makes while it is called itself: below its row, on the run's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from strands import Agent
from strands.types.exceptions import ConcurrencyException

from strands_cli.engine.effects.effect import Effect
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.errors import StrandsCliError
from strands_cli.policy.resources import TouchedResources, touched
from strands_cli.system.daemon_threads import waiting
from strands_cli.texts.canonical_json import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strands_cli.policy.rule import Request


Value = TypeVar("Value")

_OPEN: ContextVar[OpenCall | None] = ContextVar("strands_cli_open_call", default=None)
_PLACE = re.compile(r"(tool|model)\.(\d+)(?:\.([^/]+))?")
OVER = "the call is over, so its tool can make no more calls"
# How often a thread that waits looks whether the run's event loop is still there.
LOOK_S = 0.5
# How deep tools may call each other: Python that calls itself has no other end than the budgets.
MAX_DEPTH = 16


class RunStops(BaseException):
    """The run stops in a call that a tool makes; raised in the tool's code, which must not take it for an error."""


@dataclass(eq=False, slots=True)
class OpenCall:
    """A call whose tool is at work.

    Attributes:
        scope: The scope of the call.
        loop: The run's event loop.
        thread: The thread of that loop.
        models: The models of agents that the tool makes with its own agent's model, by that model.
        stopped: Why the run stops in one of its calls.
        made: How many calls it has made since it was entered.
    """

    scope: StepScope
    effect: Effect
    state: Mapping[str, Any]
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    thread: int = field(default_factory=threading.get_ident)
    models: dict[int, Any] = field(default_factory=dict)
    stopped: StrandsCliError | None = None
    made: int = 0
    _known_calls: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
    _claimed: set[tuple[str, int]] = field(default_factory=set)
    _scopes: list[InnerScope] = field(default_factory=list)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    _is_over: bool = False
    _at_work: int = 0
    _since: float = 0.0
    _elsewhere: float = 0.0

    def __post_init__(self) -> None:
        if not self.effect.is_repeated:
            return
        for row in self.scope.run.rows_below(self.effect.key):
            match = _PLACE.fullmatch(row.key.removeprefix(f"{self.effect.key}/"))
            if match:
                self._known_calls[match[1], int(match[2])] = (match[3] or "", row.digest)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Let calls be made; the tool may be entered again, and then makes the same ones."""
        self._claimed.clear()
        self._scopes.clear()
        self.models.clear()
        self._is_over, self.made, self._elsewhere = False, 0, 0.0
        token = _OPEN.set(self)
        ALL.append(self)
        try:
            yield
        finally:
            self._is_over = True
            ALL.remove(self)
            _OPEN.reset(token)

    async def close(self) -> None:
        """End the calls that its tool has left behind."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def depth(self) -> int:
        """How many calls it is inside of."""
        return self.scope.depth + 1 if isinstance(self.scope, InnerScope) else 0

    def elsewhere(self) -> float:
        """Return the seconds that it has waited for its own calls, which have their own limits."""
        return self._elsewhere + (self.loop.time() - self._since if self._at_work else 0.0)

    async def through(self, work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        """Do work of its tool on the run's event loop, and wait for it here, whatever loop this is.

        Raises:
            RuntimeError: The call is over.
            RunStops: The run stops there.
        """
        if asyncio.get_running_loop() is self.loop:
            return await self.loop.create_task(self._done(work))
        return await asyncio.wrap_future(self._submitted(self._done(work)))

    def through_from_thread(self, work: Callable[[], Coroutine[Any, Any, Value]], again: str) -> Value:
        """Do work of its tool on the run's event loop, and wait for it in this thread.

        Raises:
            RuntimeError: This is the thread of the loop, or the call is over; `again` says how to do it there.
            RunStops: The run stops there.
        """
        if threading.get_ident() == self.thread:
            raise RuntimeError(f"an async tool must not wait for a call in its event loop: {again}")
        done = self._done(work)
        future = self._submitted(done)
        with waiting():
            while True:
                try:
                    return future.result(LOOK_S)
                except TimeoutError:
                    if future.done():
                        raise
                    if self.loop.is_closed():  # it did not come to the work any more
                        done.close()
                        raise RuntimeError(OVER) from None

    def _submitted(self, done: Coroutine[Any, Any, Value]) -> Future[Value]:
        try:
            if self._is_over:
                raise RuntimeError(OVER)
            return asyncio.run_coroutine_threadsafe(done, self.loop)
        except RuntimeError as error:
            done.close()
            raise RuntimeError(OVER) from error

    async def _done(self, work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        _OPEN.set(None)  # in the context of this task: its calls are not made for the outer one
        if self._is_over:
            raise RuntimeError(OVER)
        if self.stopped is not None:
            raise RunStops(str(self.stopped))
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._since = self._since if self._at_work else self.loop.time()
        self._at_work += 1
        try:
            return await work()
        finally:
            self._at_work -= 1
            if not self._at_work:
                self._elsewhere += self.loop.time() - self._since

    def scope_of_call(self) -> InnerScope:
        """Return the scope of its next call.

        Raises:
            RuntimeError: Calls are inside each other too deep.
        """
        if self.depth >= MAX_DEPTH:
            raise RuntimeError(f"tools call each other deeper than {MAX_DEPTH} levels")
        self.made += 1
        scope = InnerScope(self, len(self._scopes))
        self._scopes.append(scope)
        return scope

    def scope_of_model(self) -> StepScope:
        """Return the scope of an agent that the tool makes."""
        return InnerScope(self, len(self._scopes))

    def stop(self, reason: StrandsCliError) -> NoReturn:
        """Note why the run stops in one of its calls.

        Raises:
            RunStops: always.
        """
        self.stopped = self.stopped or reason
        raise RunStops(str(reason))

    def place_of(self, kind: str, name: str, effect_input: Any) -> int:
        """Return the number of a call: the one that an equal call had when the tool was entered before, else a new one.

        A tool may make its calls in another order when it is entered again, or others; threads have none.
        """
        same = (name, digest_of(effect_input))
        numbers = sorted(number for known_kind, number in self._known_calls if known_kind == kind)
        equal = (
            number
            for number in numbers
            if self._known_calls[kind, number] == same and (kind, number) not in self._claimed
        )
        call_number = next(equal, numbers[-1] + 1 if numbers else 0)
        self._known_calls[kind, call_number] = same
        self._claimed.add((kind, call_number))
        return call_number

    async def wait_for_earlier(self, before: int, of: TouchedResources | None) -> None:
        """Wait for its own calls before one of them, all or those that conflict with it."""
        for scope in self._scopes[:before]:
            if of is None or scope.touched.conflicts(of):
                await scope.over.wait()


class InnerScope(StepScope):
    """The scope of one call by a tool: its usage counts in the outer call's step too.

    Attributes:
        touched: The tools and files that the call touches.
        over: Set when it has ended.
        depth: How many calls the outer call is inside of.
    """

    def __init__(self, call: OpenCall, position: int) -> None:
        outer = call.scope
        super().__init__(outer.run, call.effect.key, outer.who, outer.limits, outer)
        self.touched = TouchedResources()
        self.over = asyncio.Event()
        self.depth = call.depth
        self._call = call
        self._position = position
        self._asks_outer = self.before_asking
        self.before_asking = self._wait_to_ask

    def tool_effect(self, tool_use_id: str, name: str, effect_input: Any, *, repeatable: bool) -> Effect:
        """Open the call under the number that it has among those of the outer call."""
        number = self._call.place_of("tool", name, effect_input)
        return self.numbered_effect(number, name, effect_input, repeatable=repeatable)

    def number_of_turn(self, effect_input: Any) -> int:
        """Return the number of a request of an agent that the tool has made."""
        return self._call.place_of("model", "", effect_input)

    async def turn(self, request: Request) -> None:
        """Wait for the calls before it that touch the same: those of its tool, and those before the outer call.

        Begun calls after the outer one are not waited for: they may wait for the outer one themselves.
        """
        self.touched = touched(request)
        await self._call.scope.turn_within(self.touched)
        await self._call.wait_for_earlier(self._position, self.touched)

    async def turn_within(self, touched: TouchedResources) -> None:
        """Wait for the calls before this one and before the outer call, for a call inside this one."""
        await self._call.scope.turn_within(touched)
        await self._call.wait_for_earlier(self._position, touched)

    async def _wait_to_ask(self) -> None:
        """Wait until all calls before it are over: questions come one at a time."""
        await self._call.wait_for_earlier(self._position, None)
        if self._asks_outer is not None:
            await self._asks_outer()


# The running calls of this process.
ALL: list[OpenCall] = []


def open_call(agent: Any = None, call: OpenCall | None = None) -> OpenCall | None:
    """Return the call whose tool's code this is, or None.

    Args:
        agent: The agent that the code uses. In a thread that the tool has started, its only open call is meant.
        call: The call for which the tool got the agent.
    """
    outer_call = _OPEN.get() or call
    if outer_call is not None or agent is None:
        return outer_call
    calls = [call for call in ALL if call.state.get("agent") is agent]
    return calls[0] if len(calls) == 1 else None


def work_for(call: OpenCall) -> None:
    """Let this context, and those that begin in it, know for which call they work."""
    _OPEN.set(call)


# The agent that a tool gets: it knows the call for which the tool uses it, in every thread.


# Makes a call of a tool by its name: with the agent, the name, the arguments, and the call of the tool that makes it.
MakeByName = Callable[[Agent, str, Mapping[str, Any], OpenCall | None], Any]


class InnerCaller:
    """The attribute `agent.tool` of tools: each call passes the permission check below the call of the tool."""

    def __init__(self, agent: Agent, make: MakeByName, call: OpenCall | None = None) -> None:
        self._agent = weakref.ref(agent)
        self._make = make
        self._call = call

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the function that calls the tool of this name."""

        def call(
            user_message_override: str | None = None, record_direct_tool_call: bool | None = None, **arguments: Any
        ) -> Any:
            if record_direct_tool_call:
                raise ConcurrencyException("a call that a tool makes cannot become a message of the conversation")
            if (agent := self._agent()) is None:
                raise ReferenceError("the agent's step is over")
            return self._make(agent, name, arguments, self._call)

        return call


class AgentOfCall(Agent):
    """The agent of a step for the tool of one call: reads and writes go to that agent.

    Only `tool` and `model` are its own: they make calls and requests for its call, where no context variable is known.
    """

    def __init__(self, agent: Agent, call: OpenCall) -> None:
        caller: Any = agent.tool_caller
        own = {"agent": agent, "call": call, "tool": InnerCaller(agent, caller._make, call)}
        object.__setattr__(self, "_own", own | {"tool_caller": own["tool"]})

    def __getattribute__(self, name: str) -> Any:
        """Return an attribute of the agent."""
        own = object.__getattribute__(self, "_own")
        if name in ("tool", "tool_caller"):
            return own[name]
        value = getattr(own["agent"], name)
        if name != "model" or not hasattr(value, "of_call"):
            return value
        return own.setdefault(name, value.of_call(own["call"]))

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the agent."""
        setattr(agent_itself(self), name, value)

    def __delattr__(self, name: str) -> None:
        """Delete an attribute of the agent."""
        delattr(agent_itself(self), name)

    def __eq__(self, other: object) -> bool:
        """Return whether this is the same agent."""
        return agent_itself(self) is agent_itself(other)

    def __hash__(self) -> int:
        """Return the agent's hash."""
        return hash(agent_itself(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copy the agent."""
        return agent_itself(self).__reduce_ex__(protocol)

    def __del__(self) -> None:
        """End nothing: the agent is still at work."""


def agent_itself(agent: Any) -> Any:
    """Return the agent of a step for the view of it that a tool has; anything else as it is."""
    return object.__getattribute__(agent, "_own")["agent"] if type(agent) is AgentOfCall else agent


def call_of(agent: Any) -> OpenCall | None:
    """Return the call for whose tool an agent was made, or None."""
    own: Any = object.__getattribute__(agent, "_own") if type(agent) is AgentOfCall else {"call": None}
    call: OpenCall | None = own["call"]
    return call


def for_call(state: Mapping[str, Any], call: OpenCall) -> dict[str, Any]:
    """Return an invocation state for a tool, with the agent of its call."""
    agent = agent_itself(state.get("agent"))
    if type(getattr(agent, "tool_caller", None)) is not InnerCaller:  # one that a tool has made
        return dict(state)
    return {**state, "agent": AgentOfCall(agent, call)}
