"""Inputs in templates: texts that count as another type too, and undefined optional inputs."""

from __future__ import annotations

from typing import Any

from strands_cli.workflow.sections import coerce
from strands_cli.workflow.templates.plugin_filters import TemplateError
from strands_cli.workflow.templates.sandbox import MissingName


class AbsentInput(MissingName):
    """An optional input without a value: it is not defined, and false; as a text it is an error."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        reason: Any = _unknown
        super().__init__(hint=f"the optional input {name!r} has no value", name=name, exc=reason)

    def __bool__(self) -> bool:  # type: ignore[override]  # Jinja types it as always raising
        """Be false, as none is."""
        return False


def _unknown(message: str) -> TemplateError:
    error = TemplateError(message)
    error.is_unknown = True
    return error


class _GivenText:
    """A value that prints as the text which was given for it, and is equal to that text too."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return self.text == other if isinstance(other, str) else super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.text)

    def __getattr__(self, name: str) -> Any:
        """Have the methods of a text."""
        if name.startswith("_") or name == "text":
            raise AttributeError(name)
        return getattr(self.text, name)


class _GivenWhole(_GivenText, int):
    """A whole number."""


class _GivenNumber(_GivenText, float):
    """A number."""


class _GivenList(_GivenText, list[Any]):  # type: ignore[misc]  # it is not a key
    """A list."""


class _GivenObject(_GivenText, dict[str, Any]):  # type: ignore[misc]  # it is not a key
    """A mapping."""


_KINDS: tuple[tuple[type, Any], ...] = (
    (bool, None),
    (int, _GivenWhole),
    (float, _GivenNumber),
    (list, _GivenList),
    (dict, _GivenObject),
)


def given_value(text: str, word: str) -> Any:
    """Return a text as templates see it: as it is, and where it reads as a number, a list or a mapping, as that too.

    Args:
        word: Its declared type, such as `integer`.
    """
    if word in ("string", "boolean"):
        return text
    try:
        value = coerce(word, text)
    except ValueError:
        return text
    kind = next((kind for of, kind in _KINDS if isinstance(value, of)), None)
    if kind is None:
        return text
    value_of_text = kind(value)
    value_of_text.text = text
    return value_of_text
