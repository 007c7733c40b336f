"""What a docstring says to a model, as the SDK's `@tool` makes a description of it."""

from __future__ import annotations

import ast

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_SECTIONS = (
    *("returns:", "return:", "yields:", "yield:", "raises:", "raise:", "except:", "exceptions:"),
    *("examples:", "example:", "note:", "notes:", "see also:", "seealso:", "references:", "ref:"),
)
_ARGUMENTS = ("args:", "arguments:", "parameters:", "param:", "params:")


def docstring_of(node: Documented | ast.Module) -> str:
    """Return the docstring of a node, "" where it has none; half characters as escapes."""
    return (ast.get_docstring(node) or "").encode("utf-8", "backslashreplace").decode().strip()


def description_of(node: Documented) -> str | None:
    """Return the docstring less its arguments section, as the SDK's `@tool` makes a description of it."""
    kept = []
    in_arguments = False
    for line in docstring_of(node).split("\n"):
        word = line.strip().lower()
        if word.startswith(_ARGUMENTS):
            in_arguments = True
        elif word.startswith(_SECTIONS):
            in_arguments = False
        if not in_arguments:
            kept.append(line)
    return "\n".join(kept).strip() or None
