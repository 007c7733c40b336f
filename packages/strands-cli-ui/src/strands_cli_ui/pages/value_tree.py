"""A JSON value as a tree: nested lists, of which the deep and the long ones are folded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from strands_cli_ui.pages.html_text import cut, escape

# Deeper values are folded, and so are longer ones.
_OPEN_DEPTH, _OPEN_LENGTH = 2, 20
# Deeper values are one text; more parts of one tree are counted and not shown.
_DEEPEST, _MOST = 20, 500


class ValueTree:
    """Makes one tree; `is_cut` tells afterwards whether it has less than the value.

    Args:
        limit: The most characters of all of its texts.
    """

    def __init__(self, limit: int) -> None:
        self._left, self._parts = limit, _MOST
        self.is_cut = False

    def html(self, value: Any, depth: int = 0) -> str:
        """Return a value as HTML."""
        if isinstance(value, dict) and value and depth < _DEEPEST:
            return self._list(((escape(str(key)), inner) for key, inner in value.items()), len(value), depth)
        if isinstance(value, list | tuple) and value and depth < _DEEPEST:
            return self._list(((str(number), inner) for number, inner in enumerate(value)), len(value), depth)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        beginning, note = cut(text, max(0, self._left))
        self._left -= len(beginning)
        self.is_cut |= bool(note)
        more = f' <span class="cut">{note}</span>' if note else ""
        kind = "text" if isinstance(value, str) else "value"
        return f'<span class="{kind}" dir="auto">{escape(beginning)}</span>{more}'

    def _list(self, pairs: Iterable[tuple[str, Any]], length: int, depth: int) -> str:
        items: list[str] = []
        for name, inner in pairs:
            if self._parts <= 0 or self._left <= 0:
                self.is_cut = True
                items.append(f'<li class="cut">{length - len(items):,} more</li>')
                break
            self._parts -= 1
            items.append(f'<li><span class="key">{name}</span> {self.html(inner, depth + 1)}</li>')
        listed = f'<ul class="tree">{"".join(items)}</ul>'
        if depth < _OPEN_DEPTH and length <= _OPEN_LENGTH:
            return listed
        return f"<details><summary>{length:,} {'entry' if length == 1 else 'entries'}</summary>{listed}</details>"
