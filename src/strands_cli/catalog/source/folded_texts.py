"""Texts that a module computes from nothing but texts: `textwrap.dedent("...")`, `"a" + "b"`, `"...".strip()`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable

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
            made = _FUNCTIONS.get(_function(node.func))
            return node if made is None else _constant(made(text), node)
        if not node.args and isinstance(node.func, ast.Attribute) and (text := _text(node.func.value)) is not None:
            made = _METHODS.get(node.func.attr)
            return node if made is None else _constant(made(text), node)
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
