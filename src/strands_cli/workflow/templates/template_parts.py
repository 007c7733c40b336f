"""The parts of a template's tree, found in one walk: every check of a template looks at these."""

from __future__ import annotations

from typing import TypeVar

from jinja2 import nodes

Kind = TypeVar("Kind", bound=nodes.Node)

# Statements that set no names.
_PLAIN = (nodes.Output, nodes.If)


class Parts:
    """The nodes below a tree in the order of the text.

    Attributes:
        tree: The tree.
        every: All of them.
        depth: How many levels the tree has.
        sets_names: Whether a statement may set names, so that one name may have several meanings.
    """

    def __init__(self, tree: nodes.Template) -> None:
        """Walk the tree; raises `RecursionError` for one that is too deep for the interpreter."""
        self.tree = tree
        self.every: list[nodes.Node] = []
        self.depth = 0
        self._walk(tree, 1)
        self.sets_names = any(isinstance(one, nodes.Stmt) and not isinstance(one, _PLAIN) for one in self.every)

    def _walk(self, node: nodes.Node, depth: int) -> None:
        self.depth = max(self.depth, depth)
        for name in node.fields:
            value = getattr(node, name, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, nodes.Node):
                    self.every.append(child)
                    self._walk(child, depth + 1)

    def of(self, kind: type[Kind]) -> list[Kind]:
        """Return the nodes of a kind."""
        return [node for node in self.every if isinstance(node, kind)]
