"""The calls of one model turn: each waits for the earlier ones that touch the same, the others run together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.effect import Effect, NeedsDecision, combined
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.errors import StrandsCliError, WaitingForPerson
from strands_cli.policy.resources import TouchedResources, touched
from strands_cli.tools.messages.message_json import tool_name

if TYPE_CHECKING:
    from strands_cli.planning.plan_values import PlannedTool
    from strands_cli.policy.rule import Request

# How many calls of one turn run at the same time.
CALLS_AT_ONCE = 16


class Order:
    """Finds the place of each call of a step's agent among those that the model asked for in the same turn.

    Args:
        tools: The tools of the agent, as planned; names of others may come too.
    """

    def __init__(self, step: StepScope, tools: Iterable[PlannedTool]) -> None:
        self._step = step
        self._made_of_calls = {tool.name for tool in tools if tool.is_composed}
        self._calls: dict[str, CallScope] = {}
        self._message: Any = None

    @asynccontextmanager
    async def call(
        self, tool_use_id: str, messages: Sequence[Any], others: Container[str] = ()
    ) -> AsyncIterator[StepScope]:
        """Give the scope of a call, once the calls before it are known.

        Args:
            messages: The agent's conversation; its last message holds the turn.
            others: Names of tools whose calls the SDK answers by itself.
        """
        call = self._taken(tool_use_id, messages, others)  # None: it is alone in its turn
        if call is None:
            yield self._step
            return
        try:
            await call.reached()
            yield call
        finally:
            call.end()

    def leave_out(self, tool_use_id: str, messages: Sequence[Any], others: Container[str] = ()) -> None:
        """End a call that the SDK has answered without coming here, so that no other waits for it."""
        call = self._taken(tool_use_id, messages, others)
        if call is not None:
            call.end()

    def _taken(self, tool_use_id: str, messages: Sequence[Any], others: Container[str]) -> CallScope | None:
        if messages and messages[-1] is not self._message:
            self._message = messages[-1]
            self._calls = self._turn(messages[-1], others)
        return self._calls.pop(tool_use_id, None)

    def _turn(self, message: Mapping[str, Any], others: Container[str]) -> dict[str, CallScope]:
        tool_uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        # Journals from before names were repaired have names that cannot be a tool's; the SDK answers those itself.
        names = {use["toolUseId"]: use["name"] for use in tool_uses if use["name"] == tool_name(use)}
        ours = {identity: name in self._made_of_calls for identity, name in names.items() if name not in others}
        if len(ours) < 2:  # a single call waits for no other
            return {}
        # The usage inside a call counts before the next one may count the rest of the budget.
        turn = Turn(self._step, [made_of_calls and self._step.is_limited for made_of_calls in ours.values()])
        return dict(zip(ours, turn.calls, strict=True))


class Turn:
    """The calls of one turn in request order, and why it stops the run, if it does.

    Args:
        holding: For each call whether all later ones wait until it is over.
    """

    def __init__(self, step: StepScope, holding: Sequence[bool]) -> None:
        self.step = step
        self.calls = [CallScope(self, position, holds=holds) for position, holds in enumerate(holding)]
        self.reasons: dict[int, StrandsCliError] = {}
        self._finished = 0

    def reason_before(self, position: int) -> StrandsCliError | None:
        """Return why no call at this place may begin any more, if an earlier one has stopped the run.

        One that waits for a person does so only for calls that conflict with it: the others are put to the person too.
        """
        touched = self.calls[position].touched
        before = sorted(other for other in self.reasons if other < position)
        stops = (other for other in before if not self._waits(other) or self.calls[other].touched.conflicts(touched))
        earlier = next(stops, None)
        return self.step.stopped if earlier is None else self.reasons[earlier]

    def _waits(self, position: int) -> bool:
        reason = self.reasons[position]
        return isinstance(reason, WaitingForPerson) and not isinstance(reason, NeedsDecision)

    def note_finished(self) -> None:
        """Note which calls are over with all before them; after the last one the run may be stopped.

        Not earlier: the agent's cancel signal reaches running tools, and their results would then differ from those of
        a run without a stop.
        """
        while self._finished < len(self.calls) and self.calls[self._finished].over.is_set():
            self.calls[self._finished].all_over.set()
            self._finished += 1
        if self._finished == len(self.calls) and self.reasons:
            self.step.stop(self._reason())

    def _reason(self) -> StrandsCliError:
        """Return the reason that the calls one after another would have met; questions are named as a whole."""
        first, *_ = places = sorted(self.reasons)
        if not isinstance(self.reasons[first], WaitingForPerson):
            return self.reasons[first]
        alike = (self.reasons[index] for index in places if self._waits(index) == self._waits(first))
        return combined([reason for reason in dict.fromkeys(alike) if isinstance(reason, WaitingForPerson)])


class CallScope(StepScope):
    """One call's view of its step: it begins, asks and stops as if the calls of its turn came one after another.

    Attributes:
        touched_known: Set when `touched` is known.
        over: Set when it has ended, or will not be made.
        all_over: Set when it and all before it are over.
    """

    def __init__(self, turn: Turn, position: int, *, holds: bool) -> None:
        step = turn.step
        super().__init__(step.run, step.key, step.who, step.limits)
        self._state, self.outer = step._state, step.outer
        self.before_asking = self._wait_for_earlier
        self.touched_known, self.over, self.all_over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.touched = TouchedResources()
        self._turn = turn
        self._position = position
        self._holds = holds
        self._asks_step = step.before_asking
        self._unbegun: Effect | None = None

    @property
    def stopped(self) -> StrandsCliError | None:
        """Why the call must end, if it must."""
        return self._turn.reasons.get(self._position) or self._turn.step.stopped

    async def reached(self) -> None:
        """Wait until all earlier calls are known, so that places in the budgets are given in request order."""
        if self._position:
            await self._turn.calls[self._position - 1].touched_known.wait()

    def tool_effect(self, tool_use_id: str, name: str, call_input: Any, *, repeatable: bool) -> Effect:
        """Open the call; its place in the budgets is held while it waits."""
        effect = super().tool_effect(tool_use_id, name, call_input, repeatable=repeatable)
        self._unbegun = effect if effect.recorded is None else None
        return effect

    async def turn(self, request: Request) -> None:
        """Wait for the earlier calls that touch the same as this one.

        Raises:
            StrandsCliError: one of them, or another earlier call, has stopped the run.
        """
        self.touched = touched(request)
        if not self._holds:
            self.touched_known.set()
        first = max(0, self._position - CALLS_AT_ONCE + 1)
        if first:
            await self._turn.calls[first - 1].all_over.wait()
        for earlier in self._turn.calls[first : self._position]:
            if earlier.touched.conflicts(self.touched):
                await earlier.over.wait()
        self._require_going()
        self._unbegun = None

    async def turn_within(self, touched: TouchedResources) -> None:
        """Wait for the earlier calls that conflict with a call inside this one; later ones wait for both."""
        self.touched = TouchedResources((*self.touched.reads, *touched.reads), (*self.touched.writes, *touched.writes))
        for earlier in self._turn.calls[: self._position]:
            if earlier.touched.conflicts(touched):
                await earlier.over.wait()

    async def _wait_for_earlier(self) -> None:
        """Wait until all earlier calls are over: questions come one at a time, in request order."""
        if self._position:
            await self._turn.calls[self._position - 1].all_over.wait()
        self._require_going()
        if self._asks_step is not None:
            await self._asks_step()

    def _require_going(self) -> None:
        reason = self._turn.reason_before(self._position)
        if reason is not None:
            self.stop(reason)
            raise reason

    def stop(self, reason: StrandsCliError) -> None:
        """Keep later calls from beginning, and stop the run when all calls of the turn are over."""
        self._turn.reasons.setdefault(self._position, reason)
        for inner in self._state.inner:
            if inner.outer is self:
                inner.stop(reason)

    def end(self) -> None:
        """Let those go on that wait for this call."""
        if self._unbegun is not None:
            self.release_call("tool")
        self.touched_known.set()
        self.over.set()
        self._turn.note_finished()
