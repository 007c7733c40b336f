"""Read the chunks of an answer of llama.cpp's chat interface, as the stream events of the SDK."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli_local.chat_request import ANSWER, ARGUMENTS, TOOL, Form, Turn

Event = dict[str, Any]
_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


class AnswerReader:
    """Turns the chunks of one answer into events; a block is open until one of another kind begins."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._open: object = None
        self._collected = ""
        self._stop = "stop"
        self._calls = False
        self.usage = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}

    @property
    def was_cut(self) -> bool:
        """Whether the answer ended at a limit."""
        return self._stop == "length"

    def begin(self) -> Iterator[Event]:
        """Yield the events before the first chunk."""
        yield {"messageStart": {"role": "assistant"}}

    def read(self, chunk: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of one chunk."""
        if usage := chunk.get("usage"):
            counts = (usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))
            self.usage = dict(zip(self.usage, (*counts, sum(counts)), strict=True))
        for choice in chunk.get("choices") or ():
            self._stop = choice.get("finish_reason") or self._stop
            delta = choice.get("delta") or {}
            if thought := delta.get("reasoning_content"):
                yield from self._delta("thought", {}, {"reasoningContent": {"text": thought}})
            if text := delta.get("content"):
                yield from self._text(text)
            for call in delta.get("tool_calls") or ():
                yield from self._call(call)

    def end(self) -> Iterator[Event]:
        """Yield the events after the last chunk, without those of the usage."""
        if self._turn.form is Form.CHOICE and not self.was_cut:
            yield from self._chosen()
        yield from self._close()
        calls = self._calls and not self.was_cut
        yield {"messageStop": {"stopReason": "tool_use" if calls else _STOPS.get(self._stop, "end_turn")}}

    def _text(self, text: str) -> Iterator[Event]:
        if self._turn.form is Form.CHOICE:
            self._collected += text
        elif self._turn.form is Form.FORCED:
            yield from self._delta("forced", self._started(self._turn.forced), {"toolUse": {"input": text}})
        else:
            yield from self._delta("text", {}, {"text": text})

    def _call(self, call: Mapping[str, Any]) -> Iterator[Event]:
        function, key = call.get("function") or {}, ("call", call.get("index", 0))
        if key != self._open and function.get("name"):
            yield from self._start(key, self._started(function["name"], call.get("id")))
        if arguments := function.get("arguments"):
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}

    def _chosen(self) -> Iterator[Event]:
        answer = json.loads(self._collected)
        if TOOL in answer:
            arguments = json.dumps(answer[ARGUMENTS], ensure_ascii=False)
            yield from self._delta("chosen", self._started(answer[TOOL]), {"toolUse": {"input": arguments}})
        else:
            yield from self._delta("text", {}, {"text": answer[ANSWER]})

    def _started(self, name: str, identity: str | None = None) -> Event:
        return {"toolUse": {"name": name, "toolUseId": identity or f"call_{uuid.uuid4().hex[:12]}"}}

    def _delta(self, key: object, start: Event, delta: Event) -> Iterator[Event]:
        if key != self._open:
            yield from self._start(key, start)
        yield {"contentBlockDelta": {"delta": delta}}

    def _start(self, key: object, start: Event) -> Iterator[Event]:
        yield from self._close()
        self._open, self._calls = key, self._calls or "toolUse" in start
        yield {"contentBlockStart": {"start": start}}

    def _close(self) -> Iterator[Event]:
        if self._open is not None:
            self._open = None
            yield {"contentBlockStop": {}}
