"""Functions that make tools when they are called: their tools cannot be adopted, but a small plugin can call them."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from strands_cli_dev.adoption.python_files import PythonFile

MOST = 50
MAX_SOURCE_BYTES = 2_000_000
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def makers_of_tools(files: Iterable[PythonFile], seconds: float = 10.0) -> list[str]:
    """Return up to `MOST` functions and methods, as `module:name`, with `@tool` functions inside.

    Args:
        seconds: How long they are looked for.
    """
    makers: list[str] = []
    ends = time.monotonic() + seconds
    for file in files:
        if time.monotonic() > ends:
            break
        try:
            with Path(file.path).open("rb") as stream:
                raw = stream.read(MAX_SOURCE_BYTES)
            tree = ast.parse(raw) if raw and b"strands" in raw and b"tool" in raw else None
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # reported where its tools are looked for
        makers += [f"{file.module}:{name}" for name in _makers(tree, "")] if tree else []
        if len(makers) >= MOST:
            break
    return makers[:MOST]


def _makers(node: ast.AST, prefix: str) -> Iterator[str]:
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.ClassDef):
            yield from _makers(part, f"{prefix}{part.name}.")
        elif isinstance(part, _FUNCTIONS):
            if any(_is_tool(inner) for inner in ast.walk(part) if inner is not part):
                yield f"{prefix}{part.name}"
        elif isinstance(part, ast.stmt):
            yield from _makers(part, prefix)


def _is_tool(node: ast.AST) -> bool:
    if not isinstance(node, _FUNCTIONS):
        return False
    called = [decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in node.decorator_list]
    return any("tool" in (getattr(node, "id", None), getattr(node, "attr", None)) for node in called)
