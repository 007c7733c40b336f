"""Decorators below `@tool` that leave a function's name, docstring and parameters as they are."""

from __future__ import annotations

import ast

from strands_cli.catalog.source.module_names import ModuleNames
from strands_cli.catalog.source.static_values import Function

# All of them use `functools.wraps`, which the SDK's `@tool` looks through.
_STANDARD = frozenset(
    {"warnings.deprecated", "typing_extensions.deprecated", "functools.cache", "functools.lru_cache", "functools.wraps"}
)


def keeps_definition(decorator: ast.expr, names: ModuleNames) -> bool:
    """Return whether a decorator surely wraps the function without changing what a tool is described by."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return f"{names.meaning(called.value.id)}.{called.attr}" in _STANDARD
    if not isinstance(called, ast.Name):
        return False
    found = names.function(called.id)
    if found is None:
        return names.meaning(called.id) in _STANDARD
    made, where = found
    if isinstance(decorator, ast.Call):  # a function that returns the decorator
        inner = _returned(made)
        return inner is not None and _wraps(inner, where)
    return _wraps(made, where)


def _wraps(made: Function, names: ModuleNames) -> bool:
    """Return whether a decorator returns a function inside it that has `@wraps(f)` of its only argument."""
    wrapper = _returned(made)
    if wrapper is None or len(made.args.args) != 1 or len(wrapper.decorator_list) != 1:
        return False
    mark = wrapper.decorator_list[0]
    if not isinstance(mark, ast.Call) or len(mark.args) != 1 or mark.keywords:
        return False
    of = mark.args[0]
    return isinstance(of, ast.Name) and of.id == made.args.args[0].arg and keeps_definition(mark, names)


def _returned(made: Function) -> Function | None:
    """Return the inner function that a function returns, if that is the only thing it can return."""
    inner = [node for node in made.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    last = made.body[-1]
    plain = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Expr, ast.Return)
    if len(inner) != 1 or not all(isinstance(node, plain) for node in made.body):
        return None
    value = last.value if isinstance(last, ast.Return) else None
    return inner[0] if isinstance(value, ast.Name) and value.id == inner[0].name else None
