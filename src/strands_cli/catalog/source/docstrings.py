"""The description that the SDK's `@tool` makes of a docstring."""

from __future__ import annotations

import ast

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
