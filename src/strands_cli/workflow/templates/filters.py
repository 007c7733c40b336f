"""The filters of templates, and the limits on what a call may produce."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from types import GeneratorType
from typing import Any

from jinja2 import Undefined

from strands_cli.workflow.templates.bounded_regex import Found, SlowPattern, search
from strands_cli.workflow.templates.template_errors import TemplateError

MAX_OUTPUT = 4_000_000
MAX_PIECE = 1_000_000
MAX_RANGE = 100_000

WIDE_FORMAT = re.compile(r"\d{5,}|\*|:[^}]*\{")


def fields_of(value: Any) -> list[str]:
    """Return the names of a dataclass's fields, none for other values."""
    return [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []


def kind_of(value: Any) -> str:
    """Return the word for a value in a message to the author of a template."""
    if isinstance(value, Mapping) or dataclasses.is_dataclass(value):
        return "object"
    return {"str": "text", "int": "number", "float": "number", "NoneType": "empty value"}.get(
        type(value).__name__, "value"
    )


def plain(value: Any) -> Any:
    """Return a value as plain JSON types; raises `TemplateError` for one that has no JSON form."""
    if isinstance(value, Undefined):
        str(value)  # says which name has no value
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, GeneratorType)):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in fields_of(value)}
    raise TemplateError(f"the value is a {type(value).__name__}, which has no form in JSON")


def size_of(left: Any, operator: str, right: Any) -> int:
    """Return how long the sum or product of two values gets; 0 for sequences that are not involved."""
    if operator == "+":
        return len(left) + len(right) if isinstance(left, (str, list, tuple)) and hasattr(right, "__len__") else 0
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, (str, list, tuple)) and isinstance(times, int):
            return len(sequence) * max(times, 0)
    if isinstance(left, int) and isinstance(right, int):
        return left.bit_length() + right.bit_length()
    return 0


def require_small_call(method: str, text: str, arguments: tuple[Any, ...]) -> None:
    """Raise `TemplateError` for a call of a text's method whose result would be huge."""
    if any(isinstance(argument, int) and argument > MAX_PIECE for argument in arguments):
        raise TemplateError(f"`{method}` would make more than {MAX_PIECE:,} characters")
    if method == "replace" and len(arguments) >= 2:
        _require_small_replace(text, *arguments[:2])
    if method == "join" and len(text) > 1000:
        raise TemplateError("a separator of more than 1,000 characters")


def _require_small_replace(text: str, old: str, new: str) -> None:
    if (text.count(old) + 1) * len(new) > MAX_OUTPUT:
        raise TemplateError(f"`replace` would make more than {MAX_OUTPUT:,} characters")


def _replace(text: Any, old: str, new: str, count: int | None = None) -> str:
    """Replace one text by another, everywhere or the first `count` times."""
    _require_small_replace(str(text), str(old), str(new))
    replaced: str = str(text).replace(str(old), str(new), -1 if count is None else count)
    return replaced


def _truncate(value: Any, length: int = 255, killwords: bool = False, end: str = "...", leeway: int = 0) -> str:
    """Cut a text to at most `length` characters (and `leeway`), at a word if it can, and mark the cut."""
    text = str(value)
    if len(text) <= length + leeway:
        return text
    if length <= len(end):
        return text[:length]
    cut = text[: length - len(end)]
    return (cut if killwords else cut.rsplit(" ", 1)[0]) + end


def _center(text: Any, width: int = 80) -> str:
    require_small_call("center", str(text), (width,))
    return str(text).center(width)


def _format(text: Any, *arguments: Any, **named: Any) -> str:
    if WIDE_FORMAT.search(str(text)):
        raise TemplateError("a format that is too wide")
    return str(text) % (named or arguments)


def bounded_range(*bounds: int) -> range:
    """Return a range of at most `MAX_RANGE` numbers."""
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise TemplateError(f"a range of more than {MAX_RANGE:,} numbers")
    return numbers


def _tojson(value: Any, indent: int | None = None) -> str:
    """Write a value as JSON, without the HTML escapes of Jinja's own filter."""
    return json.dumps(plain(value), ensure_ascii=False, indent=indent)


def _fromjson(text: Any) -> Any:
    """Read JSON; anything but text is taken as already read."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TemplateError(f"`fromjson` got text that is not JSON: {error}") from None


def _found(text: Any, pattern: str) -> Found | None:
    try:
        return search(pattern, str(text))
    except SlowPattern as error:
        raise TemplateError(str(error)) from None
    except (re.error, RecursionError, OverflowError) as error:
        raise TemplateError(f"the pattern {pattern!r} is not a regular expression: {error}") from None


def _regex_search(text: Any, pattern: str) -> str | None:
    """Return the first match of a pattern, its first group if it has one, or None."""
    match = _found(text, pattern)
    if match is None:
        return None
    return match.groups[0] if match.groups else match.whole


def regex_found(text: Any, pattern: str) -> bool:
    """Return whether a pattern occurs in the text."""
    return _found(text, pattern) is not None


FILTERS = {
    "tojson": _tojson,
    "fromjson": _fromjson,
    "regex_search": _regex_search,
    "search": regex_found,
    "replace": _replace,
    "center": _center,
    "format": _format,
    "truncate": _truncate,
}
