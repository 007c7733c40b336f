"""A model whose every request is one journaled effect: recorded answers are replayed, new ones are recorded."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from opentelemetry.trace import get_current_span
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException

from strands_cli.agents.model.answer_faults import (
    EMPTY,
    AnswerFault,
    fault_of_turn,
    hear_reasons,
    is_unfinished,
    unknown_end,
)
from strands_cli.agents.model.fallback import Candidate, Line, Thoughts
from strands_cli.agents.model.model_errors import all_failed, reason_of
from strands_cli.agents.model.pacing import HeldBack, paced
from strands_cli.agents.model.read_answer import hear_usage, reported_usage
from strands_cli.agents.model.replay import ReplayModel
from strands_cli.agents.model.retry import Retries, retry_after
from strands_cli.agents.model.structured_output import TOOL, answered_in_text, as_written
from strands_cli.agents.model.token_estimates import tokens_in, with_estimates
from strands_cli.engine.effects.effect import Effect
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.errors import Code, RunRecordError, StrandsCliError
from strands_cli.events import (
    INSTEAD_OF,
    UNKNOWN_END_OF_ROW,
    ModelCallFinished,
    ModelCallStarted,
    ModelRetried,
    ModelText,
    RunWarning,
    Usage,
)
from strands_cli.providers import ModelSettings
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.texts.phrases import shortened
from strands_cli.tools.calls.inner_calls import OpenCall, open_call, work_for
from strands_cli.tools.messages.message_json import (
    JoinedHalves,
    ToolUseIds,
    broken_inputs,
    decode,
    encode,
    in_request_order,
    only_text,
    request_text,
    text_in,
    tool_uses_in,
    usage_in,
    with_whole_arguments,
    without_secrets,
)
from strands_cli.tools.messages.repeated_results import for_model, readable_results
from strands_cli.tools.property_names import PropertyNames
from strands_cli.tools.schema_for_provider import offered_specs

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Row
    from strands_cli.planning.prices import Price


# Warns once in a run that a provider ended an answer with an unknown reason.


UNKNOWN_END = Code(
    "unknown-end",
    "A provider ended an answer for an unknown reason; the answer is used as it is.",
    "Read the answer: it may be cut off or refused.",
)
_MOST_REASON = 100
# The warnings of each run.
_WARNED: WeakKeyDictionary[Any, set[tuple[str, str]]] = WeakKeyDictionary()


def reported_end(
    events: Sequence[Mapping[str, Any]], scope: StepScope, label: str, redactor: Redactor
) -> dict[str, str]:
    """Return, for a turn's row, the reason of its end if that is unknown; warn of it once in a run."""
    unknown = unknown_end(events)
    if unknown is None:
        return {}
    reason = shortened(redactor.text(unknown), _MOST_REASON)
    warned = _WARNED.setdefault(scope.run, set())
    if (label, reason) not in warned:
        warned.add((label, reason))
        message = f"{label} ended an answer with {reason!r}, which is not known here; the answer is used as it is"
        scope.emit(RunWarning(scope.now(), message, UNKNOWN_END, UNKNOWN_END.remedy))
    return {UNKNOWN_END_OF_ROW: reason}


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request as one model gets it: how it is sent, its parts, and the names in it."""

    ask: Callable[[], AsyncIterable[Any]]
    request: Mapping[str, Any]
    names: PropertyNames


@dataclass(frozen=True, slots=True)
class _Answered:
    """A whole turn: the model that answered, its events and tokens, and the seconds it took."""

    by: Candidate
    events: list[Any]
    usage: Usage
    seconds: float


MAX_REQUEST = 2000
MAX_REASON = 1000


class JournaledModel(Model):
    """Wraps one model for one step and passes the SDK's requests to it.

    Attributes:
        label: Provider and model for people; where others go on in its place, those of the first.
        broken_inputs: Tool arguments of the last turn that were not JSON, by tool-use id.
        of_step: Returns the model for the key of another step, or of a call whose tool makes an agent.
        output_schemas: Those of the agent's tools by name.
        is_of_tool: Whether a tool asks, which may use an answer that no step could use.
    """

    of_step: Callable[[str], Model] | None = None
    output_schemas: Mapping[str, Mapping[str, Any] | None] = MappingProxyType({})
    is_of_tool = False
    _call: OpenCall | None = None

    def __init__(
        self,
        inner: Model,
        settings: ModelSettings,
        scope: StepScope,
        redactor: Redactor = HIDE_NOTHING,
        answer_schema: Mapping[str, Any] | None = None,
        label: str = "model",
    ) -> None:
        self._name = label
        self._inner = inner
        self._answer_schema = answer_schema
        self._settings = settings
        self._scope = scope
        self._redactor = redactor
        self._thoughts = Thoughts()
        self.broken_inputs: dict[str, str] = {}
        self.label = settings.label

    def of_call(self, call: OpenCall) -> JournaledModel:
        """Return this model for the tool of a call, which may make agents with it in any thread."""
        model = copy.copy(self)
        model._call = call
        return model

    @property
    def stateful(self) -> bool:
        """Whether the wrapped model stores the conversation on its server."""
        return self._inner.stateful

    @property
    def context_window_limit(self) -> int | None:
        """The wrapped model's context window, in tokens."""
        return self._inner.context_window_limit

    @property
    def config(self) -> dict[str, Any]:
        """The configuration as the SDK's own models have it: its spans take the name of the model from here."""
        own = self._inner.get_config()
        named = {"model_id": self._settings.model_id or self._settings.provider}
        return {**named, **own} if isinstance(own, Mapping) else named

    def get_config(self) -> Any:
        """Return the wrapped model's configuration."""
        return self._inner.get_config()

    def update_config(self, **model_config: Any) -> None:
        """Change the wrapped model's configuration."""
        self._inner.update_config(**model_config)

    async def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        """Return the wrapped model's count."""
        return await self._inner.count_tokens(*args, **kwargs)

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: this older method bypasses `stream` and the journal; agents use the tool-based one."""
        raise NotImplementedError("structured output goes through stream()")

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield the answer from the journal, or ask the wrapped model and record its answer."""
        if self._call is not None:
            work_for(self._call)  # the tools of an agent with this model belong to the call too
        if (call := open_call()) is not None:
            for event in await call.through(
                lambda: self._asked_inside(call, messages, tool_specs, system_prompt, kwargs)
            ):
                yield event
            return
        messages = in_request_order(messages)
        effect = self._effect(self._inputs(messages, tool_specs, system_prompt, kwargs))
        if effect.recorded is not None:
            stream = self._play(effect, kwargs.get("model_state"))
        else:
            stream = self._ask(effect, messages, tool_specs, system_prompt, kwargs)
        if self._answer_schema is not None:
            stream = answered_in_text(stream, self._answer_schema, effect.key)
        async for event in stream:
            yield event

    async def _asked_inside(
        self, call: OpenCall, messages: Any, tool_specs: Any, system_prompt: str | None, kwargs: dict[str, Any]
    ) -> list[Any]:
        """Return the answer to an agent that a tool has made with this model; its rows are below the tool's call."""
        model = call.models.get(id(self._scope))
        if model is None:
            inner = self._inner if self.of_step is None else self.of_step(call.effect.key)
            scope = call.scope_of_model()
            model = call.models[id(self._scope)] = JournaledModel(inner, self._settings, scope, self._redactor)
            model.output_schemas, model.is_of_tool = self.output_schemas, True
        call.made += 1
        try:
            return [event async for event in model.stream(messages, tool_specs, system_prompt, **kwargs)]
        except StrandsCliError as error:
            call.stop(error)

    def _inputs(self, messages: Any, tool_specs: Any, system_prompt: str | None, kwargs: Mapping[str, Any]) -> Any:
        """Return everything that determines the answer: the request that the model receives, and its settings."""
        settings = self._settings
        return {
            "messages": messages,
            "tools": tool_specs or [],
            "system": kwargs.get("system_prompt_content") or system_prompt,
            "tool_choice": kwargs.get("tool_choice"),
            "model": {name: getattr(settings, name) for name in ModelSettings.__slots__},
        }

    def _effect(self, request: Any) -> Effect:
        try:
            return self._scope.model_effect(request, label=self._name, is_void=self._is_void)
        except RunRecordError as error:
            cause = f"a tool or a hook may have changed the prompt or the messages of '{self._scope.who}' then"
            raise RunRecordError(f"{error.message}; {cause}", fix=error.fix) from None

    def _is_void(self, row: Row) -> bool:
        """Return whether a recorded turn is not an answer; of a tool's agent it may have been used."""
        if self.is_of_tool or not isinstance(row.output, Mapping):
            return False
        events = list(row.output.get("events") or ())
        # A correction of a wrong answer is asked for again with it; calls of tools that were made stay.
        is_wrong = self._scope.was_misanswered and all(use["name"] == TOOL for use in tool_uses_in(events))
        is_void = is_wrong or is_unfinished(events) or self._fault_of(events) is not None
        return is_void and row.key == self._scope.last_answer(self._name)

    def _fault_of(self, events: Sequence[Any]) -> AnswerFault | None:
        """Return why a turn is not an answer."""
        if isinstance(self._inner, ReplayModel):
            return None  # a recording is played as it is
        return fault_of_turn(events, may_be_empty=self.is_of_tool)

    async def _play(self, effect: Effect, model_state: Any) -> AsyncIterator[Any]:
        recorded = effect.recorded
        assert recorded is not None  # noqa: S101 - the caller has checked it
        if isinstance(self._inner, ReplayModel):
            self._inner.skip()
        events = recorded.output["events"]
        if isinstance(model_state, dict):
            model_state.update(recorded.output["model_state"])
        self._expect_tools(events)
        label = str(recorded.detail.get("model") or self.label)
        self._thoughts.learn(events, label)
        for event in events:
            yield decode(event)
        self._emit_finished(effect.key, label, events, recorded.usage, recorded.cost, seconds=None)

    async def _ask(
        self, effect: Effect, messages: Any, tool_specs: Any, system_prompt: str | None, kwargs: dict[str, Any]
    ) -> AsyncIterator[Any]:
        scope = self._scope
        state = kwargs.get("model_state")
        failures: list[str] = []
        line = self._line()
        first = line.next(scope.monotonic())
        assert first is not None  # noqa: S101 - every line has a model
        request = shortened(encode(request_text(messages)), MAX_REQUEST)
        # From its start on, so that a call that fails or is killed is also one of its model.
        effect.keep(agent=scope.who, model=first.label, request=request)
        send = partial(self._sent, messages, tool_specs, system_prompt, kwargs)
        try:
            answer = await self._answered(effect, line, first, send, state, failures)
        except BaseException:
            scope.release_call("model")
            raise
        by, events, usage = answer.by, answer.events, answer.usage
        cost = self._cost_of(usage, by)
        output = {"events": events, "model_state": encode(state) if isinstance(state, Mapping) else {}}
        detail: dict[str, Any] = {"failures": failures} if failures else {}
        if by.label != self.label:
            detail |= {"model": by.label, INSTEAD_OF: self.label}
            get_current_span().set_attribute("gen_ai.response.model", by.settings.model_id or by.label)
        if not isinstance(self._inner, ReplayModel):
            detail |= reported_end(events, scope, by.label, self._redactor)
        if scope.changes is not None and self._name == "model":
            detail |= scope.changes.unstored
        await effect.finish(output, usage=usage, cost=cost, detail=detail)
        self._expect_tools(events)
        self._thoughts.learn(events, by.label)
        # Only after the whole turn is recorded, so that the SDK never sees an incomplete attempt.
        for event in events:
            yield decode(event)
        self._emit_finished(effect.key, by.label, events, usage, cost, seconds=answer.seconds)

    def _line(self) -> Line:
        """Return the models that may answer a request, the agent's own first."""
        shared, pace = (getattr(self._inner, name, None) for name in ("shared", "pace"))
        own = Candidate(self._inner, self._settings, (), shared, pace)
        return Line([own, *getattr(self._inner, "others", ())])

    def _sent(
        self, messages: Any, tool_specs: Any, system_prompt: str | None, kwargs: dict[str, Any], to: Candidate
    ) -> _Sent:
        """Return a request as a model of the line gets it."""
        provider = to.settings.provider
        written = [as_written(spec, self._answer_schema) for spec in tool_specs] if tool_specs else tool_specs
        names = PropertyNames.of(written, provider)
        offered: Any = offered_specs(names.specs, provider)
        readable = self._thoughts.readable(messages, to) if getattr(self._inner, "others", ()) else messages
        sent = names.sent(readable_results(for_model(readable, self.output_schemas), provider))
        whole = {"messages": messages, "system": system_prompt, "tools": offered}
        return _Sent(lambda: to.model.stream(sent, offered, system_prompt, **kwargs), whole, names)

    async def _answered(
        self,
        effect: Effect,
        line: Line,
        asked: Candidate,
        send: Callable[[Candidate], _Sent],
        state: Any,
        failures: list[str],
    ) -> _Answered:
        """Return a whole turn; retry as the failure policy allows, and then go on with the next model of the line.

        Each attempt waits for its turn at the provider, and that time does not count. The tokens are counted before
        the next one has its turn, so that it does not begin when they were the last.

        Args:
            effect: The call; it counts each further attempt.
            asked: The model that is asked first.
            send: Returns the request for a model.
            state: A stateful model's state, which is restored after a failed attempt.
            failures: Receives the reason of each failed attempt.
        """
        scope = self._scope
        retries, sent = self._retries(line, asked), send(asked)
        before = dict(state) if isinstance(state, dict) else None
        started = 0.0
        while True:
            turn = scope.run.provider_limits.turn(asked.settings.provider)
            cost, tokens = self._most_cost(sent.request, asked), partial(tokens_in, sent.request)
            pacing = paced(scope, effect.key, asked.label, asked.pace, tokens)
            async with scope.reserved_call(asked.label, cost), turn as waited, pacing as paced_request:
                waited += paced_request.waited
                started = await self._begin(effect, waited, started, asked, is_first=not failures)
                try:
                    if paced_request.held_s and line.may_follow("throttled"):
                        raise HeldBack(paced_request.held_s)
                    events, usage = await self._attempt(effect, asked, sent, is_last=retries.is_last)
                except Exception as error:
                    paced_request.error = error
                    wait, following = retries.wait_after(error, scope.now()), None
                    if wait is None or retries.is_refused_longer(error, scope.now()):
                        following = line.after(asked, error, retry_after(error, scope.now()), scope.monotonic())
                    reason = shortened(self._redactor.text(reason_of(error, asked.settings)), MAX_REASON)
                    failures.append(reason if len(line.candidates) == 1 else f"{asked.label}: {reason}")
                    if wait is None and following is None:
                        await effect.fail(reason)
                        if line.has_passed_on and not isinstance(error, ContextWindowOverflowException):
                            raise all_failed(error, failures, scope.who, asked.settings, self._redactor) from error
                        raise
                else:
                    line.answered(asked)
                    return _Answered(asked, sent.names.restored(events), usage, scope.monotonic() - started)
            told = (retries.failed, wait or 0.0, reason, following.label if following is not None else "")
            scope.emit(ModelRetried(scope.now(), effect.key, scope.who, asked.label, *told))
            if before is not None:
                state.clear()
                state.update(before)
            if following is not None:
                asked, retries, sent = following, self._retries(line, following), send(following)
            else:
                await scope.sleep(wait or 0.0)

    def _retries(self, line: Line, asked: Candidate) -> Retries:
        policy = self._scope.limits.retries
        return Retries(policy.model_copy(update={"retries": 0}) if line.is_trial(asked) else policy)

    async def _attempt(
        self, effect: Effect, asked: Candidate, sent: _Sent, *, is_last: bool
    ) -> tuple[list[Any], Usage]:
        """Return the events and the tokens of one attempt, and count it; also one that failed after it was paid for."""
        hear_reasons()
        hear_usage()
        usage = Usage()
        try:
            events = await self._turn(effect, sent.ask(), sent.request["messages"])
            usage = self._usage_of(events, sent.request)
            fault = self._fault_of(events)
            if fault is not None and not (self._may_follow(fault) and is_last):
                raise fault
        except Exception:
            usage = reported_usage() if usage.is_unknown else usage
            if not usage.is_unknown:  # of a stream that was cut off after its server had reported tokens, too
                self._spend(effect, usage, asked)
            raise
        self._scope.count_model_call(usage, self._cost_of(usage, asked), asked.label)
        return events, usage

    def _may_follow(self, fault: AnswerFault) -> bool:
        """Return whether the SDK asks again in its own way: for an empty answer where a form is required."""
        return self._answer_schema is not None and fault.message.startswith(EMPTY)

    def _usage_of(self, events: list[Any], request: Any) -> Usage:
        """Return the tokens of a call, estimated where its server reports none; a recording's stay as they are."""
        usage = usage_in(events)
        return usage if isinstance(self._inner, ReplayModel) else with_estimates(usage, request, events)

    def _spend(self, effect: Effect, usage: Usage, asked: Candidate) -> None:
        """Count an attempt that was answered and paid for, and whose answer is not used."""
        cost = self._cost_of(usage, asked)
        self._scope.count_model_call(usage, cost, asked.label, asks_again=True)
        effect.spend(usage, cost)

    async def _begin(self, effect: Effect, waited: float, started: float, asked: Candidate, *, is_first: bool) -> float:
        """Write that an attempt begins, whose turn it is; return when the call began, without its time of waiting."""
        if waited or effect.paid:
            self._scope.require_still()
        if not is_first:
            effect.again()
            return started + waited
        self._scope.emit(ModelCallStarted(self._scope.now(), effect.key, self._scope.who, asked.label))
        await effect.start()
        return self._scope.monotonic()

    async def _turn(self, effect: Effect, stream: AsyncIterable[Any], messages: Any) -> list[Any]:
        """Return the events of one attempt in the journal's form; emit its text as it arrives."""
        events: list[Any] = []
        ids = ToolUseIds(messages)
        halves = JoinedHalves()
        redacted = self._redactor.stream()
        scope, key = self._scope, effect.key
        is_shown = self._name == "model"  # the text of a summary is not emitted

        def show(text: str) -> None:
            if is_shown and text and (text := redacted.feed(text)):
                scope.emit(ModelText(scope.now(), key, text))

        def take(event: Any) -> None:
            events.append(encode(ids.repaired(event)))
            show(text_in(events[-1]))

        async for event in stream:
            if (text := only_text(event)) is not None and text.isascii() and not halves.waits:
                # As `encode` writes it: most events are of this kind.
                events.append({"contentBlockDelta": {"delta": {"text": text}}})
                show(text)
                continue
            for joined_event in halves.events(event):
                take(joined_event)
        for joined_event in halves.rest():
            take(joined_event)
        if is_shown and (text := redacted.rest()):
            scope.emit(ModelText(scope.now(), key, text))
        return without_secrets(with_whole_arguments(events), self._redactor)

    def _cost_of(self, usage: Usage, asked: Candidate) -> float | None:
        price = self._price_of(asked)
        return price.cost(usage) if price is not None else None

    def _most_cost(self, request: Any, asked: Candidate) -> float:
        """Return the most that a call may cost, with an estimate of its request; 0 where its answer has no limit."""
        most, price = asked.settings.max_tokens, self._price_of(asked)
        if most is None or price is None or not self._scope.limits_money:
            return 0.0
        return price.most(tokens_in(request), most)

    def _price_of(self, asked: Candidate) -> Price | None:
        return self._scope.limits.prices.price(asked.settings.provider, asked.settings.model_id)

    def _expect_tools(self, events: list[Any]) -> None:
        self._scope.expect_tools(tool_use["toolUseId"] for tool_use in tool_uses_in(events))
        self.broken_inputs = broken_inputs(events)

    def _emit_finished(
        self, key: str, label: str, events: list[Any], usage: Usage, cost: float | None, *, seconds: float | None
    ) -> None:
        """Emit that a model answered; without `seconds` the answer comes from the journal."""
        scope = self._scope
        calls = tuple(tool_use["name"] for tool_use in tool_uses_in(events))
        took = (seconds or 0.0, calls, seconds is None, cost)
        scope.emit(ModelCallFinished(scope.now(), key, scope.who, label, usage, *took))
