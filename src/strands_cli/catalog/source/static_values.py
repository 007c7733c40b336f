"""Determine what each name of a module is bound to after its import: a tool, another value, or unknown."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

Tool = TypeVar("Tool")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Unknown:
    """A value that may be a tool; only loading decides it."""


class Foreign(Unknown):
    """An unknown value that another module made, so that it is not a tool of this one."""


class Plain:
    """A value that is not a tool."""


UNKNOWN, FOREIGN, PLAIN = Unknown(), Foreign(), Plain()
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
        names: What each name is bound to at the end: the tool itself, `PLAIN` or `UNKNOWN`; imported names are
            their statement.
        open_ended: Whether the module may bind names that are not in its source (`from x import *`).
    """

    def __init__(self, body: Iterable[ast.stmt], tool_of: Callable[[Function], Tool | None]) -> None:
        self._tool_of = tool_of
        self.names: dict[str, Tool | Plain | Unknown | ast.ImportFrom] = {}
        self._modules: set[str] = set()
        self._imported: set[str] = set()
        self.open_ended = False
        for statement in body:
            self._follow(statement)

    def _follow(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            tool = self._tool_of(node)
            plain = all(self._is_standard(one) for one in node.decorator_list)
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
                harmless = all(isinstance(one, (Plain, ast.ImportFrom)) for one in (before, bound))
                imported = before if isinstance(before, ast.ImportFrom) else bound
                self.names[name] = imported if harmless else UNKNOWN
        for name in self.names.keys() - inner.names.keys():
            self.names[name] = UNKNOWN

    def _value(self, node: ast.expr) -> Tool | Plain | Unknown | ast.ImportFrom:
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
    """Return whether a name is imported from the standard library, which has no tools."""
    return not node.level and _is_of_python(node.module or "")


def exported_names(body: Iterable[ast.stmt], literal: object) -> list[str] | None:
    """Return the names in `__all__` in its order, or None if it is computed.

    Args:
        body: The statements of the module, which bind `__all__`.
        literal: The value of the assignment that binds it.
    """
    written = [node for one in body for node in ast.walk(one) if isinstance(node, ast.Name) and node.id == "__all__"]
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
    """Yield the parts of a compound statement that are not statements: targets of loops, `as` names, tests."""
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
