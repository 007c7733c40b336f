"""The names that a template uses, as paths: `steps[0].response` is `("steps", 0, "response")`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from jinja2 import nodes

from strands_cli.workflow.templates.template_errors import Path

# The part of a path for an index that is computed, and for each item that a loop visits.
ANY_ITEM = "*"


def path_of(node: nodes.Node, items: Mapping[str, Path] | None = None) -> Path:
    """Return the path of an expression, empty for one that is none.

    Args:
        items: What the variables of loops are, by their names.
    """
    if isinstance(node, nodes.Name):
        return () if node.ctx != "load" else (items or {}).get(node.name, (node.name,))
    if isinstance(node, nodes.Getattr):
        before = path_of(node.node, items)
        return (*before, node.attr) if before else ()
    if isinstance(node, nodes.Getitem):
        before = path_of(node.node, items)
        return (*before, _constant(node.arg)) if before else ()
    return ()


def paths_of(tree: nodes.Template, free: set[str]) -> frozenset[Path]:
    """Return the paths below names from outside, `free`, without those that may be absent."""
    items = _items_of_loops(tree, free)
    guarded: list[nodes.Expr | None] = [
        *(test.node for test in tree.find_all(nodes.Test) if test.name in ("defined", "undefined")),
        *(filtered.node for filtered in tree.find_all(nodes.Filter) if filtered.name in ("default", "d")),
    ]
    lax = {path_of(node, items) for node in guarded if node is not None} - {()}
    called = {id(node.node) for node in tree.find_all(nodes.Call)}
    found = set()
    for node in outermost(tree):
        path = path_of(node, items)
        if not path or path[0] not in free:
            continue
        if id(node) in called and len(path) > 1:
            path = path[:-1]  # `tasks.items()` calls a method and is not the name of a task
        if not any(path[: len(guard)] == guard for guard in lax):
            found.add(path)
    return frozenset(found)


def outermost(tree: nodes.Template) -> Iterator[nodes.Expr]:
    """Yield each name with all attributes and indexes that follow it."""
    inner = {id(node.node) for node in tree.find_all(nodes.Getattr)}
    inner |= {id(node.node) for node in tree.find_all(nodes.Getitem)}
    kinds = (nodes.Getattr, nodes.Getitem, nodes.Name)
    yield from (node for node in tree.find_all(kinds) if id(node) not in inner)


def _items_of_loops(tree: nodes.Template, free: set[str]) -> dict[str, Path]:
    """Return the path of the items that each loop variable is, where the name has no other meaning."""
    bound = Counter(node.name for node in tree.find_all(nodes.Name) if node.ctx != "load")
    items: dict[str, Path] = {}
    for loop in tree.find_all(nodes.For):
        if isinstance(loop.target, nodes.Name) and (name := loop.target.name) not in free and bound[name] == 1:
            path = path_of(loop.iter, items)
            if path and path[0] in free:
                items[name] = (*path, ANY_ITEM)
    return items


def _constant(node: nodes.Expr) -> str | int:
    """Return a constant index, also a negative one."""
    if isinstance(node, nodes.Neg) and isinstance(index := _constant(node.node), int):
        return -index
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, (str, int)) else ANY_ITEM
