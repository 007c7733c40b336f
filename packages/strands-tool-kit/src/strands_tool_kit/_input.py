"""The input of a call, checked against the tool's own schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from strands_tool_kit._result import ToolError

_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (Mapping,),
    "null": (type(None),),
}


def read_input(tool: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """Check the input of a call against the tool's flat schema and fill in the defaults.

    A plain Strands agent does not validate the input of a module tool, so the tool does. A null counts as an absent
    optional value, because models send it so. Names that the spec has under `earlier` are read as the present ones.
    Checked are `type`, `enum`, `minimum`, `maximum`, `minLength`, `maxLength`, `anyOf` of these, and `required`; nested
    values are not.

    Returns:
        A value for every property of the schema; None for an absent one without a default.

    Raises:
        ToolError: `invalid_input`, with the first field that does not fit.
    """
    schema = spec["inputSchema"]["json"]
    rules: Mapping[str, Mapping[str, Any]] = schema["properties"]
    required = schema.get("required", ())
    arguments = tool.get("input")
    if not isinstance(arguments, Mapping):
        raise ToolError("invalid_input", f"the input must be an object with: {', '.join(rules)}", reason="type")
    arguments = _in_present_words(arguments, (spec.get("strands_cli") or {}).get("earlier") or {})
    values = {name: value for name, value in arguments.items() if value is not None or name in required}
    for name in values:
        if name not in rules:
            raise bad_input(str(name), f"is not an input of {spec['name']}; its inputs: {', '.join(rules)}", "unknown")
    for name in required:
        if name not in values:
            raise bad_input(name, "is required", "missing")
    for name, value in values.items():
        _require_fits(name, value, rules[name])
    return {name: values.get(name, rule.get("default")) for name, rule in rules.items()}


def bad_input(name: str, problem: str, reason: str) -> ToolError:
    """Return the error for one field: `'NAME' PROBLEM`, with the field and the reason in its details."""
    return ToolError("invalid_input", f"'{name}' {problem}", reason=reason, field=name)


def _in_present_words(arguments: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Return an input with the present names of earlier words; `?query` divides a text at its first `?`.

    strands-cli has done so before a call, for its rules; a plain agent has not.
    """
    new_arguments = {name: value for name, value in arguments.items() if value is not None or name not in words}
    for word, name in words.items():
        if not name.startswith("?") and word in new_arguments and new_arguments.get(name) is None:
            new_arguments[name] = new_arguments.pop(word)
    for word, name in words.items():
        if name.startswith("?"):
            new_arguments = _divided(new_arguments, word, name.removeprefix("?"))
    return new_arguments


def _divided(arguments: dict[str, Any], word: str, name: str) -> dict[str, Any]:
    """Return an input with the entries after the `?` of a text in their object, unless one would be there twice."""
    text, others = arguments.get(word), arguments.get(name)
    if not isinstance(text, str) or "?" not in text or "#" in text or not isinstance(others, Mapping | None):
        return arguments
    from urllib.parse import parse_qsl  # only such a text pays for it

    path, _, query = text.partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=1000)
    except ValueError:
        return arguments
    entries = {**(others or {}), **dict(pairs)}
    return {**arguments, word: path, name: entries} if len(entries) == len(pairs) + len(others or {}) else arguments


def _is_of(kinds: Sequence[str], value: Any) -> bool:
    if isinstance(value, bool):
        return "boolean" in kinds
    return any(isinstance(value, _JSON_TYPES[kind]) for kind in kinds)


def _fits(value: Any, rule: Mapping[str, Any]) -> bool:
    try:
        _require_fits("", value, rule)
    except ToolError:
        return False
    return True


def _in_words(rule: Mapping[str, Any]) -> str:
    return f"one of {', '.join(map(str, rule['enum']))}" if "enum" in rule else f"a JSON {rule.get('type', 'value')}"


def _require_fits(name: str, value: Any, rule: Mapping[str, Any]) -> None:
    """Raise unless a value has the type, bounds and choices of its schema."""
    options: Sequence[Mapping[str, Any]] = rule.get("anyOf", ())
    if options and not any(_fits(value, option) for option in options):
        raise bad_input(name, f"must be {' or '.join(map(_in_words, options))}", "enum")
    kinds = rule.get("type", tuple(_JSON_TYPES))
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if not _is_of(kinds, value):
        raise bad_input(name, f"must be a JSON {' or '.join(kinds)}, not {type(value).__name__}", "type")
    if "enum" in rule and value not in rule["enum"]:
        raise bad_input(name, f"must be one of: {', '.join(map(str, rule['enum']))}", "enum")
    if isinstance(value, int | float):
        if not rule.get("minimum", -math.inf) <= value <= rule.get("maximum", math.inf):
            bounds = f"{rule.get('minimum', 'any')} to {rule.get('maximum', 'any')}"
            raise bad_input(name, f"must lie in {bounds}", "range")
    elif isinstance(value, str) and not rule.get("minLength", 0) <= len(value) <= rule.get("maxLength", math.inf):
        bounds = f"{rule.get('minLength', 0)} to {rule.get('maxLength', 'any')}"
        raise bad_input(name, f"must have {bounds} characters, not {len(value)}", "length")
