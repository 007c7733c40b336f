"""The calls that a tool makes while it is called itself: below its row, on the run's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from strands_cli.engine.effects.effect import Effect
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.errors import StrandsCliError
from strands_cli.policy.claims.resources import Touched, touched
from strands_cli.system.daemon_threads import waiting
from strands_cli.texts.canonical_json import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strands_cli.policy.rules.tool_request import Request

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
    _known: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
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
            found = _PLACE.fullmatch(row.key.removeprefix(f"{self.effect.key}/"))
            if found:
                self._known[found[1], int(found[2])] = (found[3] or "", row.digest)

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
        """Return the seconds that it has waited for its own calls, which have limits of their own."""
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
        _OPEN.set(None)  # in the context of this task: what it calls makes no calls for the outer one
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
        numbers = sorted(number for one, number in self._known if one == kind)
        equal = (one for one in numbers if self._known[kind, one] == same and (kind, one) not in self._claimed)
        place = next(equal, numbers[-1] + 1 if numbers else 0)
        self._known[kind, place] = same
        self._claimed.add((kind, place))
        return place

    async def wait_for_earlier(self, before: int, of: Touched | None) -> None:
        """Wait for its own calls before one of them, all or those that conflict with it."""
        for scope in self._scopes[:before]:
            if of is None or scope.touched.conflicts(of):
                await scope.over.wait()


class InnerScope(StepScope):
    """The scope of one call that a tool makes: what it spends counts in the outer call's step too.

    Attributes:
        touched: What the call touches.
        over: Set when it has ended.
        depth: How many calls the outer call is inside of.
    """

    def __init__(self, call: OpenCall, place: int) -> None:
        outer = call.scope
        super().__init__(outer.run, call.effect.key, outer.who, outer.limits, outer)
        self.touched = Touched()
        self.over = asyncio.Event()
        self.depth = call.depth
        self._call = call
        self._place = place
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
        """Wait for the calls before it that touch what it touches: those of its tool, and those before the outer call.

        Calls after the outer one that have begun are not waited for: they may wait for the outer one themselves.
        """
        self.touched = touched(request)
        await self._call.scope.turn_within(self.touched)
        await self._call.wait_for_earlier(self._place, self.touched)

    async def turn_within(self, touched: Touched) -> None:
        """Wait for the calls before this one and before the outer call, for a call inside this one."""
        await self._call.scope.turn_within(touched)
        await self._call.wait_for_earlier(self._place, touched)

    async def _wait_to_ask(self) -> None:
        """Wait until all calls before it are over: questions come one at a time."""
        await self._call.wait_for_earlier(self._place, None)
        if self._asks_outer is not None:
            await self._asks_outer()


# The calls that are at work in this process.
ALL: list[OpenCall] = []


def open_call(agent: Any = None, call: OpenCall | None = None) -> OpenCall | None:
    """Return the call whose tool's code this is, or None.

    Args:
        agent: The agent that the code uses. In a thread that the tool has started, its only open call is meant.
        call: The call for which the tool got the agent.
    """
    known = _OPEN.get() or call
    if known is not None or agent is None:
        return known
    calls = [one for one in ALL if one.state.get("agent") is agent]
    return calls[0] if len(calls) == 1 else None


def work_for(call: OpenCall) -> None:
    """Let this context, and those that begin in it, know for which call they work."""
    _OPEN.set(call)
