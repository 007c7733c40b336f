"""What each provider's interface sends as an answer: how it ends, what names a refusal, what a client cannot read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from strands_cli.agents.model.answer_faults import DESCRIBE, AnswerFault, fault_of_stop
from strands_cli.agents.model.call_parts import CallParts
from strands_cli.canonical_json import json_object

Object = Mapping[str, Any]
# What a service says where a prompt, and not an answer, is withheld.
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
        raises_errors: Whether the client raises an error that comes in the stream.
    """

    title = ""
    refuses_halves = False
    in_lines = False
    raises_errors = True

    def __init__(self) -> None:
        self.has_ended = False
        self.is_known = False
        self.fault: AnswerFault | None = None

    def read(self, event: Object) -> Object:
        """Take an event of a stream; return it as the client can read it.

        Raises:
            AnswerFault: The answer cannot be used.
        """
        raise NotImplementedError

    def read_whole(self, answer: Object) -> Object:
        """Take an answer that is not a stream; return it as the client can read it."""
        return self.read(answer)

    def done(self) -> Object | None:
        """Take the line that ends a stream of server-sent events; return an event that must precede it."""
        return None

    def _stop(self, reason: Any, text: str = "") -> None:
        """Take a stop reason."""
        if isinstance(reason, str) and reason:
            self.has_ended = True
            self.fault = self.fault or fault_of_stop(reason, text)


def refused(text: str) -> AnswerFault:
    """Return the fault of a model that refused in words."""
    return AnswerFault(f"the model refused: {' '.join(text.split())}", DESCRIBE)


class Chat(Protocol):
    """OpenAI's chat completions, which many servers have."""

    title = "OpenAI"
    parts_calls = True

    def __init__(self) -> None:
        super().__init__()
        self._calls = CallParts()
        self._refusal = ""
        self._has_calls = False

    def read(self, event: Object) -> Object:
        """Take an event; the calls of tools come whole, with the one that ends the answer."""
        event = _as_chunk(event) if self.parts_calls else event
        choices = event.get("choices")
        self.is_known = self.is_known or isinstance(choices, list)
        choice = json_object(choices[0]) if isinstance(choices, list) and choices else {}
        if not choice:
            return event
        delta = json_object(choice.get("delta"))
        self._refusal += str(delta.get("refusal") or "")
        if (calls := delta.get("tool_calls")) and self.parts_calls:
            self._calls.add(calls if isinstance(calls, list) else [calls])
            self._has_calls = True
        is_last = bool(choice.get("finish_reason")) and not self.has_ended
        self._stop(choice.get("finish_reason"))
        if self.has_ended and self._refusal.strip():
            self.fault = self.fault or refused(self._refusal)
        if not self.parts_calls or (not calls and not (is_last and self._has_calls)):
            return event
        changed = {name: value for name, value in delta.items() if name != "tool_calls"}
        return self._with_delta(event, choice, changed | (self._whole() if is_last else {}))

    def _whole(self) -> dict[str, Any]:
        self._has_calls = False
        return {"tool_calls": self._calls.whole()}

    @staticmethod
    def _with_delta(event: Object, choice: Object, delta: Object) -> Object:
        return {**event, "choices": [{**choice, "delta": delta}, *event["choices"][1:]]}

    def done(self) -> Object | None:
        """Take `[DONE]`: where no event named an end before it, the calls come here."""
        self.has_ended = True
        if not self._has_calls:
            return None
        base = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
        return {**base, "choices": [{"index": 0, "delta": self._whole(), "finish_reason": "tool_calls"}]}

    def read_whole(self, answer: Object) -> Object:
        """Take a completion that is not a stream."""
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

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title


class LlamaCpp(Chat):
    """The chat of llama.cpp's server, as the SDK's class reads it."""

    title = "llama.cpp"
    raises_errors = False

    def read(self, event: Object) -> Object:
        """Take an event; the class skips one with `usage`, even if it has a part of the answer."""
        event = super().read(event)
        return {name: part for name, part in event.items() if name != "usage"} if event.get("choices") else event


class Responses(Protocol):
    """OpenAI's responses."""

    title = "OpenAI"
    _ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled", "error"})

    def __init__(self) -> None:
        super().__init__()
        self._refusal = ""

    def read(self, event: Object) -> Object:
        """Take an event."""
        kind = str(event.get("type") or "")
        self.is_known = self.is_known or kind.startswith("response.") or kind == "error"
        if kind == "response.refusal.delta":
            self._refusal += str(event.get("delta") or "")
        if kind in self._ENDS:
            self.has_ended = True
            if self._refusal.strip():
                self.fault = refused(self._refusal)
        return event

    def read_whole(self, answer: Object) -> Object:
        """Take a response that is not a stream."""
        self.is_known = answer.get("object") == "response" or "output" in answer
        self.has_ended = True
        return answer


class Messages(Protocol):
    """Anthropic's messages."""

    title = "Anthropic"

    def read(self, event: Object) -> Object:
        """Take an event."""
        kind = event.get("type")
        self.is_known = self.is_known or kind in ("message_start", "message_stop", "content_block_delta", "error")
        if kind == "message_delta":
            was_ended = self.has_ended
            self._stop(json_object(event.get("delta")).get("stop_reason"))
            self.has_ended = was_ended
            usage = event.get("usage")
            if not isinstance(usage, Mapping) or not isinstance(usage.get("output_tokens"), int):
                event = {**event, "usage": {**json_object(usage), "output_tokens": 0}}
        elif kind == "message_start":
            event = {**event, "message": self._with_usage(json_object(event.get("message")))}
        self.has_ended = self.has_ended or kind in ("message_stop", "error")
        return event

    @staticmethod
    def _with_usage(message: Object) -> Object:
        usage = json_object(message.get("usage"))
        counts = {
            name: usage[name] if isinstance(usage.get(name), int) else 0 for name in ("input_tokens", "output_tokens")
        }
        return {**message, "content": message.get("content") or [], "usage": {**usage, **counts}}

    def read_whole(self, answer: Object) -> Object:
        """Take a message that is not a stream."""
        self.is_known = answer.get("type") == "message"
        self.has_ended = True
        return answer


class Ollama(Protocol):
    """Ollama's own interface."""

    title = "Ollama"
    refuses_halves = True
    in_lines = True
    _COUNTS = ("prompt_eval_count", "eval_count", "total_duration")

    def read(self, event: Object) -> Object:
        """Take a line; counts that the last one lacks are zero, which means unknown."""
        message = event.get("message")
        self.is_known = self.is_known or isinstance(message, Mapping)
        if isinstance(message, Mapping) and "role" not in message:
            event = {**event, "message": {**message, "role": "assistant"}}
        if not event.get("done"):
            return event
        self._stop(event.get("done_reason"))
        self.has_ended = True
        return {**event, **{name: _count(event.get(name)) for name in self._COUNTS}}


class Gemini(Protocol):
    """Google's Gemini."""

    title = "Gemini"
    refuses_halves = True

    def read(self, event: Object) -> Object:
        """Take an event."""
        candidates = event.get("candidates")
        feedback = json_object(event.get("promptFeedback"))
        self.is_known = self.is_known or any(
            name in event for name in ("candidates", "promptFeedback", "usageMetadata", "responseId")
        )
        if reason := feedback.get("blockReason"):
            text = str(feedback.get("blockReasonMessage") or "")
            raise AnswerFault(f"{BLOCKED} ({reason})" + (f": {text}" if text else ""), DESCRIBE)
        for candidate in candidates if isinstance(candidates, list) else ():
            one = json_object(candidate)
            self._stop(one.get("finishReason"), str(one.get("finishMessage") or ""))
        return event


def _as_chunk(event: Object) -> Object:
    """Return an event of a chat as clients can read it: a delta that is an object, text, and counts or none."""
    choices = event.get("choices")
    choice = json_object(choices[0]) if isinstance(choices, list) and choices else {}
    if event.get("usage") is not None and not isinstance(event["usage"], Mapping):
        event = {**event, "usage": None}
    if not choice:
        return event
    delta = choice.get("delta")
    # Some servers send a whole completion as the only event.
    changed = dict(delta if isinstance(delta, Mapping) else json_object(choice.get("message")))
    if isinstance(changed.get("content"), list):
        texts = (json_object(part).get("text") for part in changed["content"])
        changed["content"] = "".join(text for text in texts if isinstance(text, str))
    return event if changed == delta else {**event, "choices": [{**choice, "delta": changed}, *event["choices"][1:]]}


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
