"""Tools in a distribution that declares none: functions with `@tool`, and modules with a `TOOL_SPEC`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

MAX_FILES = 500
MAX_BYTES = 1_000_000


def find_plain_tools(tree: Path) -> list[str]:
    """Return the references of the tools in an unpacked distribution, importing nothing from it."""
    files = (path for path in sorted(tree.rglob("*.py")) if path.stat().st_size <= MAX_BYTES)
    return [ref for path in islice(files, MAX_FILES) for ref in _tools_of(path, tree)]


def _tools_of(path: Path, tree: Path) -> Iterator[str]:
    parts = path.relative_to(tree).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    functions = [node for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    described = {_spec_name(node) for node in body if isinstance(node, (ast.Assign, ast.AnnAssign))}
    for function in functions:
        if function.name in described or any(map(_is_tool, function.decorator_list)):
            yield f"{module}:{function.name}"


def _is_tool(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (target.id if isinstance(target, ast.Name) else getattr(target, "attr", None)) == "tool"


def _spec_name(node: ast.Assign | ast.AnnAssign) -> str | None:
    """Return the name in a literal `TOOL_SPEC`."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if not any(isinstance(target, ast.Name) and target.id == "TOOL_SPEC" for target in targets):
        return None
    items = zip(node.value.keys, node.value.values, strict=True) if isinstance(node.value, ast.Dict) else ()
    names = [value for key, value in items if isinstance(key, ast.Constant) and key.value == "name"]
    return str(names[0].value) if names and isinstance(names[0], ast.Constant) else None
