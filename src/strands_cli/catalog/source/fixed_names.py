"""Whether running a module can change the definitions that its source shows; in doubt it can."""

from __future__ import annotations

import ast
from collections.abc import Iterator

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
    """Yield every node that is evaluated when the module is imported: all but the bodies of functions."""
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
