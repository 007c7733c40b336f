"""The filters of templates, and the limits on the result of a call."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from collections.abc import Mapping
from itertools import chain
from types import GeneratorType
from typing import Any

from jinja2 import Undefined, pass_environment
from jinja2.filters import (
    do_batch,
    do_indent,
    do_round,
    do_wordwrap,
    make_attrgetter,
    sync_do_slice,
    sync_do_sum,
    sync_do_unique,
)

from strands_cli.workflow.templates.bounds import (
    MAX_OUTPUT,
    MAX_PIECE,
    require_different_hashes,
    size_of_all,
    spend,
    text_of,
)
from strands_cli.workflow.templates.plugin_filters import TemplateError
from strands_cli.workflow.templates.regular_expressions import RegexMatch, SlowPattern, search

MAX_RANGE = 100_000
# More than a float has.
MAX_DIGITS = 400
_DIGITS_A_STEP = 20
# A search counts for its pattern and its text, then for the time of the processor that it took.
_STEPS_OF_A_SEARCH, _CHARACTERS_A_STEP, _STEPS_A_SECOND = 10, 64, 2_000_000

WIDE_FORMAT = re.compile(r"\d{5,}|\*|:[^}]*\{")


def fields_of(value: Any) -> list[str]:
    """Return the names of a dataclass's shown fields, none for other values."""
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    return [field.name for field in fields if field.metadata.get("is_shown", True)]


def kind_of(value: Any) -> str:
    """Return the word for a value in a message to the author of a template."""
    if isinstance(value, Mapping) or dataclasses.is_dataclass(value):
        return "object"
    return {"str": "text", "int": "number", "float": "number", "NoneType": "empty value"}.get(
        type(value).__name__, "value"
    )


def plain(value: Any) -> Any:
    """Return a value as plain JSON types; raises `TemplateError` for one without a JSON form."""
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
    """Return how long the sum or product of two values gets; 0 without a sequence."""
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
    if method == "expandtabs":
        _require_output(method, len(text) + text.count("\t") * (arguments[0] if arguments else 8))
    if method in ("encode", "translate", "to_bytes"):
        raise TemplateError(f"`{method}` is not available in a template")


def _require_small_replace(text: str, old: str, new: str) -> None:
    _require_output("replace", (text.count(old) + 1) * len(new))


def _require_output(name: str, length: int) -> None:
    if length > MAX_OUTPUT:
        raise TemplateError(f"`{name}` would make more than {MAX_OUTPUT:,} characters")


def require_small_format(text: str, mark: str, values: Any) -> None:
    """Raise `TemplateError` for a format whose fields, each as long as all values, would be huge; `mark` begins one."""
    items, characters = size_of_all(values)
    widest = max(map(int, re.findall(r"(?<!\d)\d{1,4}(?!\d)", text)), default=0)
    _require_output("format", text.count(mark) * (30 * items + characters + widest) + len(text))
    if WIDE_FORMAT.search(text):
        raise TemplateError("a format that is too wide")


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
    start = text[: length - len(end)]
    return (start if killwords else start.rsplit(" ", 1)[0]) + end


def _center(text: Any, width: int = 80) -> str:
    require_small_call("center", str(text), (width,))
    return str(text).center(width)


def _format(text: Any, *arguments: Any, **named: Any) -> str:
    require_small_format(str(text), "%", [*arguments, named])
    return str(text) % (named or arguments)


def _indent(text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    step = len(width) if isinstance(width, str) else width
    _require_output("indent", len(text) + (text.count("\n") + 1) * step)
    return do_indent(text, width, first, blank)


@pass_environment
def _wordwrap(environment: Any, text: str, width: int = 79, *more: Any, **named: Any) -> str:
    end = named.get("wrapstring") or (more[1] if len(more) > 1 else None) or "\n"
    spend(len(text))
    _require_output("wordwrap", len(text) + (len(text) // max(width, 1) + text.count("\n") + 1) * len(end))
    wrapped: str = do_wordwrap(environment, text, width, *more, **named)
    return wrapped


def _require_few(name: str, count: int, filling: Any) -> None:
    items, characters = size_of_all([filling])
    if count > MAX_RANGE or items * count > MAX_PIECE or characters * count > MAX_OUTPUT:
        raise TemplateError(f"`{name}` would make more than {MAX_PIECE:,} items")
    spend(max(count, 0))


def _round(value: Any, precision: int = 0, method: Any = "common") -> Any:
    if abs(precision) > MAX_DIGITS:
        raise TemplateError(f"`round` with more than {MAX_DIGITS} digits")
    spend(abs(precision) // _DIGITS_A_STEP)
    return do_round(value, precision, method)


def _slice(value: Any, slices: int, fill_with: Any = None) -> Any:
    _require_few("slice", slices, fill_with)
    return sync_do_slice(value, slices, fill_with)


def _batch(value: Any, linecount: int, fill_with: Any = None) -> Any:
    _require_few("batch", linecount, fill_with)
    return do_batch(value, linecount, fill_with)


@pass_environment
def _join(environment: Any, value: Any, d: str = "", attribute: Any = None) -> str:
    items = value if attribute is None else map(make_attrgetter(environment, attribute), value)
    return environment.concat(items, str(d))  # type: ignore[no-any-return]


def bounded_range(*bounds: int) -> range:
    """Return a range of at most `MAX_RANGE` numbers."""
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise TemplateError(f"a range of more than {MAX_RANGE:,} numbers")
    return numbers


def _tojson(value: Any, indent: int | None = None) -> str:
    """Write a value as JSON, without the HTML escapes of Jinja's own filter."""
    if isinstance(indent, int) and indent > 100:
        raise TemplateError("`tojson` with an indent of more than 100")
    pieces, length = [], 0
    for piece in json.JSONEncoder(ensure_ascii=False, indent=indent).iterencode(plain(value)):
        pieces.append(piece)
        length += len(piece)
        _require_output("tojson", length)
    return "".join(pieces)


def _fromjson(text: Any) -> Any:
    """Read JSON; anything but text is taken as already read."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TemplateError(f"`fromjson` got text that is not JSON: {error}") from None


def _match_of(text: Any, pattern: str, *, ignorecase: bool = False) -> RegexMatch | None:
    pattern = f"(?i){pattern}" if ignorecase else pattern
    spend(_STEPS_OF_A_SEARCH + 3 * len(pattern) + len(str(text)) // _CHARACTERS_A_STEP)
    start = time.thread_time()
    try:
        return search(pattern, str(text))
    except SlowPattern as error:
        raise TemplateError(str(error)) from None
    except (re.error, RecursionError, OverflowError) as error:
        raise TemplateError(f"the pattern {pattern!r} is not a regular expression: {error}") from None
    finally:
        spend(int((time.thread_time() - start) * _STEPS_A_SECOND))


def regex_search(text: Any, pattern: str, ignorecase: bool = False) -> str | None:
    """Return the first match of a pattern, its first group if it has one, or None."""
    match = _match_of(text, pattern, ignorecase=ignorecase)
    if match is None:
        return None
    return match.groups[0] if match.groups else match.whole


def regex_found(text: Any, pattern: str) -> bool:
    """Return whether a pattern occurs in the text."""
    return _match_of(text, pattern) is not None


@pass_environment
def _sum(environment: Any, value: Any, attribute: Any = None, start: Any = 0) -> Any:
    """Add numbers; lists are joined at once, since adding one after another copies all before it each time."""
    if not isinstance(start, (list, tuple)):
        return sync_do_sum(environment, value, attribute, start)
    parts = list(value if attribute is None else map(make_attrgetter(environment, attribute), value))
    if not all(isinstance(part, type(start)) for part in parts):
        raise TemplateError("`sum` with a list as its start adds lists only")
    size_of_all(parts)
    return type(start)(chain(start, *parts))


@pass_environment
def _unique(environment: Any, value: Any, case_sensitive: bool = False, attribute: Any = None) -> Any:
    items = list(value)
    require_different_hashes(items if attribute is None else map(make_attrgetter(environment, attribute), items))
    return sync_do_unique(environment, items, case_sensitive, attribute)


def _whole(value: Any) -> int:
    return int(value) if not isinstance(value, str) or len(value) <= MAX_DIGITS else 0


# Functions of templates, where they are called; an uncalled name is one of the workflow.
FUNCTIONS: dict[str, Any] = {
    "len": len,
    "str": text_of,
    "int": _whole,
    "float": float,
    "bool": bool,
    "abs": abs,
    "min": min,
    "max": max,
    "round": _round,
}

FILTERS = {
    "sum": _sum,
    "unique": _unique,
    "indent": _indent,
    "wordwrap": _wordwrap,
    "round": _round,
    "slice": _slice,
    "batch": _batch,
    "join": _join,
    "tojson": _tojson,
    "fromjson": _fromjson,
    "regex_search": regex_search,
    "search": regex_found,
    "replace": _replace,
    "center": _center,
    "format": _format,
    "truncate": _truncate,
}
