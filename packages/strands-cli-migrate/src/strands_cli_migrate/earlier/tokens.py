"""The words and signs of a template with their places in the text, so that a rewritten template keeps all the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

_TRACE = re.compile(r"(\{[{%][^}]*?)\$TRACE\b")
# The word after a list of targets: `{% set a = 1 %}`, `{% for a in b %}`.
_TARGETS_END = {"set": "=", "for": "in"}
_TESTS = ("is", "not")


@dataclass(frozen=True, slots=True)
class Token:
    """One word or sign: its kind as Jinja calls it, its text, and where in the template it begins and ends."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a template, and the text in its place."""

    start: int
    end: int
    text: str


class Template:
    """A template or a condition as tokens.

    Attributes:
        text: The template, with line ends of one character, and with `$TRACE` as the name `TRACE`.
        tokens: Its tokens without spaces; empty where it does not compile or has no expression.
    """

    def __init__(self, text: str, *, is_condition: bool = False) -> None:
        self.text = _prepared(text, is_condition=is_condition)
        self.tokens: list[Token] = []
        has_marks = "{{" in self.text or "{%" in self.text
        if is_condition and not has_marks:
            self.tokens = [_moved(token, -3) for token in _tokens(f"{{{{ {self.text} }}}}")[1:-1]]
        elif has_marks:
            self.tokens = _tokens(self.text)

    def free_names(self) -> list[int]:
        """Return the places, among the tokens, of the names that the template reads and does not set itself."""
        own = self._own_names()
        return [
            position for position, token in enumerate(self.tokens) if self._is_free(position) and token.text not in own
        ]

    def after(self, position: int) -> str:
        """Return the text of the token behind one; empty at the end."""
        return self.tokens[position + 1].text if position + 1 < len(self.tokens) else ""

    def before(self, position: int) -> str:
        """Return the text of the token before one; empty at the begin."""
        return self.tokens[position - 1].text if position else ""

    def path(self, position: int) -> tuple[list[str | int], int]:
        """Return the path that begins at a name, as in `["steps", 0, "status"]`, and the place of its last token."""
        path: list[str | int] = [self.tokens[position].text]
        while True:
            sign, word = self.after(position), self.tokens[position + 2] if position + 2 < len(self.tokens) else None
            if sign == "." and word is not None and word.kind == "name":
                path.append(word.text)
                position += 2
            elif (
                sign == "["
                and word is not None
                and self.after(position + 2) == "]"
                and word.kind in ("string", "integer")
            ):
                path.append(word.text[1:-1] if word.kind == "string" else int(word.text))
                position += 3
            else:
                return path, position

    def arguments(self, position: int) -> tuple[list[tuple[Token, ...]], int] | None:
        """Return the arguments of a call whose bracket is behind a token, and the place of the closing bracket."""
        if self.after(position) != "(":
            return None
        arguments: list[tuple[Token, ...]] = []
        depth, current = 0, list[Token]()
        for number in range(position + 2, len(self.tokens)):
            token = self.tokens[number]
            if depth == 0 and token.text in (")", ","):
                arguments += [tuple(current)] if current else []
                current = []
                if token.text == ")":
                    return arguments, number
                continue
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            current.append(token)
        return None

    def filters(self) -> list[int]:
        """Return the places of the names of filters: `x | name`, `{% filter name %}`."""
        return [
            position
            for position, token in enumerate(self.tokens)
            if token.kind == "name" and (self._is_sign(position - 1, "|") or self._is_block(position - 1, "filter"))
        ]

    def edited(self, edits: Iterable[Edit]) -> str:
        """Return the text with parts replaced; of two that overlap, the first in the text is."""
        pieces, end = list[str](), 0
        for edit in sorted(edits, key=lambda change: (change.start, change.end)):
            if edit.start >= end:
                pieces += [self.text[end : edit.start], edit.text]
                end = edit.end
        return "".join([*pieces, self.text[end:]])

    def _is_sign(self, position: int, sign: str) -> bool:
        return position >= 0 and self.tokens[position].kind == "operator" and self.tokens[position].text == sign

    def _is_block(self, position: int, word: str) -> bool:
        """Return whether a token is the first word of a statement."""
        return position > 0 and self.tokens[position].text == word and self.tokens[position - 1].kind == "block_begin"

    def _is_free(self, position: int) -> bool:
        token, before = self.tokens[position], self.before(position)
        if (
            token.kind != "name"
            or token.text in _WORDS
            or (position and self.tokens[position - 1].kind == "block_begin")
        ):
            return False
        is_test = before == "is" or (before == "not" and self.before(position - 1) == "is")
        is_filter = before in (".", "|") or self._is_block(position - 1, "filter")
        is_keyword = before in ("(", ",") and self._is_sign(position + 1, "=")
        return not (is_test or is_filter or is_keyword)

    def _own_names(self) -> set[str]:
        """Return the names that statements of the template set."""
        own = set[str]()
        for position, token in enumerate(self.tokens):
            for word, end in _TARGETS_END.items():
                if token.text == word and position and self.tokens[position - 1].kind == "block_begin":
                    own |= self._names_until(position + 1, end)
            if self._is_block(position, "macro"):
                own |= self._names_until(position + 1, ")")
        return own

    def _names_until(self, position: int, end: str) -> set[str]:
        names = set[str]()
        for token in self.tokens[position:]:
            if token.text == end or token.kind == "block_end":
                break
            names |= {token.text} if token.kind == "name" else set()
        return names


# Words of the language, and names that each template has.
_WORDS = frozenset(
    {"and", "or", "not", "in", "is", "if", "else", "elif", "true", "false", "none", "True", "False", "None", "as"}
    | {"recursive", "ignore", "missing", "with", "without", "context", "import", "from", "contains"}
    | {"loop", "self", "super", "caller", "varargs", "kwargs", "range", "dict", "joiner", "cycler", "namespace"}
)


def _prepared(text: str, *, is_condition: bool) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    if "$TRACE" not in text:
        return text
    if text.strip() == "$TRACE":
        return "TRACE" if is_condition else "{{ TRACE }}"
    return _TRACE.sub(r"\1TRACE", text)


@cache
def _environment() -> Any:
    from jinja2 import Environment  # most workflows have nothing to read by words

    return Environment(keep_trailing_newline=True, autoescape=False)  # noqa: S701 - nothing is rendered


def _tokens(text: str) -> list[Token]:
    """Return the tokens of a template but for spaces; none where it is not one."""
    from jinja2 import TemplateSyntaxError

    tokens: list[Token] = []
    position = 0
    try:
        for _, kind, value in _environment().lexer.tokeniter(text, None):
            # Jinja leaves out the spaces before a mark such as `{%-`.
            while position < len(text) and not text.startswith(value, position):
                position += 1
            tokens.append(Token(kind, value, position, position + len(value)))
            position += len(value)
    except TemplateSyntaxError:
        return []
    return [token for token in tokens if token.kind != "whitespace"]


def _moved(token: Token, by: int) -> Token:
    return Token(token.kind, token.text, token.start + by, token.end + by)


def literal(tokens: Sequence[Token]) -> str | None:
    """Return the text that one token of a text means; None for any other expression."""
    import ast

    if len(tokens) != 1 or tokens[0].kind != "string":
        return None
    try:
        value = ast.literal_eval(tokens[0].text)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None
