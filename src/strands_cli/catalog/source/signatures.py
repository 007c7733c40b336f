"""The input schema that the SDK's `@tool` makes of a function's parameters, read from its source."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.catalog.source.docstrings import docstring_of
from strands_cli.catalog.source.module_names import ModuleNames
from strands_cli.catalog.source.static_values import Function
from strands_cli.catalog.source.type_annotations import UnknownTypeError, schema_of, without_metadata
from strands_cli.quick_dataclass import dataclass

# The SDK fills these in itself; another name for the context is an argument of `@tool`.
_FILLED_IN = frozenset({"self", "cls", "agent"})
CONTEXT = "tool_context"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function's parameters say.

    Attributes:
        schema: The JSON Schema of the input; None if it is known only after loading.
        unknown: Why it is, a phrase for each parameter.
        computed: The parameters with a default that is code, which the schema does not show.
    """

    schema: Mapping[str, Any] | None
    unknown: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()


def read_signature(node: Function, decorator: ast.expr, names: ModuleNames) -> Signature:
    """Return the input schema that the SDK would make, with what only loading shows."""
    properties: dict[str, Any] = {}
    required, unknown, computed = list[str](), list[str](), list[str]()
    try:
        skipped = _FILLED_IN | _context(decorator)
    except ValueError:
        return Signature(None, ("the name of its context is code",))
    described = _descriptions(node)
    for parameter, default in _parameters(node):
        name = parameter.arg
        if name in skipped:
            continue
        try:
            schema, text = _typed(parameter, names)
        except UnknownTypeError as error:
            unknown.append(f"the type of '{name}' is {error}")
            continue
        value = {}
        if default is not None:
            try:
                value = {"default": names.value(default)}
            except ValueError:
                if not _is_plain(default, names):
                    unknown.append(f"the default of '{name}' is {ast.unparse(default)[:60]}")
                computed.append(name)
        else:
            required.append(name)
        words = {"description": text or described.get(name) or f"Parameter {name}", **value}
        properties[name] = _clean({**schema, **words}, is_required=default is None)
    if unknown:
        return Signature(None, tuple(unknown), tuple(computed))
    needed = {"required": required} if required else {}
    return Signature({"type": "object", "properties": properties, **needed}, (), tuple(computed))


def _typed(parameter: ast.arg, names: ModuleNames) -> tuple[dict[str, Any], str | None]:
    if parameter.annotation is None:
        return {}, None
    node, text = without_metadata(parameter.annotation, names)
    return schema_of(node, names), text


def _is_plain(default: ast.expr, names: ModuleNames) -> bool:
    """Return whether a default is surely a value: a call may be pydantic's `Field`, which changes the type."""
    if not isinstance(default, ast.Call):
        return True
    root = default.func
    while isinstance(root, (ast.Attribute, ast.Call)):
        root = root.value if isinstance(root, ast.Attribute) else root.func
    meaning = names.meaning(root.id) if isinstance(root, ast.Name) else None
    if not isinstance(meaning, str):
        return isinstance(root, ast.Constant)
    return meaning.partition(".")[0] in sys.stdlib_module_names or hasattr(builtins, meaning)


def _parameters(node: Function) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Yield the parameters in their order, each with its default; the SDK makes properties of `*args`, too."""
    listed = node.args.posonlyargs + node.args.args
    without = len(listed) - len(node.args.defaults)
    for index, parameter in enumerate(listed):
        yield parameter, node.args.defaults[index - without] if index >= without else None
    if node.args.vararg:
        yield node.args.vararg, None
    yield from zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    if node.args.kwarg:
        yield node.args.kwarg, None


def _context(decorator: ast.expr) -> frozenset[str]:
    """Return the name of the parameter that gets the tool's context.

    Raises:
        ValueError: It is computed.
    """
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    if any(keyword.arg is None for keyword in keywords):
        raise ValueError("keywords may hide it")
    value = next((keyword.value for keyword in keywords if keyword.arg == "context"), None)
    if value is None:
        return frozenset()
    named = value.value if isinstance(value, ast.Constant) else None
    if not isinstance(named, (bool, str)):
        raise ValueError("it is not a literal")
    return frozenset({named.strip()} if isinstance(named, str) else {CONTEXT} if named else ())


def _descriptions(node: Function) -> dict[str, str]:
    """Return the description of each parameter in the docstring, as the SDK reads it."""
    text = docstring_of(node)
    if not text:
        return {}
    import docstring_parser  # only tools without a manifest need it

    try:
        parsed = docstring_parser.parse(inspect.cleandoc(text))
    except (docstring_parser.ParseError, ValueError, RecursionError):
        return {}
    return {one.arg_name: one.description for one in parsed.params if one.description}


def _clean(schema: dict[str, Any], *, is_required: bool) -> dict[str, Any]:
    """Return a property as the SDK offers it: without what it drops, and an optional one without `null`."""
    choices = schema.get("anyOf", ())
    if not is_required and len(choices) == 2 and any(one.get("type") == "null" for one in choices):
        inner: dict[str, Any] = next((one for one in choices if one.get("type") != "null"), {})
        schema = {key: value for key, value in schema.items() if key != "anyOf"} | inner
    return {key: value for key, value in schema.items() if key != "additionalProperties"}
