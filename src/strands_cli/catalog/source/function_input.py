"""The input of a `@tool` function, for the list of tools and for adoption alike, and what only loading shows of it."""

from __future__ import annotations

import ast
from dataclasses import replace

from strands_cli.catalog.source.module_names import ModuleNames
from strands_cli.catalog.source.signatures import read_signature
from strands_cli.catalog.source.source_module import decorator_name
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.catalog.source.static_values import Function
from strands_cli.catalog.source.wrappers import keeps_definition


def with_input(
    tool: SourceTool, node: Function, decorator: ast.expr, names: ModuleNames
) -> tuple[SourceTool, tuple[str, ...], tuple[str, ...]]:
    """Return a tool with the input schema of its signature, why it is known only after loading, and computed defaults.

    Args:
        tool: What `@tool` and the docstring say of it.
        node: The function.
        decorator: Its `@tool`.
        names: The names of its module.
    """
    unknown: list[str] = []
    computed: tuple[str, ...] = ()
    place = node.decorator_list.index(decorator)
    above, below = node.decorator_list[:place], node.decorator_list[place + 1 :]
    changing = [*above, *(one for one in below if not keeps_definition(one, names))]
    unknown += [f"@{decorator_name(one)} may change it" for one in changing if decorator_name(one) != "tool_metadata"]
    if tool.name is None or tool.description is None:
        unknown.append("its name or description is code")
    if tool.input_schema is None:
        if any(keyword.arg == "inputSchema" for keyword in getattr(decorator, "keywords", ())):
            unknown.append("its input schema is code")
        else:
            signature = read_signature(node, decorator, names)
            tool = replace(tool, input_schema=signature.schema)
            unknown += signature.unknown
            computed = signature.computed
    return tool, tuple(unknown), computed
