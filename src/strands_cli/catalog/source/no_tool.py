"""Why an object reference surely names no tool, as far as the source of its module shows it."""

from __future__ import annotations

import ast

from strands_cli.catalog.source.absent_names import binds_unseen
from strands_cli.catalog.source.fixed_names import is_bound_once
from strands_cli.catalog.source.source_module import ReadModule, SourceModule, literal, open_module
from strands_cli.catalog.source.static_values import Function

_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.JoinedStr)


def why_no_tool(module: str, attribute: str | None, read_module: ReadModule) -> tuple[str, int] | None:
    """Return the reason, and its line; None where it may be a tool.

    Raises:
        SourceError: The source is not Python.
    """
    source = open_module(module, read_module)
    if source is None:
        return None
    spec = literal(source.value("TOOL_SPEC"))
    if attribute is None:
        return _without_function(source, spec) if isinstance(spec, dict) else None
    node = source.definition(attribute)
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, _LITERALS):
        is_certain = is_bound_once(source.tree, attribute) and not binds_unseen(source.tree)
        return (f"it is {_spoken(node.value)}", node.lineno) if is_certain else None
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.decorator_list:
        return None
    if not source.binds_once(attribute) or binds_unseen(source.tree):
        return None
    is_named = isinstance(spec, dict) and spec.get("name") == attribute
    # A function without arguments may make tools.
    return None if is_named or not _needs(node) else (f"the function '{attribute}' has no @tool", node.lineno)


def _without_function(source: SourceModule, spec: dict[str, object]) -> tuple[str, int] | None:
    name, node = spec.get("name"), source.value("TOOL_SPEC")
    names = [one for one in (name, source.module.rpartition(".")[2]) if isinstance(one, str)]
    if node is None or binds_unseen(source.tree) or any(source.definition(one) is not None for one in names):
        return None
    return f"its TOOL_SPEC names '{name}', and the module has no function of that name", node.lineno


def _spoken(value: ast.expr | None) -> str:
    constant = value.value if isinstance(value, ast.Constant) else ...
    words = {str: "a text", bool: "true or false", int: "a number", float: "a number", type(None): "None"}
    return words.get(type(constant), "a value that is written out")


def _needs(node: Function) -> bool:
    listed = node.args.posonlyargs + node.args.args
    without = listed[: len(listed) - len(node.args.defaults)]
    return any(one.arg != "config" for one in without) or None in node.args.kw_defaults
