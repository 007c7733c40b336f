"""One parsed module: the statements and values that its names are bound to."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from strands_cli.catalog.source.docstrings import docstring_of
from strands_cli.catalog.source.static_values import Function

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
    found = read_module(module)
    if found is None:
        return None
    file, raw = found
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
        found = self._bindings.get(name)
        return found[-1] if found else None

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
        found: dict[str, list[ast.stmt]] = {}
        for node in self.tree.body:
            for name in dict.fromkeys(bound_names(node)):
                found.setdefault(name, []).append(node)
        return found

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
        decorator = next((one for one in node.decorator_list if decorator_name(one) in self.tool_names), None)
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
    """Return the expression with texts in place of what makes a text of texts; most literals have nothing of it."""
    if not any(isinstance(part, (ast.Call, ast.BinOp, ast.JoinedStr)) for part in ast.walk(node)):
        return node
    import copy

    from strands_cli.catalog.source.folded_texts import FoldTexts

    folded = FoldTexts().visit(copy.deepcopy(node))
    return folded if isinstance(folded, ast.expr) else node


def literal(node: ast.expr | None, *, folds: bool = True) -> Any:
    """Return the value of a literal that is JSON; None for another expression.

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
