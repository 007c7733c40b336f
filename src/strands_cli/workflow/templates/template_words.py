"""The words that a template or a condition compares a value with, and the names that it takes for missing."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

from strands_cli.workflow.templates.template_errors import Path
from strands_cli.workflow.templates.template_parts import Parts
from strands_cli.workflow.templates.template_paths import path_of

_ORDERS = ("gt", "gteq", "lt", "lteq")
_TESTS = ("eq", "equalto", "==", "ne", "!=", "in")
_STARTS = ("startswith", "endswith")
# What changes a text without changing which word it is.
_METHODS = ("lower", "upper", "casefold", "strip")
_FILTERS = ("lower", "upper", "trim", "string", "default", "d")


def compared_words(parts: Parts) -> Iterator[tuple[Path, str]]:
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


def assumed_missing(parts: Parts) -> Iterator[str]:
    """Yield each name for which a default is given, or which is tested for being there, as if it might be missing."""
    for given in parts.of(nodes.Filter):
        if given.name in ("default", "d") and isinstance(given.node, nodes.Name) and len(given.args) < 2:
            yield given.node.name
    for test in parts.of(nodes.Test):
        if test.name in ("defined", "undefined") and isinstance(test.node, nodes.Name):
            yield test.node.name


def asked_names(parts: Parts) -> Iterator[str]:
    """Yield each name in the condition of an `if`."""
    for asked in parts.of(nodes.If):
        yield from (one.name for one in (asked.test, *asked.test.find_all(nodes.Name)) if isinstance(one, nodes.Name))


def printed_paths(parts: Parts) -> Iterator[tuple[Path, bool]]:
    """Yield each path that is printed as it is, or as a text of other letters; and whether as it is."""
    for output in parts.of(nodes.Output):
        yield from ((path, _plain(node) is node) for node in output.nodes if (path := path_of(_plain(node))))


def _pairs(one: nodes.Expr, other: nodes.Expr) -> Iterator[tuple[Path, str]]:
    for subject, constant in ((one, other), (other, one)):
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
    """Return what a text was before filters and methods that do not change its word."""
    while True:
        if isinstance(node, nodes.Filter) and node.name in _FILTERS and node.node is not None:
            node = node.node
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr in _METHODS:
            node = node.node.node
        else:
            return node
