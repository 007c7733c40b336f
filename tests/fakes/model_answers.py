"""One scripted answer of a model, in the words of OpenAI's chat completions and responses, and Anthropic's messages."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model.

    Attributes:
        calls: Tool calls as (name, arguments); arguments that are text are sent as they are, valid JSON or not.
        usage: Input and output tokens; counted in words when absent.
        delay_s: Seconds before the answer begins.
        after: What must be set before the answer begins.
        status: HTTP status; from 400 on, `body` (or a standard error object) is the whole answer.
        malformed: Send text that is not JSON where JSON belongs.
        drop_after_chunks: Break the connection after so many stream chunks (0: before the first).
        finish: `finish_reason`, where it is not "stop" or "tool_calls": "length", "content_filter".
        thought: A thought before the answer; of Anthropic's interface it is signed with its own text reversed.
    """

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any] | str]] = ()
    usage: tuple[int, int] | None = None
    delay_s: float = 0.0
    after: threading.Event | None = None
    status: int = 200
    body: Mapping[str, Any] | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    malformed: bool = False
    drop_after_chunks: int | None = None
    finish: str | None = None
    thought: str = ""


class Answer:
    """One turn in the words of one interface."""

    def __init__(self, request: dict[str, Any], turn: Turn, number: int, chunk_chars: int) -> None:
        self.model = request.get("model", "scripted")
        self.streaming = bool(request.get("stream"))
        self.with_usage = bool((request.get("stream_options") or {}).get("include_usage"))
        self.turn = turn
        self.id = f"answer-{number}"
        self.calls = [
            (f"call-{number}-{index}", name, arguments if isinstance(arguments, str) else json.dumps(arguments))
            for index, (name, arguments) in enumerate(turn.calls)
        ]
        words = len(json.dumps(request.get("messages") or request.get("input") or "").split())
        self.usage = turn.usage or (words, len(turn.text.split()) + sum(len(call[2].split()) for call in self.calls))
        self._chunk_chars = chunk_chars

    def pieces(self, text: str) -> Iterator[str]:
        for start in range(0, len(text), self._chunk_chars):
            yield text[start : start + self._chunk_chars]

    def whole(self) -> dict[str, Any]:
        raise NotImplementedError

    def chunks(self) -> Iterator[tuple[str | None, dict[str, Any]]]:
        """Yield (event name, JSON) of each server-sent event."""
        raise NotImplementedError


class ChatAnswer(Answer):
    """https://platform.openai.com/docs/api-reference/chat/object, and .../chat-streaming."""

    @property
    def _finish(self) -> str:
        return self.turn.finish or ("tool_calls" if self.calls else "stop")

    def _usage(self) -> dict[str, int]:
        tokens_in, tokens_out = self.usage
        return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}

    def whole(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.turn.text or None}
        if self.calls:
            message["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for call_id, name, arguments in self.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        return self._envelope("chat.completion", [choice]) | {"usage": self._usage()}

    def chunks(self) -> Iterator[tuple[str | None, dict[str, Any]]]:
        yield self._chunk({"role": "assistant", "content": ""})
        for piece in self.pieces(self.turn.thought):
            yield self._chunk({"reasoning_content": piece})
        for piece in self.pieces(self.turn.text):
            yield self._chunk({"content": piece})
        for index, (call_id, name, arguments) in enumerate(self.calls):
            function = {"name": name, "arguments": ""}
            yield self._chunk(
                {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}
            )
            for piece in self.pieces(arguments):
                yield self._chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield self._chunk({}, self._finish)
        if self.with_usage:
            yield None, self._envelope("chat.completion.chunk", []) | {"usage": self._usage()}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> tuple[None, dict[str, Any]]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return None, self._envelope("chat.completion.chunk", [choice])

    def _envelope(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": 0, "model": self.model, "choices": choices}


class ResponsesAnswer(Answer):
    """https://platform.openai.com/docs/api-reference/responses/object, and .../responses-streaming."""

    def whole(self) -> dict[str, Any]:
        tokens_in, tokens_out = self.usage
        reason = {"length": "max_output_tokens"}.get(self.turn.finish or "", self.turn.finish)
        usage = {
            "input_tokens": tokens_in,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": tokens_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens_in + tokens_out,
        }
        return self._envelope("incomplete" if reason else "completed", self._items()) | {
            "usage": usage,
            "incomplete_details": {"reason": reason} if reason else None,
        }

    def chunks(self) -> Iterator[tuple[str | None, dict[str, Any]]]:
        for number, (name, fields) in enumerate(self._events()):
            yield name, {"type": name, "sequence_number": number, **fields}

    def _events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "response.created", {"response": self._envelope("in_progress", [])}
        for index, item in enumerate(self._items()):
            place = {"item_id": item["id"], "output_index": index}
            yield "response.output_item.added", {"output_index": index, "item": item | {"status": "in_progress"}}
            if item["type"] == "message":
                for piece in self.pieces(self.turn.text):
                    fields = place | {"content_index": 0, "delta": piece, "logprobs": []}
                    yield "response.output_text.delta", fields
            else:
                for piece in self.pieces(item["arguments"]):
                    yield "response.function_call_arguments.delta", place | {"delta": piece}
                done = place | {"name": item["name"], "arguments": item["arguments"]}
                yield "response.function_call_arguments.done", done
            yield "response.output_item.done", {"output_index": index, "item": item}
        whole = self.whole()
        yield f"response.{whole['status']}", {"response": whole}

    def _items(self) -> list[dict[str, Any]]:
        part = {"type": "output_text", "text": self.turn.text, "annotations": [], "logprobs": []}
        message = {"type": "message", "id": f"message-{self.id}", "role": "assistant", "content": [part]}
        items = [message] if self.turn.text or not self.calls else []
        items += [
            {"type": "function_call", "id": f"item-{call_id}", "call_id": call_id, "name": name, "arguments": arguments}
            for call_id, name, arguments in self.calls
        ]
        return [item | {"status": "completed"} for item in items]

    def _envelope(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        fixed = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "created_at": 0, "object": "response"}
        return {"id": self.id, "model": self.model, "status": status, "output": output, **fixed}


class MessagesAnswer(Answer):
    """https://platform.claude.com/docs/en/api/messages, and .../streaming; it is always a stream."""

    def chunks(self) -> Iterator[tuple[str | None, dict[str, Any]]]:
        for fields in self._events():
            yield fields["type"], fields

    def _events(self) -> Iterator[dict[str, Any]]:
        usage = {"input_tokens": self.usage[0], "output_tokens": 1}
        message = {"id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": []}
        yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
        for index, (block, deltas) in enumerate(self._blocks()):
            yield {"type": "content_block_start", "index": index, "content_block": block}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        reason = self.turn.finish or ("tool_use" if self.calls else "end_turn")
        delta = {"stop_reason": reason, "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": self.usage[1]}}
        yield {"type": "message_stop"}

    def _blocks(self) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        thought = self.turn.thought
        if thought:
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in self.pieces(thought)]
            deltas.append({"type": "signature_delta", "signature": thought[::-1]})
            yield {"type": "thinking", "thinking": "", "signature": ""}, deltas
        if self.turn.text:
            deltas = [{"type": "text_delta", "text": piece} for piece in self.pieces(self.turn.text)]
            yield {"type": "text", "text": ""}, deltas
        for call_id, name, arguments in self.calls:
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in self.pieces(arguments)]
            yield {"type": "tool_use", "id": call_id, "name": name, "input": {}}, deltas


def turns_from_json(text: str) -> list[Turn]:
    """Read a script: a list of objects whose keys are the fields of `Turn`."""
    return [Turn(**{**turn, "calls": [tuple(call) for call in turn.get("calls", ())]}) for turn in json.loads(text)]
