"""Whether the source of a module surely has no tool of a name; in doubt it has one."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

# Names with which code binds names that are not in its source.
_DYNAMIC = frozenset(
    {"globals", "locals", "vars", "exec", "eval", "setattr", "modules", "__dict__", "__getattr__", "import_module"}
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def lacks_tool(raw: bytes, attribute: str) -> bool:
    """Return whether no run of a module's source binds an attribute, which may be one of a class, to a tool."""
    try:
        nodes = list(ast.walk(ast.parse(raw)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if _binds_unseen(nodes):
        return False
    name, *inner = attribute.split(".")
    binding = [node for node in nodes if name in _bound(node)]
    if not binding:
        return True
    if len(inner) != 1 or len(binding) != 1 or not _is_plain_class(binding[0]):
        return False
    changed = any(isinstance(node, ast.Attribute) and node.attr == inner[0] and _is_stored(node) for node in nodes)
    return not changed and _class_lacks(binding[0], inner[0])


def binds_unseen(tree: ast.Module) -> bool:
    """Return whether a module may have names that its source does not show."""
    return _binds_unseen(ast.walk(tree))


def _binds_unseen(nodes: Iterable[ast.AST]) -> bool:
    return any(_is_dynamic(node) for node in nodes)


def _class_lacks(owner: ast.AST, name: str) -> bool:
    """Return whether a class has no such name, or it is one of its methods, which are no tools."""
    binding = [node for node in ast.walk(owner) if node is not owner and name in _bound(node)]
    return all(isinstance(node, _FUNCTIONS) and not node.decorator_list for node in binding)


def _is_plain_class(node: ast.AST) -> bool:
    """Return whether a class has only what its body binds, besides what every class has."""
    if not isinstance(node, ast.ClassDef) or node.decorator_list or node.keywords:
        return False
    return all(isinstance(base, ast.Name) and base.id == "object" for base in node.bases)


def _is_dynamic(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        return True
    words = (getattr(node, "id", None), getattr(node, "attr", None), *_bound(node))
    return any(word in _DYNAMIC for word in words)


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds, wherever it is."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.Name) and _is_stored(node):
        yield node.id
    elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _is_stored(node: ast.Name | ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)
