"""The blocks of one answer of Anthropic's interface, put one after another: each begins, has its pieces, and ends.

Compatible servers send the pieces of two blocks in turn, leave out where a block begins or ends, or give a call its
whole input where it begins, which clients do not read there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from strands_cli.agents.model.call_parts import mixed
from strands_cli.texts.canonical_json import json_object

Object = Mapping[str, Any]
# What has the text of a block where it begins, and the kind of its pieces.
_TEXTS = {"text": ("text", "text_delta"), "thinking": ("thinking", "thinking_delta")}
_OF_PIECE = {"text_delta": ("text", "text"), "thinking_delta": ("thinking", "thinking")}
_INPUT = "input_json_delta"


class MessageBlocks:
    """Puts the blocks of one answer in order."""

    def __init__(self) -> None:
        self._is_open = False
        self._index: Any = None
        self._input: Any = None
        self._held: dict[Any, list[Object]] = {}

    def take(self, event: Object) -> list[Object]:
        """Take an event of a block; return what the client may read now.

        Raises:
            AnswerFault: It is not known which call a piece belongs to.
        """
        index = event.get("index")
        if self._is_open and index != self._index:
            self._held.setdefault(index, []).append(event)
            return []
        kind = event.get("type")
        if kind == "content_block_start":
            return [*self._end(), *self._begin(event)]
        if kind == "content_block_stop":
            return [*self._end(), *self._next()]
        delta = json_object(event.get("delta"))
        before: list[Object] = []
        if not self._is_open:
            if delta.get("type") == _INPUT:
                raise mixed()
            if delta.get("type") not in _OF_PIECE:
                return []
            block, name = _OF_PIECE[str(delta["type"])]
            before = self._begin({"index": index, "content_block": {"type": block, name: ""}})
        if delta.get("type") == _INPUT and delta.get("partial_json"):
            self._input = None
        return [*before, event]

    def rest(self) -> list[Object]:
        """Return what is left at the end of the answer."""
        rest: list[Object] = []
        while self._is_open or self._held:
            rest += [*self._end(), *self._next()]
        return rest

    def _begin(self, event: Object) -> list[Object]:
        self._is_open, self._index = True, event.get("index")
        block = dict(json_object(event.get("content_block")))
        pieces: list[Object] = []
        if str(block.get("type")).endswith("tool_use"):
            self._input, block["input"] = block.get("input"), {}
        elif block.get("type") in _TEXTS:
            name, kind = _TEXTS[block["type"]]
            pieces = [self._piece(kind, name, block[name])] if block.get(name) else []
            block[name] = ""
        return [{**event, "type": "content_block_start", "content_block": block}, *pieces]

    def _piece(self, kind: str, name: str, text: Any) -> Object:
        return {"type": "content_block_delta", "index": self._index, "delta": {"type": kind, name: text}}

    def _end(self) -> list[Object]:
        if not self._is_open:
            return []
        given, self._input, self._is_open = self._input, None, False
        text = given if isinstance(given, str) else json.dumps(given)
        pieces = [self._piece(_INPUT, "partial_json", text)] if given else []
        return [*pieces, {"type": "content_block_stop", "index": self._index}]

    def _next(self) -> list[Object]:
        """Return the events that waited for the end of a block, as far as the next one goes."""
        passed: list[Object] = []
        while self._held and not self._is_open:
            for event in self._held.pop(next(iter(self._held))):
                passed += self.take(event)
        return passed
