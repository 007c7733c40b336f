"""A YAML text with another value: only the parts that differ are written, so that comments and layout stay."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from strands_cli_migrate.yaml_nodes import Node, node_of

# The order in which sections are written where a file has none of them.
_ORDER = (
    *("version", "name", "description", "tags", "metadata", "runtime", "inputs", "env", "telemetry"),
    *("context_policy", "skills", "tools", "agents", "pattern", "outputs", "security", "rendering"),
)
_PLAIN = re.compile(r"[A-Za-z_$][\w$./ -]*(?<! )\Z", re.ASCII)
_NOT_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def rewritten(text: str, old: Any, new: Any, moved: Mapping[str, str]) -> str | None:
    """Return a text whose value is another one; None where only writing it from the start would give that.

    Args:
        old: The value of the text.
        moved: For a pointer of the new value, the one in the old whose text it keeps.
    """
    if text.lstrip().startswith("{") and (written := _json(text, new)) is not None:
        return written
    try:
        return _Rewriter(text, node_of(text), old, new, moved).text()
    except (yaml.YAMLError, _Unclear):
        return None


def written(value: Any) -> str:
    """Return a value as a new text."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)


class _Unclear(Exception):
    """A part of the text cannot be written by itself."""


def _json(text: str, new: Any) -> str | None:
    """Return JSON for JSON, indented as the text is."""
    try:
        json.loads(text)
    except ValueError:
        return None
    indent = re.search(r"\n([ \t]+)", text)
    return json.dumps(new, indent=indent[1] if indent else None, ensure_ascii=text.isascii()) + "\n"


class _Rewriter:
    """Finds the parts of a text to replace.

    Attributes:
        edits: Where a part begins and ends, and the text in its place.
    """

    def __init__(self, text: str, root: Node, old: Any, new: Any, moved: Mapping[str, str]) -> None:
        self.source, self.root, self.old, self.new, self.moved = text, root, old, new, moved
        self.edits: list[tuple[int, int, str]] = []
        self.anchored: dict[str, Any] = {}  # the new values of the nodes with an anchor

    def text(self) -> str:
        """Return the new text."""
        self._change(self.root, self.old, self.new, "", 0)
        pieces, end = list[str](), 0
        for start, until, text in sorted(self.edits, key=lambda edit: edit[:2]):
            if start < end:
                raise _Unclear
            pieces += [self.source[end:start], text]
            end = until
        return "".join([*pieces, self.source[end:]])

    def _change(self, node: Node, old: Any, new: Any, pointer: str, indent: int) -> None:
        """Let a node have another value; `indent` is how many spaces the keys of a new mapping get."""
        if node.kind == "alias":
            if not same(self.anchored.get(node.name or "", _Unclear), new):
                self.edits.append((node.start, node.end, _flow(new)))
            return
        if node.name is not None:
            self.anchored[node.name] = new
        if same(old, new):
            self._remember(node, new)
        elif node.kind == "mapping" and isinstance(old, dict) and isinstance(new, dict) and node.pairs:
            self._change_mapping(node, old, new, pointer)
        elif node.kind == "list" and isinstance(old, list) and isinstance(new, list) and 0 < len(old) <= len(new):
            self._change_list(node, old, new, pointer)
        elif node.kind == "scalar" and not isinstance(new, (dict, list)):
            self._write(node.start, node.end, self._scalar(node, new, indent))
        elif node.kind == "scalar" and node.start == node.end and isinstance(new, dict):
            self._write(node.start, node.end, "\n" + "\n".join(_block(new, indent)))
        else:
            self._write(node.start, node.end, _flow(new))

    def _write(self, start: int, end: int, text: str) -> None:
        # A value that was empty needs a space behind its colon.
        space = " " if start == end and not text.startswith("\n") and self.source[start - 1 : start] == ":" else ""
        self.edits.append((start, end, space + text))

    def _remember(self, node: Node, value: Any) -> None:
        """Note the values of the anchors in a node that stays."""
        if node.name is not None and node.kind != "alias":
            self.anchored[node.name] = value
        for key, inner in node.pairs:
            if isinstance(value, dict) and key.text in value:
                self._remember(inner, value[key.text])
        for inner, item in zip(node.items, value if isinstance(value, list) else (), strict=False):
            self._remember(inner, item)

    def _change_list(self, node: Node, old: list[Any], new: list[Any], pointer: str) -> None:
        column = self._column(node.items[0].start)
        for number, inner in enumerate(node.items):
            self._change(inner, old[number], new[number], f"{pointer}/{number}", column)
        if len(new) == len(old):
            return
        end = node.items[-1].end
        if node.style:
            self.edits.append((end, end, "".join(f", {_flow(item)}" for item in new[len(old) :])))
        else:
            dash = self.source.rfind("-", 0, node.items[-1].start)
            head = "\n" + " " * self._column(dash) + "- "
            self.edits.append(
                (self._line_end(end), self._line_end(end), "".join(head + _flow(item) for item in new[len(old) :]))
            )

    def _change_mapping(self, node: Node, old: dict[str, Any], new: dict[str, Any], pointer: str) -> None:
        column = self._column(node.pairs[0][0].start)
        merged = self._merged(node)
        renamed = _renamed(old, new)
        own = {key.text for key, _ in node.pairs}
        added = [name for name in new if name not in own and name not in renamed.values()]
        added = [name for name in added if name not in merged or not same(merged[name], new[name])]
        stays = [pair for pair in node.pairs if pair[0].text in new or pair[0].text in renamed]
        if added and not stays:
            if not node.style:
                raise _Unclear
            self.edits.append((node.start, node.end, _flow(new)))
            return
        for number, (key, value) in enumerate(node.pairs):
            name = key.text
            if name in renamed:
                self.edits.append((key.start, key.end, renamed[name]))
                self._remember(value, old[name])
            elif name in new:
                self._change(value, old[name], new[name], f"{pointer}/{_token(name)}", column + 2)
            elif name in old:
                self._remove(node, number)
        for name in added if pointer else sorted(added, key=_rank):
            self._add(node, stays, name, new[name], f"{pointer}/{_token(name)}")

    def _merged(self, node: Node) -> dict[str, Any]:
        """Return the pairs of merge keys; each names anchors written before."""
        merged: dict[str, Any] = {}
        for key, value in node.pairs:
            if key.text == "<<":
                for item in value.items or [value]:
                    anchored_value = self.anchored.get(item.name or "")
                    merged = {**(anchored_value if isinstance(anchored_value, dict) else {}), **merged}
        return merged

    def _remove(self, node: Node, number: int) -> None:
        key, value = node.pairs[number]
        following = node.pairs[number + 1][0].start if number + 1 < len(node.pairs) else None
        if len(node.pairs) == 1:
            self.edits.append((node.start, node.end, "{}"))
        elif node.style or self._is_behind_dash(key.start):
            if following is not None:
                self.edits.append((key.start, following, ""))
            else:
                self.edits.append((node.pairs[number - 1][1].end, value.end, ""))
        else:
            self.edits.append((self._line_start(key.start) - 1, self._line_end(value.end), ""))

    def _add(self, node: Node, stays: list[tuple[Node, Node]], name: str, value: Any, pointer: str) -> None:
        """Add a pair behind the last of those that stay, or a section behind those before it."""
        source_text, column = self._text_of(self.moved.get(pointer), name, value), self._column(node.pairs[0][0].start)
        is_section = pointer.count("/") == 1 and name in _ORDER
        earlier = [pair for pair in stays if is_section and _rank(pair[0].text) < _rank(name)]
        last = max(earlier, key=lambda pair: _rank(pair[0].text), default=stays[-1])[1].end
        if node.style:
            self.edits.append((last, last, f", {source_text or f'{_key(name)}: {_flow(value)}'}"))
            return
        lines = [" " * column + source_text] if source_text is not None else _block({name: value}, column)
        position = self._line_end(last)
        self.edits.append((position, position, "".join(f"\n{line}" for line in lines)))

    def _text_of(self, pointer: str | None, name: str, value: Any) -> str | None:
        """Return the text of a one-line pair, moved as it is."""
        node, key, old = self.root, None, self.old
        for part in (pointer or "").split("/")[1:]:
            token = part.replace("~1", "/").replace("~0", "~")
            pair = node.pair(token) if node.kind == "mapping" else None
            if pair is None or not isinstance(old, dict):
                return None
            (key, node), old = pair, old.get(token)
        is_whole = key is not None and key.text == name and same(old, value) and node.name is None
        if key is None or not is_whole or node.kind == "alias" or "\n" in self.source[key.start : node.end]:
            return None
        return self.source[key.start : node.end]

    def _scalar(self, node: Node, new: Any, indent: int) -> str:
        """Return a text, a number or a word in the style of the one that it replaces."""
        if not isinstance(new, str):
            return json.dumps(new)
        if node.style in ("|", ">") and _fits_block(new):
            return "\n".join(_literal(new, self._indent_of(node) or indent))
        if node.style == '"' or "\n" in new:
            return json.dumps(new, ensure_ascii=False)
        return _quoted(new) if node.style == "'" and new.isprintable() else _text(new, quote="'")

    def _indent_of(self, node: Node) -> int:
        lines = [line for line in self.source[node.start : node.end].split("\n")[1:] if line.strip()]
        return min((len(line) - len(line.lstrip(" ")) for line in lines), default=0)

    def _line_start(self, position: int) -> int:
        return self.source.rfind("\n", 0, position) + 1

    def _line_end(self, position: int) -> int:
        line_end = self.source.find("\n", position)
        return len(self.source) if line_end < 0 else line_end

    def _column(self, position: int) -> int:
        return position - self._line_start(position)

    def _is_behind_dash(self, position: int) -> bool:
        return self.source[self._line_start(position) : position].strip() != ""


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal and of one type at all levels: 1, 1.0 and true differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


def _renamed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys that only have another name."""
    come = [name for name in new if name not in old]
    names_by_old = {
        name: [new_name for new_name in come if same(old[name], new[new_name])] for name in old if name not in new
    }
    return {name: names[0] for name, names in names_by_old.items() if names}


def _rank(name: str) -> int:
    """Return the place of a section in a file; other words are behind all."""
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def _token(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _block(value: Mapping[str, Any], column: int) -> list[str]:
    """Return a mapping as lines of block style."""
    lines: list[str] = []
    for name, item in value.items():
        head = f"{' ' * column}{_key(name)}:"
        if isinstance(item, dict) and item:
            lines += [head, *_block(item, column + 2)]
        elif isinstance(item, str) and "\n" in item and _fits_block(item):
            first, *more = _literal(item, column + 2)
            lines += [f"{head} {first}", *more]
        else:
            lines.append(f"{head} {_flow(item)}")
    return lines


def _literal(text: str, indent: int) -> list[str]:
    """Return a text as the lines of a literal block, first its header."""
    chomping = "+" if text.endswith("\n\n") else "" if text.endswith("\n") else "-"
    lines = text.removesuffix("\n").split("\n")
    return [f"|{chomping}", *(" " * indent + line if line else "" for line in lines)]


def _fits_block(text: str) -> bool:
    """Return whether a text can be a literal block without more than its lines."""
    plain = text.replace("\n", "").replace("\t", "")
    return plain.isprintable() and plain != "" and not text.startswith((" ", "\n", "\t"))


def _flow(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)}: {_flow(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _text(value, quote='"') if isinstance(value, str) else json.dumps(value)


def _key(name: str) -> str:
    return name if _is_plain(name) else json.dumps(name, ensure_ascii=False)


def _is_plain(text: str) -> bool:
    return _PLAIN.match(text) is not None and text.lower() not in _NOT_TEXT


def _text(text: str, *, quote: str) -> str:
    if _is_plain(text):
        return text
    if quote == "'" and "\n" not in text and text.isprintable():
        return _quoted(text)
    return json.dumps(text, ensure_ascii=False)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
