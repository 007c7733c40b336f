"""The nodes of a YAML text with their places, also those of aliases, which a loader resolves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

Kind = Literal["mapping", "list", "scalar", "alias"]


@dataclass(slots=True)
class Node:
    """One node of a text.

    Attributes:
        kind: Its kind; an alias differs from its target.
        start: Where its content begins, behind an anchor.
        end: Where its last character ends; comments and empty lines behind it are not part of it.
        style: `{` for a mapping or list in brackets, the quote or `|` or `>` of a text, else nothing.
        name: The anchor of a node, or the target of an alias.
        pairs: The keys and values of a mapping.
        items: The items of a list.
    """

    kind: Kind
    start: int
    end: int
    style: str = ""
    name: str | None = None
    text: str = ""
    pairs: list[tuple[Node, Node]] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)

    def pair(self, key: str) -> tuple[Node, Node] | None:
        """Return a key of a mapping with its value; the last one where there are several."""
        return next((pair for pair in reversed(self.pairs) if pair[0].text == key), None)


def node_of(text: str) -> Node:
    """Return the root of a text with one YAML document."""
    kinds = (yaml.NodeEvent, yaml.CollectionEndEvent)
    return _Reader(
        text, [event for event in yaml.parse(text, Loader=yaml.SafeLoader) if isinstance(event, kinds)]
    ).node()


class _Reader:
    def __init__(self, text: str, events: list[Any]) -> None:
        self._text, self._events, self._next = text, events, 0

    def node(self) -> Node:
        event = self._take()
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.AliasEvent):
            return Node("alias", start, end, name=event.anchor)
        start = self._behind_anchor(start, event)
        if isinstance(event, yaml.ScalarEvent):
            if event.style in ("|", ">"):
                end = start + len(self._text[start:end].rstrip())
            return Node("scalar", start, end, event.style or "", event.anchor, event.value)
        style = "{" if event.flow_style else ""
        if isinstance(event, yaml.MappingStartEvent):
            node = Node("mapping", start, end, style, event.anchor)
            while not isinstance(self._events[self._next], yaml.MappingEndEvent):
                node.pairs.append((self.node(), self.node()))
            last = node.pairs[-1][1].end if node.pairs else end
        else:
            node = Node("list", start, end, style, event.anchor)
            while not isinstance(self._events[self._next], yaml.SequenceEndEvent):
                node.items.append(self.node())
            last = node.items[-1].end if node.items else end
        closing = self._take()
        node.end = closing.end_mark.index if style else last
        return node

    def _take(self) -> Any:
        self._next += 1
        return self._events[self._next - 1]

    def _behind_anchor(self, start: int, event: Any) -> int:
        """Return where the content of a node begins: an anchor is kept whatever the content becomes."""
        if event.anchor is None or not self._text.startswith("&", start):
            return start
        start += 1 + len(event.anchor)
        return start + len(self._text[start:]) - len(self._text[start:].lstrip(" "))
