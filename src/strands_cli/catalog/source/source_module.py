"""One parsed module: the statements and values that its names are bound to."""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, Generic, TypeVar

# The description that the SDK's `@tool` makes of a docstring.


Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_SECTIONS = (
    *("returns:", "return:", "yields:", "yield:", "raises:", "raise:", "except:", "exceptions:"),
    *("examples:", "example:", "note:", "notes:", "see also:", "seealso:", "references:", "ref:"),
)
_ARGUMENTS = ("args:", "arguments:", "parameters:", "param:", "params:")


def docstring_of(node: Documented | ast.Module) -> str:
    """Return the docstring of a node, "" if it has none; lone surrogates become escapes."""
    return (ast.get_docstring(node) or "").encode("utf-8", "backslashreplace").decode().strip()


def description_of(node: Documented) -> str | None:
    """Return the docstring without its arguments section, as the SDK's `@tool` does."""
    described = []
    in_arguments = False
    for line in docstring_of(node).split("\n"):
        heading = line.strip().lower()
        if heading.startswith(_ARGUMENTS):
            in_arguments = True
        elif heading.startswith(_SECTIONS):
            in_arguments = False
        if not in_arguments:
            described.append(line)
    return "\n".join(described).strip() or None


# Texts that a module computes from nothing but texts: `textwrap.dedent("...")`, `"a" + "b"`, `"...".strip()`.


_FUNCTIONS: dict[str, Callable[[str], str]] = {"dedent": textwrap.dedent, "cleandoc": inspect.cleandoc}
_METHODS: dict[str, Callable[[str], str]] = {"strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip}
_OWNERS = ("textwrap", "inspect")
MAX_TEXT = 200_000


class FoldTexts(ast.NodeTransformer):
    """Replaces each such expression in a copy of a syntax tree by its text."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Fold a call of a function or a method that only removes white space."""
        self.generic_visit(node)
        if node.keywords:
            return node
        if len(node.args) == 1 and (text := _text(node.args[0])) is not None:
            method = _FUNCTIONS.get(_function(node.func))
            return node if method is None else _constant(method(text), node)
        if not node.args and isinstance(node.func, ast.Attribute) and (text := _text(node.func.value)) is not None:
            method = _METHODS.get(node.func.attr)
            return node if method is None else _constant(method(text), node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Fold the sum of two texts."""
        self.generic_visit(node)
        left, right = _text(node.left), _text(node.right)
        if not isinstance(node.op, ast.Add) or left is None or right is None or len(left) + len(right) > MAX_TEXT:
            return node
        return _constant(left + right, node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Fold an f-string without expressions."""
        texts = [_text(part) for part in node.values]
        return node if None in texts else _constant("".join(text or "" for text in texts), node)


def _function(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in _OWNERS:
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _constant(text: str, node: ast.expr) -> ast.Constant:
    return ast.copy_location(ast.Constant(text), node)


# Determine the binding of each name of a module after its import: a tool, another value, or unknown.


Tool = TypeVar("Tool")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class UnknownValue:
    """A value that may be a tool; only loading decides it."""


class ForeignValue(UnknownValue):
    """An unknown value that another module made, so that it is not a tool of this one."""


class PlainValue:
    """A value that is not a tool."""


UNKNOWN, FOREIGN, PLAIN = UnknownValue(), ForeignValue(), PlainValue()
# The value of a literal or of an operator is not a tool.
_VALUES = (
    ast.Constant,
    ast.Dict,
    ast.List,
    ast.Set,
    ast.Tuple,
    ast.JoinedStr,
    ast.Lambda,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
    ast.Compare,
    ast.UnaryOp,
)
_BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While, ast.AsyncFor, ast.AsyncWith, ast.TryStar, ast.Match)


class Bindings(Generic[Tool]):
    """Follows the statements of a module in their order.

    Attributes:
        names: The value of each name at the end: the tool itself, `PLAIN` or `UNKNOWN`; imported names are
            their statement.
        open_ended: Whether the module may bind names outside its source (`from x import *`).
    """

    def __init__(self, body: Iterable[ast.stmt], tool_of: Callable[[Function], Tool | None]) -> None:
        self._tool_of = tool_of
        self.names: dict[str, Tool | PlainValue | UnknownValue | ast.ImportFrom] = {}
        self._modules: set[str] = set()
        self._imported: set[str] = set()
        self.open_ended = False
        for statement in body:
            self._follow(statement)

    def _follow(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            tool = self._tool_of(node)
            plain = all(self._is_standard(decorator) for decorator in node.decorator_list)
            self.names[node.name] = tool if tool is not None else PLAIN if plain else UNKNOWN
        elif isinstance(node, ast.ClassDef):
            self.names[node.name] = UNKNOWN if node.decorator_list or node.keywords else PLAIN
        elif isinstance(node, ast.ImportFrom):
            self.open_ended = self.open_ended or any(alias.name == "*" for alias in node.names)
            self.names.update({alias.asname or alias.name: node for alias in node.names})
        elif isinstance(node, ast.Import):
            names = {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
            self.names.update(dict.fromkeys(names, PLAIN))
            self._imported |= names.keys()
            self._modules |= {name for name, module in names.items() if _is_of_python(module)}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value = PLAIN if node.value is None else self._value(node.value)
            for target in targets if node.value is not None else ():
                whole = isinstance(target, ast.Name)
                self.names.update(dict.fromkeys(_stored(target), value if whole else UNKNOWN))
        elif isinstance(node, ast.Delete):
            for name in _stored(node):
                self.names.pop(name, None)
        elif isinstance(node, _BLOCKS):
            self._follow_block(node)
        else:
            self.names.update(dict.fromkeys(_stored(node), UNKNOWN))

    def _follow_block(self, node: ast.stmt) -> None:
        """Follow statements that may or may not run: a name to which they may bind a tool becomes unknown."""
        inner: Bindings[Tool] = Bindings((), self._tool_of)
        inner.names, inner._modules, inner._imported = dict(self.names), self._modules, self._imported
        for statement in _statements(node):
            inner._follow(statement)
        self.open_ended = self.open_ended or inner.open_ended
        headed = {name: UNKNOWN for part in _heads(node) for name in _stored(part)}
        for name, bound in {**inner.names, **headed}.items():
            before = self.names.get(name, PLAIN)
            if bound is not before:
                harmless = all(isinstance(binding, (PlainValue, ast.ImportFrom)) for binding in (before, bound))
                imported = before if isinstance(before, ast.ImportFrom) else bound
                self.names[name] = imported if harmless else UNKNOWN
        for name in self.names.keys() - inner.names.keys():
            self.names[name] = UNKNOWN

    def _value(self, node: ast.expr) -> Tool | PlainValue | UnknownValue | ast.ImportFrom:
        if isinstance(node, ast.Name):
            return self.names.get(node.id, PLAIN if hasattr(builtins, node.id) else UNKNOWN)
        if isinstance(node, _VALUES) or (isinstance(node, ast.Call) and self._is_standard(node.func)):
            return PLAIN
        return FOREIGN if self._is_foreign(node) else UNKNOWN

    def _is_foreign(self, node: ast.expr) -> bool:
        """Return whether an imported callable makes the value, and not from a function of this module."""
        root = node
        while isinstance(root, (ast.Attribute, ast.Call)):
            root = root.value if isinstance(root, ast.Attribute) else root.func
        if not isinstance(root, ast.Name):
            return False
        imported = root.id in self._imported or isinstance(self.names.get(root.id), ast.ImportFrom)
        arguments = [part for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Lambda)) and part is not root]
        return imported and not any(isinstance(part, ast.Lambda) or part.id in self.names for part in arguments)

    def _is_standard(self, node: ast.expr) -> bool:
        """Return whether the callable comes with Python, which makes no tools: `functools.cache`, `Path`, `print`."""
        while isinstance(node, (ast.Attribute, ast.Call)):
            node = node.value if isinstance(node, ast.Attribute) else node.func
        if not isinstance(node, ast.Name):
            return False
        bound = self.names.get(node.id)
        if isinstance(bound, ast.ImportFrom):
            return not bound.level and _is_of_python(bound.module or "")
        return node.id in self._modules or (bound is None and hasattr(builtins, node.id))


def is_from_python(node: ast.ImportFrom) -> bool:
    """Return whether a name comes from the standard library, which has no tools."""
    return not node.level and _is_of_python(node.module or "")


def exported_names(body: Iterable[ast.stmt], literal: object) -> list[str] | None:
    """Return the names in `__all__` in its order, or None if it is computed.

    Args:
        body: The statements of the module, which bind `__all__`.
        literal: The value of the assignment that binds it.
    """
    written = [
        node
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id == "__all__"
    ]
    if len(written) != 1 or not isinstance(literal, (list, tuple)) or not all(isinstance(n, str) for n in literal):
        return None
    return list(dict.fromkeys(literal))


def _is_of_python(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from child.body


def _heads(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the other parts of a compound statement than statements: targets of loops, `as` names, tests."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from _heads(child)
        elif not isinstance(child, ast.stmt):
            yield child


def _stored(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds or deletes outside of functions and classes."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield node.id
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _stored(child)


MAX_SOURCE_BYTES = 2_000_000
_SDK = "strands"


class SourceError(Exception):
    """The source is not valid Python; `line` is the place, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


# Returns a module's file and source by its dotted name, or None.
ReadModule = Callable[[str], "tuple[str, bytes] | None"]


def open_module(module: str, read_module: ReadModule) -> SourceModule | None:
    """Parse a module; None if it has no source.

    Raises:
        SourceError: The source is not Python, or too large.
    """
    file_and_text = read_module(module)
    if file_and_text is None:
        return None
    file, raw = file_and_text
    if not file.endswith(".py"):
        return None  # compiled: nothing to read
    if len(raw) > MAX_SOURCE_BYTES:
        raise SourceError(f"the source is larger than {MAX_SOURCE_BYTES:,} bytes")
    try:
        tree = ast.parse(raw, file)
    except SyntaxError as error:
        raise SourceError(f"the source is not Python: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:  # null bytes, nesting beyond the parser's limits
        raise SourceError(f"the source is not Python: {error}") from None
    return SourceModule(module, file, tree)


class SourceModule:
    """A parsed module."""

    def __init__(self, module: str, file: str, tree: ast.Module) -> None:
        self.module = module
        self.file = file
        self.tree = tree
        self.doc = docstring_of(tree).split("\n\n")[0].replace("\n", " ") or None
        self.tool_names = {"tool"} | {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == _SDK
            for alias in node.names
            if alias.name == "tool"
        }

    def definition(self, name: str) -> ast.AST | None:
        """Return the last statement at top level that binds the name."""
        nodes = self._bindings.get(name)
        return nodes[-1] if nodes else None

    def binds_once(self, name: str) -> bool:
        """Return whether one statement at top level binds the name, and none elsewhere may change it."""
        _, declared_global = self._stored
        return len(self._bindings.get(name, ())) == 1 and name not in declared_global and not self.rebinds(name)

    def rebinds(self, name: str) -> bool:
        """Return whether any statement binds the name, or may: `from x import *`."""
        stored, _ = self._stored
        return name in stored or "*" in stored

    @cached_property
    def _bindings(self) -> dict[str, list[ast.stmt]]:
        """The statements at top level that bind each name, in order."""
        bindings: dict[str, list[ast.stmt]] = {}
        for node in self.tree.body:
            for name in dict.fromkeys(bound_names(node)):
                bindings.setdefault(name, []).append(node)
        return bindings

    @cached_property
    def _stored(self) -> tuple[set[str], set[str]]:
        """The names that any statement assigns or imports, `*` among them, and those that functions declare global."""
        stored, declared_global = set[str](), set[str]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                stored.add(node.id)
            elif isinstance(node, ast.alias):
                stored.add(node.asname or node.name)
            elif isinstance(node, ast.Global):
                declared_global.update(node.names)
        return stored, declared_global

    def value(self, name: str) -> ast.expr | None:
        """Return the expression that a name is assigned last at top level."""
        node = self.definition(name)
        return node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None

    def function(self, name: str) -> Function | None:
        """Return the function that a name is bound to at top level."""
        node = self.definition(name)
        return node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None

    def imported(self, node: ast.ImportFrom, name: str) -> tuple[str | None, str]:
        """Return the absolute module and the original name behind an imported one."""
        original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
        if not node.level:
            return node.module, original
        is_package = self.file.endswith("__init__.py")
        parts = self.module.split(".")
        parents = parts[: len(parts) - node.level + is_package]
        return ".".join([*parents, *([node.module] if node.module else [])]) or None, original

    def tool_decorator(self, node: Function, *, of_sdk: bool) -> ast.expr | None:
        """Return the `@tool` of a function, called or not.

        Args:
            of_sdk: Whether it must be the SDK's: other libraries have a `@tool` too.
        """
        decorator = next(
            (candidate for candidate in node.decorator_list if decorator_name(candidate) in self.tool_names),
            None,
        )
        return None if decorator is None or (of_sdk and _root(decorator) not in self._from_sdk) else decorator

    @cached_property
    def _from_sdk(self) -> set[str]:
        """The names that the module's imports give to parts of the SDK."""
        aliases = [alias for node in ast.walk(self.tree) for alias in _imported_from_sdk(node)]
        return {alias.asname or alias.name.partition(".")[0] for alias in aliases}


def decorator_name(decorator: ast.expr) -> str | None:
    """Return the last part of a decorator's name."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)


def _root(decorator: ast.expr) -> str | None:
    """Return the first part of a decorator's name."""
    root = decorator.func if isinstance(decorator, ast.Call) else decorator
    while isinstance(root, ast.Attribute):
        root = root.value
    return root.id if isinstance(root, ast.Name) else None


def _imported_from_sdk(node: ast.AST) -> list[ast.alias]:
    if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == _SDK:
        return node.names
    if isinstance(node, ast.Import):
        return [alias for alias in node.names if alias.name.partition(".")[0] == _SDK]
    return []


def bound_names(node: ast.stmt) -> Iterable[str]:
    """Return the names that a definition, an assignment or an import binds."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return (node.name,)
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return (node.target.id,)
    if isinstance(node, (ast.ImportFrom, ast.Import)):
        return [alias.asname or alias.name for alias in node.names]
    return ()


def _folded(node: ast.expr) -> ast.expr:
    """Return the expression with texts in place of operations on texts; most literals have none."""
    if not any(isinstance(part, (ast.Call, ast.BinOp, ast.JoinedStr)) for part in ast.walk(node)):
        return node
    import copy

    folded = FoldTexts().visit(copy.deepcopy(node))
    return folded if isinstance(folded, ast.expr) else node


def literal(node: ast.expr | None, *, folds: bool = True) -> Any:
    """Return the JSON value of a literal; None for another expression.

    Args:
        folds: Whether `"a" + "b"` and `textwrap.dedent("...")` are literals too.
    """
    if node is None:
        return None
    try:
        value = ast.literal_eval(_folded(node) if folds else node)
        # Not every literal is JSON: bytes, sets, infinities and lone surrogates are not.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value
