"""How a value is read as one of the six type words of inputs."""

from __future__ import annotations

from typing import Any

from strands_cli.texts.canonical_json import strict_json

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def type_word_of(value: Any) -> str:
    """Return the type word of a JSON value other than null (`true` is a boolean, not an integer)."""
    words: tuple[tuple[type, str], ...] = (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
        (tuple, "array"),
    )
    return next((word for kind, word in words if isinstance(value, kind)), "object")


def coerce(word: str, value: Any) -> Any:
    """Return a value as the type word asks; text is read as the type, since `--var` gives only text.

    Raises:
        ValueError: The value cannot be read so.
    """
    actual = type_word_of(value) if value is not None else "null"
    if word == "string":
        if actual in ("string", "integer", "number"):
            return str(value)
        if actual == "boolean":
            return "true" if value else "false"
    elif actual == word or (word == "number" and actual == "integer"):
        return value
    elif word == "integer" and actual == "number" and float(value).is_integer():
        return int(value)
    elif actual == "string":
        return _from_text(word, value)
    article = "an" if word[0] in "aeiou" else "a"
    raise ValueError(f"{value!r} is not {article} {word}")


def _from_text(word: str, text: str) -> Any:
    if word == "boolean":
        if text.strip().lower() in _TRUE | _FALSE:
            return text.strip().lower() in _TRUE
        raise ValueError(f"{text!r} is not a boolean (true or false)")
    try:
        value = strict_json(text)
    except (ValueError, RecursionError):
        value = None
    if (
        isinstance(value, str)
        or value is None
        or (type_word_of(value) != word and (word, type_word_of(value)) != ("number", "integer"))
    ):
        how = " in JSON" if word in ("array", "object") else ""
        raise ValueError(f"{text!r} is not {'an' if word[0] in 'aeiou' else 'a'} {word}{how}")
    return value
