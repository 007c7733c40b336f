"""The names that a template uses, as paths: `steps[0].response` is `("steps", 0, "response")`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeVar

from jinja2 import nodes

from strands_cli.workflow.templates.plugin_filters import Path, TemplateRead

# The parts of a template's tree, found in one walk: every check of a template looks at these.


Kind = TypeVar("Kind", bound=nodes.Node)

# Statements that set no names.
_PLAIN = (nodes.Output, nodes.If)


class TemplateNodes:
    """The nodes below a tree in the order of the text.

    Attributes:
        tree: The tree.
        every: All of them.
        depth: How many levels the tree has.
        sets_names: Whether a statement may set names, so that one name may have several meanings.
    """

    def __init__(self, tree: nodes.Template) -> None:
        """Walk the tree; raises `RecursionError` for one too deep for the interpreter."""
        self.tree = tree
        self.every: list[nodes.Node] = []
        self.depth = 0
        self._walk(tree, 1)
        self.sets_names = any(isinstance(node, nodes.Stmt) and not isinstance(node, _PLAIN) for node in self.every)

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


# The part of a path for a computed index, and for each item that a loop visits.
ANY_ITEM = "*"
# Filters whose first argument is the name of an attribute of each item.
_OF_ITEMS = ("selectattr", "rejectattr", "groupby")


def path_of(node: nodes.Node, items: Mapping[str, Path] | None = None) -> Path:
    """Return the path of an expression, empty for any other node.

    Args:
        items: The paths of the variables of loops, by their names.
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


def paths_of(parts: TemplateNodes, free: set[str]) -> tuple[frozenset[Path], tuple[TemplateRead, ...]]:
    """Return the paths below names from outside, `free`, without those that may be absent; and all reads of them."""
    items = items_of(parts, free)
    lax = {path_of(node, items) for node in _guarded(parts) if node is not None} - {()}
    called = {id(node.node) for node in parts.of(nodes.Call)}
    path_reads = [(path_of(node, items), id(node) in called, False) for node in outermost(parts)]
    path_reads += [
        (path, False, True) for filter_node in parts.of(nodes.Filter) if (path := _by_filter(filter_node, items))
    ]
    paths, reads = set[Path](), dict[TemplateRead, None]()
    for path, is_called, is_by_filter in path_reads:
        if not path or path[0] not in free:
            continue
        reads[TemplateRead(path, is_called, _is_below(path, lax))] = None
        # `tasks.items()` calls a method and is not the name of a task
        owner = path[:-1] if is_called and len(path) > 1 else path
        if not is_by_filter and not _is_below(owner, lax):
            paths.add(owner)
    return frozenset(paths), tuple(reads)


def _is_below(path: Path, guards: set[Path]) -> bool:
    return bool(guards) and any(path[:length] in guards for length in range(1, len(path) + 1))


def _guarded(parts: TemplateNodes) -> list[nodes.Expr | None]:
    """Return the expressions that a template treats as possibly missing."""
    return [
        *(test.node for test in parts.of(nodes.Test) if test.name in ("defined", "undefined")),
        *(filtered.node for filtered in parts.of(nodes.Filter) if filtered.name in ("default", "d")),
    ]


def outermost(parts: TemplateNodes) -> Iterator[nodes.Expr]:
    """Yield each name with all attributes and indexes that follow it."""
    kinds = (nodes.Getattr, nodes.Getitem, nodes.Name)
    places = [node for node in parts.every if isinstance(node, kinds)]
    inner = {id(node.node) for node in places if not isinstance(node, nodes.Name)}
    yield from (node for node in places if id(node) not in inner)


def items_of(parts: TemplateNodes, free: set[str]) -> dict[str, Path]:
    """Return the path that each variable of a loop or a `set` is, where the name has no other meaning."""
    items: dict[str, Path] = {}
    if not parts.sets_names:
        return items
    bound = Counter(node.name for node in parts.of(nodes.Name) if node.ctx != "load")
    for statement in parts.every:
        if not isinstance(statement, (nodes.Assign, nodes.For)):
            continue
        if (
            isinstance(statement.target, nodes.Name)
            and (name := statement.target.name) not in free
            and bound[name] == 1
        ):
            path = path_of(statement.iter if isinstance(statement, nodes.For) else statement.node, items)
            if path and path[0] in free:
                items[name] = (*path, ANY_ITEM) if isinstance(statement, nodes.For) else path
    return items


def _by_filter(filtered: nodes.Filter, items: Mapping[str, Path]) -> Path:
    """Return the path that a filter reads by the name of an attribute: `steps | map(attribute='response')`."""
    owner = path_of(filtered.node, items) if filtered.node is not None else ()
    first = filtered.args[0] if filtered.args and filtered.name in (*_OF_ITEMS, "attr") else None
    named = next((pair.value for pair in filtered.kwargs if pair.key == "attribute"), first)
    if not owner or not isinstance(named, nodes.Const) or not isinstance(named.value, str):
        return ()
    return (*owner, named.value) if filtered.name == "attr" else (*owner, ANY_ITEM, *named.value.split("."))


def _constant(node: nodes.Expr) -> str | int:
    """Return a constant index, also a negative one."""
    if isinstance(node, nodes.Neg) and isinstance(index := _constant(node.node), int):
        return -index
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, (str, int)) else ANY_ITEM


# The words that a template or a condition compares a value with, and the names that it takes for missing.


_ORDERS = ("gt", "gteq", "lt", "lteq")
_TESTS = ("eq", "equalto", "==", "ne", "!=", "in")
_STARTS = ("startswith", "endswith")
# Methods and filters that change a text without changing which word it is.
_METHODS = ("lower", "upper", "casefold", "strip")
_FILTERS = ("lower", "upper", "trim", "string", "default", "d")


def compared_words(parts: TemplateNodes) -> Iterator[tuple[Path, str]]:
    """Yield each path with each constant text that its value is compared with."""
    for comparison in parts.of(nodes.Compare):
        left = comparison.expr
        for operand in comparison.ops:
            if operand.op not in _ORDERS:
                yield from _pairs(left, operand.expr)
            left = operand.expr
    for test in parts.of(nodes.Test):
        if test.name in _TESTS and test.args:
            yield from _pairs(test.node, test.args[0])
    for call in parts.of(nodes.Call):
        if isinstance(call.node, nodes.Getattr) and call.node.attr in _STARTS and call.args:
            yield from _pairs(call.node.node, call.args[0])


def assumed_missing(parts: TemplateNodes) -> Iterator[str]:
    """Yield each name with a default, or tested for being there, as if it might be missing."""
    for filter_node in parts.of(nodes.Filter):
        if (
            filter_node.name in ("default", "d")
            and isinstance(filter_node.node, nodes.Name)
            and len(filter_node.args) < 2
        ):
            yield filter_node.node.name
    for test in parts.of(nodes.Test):
        if test.name in ("defined", "undefined") and isinstance(test.node, nodes.Name):
            yield test.node.name


def asked_names(parts: TemplateNodes) -> Iterator[str]:
    """Yield each name in the condition of an `if`."""
    for condition in parts.of(nodes.If):
        yield from (
            node.name for node in (condition.test, *condition.test.find_all(nodes.Name)) if isinstance(node, nodes.Name)
        )


def printed_paths(parts: TemplateNodes) -> Iterator[tuple[Path, bool]]:
    """Yield each printed path, and whether it is printed as it is or as a text of other letters."""
    for output in parts.of(nodes.Output):
        yield from ((path, _plain(node) is node) for node in output.nodes if (path := path_of(_plain(node))))


def _pairs(left: nodes.Expr, right: nodes.Expr) -> Iterator[tuple[Path, str]]:
    for subject, constant in ((left, right), (right, left)):
        path = path_of(_plain(subject))
        if path:
            yield from ((path, word) for word in _texts(constant))


def _texts(node: nodes.Expr) -> Iterator[str]:
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, (nodes.List, nodes.Tuple)):
        for item in node.items:
            yield from _texts(item)


def _plain(node: nodes.Expr) -> nodes.Expr:
    """Return the text before filters and methods that do not change its word."""
    while True:
        if isinstance(node, nodes.Filter) and node.name in _FILTERS and node.node is not None:
            node = node.node
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr in _METHODS:
            node = node.node.node
        else:
            return node
