"""Compiled JSON Schemas that neither a hostile schema nor a hostile value can hang, and that never fetch anything."""

from __future__ import annotations

import functools
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from strands_cli.texts.phrases import shortened
from strands_cli.tools.property_names import VALUES, modern, rewritten
from strands_cli.workflow.templates.regular_expressions import search

# Patterns of JSON Schema, with the syntax of JavaScript (ECMA-262), for the engines of this program.


# `\d`, `\w` and `\b` mean ASCII there; `[^]` is any character, and `[]` none.
_INSIDE = {"d": "0-9", "w": "A-Za-z0-9_"}
# Signs of a set that Python may read as operations on sets one day, and warns of.
_MEANT_OTHERWISE = frozenset("&~|")
_OUTSIDE = {"d": "[0-9]", "D": "[^0-9]", "w": "[A-Za-z0-9_]", "W": "[^A-Za-z0-9_]"}
# A regular expression as a program writes it: no text begins before its begin, so that the slashes are not meant.
_LITERAL = re.compile(r"/(\^.*)/([a-z]*)", re.DOTALL)
_KNOWN_FLAGS = frozenset("dgimsuvy")
_TOKEN = re.compile(
    r"\\u\{(?P<wide>[0-9a-fA-F]{1,6})\}|\\u(?P<code>[0-9a-fA-F]{4})|\\c(?P<control>[A-Za-z])|\\k<(?P<back>\w+)>"
    r"|\\(?P<escape>.)|\(\?<(?P<name>[A-Za-z_$][\w$]*)>|(?P<any>\[\^\])|(?P<none>\[\])|(?P<open>\[\^?)|(?P<rest>.)",
    re.DOTALL,
)


@functools.lru_cache(maxsize=512)
def translated(pattern: str) -> str:
    """Return a pattern of JavaScript as Python and the linear engine read it; a wrong one stays wrong."""
    flags = ""
    if (literal := _LITERAL.fullmatch(pattern)) is not None and _KNOWN_FLAGS.issuperset(literal[2]):
        pattern = literal[1]
        flags = "".join(flag for flag in "ims" if flag in literal[2])
    parts: list[str] = []
    in_set = False
    for token in _TOKEN.finditer(pattern):
        is_nested = in_set and token[0][0] == "["  # a plain sign in JavaScript, the begin of a set elsewhere
        in_set = _next_state(token, in_set=in_set)
        parts.append(f"\\{token[0]}" if is_nested else _written(token, in_set=in_set))
    return (f"(?{flags})" if flags else "") + "".join(parts)


def _next_state(token: re.Match[str], *, in_set: bool) -> bool:
    if in_set:
        return token["rest"] != "]" and not token["none"]
    return bool(token["open"])


def _written(token: re.Match[str], *, in_set: bool) -> str:
    if code := token["wide"] or token["code"]:
        return _character(int(code, 16), token[0])
    if token["control"]:
        return f"\\x{ord(token['control']) % 32:02x}"
    if in_set:
        if token[0] in _MEANT_OTHERWISE:
            return f"\\{token[0]}"
        escape = token["escape"]
        return _INSIDE.get(escape, _escaped(escape)) if escape else token[0]
    if token["back"]:
        return f"(?P={token['back']})"
    if token["escape"]:
        return _OUTSIDE.get(token["escape"], _escaped(token["escape"]))
    if token["name"]:
        return f"(?P<{token['name'].replace('$', '_')}>"
    if token["any"]:
        return r"[\s\S]"
    return r"[^\s\S]" if token["none"] else token[0]


def _character(code: int, text: str) -> str:
    """Return a character that means itself; half of a pair, or an invalid code, as it is written."""
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return text
    return re.escape(chr(code)) if code > 0x20 else f"\\x{code:02x}"


def _escaped(char: str) -> str:
    """Return an escaped character; JavaScript lets every sign be escaped."""
    return "/" if char == "/" else f"\\{char}"


def patterns_in(schema: Any) -> Iterator[str]:
    """Yield each pattern of a schema, those of names too."""
    patterns: list[str] = []

    def note(part: dict[str, Any]) -> dict[str, Any]:
        named = part.get("patternProperties")
        patterns.extend(named if isinstance(named, Mapping) else ())
        if isinstance(part.get("pattern"), str):
            patterns.append(part["pattern"])
        return part

    rewritten(schema, note)
    yield from dict.fromkeys(patterns)


# A keyword applied to a value is one step; an ordinary call takes some dozens.
MAX_STEPS = 50_000
# The SDK drops a tool in silence whose schema is nested deeper than 64 levels.
MAX_DEPTH = 60
MAX_BYTES = 256 * 1024
MAX_KEPT = 512
# Calls that must be left where a reference is followed: enough for `MAX_DEPTH` levels of a schema without another one.
MIN_CALLS_LEFT = 300
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Means something else in the linear engine, which knows operations on sets of characters.
_OTHER_MEANING = ("&&", "--", "~~", "[[")

_TYPES: Mapping[Any, type] = {"string": str, "integer": int, "boolean": bool, "number": float}
_BOUNDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minLength": lambda value, bound: type(value) is not str or len(value) >= bound,
    "maxLength": lambda value, bound: type(value) is not str or len(value) <= bound,
    "minimum": lambda value, bound: type(value) not in (int, float) or value >= bound,
    "maximum": lambda value, bound: type(value) not in (int, float) or value <= bound,
}
_PLAIN_WORDS = frozenset({"type", "title", "description", "default", "examples", *_BOUNDS})

# Without a word about its draft a schema is read as one of these.
_MODERN = ("https://json-schema.org/draft/2020-12/schema",)
# Python's errors about patterns that JavaScript takes.
_OF_JAVASCRIPT = ("bad escape", "look-behind requires fixed-width", "redefinition of group name", "unknown extension")

_MOST_OF_A_CHEAP_PATTERN = 200
_REPEATED_GROUP = re.compile(r"\)[*+?]*[*+{]|\(\?[a-zA-Z]*x")

_steps = threading.local()
_cache: dict[int, tuple[Any, Any]] = {}


class EndlessSchemaError(Exception):
    """A schema takes more steps over a value than any honest one does."""


def compiled(schema: Any) -> Any:
    """Return the validator of a schema; that of the same object is kept.

    Raises:
        Exception: it does not compile; `jsonschema` and `json` raise types of their own.
    """
    cached = _cache.get(id(schema))
    if cached is not None and cached[0] is schema:
        return cached[1]
    validator = _compiled(json.dumps(schema, sort_keys=True))
    if len(_cache) >= MAX_KEPT:
        _cache.clear()
    # The schema is held with its validator, so that no other object gets its id.
    _cache[id(schema)] = (schema, validator)
    return validator


def errors_in(validator: Any, value: Any) -> Iterator[Any]:
    """Yield the faults of a value.

    Raises:
        EndlessSchemaError: finding out takes too many steps.
        Exception: a reference leads nowhere, or a pattern takes too long.
    """
    _steps.left = MAX_STEPS
    yield from validator.iter_errors(value)


def depth_of(schema: Any) -> int:
    """Return how deep a JSON value is nested; a text or a number is 0 deep.

    Raises:
        RecursionError: deeper than Python can follow.
    """
    parts = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, (list, tuple)) else ()
    return 1 + max(map(depth_of, parts), default=0) if isinstance(schema, (Mapping, list, tuple)) else 0


@functools.lru_cache(maxsize=MAX_KEPT)
def _compiled(schema_text: str) -> Any:
    import jsonschema
    import referencing

    schema = json.loads(schema_text)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    if kind.META_SCHEMA["$schema"] in _MODERN:
        schema = modern(schema)
    # Patterns are checked by the engines that search them, not by Python's alone.
    check: Any = kind.check_schema  # its protocol knows no checker of formats
    check(schema, format_checker=jsonschema.FormatChecker(formats=()))
    for pattern in patterns_in(schema):
        if not _may_be_pattern(pattern):
            raise jsonschema.SchemaError(f"{shortened(pattern, 80)!r} is not a regular expression")
    # An empty registry: a `$ref` to another document is an error and never a request.
    return _bounded(kind)(_of_one_dialect(schema), registry=referencing.Registry())


def _of_one_dialect(schema: Any) -> Any:
    """Return a schema without `$schema`, at which `jsonschema` would go on with unbounded validators."""
    if isinstance(schema, dict):
        return {
            word: part if word in VALUES else _of_one_dialect(part)
            for word, part in schema.items()
            if not (word == "$schema" and isinstance(part, str))
        }
    return [_of_one_dialect(part) for part in schema] if isinstance(schema, list) else schema


@functools.cache
def _bounded(kind: Any) -> Any:
    """Return a class of validators that counts its steps and searches patterns in linear time."""
    import jsonschema

    checks = dict(kind.VALIDATORS)
    checks |= {"pattern": _pattern, "patternProperties": _pattern_properties}
    checks["properties"] = _properties(checks["properties"])
    if "additionalProperties" in checks:
        checks["additionalProperties"] = _additional_properties(checks["additionalProperties"])
    checks |= {word: _reference(checks[word]) for word in _REFERENCES if word in checks}
    extend: Any = jsonschema.validators.extend
    return extend(kind, {word: _counted(check) for word, check in checks.items()})


def _counted(check: Callable[..., Any]) -> Callable[..., Any]:
    def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _steps.left -= 1
        if _steps.left < 0:
            raise EndlessSchemaError(f"it takes more than {MAX_STEPS:,} steps")
        return check(validator, value, instance, schema)

    return keyword


def _reference(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return the check of a reference that fails before Python's limit of nested calls is reached.

    Only a reference leads on without end. The maps of `rpds`, in which `jsonschema` looks things up, turn a
    `RecursionError` into a panic, which is not an `Exception`.
    """

    def check(validator: Any, target: Any, instance: Any, schema: Any) -> Any:
        _require_calls(MIN_CALLS_LEFT)
        return plain(validator, target, instance, schema)

    return check


def _require_calls(number: int) -> None:
    if number:
        _require_calls(number - 1)


def _properties(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return the check of properties that leaves to `jsonschema` only those which do not fit at first sight."""

    def check(validator: Any, properties: Mapping[str, Any], instance: Any, schema: Any) -> Any:
        if not isinstance(instance, dict):
            return ()
        rest = {
            name: part
            for name, part in properties.items()
            if name in instance and not fits_at_first_sight(part, instance[name])
        }
        return plain(validator, rest, instance, schema) if rest else ()

    return check


def fits_at_first_sight(schema: Any, value: Any) -> bool:
    """Return True only where a value certainly fits: one type, and bounds that every dialect reads in one way."""
    if not isinstance(schema, dict) or not schema.keys() <= _PLAIN_WORDS:
        return False
    kind = schema.get("type")
    if not isinstance(kind, str) or type(value) is not _TYPES.get(kind):
        return False
    return all(_BOUNDS[word](value, bound) for word, bound in schema.items() if word in _BOUNDS)


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    import jsonschema

    if validator.is_type(instance, "string") and matches(pattern, instance) is False:
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], instance: Any, _schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, part in patterns.items():
        for name, value in instance.items():
            if matches(pattern, name):
                yield from validator.descend(value, part, path=name, schema_path=pattern)


def _additional_properties(plain: Callable[..., Any]) -> Callable[..., Any]:
    def check(validator: Any, allowed: Any, instance: Any, schema: Any) -> Any:
        patterns = schema.get("patternProperties")
        if not patterns or not validator.is_type(instance, "object"):
            return plain(validator, allowed, instance, schema)
        properties = schema.get("properties", {})
        extra = {
            name: value
            for name, value in instance.items()
            if name not in properties and all(matches(pattern, name) is False for pattern in patterns)
        }
        return plain(validator, allowed, extra, {})

    return check


def matches(pattern: str, text: str) -> bool | None:
    """Return whether a pattern is found in a text, in linear time or, for other patterns, in limited time.

    None: neither engine can search the pattern.

    Raises:
        SlowPattern: it takes too long.
    """
    pattern = translated(pattern)
    linear = _linear(pattern)
    if linear is not None:
        return bool(linear.isinstance_python(text))
    return search(pattern, text) is not None if _fault_in(pattern) is None else None


def unchecked_patterns(schema: Any) -> list[str]:
    """Return the patterns of a schema that no value is compared with, since neither engine can search them."""
    return [
        pattern
        for pattern in patterns_in(schema)
        if _linear(translated(pattern)) is None and _fault_in(translated(pattern))
    ]


def _may_be_pattern(pattern: str) -> bool:
    """Return whether a pattern can be one of JavaScript."""
    pattern = translated(pattern)
    fault = None if _linear(pattern) is not None else _fault_in(pattern)
    return fault is None or fault.startswith(_OF_JAVASCRIPT)


@functools.lru_cache(maxsize=MAX_KEPT)
def _fault_in(pattern: str) -> str | None:
    """Return why Python cannot search a pattern, or None."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return None


def has_dear_names(schema: Any) -> bool:
    """Return whether names match a pattern, in the one place where `jsonschema` searches by itself."""
    text = json.dumps(schema)
    return "unevaluatedProperties" in text and any(
        not _is_cheap(pattern) or _fault_in(pattern) for pattern in _name_patterns(schema)
    )


def _is_cheap(pattern: str) -> bool:
    """Return whether a search in a name certainly ends soon: no group is repeated, and few characters are."""
    repeats = sum(pattern.count(sign) for sign in "*+?{")
    return len(pattern) <= _MOST_OF_A_CHEAP_PATTERN and not _REPEATED_GROUP.search(pattern) and repeats <= 2


def _name_patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        named = schema.get("patternProperties")
        yield from named if isinstance(named, Mapping) else ()
    parts = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    for part in parts:
        yield from _name_patterns(part)


@functools.lru_cache(maxsize=MAX_KEPT)
def _linear(pattern: str) -> Any:
    """Return the pattern compiled by an engine that never goes back, or None where it cannot express it."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if any(mark in pattern for mark in _OTHER_MEANING):
        return None
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        return None
