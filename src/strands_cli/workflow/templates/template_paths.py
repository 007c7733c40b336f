"""The names that a template uses, as paths: `steps[0].response` is `("steps", 0, "response")`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jinja2 import nodes

from strands_cli.workflow.templates.template_errors import Path

# The part of a path for an index that is computed, and for each item that a loop visits.
ANY_ITEM = "*"
# Filters whose first argument is the name of an attribute of each item.
_OF_ITEMS = ("selectattr", "rejectattr", "groupby")


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
    items = items_of(tree, free)
    lax = {path_of(node, items) for node in _guarded(tree) if node is not None} - {()}
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


def _guarded(tree: nodes.Template) -> list[nodes.Expr | None]:
    """Return what a template takes for possibly missing."""
    return [
        *(test.node for test in tree.find_all(nodes.Test) if test.name in ("defined", "undefined")),
        *(filtered.node for filtered in tree.find_all(nodes.Filter) if filtered.name in ("default", "d")),
    ]


def outermost(tree: nodes.Template) -> Iterator[nodes.Expr]:
    """Yield each name with all attributes and indexes that follow it."""
    inner = {id(node.node) for node in tree.find_all(nodes.Getattr)}
    inner |= {id(node.node) for node in tree.find_all(nodes.Getitem)}
    kinds = (nodes.Getattr, nodes.Getitem, nodes.Name)
    yield from (node for node in tree.find_all(kinds) if id(node) not in inner)


def items_of(tree: nodes.Template, free: set[str]) -> dict[str, Path]:
    """Return the path that each variable of a loop or a `set` is, where the name has no other meaning."""
    bound = Counter(node.name for node in tree.find_all(nodes.Name) if node.ctx != "load")
    items: dict[str, Path] = {}
    given: Any
    for given in tree.find_all((nodes.Assign, nodes.For)):
        if isinstance(given.target, nodes.Name) and (name := given.target.name) not in free and bound[name] == 1:
            is_loop = isinstance(given, nodes.For)
            path = path_of(given.iter if is_loop else given.node, items)
            if path and path[0] in free:
                items[name] = (*path, ANY_ITEM) if is_loop else path
    return items


class Read(NamedTuple):
    """One path that a template reads: whether it is called, and whether the template takes it for possibly missing."""

    path: Path
    is_called: bool
    may_be_missing: bool


def every_read(tree: nodes.Template, free: set[str]) -> Iterator[Read]:
    """Yield all reads of names from outside, `free`, those that may be missing and those by filters among them."""
    items = items_of(tree, free)
    lax = {path_of(node, items) for node in _guarded(tree) if node is not None} - {()}
    called = {id(node.node) for node in tree.find_all(nodes.Call)}
    found = [(path_of(node, items), id(node) in called) for node in outermost(tree)]
    found += [(path, False) for filtered in tree.find_all(nodes.Filter) if (path := _by_filter(filtered, items))]
    for path, is_called in found:
        if path and path[0] in free:
            yield Read(path, is_called, any(path[: len(guard)] == guard for guard in lax))


def _by_filter(filtered: nodes.Filter, items: Mapping[str, Path]) -> Path:
    """Return what a filter reads by the name of an attribute: `steps | map(attribute='response')`."""
    owner = path_of(filtered.node, items) if filtered.node is not None else ()
    first = filtered.args[0] if filtered.args and filtered.name in (*_OF_ITEMS, "attr") else None
    named = next((given.value for given in filtered.kwargs if given.key == "attribute"), first)
    if not owner or not isinstance(named, nodes.Const) or not isinstance(named.value, str):
        return ()
    return (*owner, named.value) if filtered.name == "attr" else (*owner, ANY_ITEM, *named.value.split("."))


def _constant(node: nodes.Expr) -> str | int:
    """Return a constant index, also a negative one."""
    if isinstance(node, nodes.Neg) and isinstance(index := _constant(node.node), int):
        return -index
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, (str, int)) else ANY_ITEM
