"""The JSON Schema that pydantic makes of a type annotation, read from the syntax tree; doubtful parts are unknown."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from strands_cli.catalog.source.source_module import (
    Function,
    ReadModule,
    SourceError,
    SourceModule,
    docstring_of,
    literal,
    open_module,
)
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import canonical_json

# Whether running a module can change the definitions that its source shows; in doubt it can.


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def is_fixed(tree: ast.Module, name: str) -> bool:
    """Return whether a module-level name is bound once, by a plain statement, and never used again.

    Functions may read it; code that runs during the import may not, because it could change the value.
    """
    at_top = sum(isinstance(node, (ast.Assign, ast.AnnAssign)) and name in _targets(node) for node in tree.body)
    mentions = sum(isinstance(node, ast.Name) and node.id == name for node in _run_at_import(tree))
    changed = any(_changes(node, name) for node in ast.walk(tree))
    return at_top == mentions == 1 and not changed and not _has_star(tree)


def is_bound_once(tree: ast.Module, name: str) -> bool:
    """Return whether a plain statement at top level is all that binds a name, so that its constant stays its value."""
    at_top = sum(isinstance(node, (ast.Assign, ast.AnnAssign)) and name in _targets(node) for node in tree.body)
    bound = sum(name in _bound(node) for node in _run_at_import(tree))
    changed = any(isinstance(node, ast.Global) and name in node.names for node in ast.walk(tree))
    return at_top == bound == 1 and not changed and not _has_star(tree)


def is_plain_suite(tree: ast.Module) -> bool:
    """Return whether the tools of a module are exactly those that its top-level statements define."""
    try:
        exported = _exported(tree)
    except (ValueError, TypeError):
        return False
    if _has_star(tree):
        return False
    defined = [node.name for node in tree.body if isinstance(node, (*_FUNCTIONS[:2], ast.ClassDef))]
    bound = [name for node in _run_at_import(tree) for name in _bound(node)]
    if any(bound.count(name) > 1 for name in defined):
        return False
    if exported is not None:
        return set(exported) <= set(defined)
    simple = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Expr)
    return all(isinstance(node, simple) or _is_constant(node) for node in tree.body)


def _bound(node: ast.AST) -> list[str]:
    """Return the names that a node binds or deletes."""
    if isinstance(node, (*_FUNCTIONS[:2], ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.alias):
        return [node.asname or node.name]
    return [node.id] if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) else []


def _exported(tree: ast.Module) -> list[str] | None:
    """Return the names in `__all__`; None without an `__all__`."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and "__all__" in _targets(node) and node.value is not None:
            if not is_fixed(tree, "__all__"):
                raise ValueError("__all__ may be changed")
            return list(ast.literal_eval(node.value))
    return None


def _is_constant(node: ast.stmt) -> bool:
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return False
    return not any(isinstance(part, ast.Call) for part in ast.walk(node))


def _run_at_import(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield every node evaluated at the module's import: all but the bodies of functions."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            in_body = isinstance(node, _FUNCTIONS) and (child is node.body or child in _as_list(node.body))
            if not in_body:
                waiting.append(child)


def _as_list(body: list[ast.stmt] | ast.expr) -> list[ast.stmt]:
    return body if isinstance(body, list) else []


def _changes(node: ast.AST, name: str) -> bool:
    """Return whether a node changes the name's value in place, or declares the name global in a function."""
    if isinstance(node, ast.Global):
        return name in node.names
    stores = isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del))
    return stores and any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _has_star(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in tree.body)


# The values and types that a module's names are surely bound to, also through imports from the same package.


MAX_HOPS = 5


class ModuleNames:
    """The names of one module.

    Args:
        hops: How many modules an imported name is followed through.
    """

    def __init__(self, source: SourceModule, read_module: ReadModule, hops: int = MAX_HOPS) -> None:
        self.source = source
        self._read_module = read_module
        self._hops = hops

    def meaning(self, name: str) -> str | tuple[ast.expr, ModuleNames] | None:
        """Return the full name of another module's object (`typing.Optional`), or the value of a name, if sure."""
        node = self.source.definition(name)
        if isinstance(node, ast.Import):
            return next((alias.name for alias in node.names if (alias.asname or alias.name) == name), None)
        if isinstance(node, ast.ImportFrom):
            target, original = self.source.imported(node, name)
            if target is None:
                return None
            return self._elsewhere(target, original) if self._is_own(target) else f"{target}.{original}"
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            return (node.value, self) if node.value is not None and is_bound_once(self.source.tree, name) else None
        return name if node is None and hasattr(builtins, name) and not self.source.rebinds(name) else None

    def function(self, name: str) -> tuple[Function, ModuleNames] | None:
        """Return the function bound to a name, with the names of its module; None if that is not sure."""
        node = self.source.definition(name)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.decorator_list:
            return (node, self) if self.source.binds_once(name) else None
        if not isinstance(node, ast.ImportFrom):
            return None
        target, original = self.source.imported(node, name)
        source = self._open(target) if target and self._is_own(target) else None
        return ModuleNames(source, self._read_module, self._hops - 1).function(original) if source else None

    def value(self, node: ast.expr) -> Any:
        """Return the JSON value of a literal, or of a name bound to one.

        Raises:
            ValueError: It is code.
        """
        if isinstance(node, ast.Name):
            meaning = self.meaning(node.id)
            # Code may change a list or a dict with a name.
            if isinstance(meaning, tuple) and isinstance(meaning[0], (ast.Constant, ast.Name, ast.UnaryOp)):
                inner, names = meaning
                return names.value(inner)
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        value = literal(node)
        if value is None:
            raise ValueError("only running the code shows its value")
        return list(value) if isinstance(value, tuple) else value

    def _is_own(self, module: str) -> bool:
        return module.partition(".")[0] == self.source.module.partition(".")[0]

    def _elsewhere(self, module: str, name: str) -> str | tuple[ast.expr, ModuleNames] | None:
        source = self._open(module)
        return ModuleNames(source, self._read_module, self._hops - 1).meaning(name) if source else None

    def _open(self, module: str) -> SourceModule | None:
        try:
            return open_module(module, self._read_module) if self._hops else None
        except SourceError:
            return None


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
# The names in `typing` of types with another name.
_TYPING = {"Dict": "dict", "List": "list", "Tuple": "tuple", "Set": "set", "FrozenSet": "frozenset", "Text": "str"}
_FORMS = ("Any", "Union", "Optional", "Literal", "Annotated", "Sequence", "Mapping")
_OF_TYPING = frozenset({"typing", "typing_extensions", "collections.abc"})
_ARRAYS = frozenset({"list", "set", "frozenset", "typing.Sequence"})
_OBJECTS = frozenset({"dict", "typing.Mapping"})
_OF_VALUE = {str: "string", bool: "boolean", int: "integer", float: "number"}


class UnknownTypeError(Exception):
    """Only loading shows the type of an annotation; the message is the annotation as written."""


class Names(Protocol):
    """The names that an annotation can use."""

    def meaning(self, name: str) -> str | tuple[ast.expr, Names] | None:
        """Return the full name of another module's object (`typing.Optional`), or the value of a name, if sure."""


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
        schema = schema_of(node, names, depth + 1)
        for choice in schema["anyOf"] if set(schema) == {"anyOf"} else [schema]:
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
        meaning = names.meaning(node.id)
        if isinstance(meaning, tuple):
            return meaning
        name = meaning
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


# The input schema that the SDK's `@tool` makes of a function's parameters, read from its source.


# The SDK fills these in itself; another name for the context is an argument of `@tool`.
_FILLED_IN = frozenset({"self", "cls", "agent"})
CONTEXT = "tool_context"


@dataclass(frozen=True, slots=True)
class Signature:
    """The input that a function's parameters describe.

    Attributes:
        schema: The JSON Schema of the input; None if it is known only after loading.
        unknown: Why it is, a phrase for each parameter.
        computed: The parameters with code as default, which the schema does not show.
    """

    schema: Mapping[str, Any] | None
    unknown: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()


def read_signature(node: Function, decorator: ast.expr, names: ModuleNames) -> Signature:
    """Return the input schema that the SDK would make, with the parts that only loading shows."""
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
    """Return the name of the parameter that gets the tool's context."""
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
    return {param.arg_name: param.description for param in parsed.params if param.description}


def _clean(schema: dict[str, Any], *, is_required: bool) -> dict[str, Any]:
    """Return a property as the SDK offers it: without the words that it drops, and an optional one without `null`."""
    choices = schema.get("anyOf", ())
    if not is_required and len(choices) == 2 and any(choice.get("type") == "null" for choice in choices):
        inner: dict[str, Any] = next((choice for choice in choices if choice.get("type") != "null"), {})
        schema = {key: value for key, value in schema.items() if key != "anyOf"} | inner
    return {key: value for key, value in schema.items() if key != "additionalProperties"}
