"""The paths that a template may read, and those without which it always fails."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

from strands_cli.workflow.templates.template_errors import Path
from strands_cli.workflow.templates.template_parts import Parts
from strands_cli.workflow.templates.template_paths import outermost, path_of

_MAY_BE_ABSENT = ("default", "d")


def mentions_of(parts: Parts) -> frozenset[Path]:
    """Return every path that a template may read, also those that may be absent."""
    return frozenset(path for node in outermost(parts) if (path := path_of(node)))


def certain_reads(tree: nodes.Node) -> frozenset[Path]:
    """Return the children of names without which a template always fails, as `(name, child)`.

    A branch, a loop or the right side of an `and` may never be evaluated. A child that is only passed on, tested or has
    a default may be absent; one that is printed, or has a part that is read, may not.
    """
    return frozenset(path[:2] for path in _required(tree) if len(path) > 1 and path[1] != "*")


def _required(node: nodes.Node, *, printed: bool = False) -> Iterator[Path]:
    """Yield the paths that are always evaluated and whose second part must exist."""
    if isinstance(node, (nodes.Getattr, nodes.Getitem)):
        path = path_of(node)
        if len(path) > 2 or printed:
            yield path
    for child in _always_evaluated(node):
        yield from _required(child, printed=isinstance(node, nodes.Output))


def _always_evaluated(node: nodes.Node) -> list[nodes.Node]:
    """Return the children of a node that are always evaluated."""
    if isinstance(node, (nodes.Macro, nodes.CallBlock)):
        return []
    if isinstance(node, (nodes.If, nodes.CondExpr)):
        return [node.test]
    if isinstance(node, nodes.For):
        return [node.iter]
    if isinstance(node, (nodes.And, nodes.Or)):
        return [node.left]
    if isinstance(node, nodes.Compare):
        return [node.expr, *(operand.expr for operand in node.ops[:1])]
    children = list(node.iter_child_nodes())
    is_lax = isinstance(node, nodes.Test) or (isinstance(node, nodes.Filter) and node.name in _MAY_BE_ABSENT)
    return [child for child in children if len(path_of(child)) != 2] if is_lax else children
