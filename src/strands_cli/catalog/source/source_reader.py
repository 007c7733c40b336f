"""Read a tool's definition from the syntax tree of its source, executing and guessing nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from strands_cli.catalog.source.docstrings import description_of
from strands_cli.catalog.source.fixed_names import is_bound_once, is_plain_suite
from strands_cli.catalog.source.source_module import (
    ReadModule,
    SourceModule,
    from_class,
    from_spec,
    literal,
    open_module,
)
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.catalog.source.static_values import (
    UNKNOWN,
    Bindings,
    Foreign,
    Function,
    Unknown,
    exported_names,
    is_from_python,
)

MAX_HOPS = 5
OpenNamed = Callable[[str], "SourceModule | None"]


def read_tool(module: str, attribute: str | None, read_module: ReadModule, *, with_inputs: bool = False) -> SourceTool:
    """Read one object reference from source.

    Args:
        attribute: As in the entry point; None for the whole module.
        read_module: Returns a module's source; for a name without source the result is unknown, not an error.
        with_inputs: Whether a function's parameters are read too, where its `@tool` has no input schema.

    Returns:
        The definition; a name that is imported from the same package is followed through a few modules.

    Raises:
        SourceError: A module's source is not Python.
    """
    open_named = partial(_opened, read_module=read_module, with_inputs=with_inputs)
    if attribute is None:
        return _read_module_tool(module, open_named)
    if "." in attribute:
        return SourceTool(members=None)
    return _follow(module, attribute, open_named, MAX_HOPS)


def _opened(module: str, read_module: ReadModule, *, with_inputs: bool) -> SourceModule | None:
    source = open_module(module, read_module)
    if source is not None and with_inputs:
        from strands_cli.catalog.source.function_input import with_input
        from strands_cli.catalog.source.module_names import ModuleNames

        names = ModuleNames(source, read_module)

        def add_input(_source: SourceModule, tool: SourceTool, node: Function, decorator: ast.expr) -> SourceTool:
            found, unknown, _ = with_input(tool, node, decorator, names)
            return tool if unknown else found

        source.with_input = add_input
    return source


def _read_module_tool(module: str, open_named: OpenNamed) -> SourceTool:
    source = open_named(module)
    if source is None:
        return SourceTool(members=None)
    spec_node = source.value("TOOL_SPEC")
    if spec_node is not None:
        return from_spec(spec_node, source, "TOOL_SPEC")
    if source.definition("TOOL_SPECS") is not None:
        return _from_specs(source)
    tools = _tools(source, open_named)
    certain = is_plain_suite(source.tree)
    if tools and len(tools) == 1:
        return replace(tools[0], certain=tools[0].certain and certain)
    if tools and all(tool.name is not None for tool in tools):
        found = SourceTool(kind="suite", file=source.file, line=1, description=source.doc, members=tuple(tools))
        return replace(found, certain=certain)
    return SourceTool(file=source.file, line=1, members=None)


def _tools(source: SourceModule, open_named: OpenNamed) -> list[SourceTool] | None:
    """Return the tools that loading finds in this module, or None if the source does not show them.

    These are the tools that `__all__` names, also imported ones; without `__all__`, those defined here.
    """
    bindings = Bindings(source.tree.body, source.decorated)
    names: list[str] | None = list(bindings.names)
    chosen = "__all__" in bindings.names
    if chosen:
        names = exported_names(source.tree.body, literal(source.value("__all__"), folds=False))
    if names is None or (bindings.open_ended and chosen):
        return None
    found: list[SourceTool] = []
    for name in names:
        bound = bindings.names.get(name)
        if not chosen and isinstance(bound, (ast.ImportFrom, Foreign)):
            continue
        tool = _imported_tool(source, bound, name, open_named) if isinstance(bound, ast.ImportFrom) else bound
        if isinstance(tool, Unknown):
            return None
        if isinstance(tool, SourceTool) and not any(tool is one for one in found):
            found.append(tool)
    return found


def _imported_tool(
    source: SourceModule, node: ast.ImportFrom, name: str, open_named: OpenNamed
) -> SourceTool | Unknown | None:
    """Return the tool with an imported name; other distributions are not read."""
    if is_from_python(node):
        return None
    target, original = source.imported(node, name)
    if target is None or target.partition(".")[0] != source.module.partition(".")[0]:
        return UNKNOWN
    found = _follow(target, original, open_named, MAX_HOPS)
    return found if found.kind == "function" else UNKNOWN


def _from_specs(source: SourceModule) -> SourceTool:
    """Read `TOOL_SPECS`; if a member has no literal name, all members are unknown."""
    node = source.value("TOOL_SPECS")
    listed = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
    members = tuple(from_spec(one, source, "TOOL_SPECS") for one in listed)
    if node is None or not members or any(member.name is None for member in members):
        return SourceTool(file=source.file, line=1, members=None)
    return SourceTool(kind="suite", file=source.file, line=node.lineno, members=members)


def _follow(module: str, attribute: str, open_named: OpenNamed, hops: int) -> SourceTool:
    source = open_named(module)
    if source is None:
        return SourceTool(members=None)
    node = source.definition(attribute)
    if isinstance(node, ast.ClassDef):
        return from_class(node, source)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        decorator = source.tool_decorator(node)
        if decorator is not None:
            return source.from_function(node, decorator)
        spec_node = source.value("TOOL_SPEC")
        spec = literal(spec_node)
        if spec_node is not None and isinstance(spec, dict) and spec.get("name") == attribute:
            return from_spec(spec_node, source, "TOOL_SPEC")
        doc = description_of(node)
        return SourceTool(kind="provider", file=source.file, line=node.lineno, description=doc, members=None)
    if isinstance(node, ast.ImportFrom) and hops:
        target, original = source.imported(node, attribute)
        if target is not None and target.partition(".")[0] == module.partition(".")[0]:
            return _follow(target, original, open_named, hops - 1)
    made = node.value if isinstance(node, ast.Assign) else None
    maker = source.definition(made.func.id) if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) else None
    if isinstance(maker, ast.ClassDef) and is_bound_once(source.tree, attribute):
        found = from_class(maker, source)
        if found.kind == "agent_tool":
            return found
    line = getattr(node, "lineno", None)
    return SourceTool(file=source.file, line=line, members=None)
