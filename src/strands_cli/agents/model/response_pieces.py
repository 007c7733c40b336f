"""What an answer of OpenAI's responses has that came in no piece, as the piece that its client reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from strands_cli.texts.canonical_json import json_object

_ARGUMENTS, _TEXT = "response.function_call_arguments.delta", "response.output_text.delta"
_KEPT = ("output_index", "content_index", "sequence_number")


class ResponsePieces:
    """Knows which parts of one answer came in pieces."""

    def __init__(self) -> None:
        self._seen: set[Any] = set()

    def before(self, kind: str, event: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Take an event; return the piece that must precede it, where it ends a part that had none."""
        item = json_object(event.get("item"))
        identity = event.get("item_id") or item.get("id")
        if kind in (_ARGUMENTS, _TEXT):
            self._seen.add(identity)
        is_call = kind == "response.output_item.done" and item.get("type") == "function_call"
        whole = item.get("arguments") if is_call else event.get("text") if kind == "response.output_text.done" else None
        if not isinstance(whole, str) or not whole or identity in self._seen:
            return ()
        self._seen.add(identity)
        kept = {name: event[name] for name in _KEPT if name in event}
        return ({**kept, "type": _ARGUMENTS if is_call else _TEXT, "item_id": identity, "delta": whole},)
