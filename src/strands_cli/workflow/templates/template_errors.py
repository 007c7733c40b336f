"""Errors of templates, and the paths of names in them."""

from __future__ import annotations

from collections.abc import Iterable

# A name with the attributes and indexes that follow it: `steps[0].response` is `("steps", 0, "response")`.
Path = tuple[str | int, ...]


class TemplateError(Exception):
    """A template or condition that cannot be compiled or rendered.

    Attributes:
        message: What is wrong, without the place.
        is_syntax: Whether the message is that of Jinja's parser.
        is_unknown: Whether a name or one of its parts has no value.
        of_text: The name that a text was asked for, as if it had fields.
    """

    def __init__(self, message: str, line: int | None = None, *, is_syntax: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.is_syntax = is_syntax
        self.is_unknown = False
        self.of_text = ""

    def __str__(self) -> str:
        return f"line {self.line} of the template: {self.message}" if self.line and self.line > 1 else self.message


class UnknownNameError(TemplateError):
    """A name or attribute that has no value; `known` are its siblings that have one, None for a root name."""

    def __init__(self, message: str, name: str, known: Iterable[str] | None) -> None:
        super().__init__(message)
        self.name = name
        self.known = None if known is None else tuple(known)
