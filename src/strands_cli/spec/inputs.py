"""Values for inputs: coerced to the declared type, checked against `enum`."""

from __future__ import annotations

import json
from typing import Any

from strands_cli.spec.model import InputSpec, type_word_of

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def coerce_input(spec: InputSpec, value: Any) -> Any:
    """Return a value as its input declares it; text is read as the type, since `--var` gives only text.

    Raises:
        ValueError: The value cannot be read as the type, or `enum` does not list it; the message says which.
    """
    coerced = _coerced(spec.type, value)
    if spec.enum is not None and coerced not in [_coerced(spec.type, allowed) for allowed in spec.enum]:
        raise ValueError(f"{value!r} is not one of {', '.join(map(repr, spec.enum))}")
    return coerced


def _coerced(word: str, value: Any) -> Any:
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
        value = json.loads(text, parse_constant=_refuse_constant)
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


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
