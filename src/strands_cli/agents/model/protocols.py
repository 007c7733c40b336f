"""The answers of each provider's interface: their end, the names of refusals, and parts that a client cannot read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import NoneType
from typing import Any

from strands_cli.agents.model.answer_faults import (
    DESCRIBE,
    MALFORMED,
    AnswerFault,
    fault_of_stop,
    tell_reason,
    unfinished,
)
from strands_cli.agents.model.call_parts import PLAIN_CHAT, CallParts, MessageBlocks, json_in
from strands_cli.texts.canonical_json import json_object

# The parts of an answer of OpenAI's responses that came in no piece, as the piece that its client reads.


_ARGUMENTS, _TEXT = "response.function_call_arguments.delta", "response.output_text.delta"
_KEPT = ("output_index", "content_index", "sequence_number")


class ResponsePieces:
    """Knows which parts of one answer came in pieces."""

    def __init__(self) -> None:
        self._begun_parts: set[Any] = set()

    def before(self, kind: str, event: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Take an event; return the piece that must precede it, where it ends a part that had none."""
        item = json_object(event.get("item"))
        identity = event.get("item_id") or item.get("id")
        if kind in (_ARGUMENTS, _TEXT):
            self._begun_parts.add(identity)
        is_call = kind == "response.output_item.done" and item.get("type") == "function_call"
        whole = item.get("arguments") if is_call else event.get("text") if kind == "response.output_text.done" else None
        if not isinstance(whole, str) or not whole or identity in self._begun_parts:
            return ()
        self._begun_parts.add(identity)
        fields = {name: event[name] for name in _KEPT if name in event}
        return ({**fields, "type": _ARGUMENTS if is_call else _TEXT, "item_id": identity, "delta": whole},)


Object = Mapping[str, Any]
# The message where a service withholds a prompt, and not an answer.
BLOCKED = "the provider blocked the prompt"


class Protocol:
    """Reads the events of one answer; its classes are those of the interfaces.

    Attributes:
        title: The interface for people.
        has_ended: Whether the answer is complete.
        is_known: Whether anything was an event of this interface.
        fault: Why the answer cannot be used, although it is complete.
        refuses_halves: Whether the client refuses half a character in a text.
        in_lines: Whether a stream is one JSON object a line, instead of server-sent events.
        raises_errors: Whether the client raises an error in the stream.
        names_events: Whether the client reads the type of an event beside its data.
        plain: Bytes of a stream that have pieces of a text and nothing else, for which there is nothing to do.
    """

    title = ""
    refuses_halves = False
    in_lines = False
    raises_errors = True
    names_events = False
    plain: re.Pattern[bytes] | None = None

    def __init__(self) -> None:
        self.has_ended = False
        self.is_known = False
        self.fault: AnswerFault | None = None

    def read(self, event: Object) -> Sequence[Object]:
        """Take an event of a stream; return the events that the client can read then.

        Raises:
            AnswerFault: The answer cannot be used.
        """
        raise NotImplementedError

    def read_whole(self, answer: Object) -> Object:
        """Take a whole answer, no stream; return it as the client can read it."""
        (read,) = self.read(answer)
        return read

    def done(self) -> Sequence[Object]:
        """Take the line that ends a stream of server-sent events; return the events that must precede it."""
        return self.rest()

    def rest(self) -> Sequence[Object]:
        """Return the events kept for the end of the stream."""
        return ()

    def _stop(self, reason: Any, text: str = "") -> None:
        """Take a stop reason."""
        if isinstance(reason, str) and reason:
            self.has_ended = True
            tell_reason(reason)
            self.fault = self.fault or fault_of_stop(reason, text)


def refused(text: str) -> AnswerFault:
    """Return the fault of a model that refused in words."""
    return AnswerFault(f"the model refused: {' '.join(text.split())}", DESCRIBE)


class Chat(Protocol):
    """OpenAI's chat completions, which many servers have."""

    title = "OpenAI"
    parts_calls = True
    plain: re.Pattern[bytes] | None = PLAIN_CHAT

    def __init__(self) -> None:
        super().__init__()
        self._calls = CallParts()
        self._refusal = ""
        self._has_calls = False
        self._end: Object | None = None

    def read(self, event: Object) -> Sequence[Object]:
        """Take an event; the calls of tools come whole, with the end of the answer.

        Some servers name an end with each piece, or before the last one: the client reads it last.
        """
        event = _as_chunk(event)
        choices = event.get("choices")
        self.is_known = self.is_known or isinstance(choices, list)
        choice = json_object(choices[0]) if isinstance(choices, list) and choices else {}
        if not choice:
            return (*self.rest(), event)
        delta = json_object(choice.get("delta"))
        self._refusal += str(delta.get("refusal") or "")
        if (calls := delta.get("tool_calls")) and self.parts_calls:
            self._calls.add(calls if isinstance(calls, list) else [calls])
            self._has_calls = True
            delta = {name: value for name, value in delta.items() if name != "tool_calls"}
        if not choice.get("finish_reason"):
            return (self._with(event, delta, None) if calls else event,)
        self._stop(choice["finish_reason"])
        if self._refusal.strip():
            self.fault = self.fault or refused(self._refusal)
        self._end = self._with(event, {}, choice["finish_reason"])
        if not any(value for name, value in delta.items() if name != "role"):
            return ()
        return (self._with({name: part for name, part in event.items() if name != "usage"}, delta, None),)

    @staticmethod
    def _with(event: Object, delta: Object, reason: Any) -> Object:
        first, *others = event["choices"]
        return {**event, "choices": [{**first, "delta": delta, "finish_reason": reason}, *others]}

    def rest(self) -> Sequence[Object]:
        """Return the end of the answer, with its calls."""
        end, self._end = self._end, None
        if end is None:
            return ()
        return (self._with(end, self._whole(), end["choices"][0]["finish_reason"]),)

    def _whole(self) -> dict[str, Any]:
        if not self._has_calls:
            return {}
        self._has_calls = False
        return {"tool_calls": self._calls.whole()}

    def done(self) -> Sequence[Object]:
        """Take `[DONE]`: where no event named an end before it, the calls come here."""
        self.has_ended = True
        if self._end is None and self._has_calls:
            base = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
            return ({**base, "choices": [{"index": 0, "delta": self._whole(), "finish_reason": "tool_calls"}]},)
        return self.rest()

    def read_whole(self, answer: Object) -> Object:
        """Take a whole completion."""
        choices = answer.get("choices")
        self.is_known = isinstance(choices, list)
        choice = json_object(choices[0]) if isinstance(choices, list) and choices else {}
        self.has_ended = True
        self._stop(choice.get("finish_reason"))
        message = json_object(choice.get("message"))
        if refusal := message.get("refusal"):
            self.fault = self.fault or refused(str(refusal))
        return answer


class Mistral(Chat):
    """Mistral's and Writer's chats, which are like OpenAI's and have servers of their own only."""

    parts_calls = False
    refuses_halves = True
    plain = None

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title


class LlamaCpp(Chat):
    """The chat of llama.cpp's server, as the SDK's class reads it."""

    title = "llama.cpp"
    raises_errors = False
    plain = None

    def read(self, event: Object) -> Sequence[Object]:
        """Take an event; the class skips one with `usage`, even if it has a part of the answer."""
        if event.get("choices"):
            event = {name: part for name, part in event.items() if name != "usage"}
        return super().read(event)


class Responses(Protocol):
    """OpenAI's responses."""

    title = "OpenAI"
    _ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"})
    _KNOWN = frozenset({"max_output_tokens", "content_filter"})

    def __init__(self) -> None:
        super().__init__()
        self._refusal = ""
        self._pieces = ResponsePieces()

    def read(self, event: Object) -> Sequence[Object]:
        """Take an event; text that came in no piece is sent as one before its end, since the client reads pieces."""
        kind = str(event.get("type") or "")
        self.is_known = self.is_known or kind.startswith("response.") or kind == "error"
        if kind == "response.refusal.delta":
            self._refusal += str(event.get("delta") or "")
        if kind in self._ENDS:
            self.has_ended = True
            if self._refusal.strip():
                self.fault = refused(self._refusal)
            elif kind in ("response.cancelled", "response.incomplete"):
                self._break_off(kind, json_object(json_object(event.get("response")).get("incomplete_details")))
        return (*self._pieces.before(kind, event), event)

    def _break_off(self, kind: str, details: Object) -> None:
        """Take the end of an unfinished answer; the client knows two reasons, and takes it as whole else."""
        reason = str(details.get("reason") or kind)
        if reason not in self._KNOWN:
            self.fault = unfinished(reason)

    def read_whole(self, answer: Object) -> Object:
        """Take a whole response."""
        self.is_known = answer.get("object") == "response" or "output" in answer
        self.has_ended = True
        return answer


class Messages(Protocol):
    """Anthropic's messages."""

    title = "Anthropic"
    refuses_halves = True
    names_events = True

    def __init__(self) -> None:
        super().__init__()
        self._blocks = MessageBlocks()

    def read(self, event: Object) -> Sequence[Object]:
        """Take an event."""
        kind = event.get("type")
        self.is_known = self.is_known or kind in ("message_start", "message_stop", "content_block_delta", "error")
        self.has_ended = self.has_ended or kind in ("message_stop", "error")
        if str(kind).startswith("content_block_"):
            return self._blocks.take(event)
        if kind == "message_start":
            return ({**event, "message": self._with_usage(json_object(event.get("message")))},)
        if kind == "message_delta":
            was_ended = self.has_ended
            self._stop(json_object(event.get("delta")).get("stop_reason"))
            self.has_ended = was_ended
            usage = event.get("usage")
            if not isinstance(usage, Mapping) or not isinstance(usage.get("output_tokens"), int):
                event = {**event, "usage": {**json_object(usage), "output_tokens": 0}}
        return (*self._blocks.rest(), event) if kind in ("message_delta", "message_stop") else (event,)

    @staticmethod
    def _with_usage(message: Object) -> Object:
        usage = json_object(message.get("usage"))
        counts = {
            name: usage[name] if isinstance(usage.get(name), int) else 0 for name in ("input_tokens", "output_tokens")
        }
        return {**message, "content": message.get("content") or [], "usage": {**usage, **counts}}

    def read_whole(self, answer: Object) -> Object:
        """Take a whole message."""
        self.is_known = answer.get("type") == "message"
        self.has_ended = True
        return answer


class Ollama(Protocol):
    """Ollama's own interface."""

    title = "Ollama"
    refuses_halves = True
    in_lines = True
    _COUNTS = ("prompt_eval_count", "eval_count", "total_duration")

    def read(self, event: Object) -> Sequence[Object]:
        """Take a line; counts that the last one lacks are zero, which means unknown."""
        message = event.get("message")
        self.is_known = self.is_known or isinstance(message, Mapping)
        if isinstance(message, Mapping):
            event = {**event, "message": self._message(message)}
        if not event.get("done"):
            return (event,)
        self._stop(event.get("done_reason"))
        self.has_ended = True
        return ({**event, **{name: _count(event.get(name)) for name in self._COUNTS}},)

    @staticmethod
    def _message(message: Object) -> Object:
        message = {"role": "assistant", **message, "content": message.get("content") or ""}
        calls = message.get("tool_calls")
        if isinstance(calls := [calls] if isinstance(calls, Mapping) else calls, list):
            message["tool_calls"] = [_with_arguments(json_object(call), "function", "arguments") for call in calls]
        return message


class Gemini(Protocol):
    """Google's Gemini."""

    title = "Gemini"
    refuses_halves = True

    def read(self, event: Object) -> Sequence[Object]:
        """Take an event."""
        candidates = event.get("candidates")
        feedback = json_object(event.get("promptFeedback"))
        self.is_known = self.is_known or any(
            name in event for name in ("candidates", "promptFeedback", "usageMetadata", "responseId")
        )
        if reason := feedback.get("blockReason"):
            text = str(feedback.get("blockReasonMessage") or "")
            raise AnswerFault(f"{BLOCKED} ({reason})" + (f": {text}" if text else ""), DESCRIBE)
        if not isinstance(candidates, list):
            return (event,)
        for answer in map(json_object, candidates):
            self._stop(answer.get("finishReason"), str(answer.get("finishMessage") or ""))
        whole = [_with_whole_calls(json_object(candidate)) for candidate in candidates]
        return (event if whole == candidates else {**event, "candidates": whole},)


def _with_whole_calls(candidate: Object) -> Object:
    """Return a candidate of Gemini whose calls all have arguments."""
    content = json_object(candidate.get("content"))
    parts = content.get("parts")
    if not isinstance(parts, list) or not any("functionCall" in json_object(part) for part in parts):
        return candidate
    whole = [_with_arguments(part, "functionCall", "args") if "functionCall" in part else part for part in parts]
    return {**candidate, "content": {**content, "parts": whole}}


def _with_arguments(part: Object, part_key: str, name: str) -> Object:
    """Return a part with an object as arguments of its call, where a server writes them as text or leaves them out."""
    call = json_object(part.get(part_key))
    arguments = call.get(name)
    if isinstance(arguments, str) and arguments.strip():
        arguments = json_in(arguments)
    elif arguments is None or isinstance(arguments, str):
        arguments = {}
    if not isinstance(arguments, Mapping):
        raise AnswerFault(MALFORMED, "run again, or choose another model", is_temporary=True)
    return {**part, part_key: {**call, name: arguments}}


def _as_chunk(event: Object) -> Object:
    """Return an event of a chat as clients can read it: an object as delta, text, and counts or none."""
    choices = event.get("choices")
    choice = json_object(choices[0]) if isinstance(choices, list) and choices else {}
    if event.get("usage") is not None and not isinstance(event["usage"], Mapping):
        event = {**event, "usage": None}
    if not choice:
        return event
    delta, reason = choice.get("delta"), choice.get("finish_reason")
    # Some servers send a whole completion as the only event, or the text of the older interface.
    changed = dict(delta if isinstance(delta, Mapping) else json_object(choice.get("message")))
    if isinstance(delta, str):
        changed["content"] = delta
    if not changed and isinstance(choice.get("text"), str):
        changed["content"] = choice["text"]
    if not isinstance(content := changed.get("content"), (str, NoneType)):
        parts = content if isinstance(content, list) else [content]
        texts = (part if isinstance(part, str) else json_object(part).get("text") for part in parts)
        changed["content"] = "".join(text for text in texts if isinstance(text, str))
    if isinstance(call := changed.pop("function_call", None), Mapping):  # the older form of calls
        changed["tool_calls"] = [{"index": 0, "function": call}]
    reason = {"null": None, "function_call": "tool_calls"}.get(reason, reason) if isinstance(reason, str) else reason
    if changed == delta and reason == choice.get("finish_reason"):
        return event
    return {**event, "choices": [{**choice, "delta": changed, "finish_reason": reason}, *event["choices"][1:]]}


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0


PROTOCOLS: Mapping[str, Callable[[], Protocol]] = {
    "openai": Chat,
    "openai_responses": Responses,
    "anthropic": Messages,
    "ollama": Ollama,
    "gemini": Gemini,
    "llamacpp": LlamaCpp,
    "mistral": partial(Mistral, "Mistral"),
    "writer": partial(Mistral, "Writer"),
}
