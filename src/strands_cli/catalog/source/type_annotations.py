"""The JSON Schema that pydantic makes of a type annotation, read from the syntax tree; what is not sure is unknown."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Protocol

from strands_cli.texts.canonical_json import canonical_json

MAX_DEPTH = 12
_SIMPLE: Mapping[str, Mapping[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "bytes": {"type": "string", "format": "binary"},
    "object": {},
    "typing.Any": {},
    "dict": {"type": "object", "additionalProperties": True},
    "list": {"type": "array", "items": {}},
    "tuple": {"type": "array", "items": {}},
    "set": {"type": "array", "items": {}, "uniqueItems": True},
    "frozenset": {"type": "array", "items": {}, "uniqueItems": True},
    "datetime.datetime": {"type": "string", "format": "date-time"},
    "datetime.date": {"type": "string", "format": "date"},
    "datetime.time": {"type": "string", "format": "time"},
    "datetime.timedelta": {"type": "string", "format": "duration"},
    "uuid.UUID": {"type": "string", "format": "uuid"},
    "pathlib.Path": {"type": "string", "format": "path"},
}
# The names in `typing` of what has another name.
_TYPING = {"Dict": "dict", "List": "list", "Tuple": "tuple", "Set": "set", "FrozenSet": "frozenset", "Text": "str"}
_FORMS = ("Any", "Union", "Optional", "Literal", "Annotated", "Sequence", "Mapping")
_OF_TYPING = frozenset({"typing", "typing_extensions", "collections.abc"})
_ARRAYS = frozenset({"list", "set", "frozenset", "typing.Sequence"})
_OBJECTS = frozenset({"dict", "typing.Mapping"})
_OF_VALUE = {str: "string", bool: "boolean", int: "integer", float: "number"}


class UnknownTypeError(Exception):
    """An annotation says what only loading shows; the message is the annotation as it is written."""


class Names(Protocol):
    """The names that an annotation can use."""

    def meaning(self, name: str) -> str | tuple[ast.expr, Names] | None:
        """Return the full name of what another module made (`typing.Optional`), or what a name is bound to, if sure."""


def schema_of(node: ast.expr, names: Names, depth: int = 0) -> dict[str, Any]:
    """Return the JSON Schema of a type annotation.

    Raises:
        UnknownTypeError: Only loading shows it.
    """
    if depth > MAX_DEPTH:
        raise UnknownTypeError(_written(node))
    if isinstance(node, ast.Constant):
        if node.value is None:
            return {"type": "null"}
        if isinstance(node.value, str):
            return schema_of(_parsed(node), names, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _union([node.left, node.right], names, depth)
    if isinstance(node, ast.Subscript):
        return _subscript(node, names, depth)
    meaning = _meaning(node, names)
    if isinstance(meaning, tuple):
        return schema_of(*meaning, depth + 1)
    if meaning == "typing.Sequence":
        return {"type": "array", "items": {}}
    if meaning == "typing.Mapping":
        return dict(_SIMPLE["dict"])
    if meaning is not None and meaning in _SIMPLE:
        return dict(_SIMPLE[meaning])
    raise UnknownTypeError(_written(node))


def without_metadata(node: ast.expr, names: Names) -> tuple[ast.expr, str | None]:
    """Return a parameter's type without `Annotated`, and the description that its first text gives.

    Raises:
        UnknownTypeError: It has another kind of metadata, with which the SDK may refuse it.
    """
    while isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = _parsed(node)
    if not (isinstance(node, ast.Subscript) and _meaning(node.value, names) == "typing.Annotated"):
        return node, None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    texts = [part.value for part in parts[1:] if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    if not parts or len(texts) != len(parts) - 1:
        raise UnknownTypeError(_written(node))
    return parts[0], texts[-1]


def _subscript(node: ast.Subscript, names: Names, depth: int) -> dict[str, Any]:
    meaning = _meaning(node.value, names)
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if meaning == "typing.Optional" and len(parts) == 1:
        return _union([parts[0], ast.Constant(None)], names, depth)
    if meaning == "typing.Union":
        return _union(parts, names, depth)
    if meaning == "typing.Literal":
        return _literal(node, parts)
    if meaning in _ARRAYS and len(parts) == 1:
        unique = {"uniqueItems": True} if meaning in ("set", "frozenset") else {}
        return {"type": "array", "items": schema_of(parts[0], names, depth + 1), **unique}
    if meaning in _OBJECTS and len(parts) == 2 and schema_of(parts[0], names, depth + 1) == {"type": "string"}:
        return {"type": "object", "additionalProperties": schema_of(parts[1], names, depth + 1) or True}
    if meaning == "tuple" and len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is ...:
        return {"type": "array", "items": schema_of(parts[0], names, depth + 1)}
    raise UnknownTypeError(_written(node))


def _union(nodes: list[ast.expr], names: Names, depth: int) -> dict[str, Any]:
    """Return `anyOf` of the parts, those of inner unions among them, each once."""
    choices: dict[str, dict[str, Any]] = {}
    for node in nodes:
        found = schema_of(node, names, depth + 1)
        for choice in found["anyOf"] if set(found) == {"anyOf"} else [found]:
            choices.setdefault(canonical_json(choice), choice)
    if len(choices) == 1:
        return next(iter(choices.values()))
    return {"anyOf": list(choices.values())}


def _literal(node: ast.expr, parts: list[ast.expr]) -> dict[str, Any]:
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    if len(values) != len(parts) or not all(type(value) in _OF_VALUE for value in values):
        raise UnknownTypeError(_written(node))
    values = list(dict.fromkeys(values))
    kinds = {_OF_VALUE[type(value)] for value in values}
    typed = {"type": kinds.pop()} if len(kinds) == 1 else {}
    return {"const": values[0], **typed} if len(values) == 1 else {"enum": values, **typed}


def _meaning(node: ast.expr, names: Names) -> str | tuple[ast.expr, Names] | None:
    """Return the full name of a type, the expression of an alias with its names, or None if neither is sure."""
    if isinstance(node, ast.Name):
        found = names.meaning(node.id)
        if isinstance(found, tuple):
            return found
        name = found
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = names.meaning(node.value.id)
        name = f"{owner}.{node.attr}" if isinstance(owner, str) else None
    else:
        return None
    module, _, word = (name or "").rpartition(".")
    if module in _OF_TYPING:
        word = _TYPING.get(word, word)
        return word if word in _SIMPLE else f"typing.{word}" if word in _FORMS else None
    return name


def _parsed(node: ast.Constant) -> ast.expr:
    try:
        return ast.parse(str(node.value), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnknownTypeError(repr(node.value)[:80]) from None


def _written(node: ast.expr) -> str:
    try:
        return ast.unparse(node)[:80]
    except (RecursionError, ValueError):
        return "a type that nests too deep"
