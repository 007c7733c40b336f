"""The edits of findings as characters of a text to replace, so that its comments and its layout stay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

if TYPE_CHECKING:
    from strands_cli.api import Where

    Edit = Any

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# No edit is in these parts, or writes such a key: they decide which rights a workflow has, and where it sends to.
_OF_RIGHTS = frozenset(
    (
        *("security", "permissions", "guardrails", "allow", "allow_tools", "ask", "deny"),
        *("provider", "host", "base_url", "url", "region", "command", "args", "headers"),
        *("env", "mounts", "secrets", "mcp", "http_executors"),
    )
)
_CODE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_PLAIN = re.compile(r"(?!(?:null|true|false)\Z)[A-Za-z_][\w./@-]*(?::[\w./@-]+)*", re.ASCII | re.IGNORECASE)
_MOST_REPAIRED = 200_000
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


class TextEdit(NamedTuple):
    """Characters of a text, from `start` to before `end`, and what is written in their place."""

    start: int
    end: int
    text: str


Alternatives = tuple[tuple[TextEdit, ...], ...]


def with_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Return a text with edits that do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


class _Node(NamedTuple):
    start: int
    end: int
    value: str | None
    style: str | None


class EditableText:
    """A text with the places of its scalars and of its lists in brackets, as far as it can be read.

    Args:
        text: The text without a byte order mark.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = [0, *(match.end() for match in _BREAK.finditer(text))]
        self._nodes: list[_Node] = []
        self._at: dict[tuple[int, int], int] = {}
        is_json = text.lstrip()[:1] in ("{", "[")
        self._read(text.replace("\t", " ") if is_json else text)  # JSON may have tabs anywhere

    def _read(self, text: str) -> None:
        opened: list[int | None] = []
        end: Any
        try:
            for event in iter(LOADER(text).get_event, None):
                if isinstance(event, yaml.CollectionStartEvent):
                    is_plain = event.flow_style and event.anchor is None
                    opened.append(self._add(event, None, "[") if is_plain else None)
                elif isinstance(event, yaml.CollectionEndEvent):
                    index, end = opened.pop(), event.end_mark
                    if index is not None:
                        self._nodes[index] = self._nodes[index]._replace(end=end.index)
                elif isinstance(event, yaml.ScalarEvent) and event.anchor is None and event.tag is None:
                    self._add(event, event.value, event.style)
        except yaml.YAMLError:
            return  # what is before the fault is known

    def _add(self, event: Any, value: str | None, style: str | None) -> int:
        mark, number = event.start_mark, len(self._nodes)
        self._at.setdefault((mark.line + 1, mark.column + 1), number)
        self._nodes.append(_Node(mark.index, event.end_mark.index, value, style))
        return number

    def alternatives(self, edit: Edit, where: Where) -> Alternatives:
        """Return the ways in which an edit corrects the finding at a place: none, one, or several that are as good."""
        if {edit.new, *where.pointer.split("/")} & _OF_RIGHTS and edit.kind != "entry":
            return ()
        return tuple(dict.fromkeys(filter(None, self._resolved(edit, where))))

    def range_of(self, where: Where) -> tuple[int, int]:
        """Return the beginning and the end of the node at a place; without one, of the word there."""
        number = min(max(where.line or 1, 1), len(self._lines))
        begin = min(self._lines[number - 1] + max((where.column or 1) - 1, 0), len(self.text))
        index = self._at.get((number, where.column or 1))
        end = max(self._nodes[index].end if index is not None else begin, begin)
        line_end = self.text.find("\n", begin)
        line_end = len(self.text) if line_end < 0 else line_end
        word = re.compile(r"\S*").match(self.text, begin)
        return begin, min(end if end > begin else word.end() if word else begin, line_end)

    def _resolved(self, edit: Edit, where: Where) -> Iterator[tuple[TextEdit, ...]]:
        at = self._lines[min(where.line or 1, len(self._lines)) - 1] + (where.column or 1) - 1
        if edit.kind in ("tabs", "syntax", "indent"):
            from strands_cli_lsp.syntax_repairs import SyntaxRepairs

            yield from (
                SyntaxRepairs(self.text, where.line or 1).of(edit.kind) if len(self.text) < _MOST_REPAIRED else ()
            )
        elif edit.kind == "entry":
            yield self._without_entry(at)
        elif edit.kind == "top":
            is_block = self.text[at : at + 1] not in ("{", "") and at in self._lines
            yield (TextEdit(at, at, f"{edit.new}{self._ending}"),) if is_block else ()
        elif edit.kind == "text" and self.text.startswith(edit.old, at):
            yield (TextEdit(at, at + len(edit.old), edit.new),)
        else:
            index = self._at.get((where.line or 1, where.column or 1))
            # A value that begins on a later line has the place of its key, and a step the place of its tool.
            nodes = [] if index is None else self._nodes[index : index + (2 if edit.kind != "word" else 4)]
            edits = next(filter(None, (self._in_node(node, edit) for node in nodes)), ())
            yield from self._by_uses(edit, edits) if edit.kind == "name" else (edits,)

    @property
    def _ending(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _in_node(self, node: _Node, edit: Edit) -> tuple[TextEdit, ...]:
        """Return the edit of one scalar, or of a list in brackets; none where it is another one."""
        raw = self.text[node.start : node.end]
        if edit.kind in ("word", "name"):
            return self._words(node, edit)
        if edit.kind == "item":
            inner = raw[1:-1].strip()
            is_item = node.style == "[" and inner.strip("\"'") == edit.old
            return (TextEdit(node.start, node.end, inner),) if is_item else ()
        if node.value is None or node.style in ("|", ">") or (edit.old and node.value != edit.old):
            return ()
        if edit.kind == "text":
            return (TextEdit(node.start, node.start + len(edit.old), edit.new),) if raw.startswith(edit.old) else ()
        new = f"[{raw}]" if edit.kind == "list" else edit.new
        return (TextEdit(node.start, node.end, new if raw or self.text[node.start - 1].isspace() else f" {new}"),)

    def _words(self, node: _Node, edit: Edit) -> tuple[TextEdit, ...]:
        """Return the edits of a word where it is the whole scalar, or in the templates of it."""
        raw = self.text[node.start : node.end]
        if node.value == edit.old:
            quote = raw[:1] if raw[:1] in ("'", '"') and len(raw) == len(edit.old) + 2 else ""
            start = node.start + len(quote)
            is_plain = raw == edit.old and _PLAIN.fullmatch(edit.new)
            return (TextEdit(start, start + len(edit.old), edit.new),) if quote or is_plain else ()
        places = _places_of(edit.old, raw)
        if not places or len(places) != len(_places_of(edit.old, node.value or "")):
            return ()
        return tuple(TextEdit(node.start + at, node.start + at + len(edit.old), edit.new) for at in places)

    def _by_uses(self, edit: Edit, edits: tuple[TextEdit, ...]) -> Iterator[tuple[TextEdit, ...]]:
        """Yield the edit of a name, or that of its definition where more places have the name that seems to be wrong.

        Where as many have each, either may be meant.
        """
        old, new = edit.old.rpartition(".")[2], edit.new.rpartition(".")[2]
        of_old, of_new = self._uses(old), self._uses(new)
        definitions = [node for node in self._nodes if node.value == new]
        if of_new > of_old:
            yield edits
        elif len(definitions) == of_new == 1:
            if of_old == 1:
                yield edits
            yield self._words(definitions[0], replace(edit, old=new, new=old))

    def _uses(self, name: str) -> int:
        """Return how many scalars are a name, or have it in a template, a condition or a reference."""
        token = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
        reference = re.compile(rf"(?<=[:./'\"]){token.pattern}")

        def is_use(text: str) -> bool:
            codes = _CODE.findall(text)
            return text == name or any(map(token.search, codes)) or (not codes and reference.search(text) is not None)

        return sum(node.value is not None and is_use(node.value) for node in self._nodes)

    def _without_entry(self, at: int) -> tuple[TextEdit, ...]:
        """Return the edit that removes the lines of a key, if its mapping has the same lines before it."""
        number = next(index for index in range(len(self._lines), 0, -1) if self._lines[index - 1] <= at)
        indent = self.text[self._lines[number - 1] : at]
        if indent.strip(" "):
            return ()
        lines = [line.rstrip() for line in self.text.splitlines()] if len(self._lines) < 50_000 else []

        def block(begin: int) -> list[str]:
            end = begin + 1
            while end < len(lines) and (not lines[end] or lines[end].startswith((f"{indent} ", f"{indent}- "))):
                end += 1
            while not lines[end - 1]:
                end -= 1
            return lines[begin:end]

        entry = block(number - 1)
        for before in range(number - 2, -1, -1):
            if lines[before] and not lines[before].startswith(indent):
                break
            if lines[before] == entry[0] and block(before) == entry:
                end = number - 1 + len(entry)
                return (TextEdit(self._lines[number - 1], [*self._lines, len(self.text)][end], ""),)
        return ()


def _places_of(word: str, text: str) -> list[int]:
    """Return where a text has a word in its templates; in one without templates, where it is the only such word."""
    before = "" if not re.match(r"\w", word) else r"(?<![\w-])" if "." in word else r"(?<![\w.'\"-])"
    found = re.compile(f"{before}{re.escape(word)}(?![\\w-])")
    codes = list(_CODE.finditer(text))
    if codes:
        return [code.start() + match.start() for code in codes for match in found.finditer(code[0])]
    places = [match.start() for match in found.finditer(text)]
    return places if len(places) == 1 else []
