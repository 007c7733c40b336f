"""Every tool that a module defines, each with the object reference that loads it, without running the module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from strands_cli.catalog.source.function_input import with_input
from strands_cli.catalog.source.module_names import ModuleNames
from strands_cli.catalog.source.source_module import (
    ReadModule,
    SourceModule,
    from_class,
    from_spec,
    open_module,
)
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.catalog.source.static_values import Bindings, Function
from strands_cli.catalog.source.wrappers import keeps_definition
from strands_cli.quick_dataclass import dataclass

SDK = "strands"


@dataclass(frozen=True, slots=True)
class ModuleTool:
    """A tool in a module.

    Attributes:
        module: The module's dotted name.
        attribute: The name in it that loads the tool; None where the module itself is the tool.
        tool: Its definition, with the input schema of its signature.
        unknown: Why its definition is known only after loading; empty if the source shows it.
        computed: The parameters whose default is code.
        needs: The arguments that its class or function needs, so that a workflow cannot make it.
    """

    module: str
    attribute: str | None
    tool: SourceTool
    unknown: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def entry(self) -> str:
        """The object reference, as an entry point has it."""
        return f"{self.module}:{self.attribute}" if self.attribute else self.module


def tools_of_module(module: str, read_module: ReadModule) -> list[ModuleTool]:
    """Return the tools that a module itself defines, in the order of their lines.

    Raises:
        SourceError: The source is not Python, or too large.
    """
    source = open_module(module, read_module)
    if source is None:
        return []
    reader = _Reader(source, ModuleNames(source, read_module))
    found = sorted(reader.tools(), key=lambda one: (one.tool.line or 0, one.entry))
    # Of two definitions of one name in a module the later one stays.
    last = {one.entry: one for one in found}
    return [one for one in found if last[one.entry] is one]


class _Reader:
    """The tools of one parsed module."""

    def __init__(self, source: SourceModule, names: ModuleNames) -> None:
        self.source = source
        self.names = names
        self.final = Bindings(source.tree.body, lambda node: source.decorated(node) and node).names

    def tools(self) -> Iterator[ModuleTool]:
        specified = list(self._specified())
        yield from specified
        taken = {found.tool.name for found in specified}
        for node in _top_level(self.source.tree.body):
            if isinstance(node, ast.ClassDef):
                yield from self._of_class(node)
            elif (decorator := self._strands_tool(node)) is not None:
                if node.name not in taken:
                    yield self._of_function(node, decorator)
            elif found := self._of_provider(node):
                yield found

    def _strands_tool(self, node: Function) -> ast.expr | None:
        """Return the decorator if it is the SDK's: other libraries have a `@tool` too."""
        decorator = self.source.tool_decorator(node)
        return decorator if decorator is not None and self._is_of_sdk(decorator) else None

    def _is_of_sdk(self, decorator: ast.expr) -> bool:
        root = decorator.func if isinstance(decorator, ast.Call) else decorator
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        return root.id in self._from_sdk

    @cached_property
    def _from_sdk(self) -> set[str]:
        """The names that the module's imports give to parts of the SDK."""
        aliases = [alias for node in ast.walk(self.source.tree) for alias in _imported_from_sdk(node)]
        return {alias.asname or alias.name.partition(".")[0] for alias in aliases}

    def _of_function(self, node: Function, decorator: ast.expr) -> ModuleTool:
        tool, unknown, computed = self._function(node, decorator)
        if self.final.get(node.name) is not node:
            unknown = (*unknown, f"'{node.name}' may be bound to something else when the module runs")
        return ModuleTool(self.source.module, node.name, tool, unknown, computed)

    def _function(self, node: Function, decorator: ast.expr) -> tuple[SourceTool, tuple[str, ...], tuple[str, ...]]:
        return with_input(self.source.from_function(node, decorator), node, decorator, self.names)

    def _of_class(self, node: ast.ClassDef) -> Iterator[ModuleTool]:
        found = from_class(node, self.source)
        if found.kind == "class":
            yield self._of_tool_methods(node, found)
        elif found.kind == "agent_tool":
            yield self._of_agent_tool(node, found)
        elif found.kind == "provider":
            unknown = ("its tools are known only after loading",)
            yield ModuleTool(self.source.module, node.name, replace(found, name=node.name), unknown, (), _needed(node))

    def _of_tool_methods(self, node: ast.ClassDef, found: SourceTool) -> ModuleTool:
        methods = [part for part in node.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))]
        members, unknown, computed = list[SourceTool](), list[str](), list[str]()
        for method in methods:
            decorator = self._strands_tool(method)
            if decorator is None:
                continue
            tool, *others = self._function(method, decorator)
            members.append(tool)
            unknown += [f"{tool.name or method.name}: {reason}" for reason in others[0]]
            computed += [f"{tool.name or method.name}.{name}" for name in others[1]]
        if node.bases or not all(keeps_definition(one, self.names) for one in node.decorator_list):
            unknown.append("its bases or decorators may add or change tools")
        whole = replace(found, name=node.name, members=tuple(members))
        return ModuleTool(self.source.module, node.name, whole, tuple(unknown), tuple(computed), _needed(node))

    def _of_agent_tool(self, node: ast.ClassDef, found: SourceTool) -> ModuleTool:
        module, needed = self.source.module, _needed(node)
        if None not in (found.name, found.description, found.input_schema):
            return ModuleTool(module, node.name, found, (), (), needed)
        unknown = ("an AgentTool states its name and its input only after loading",)
        return ModuleTool(module, node.name, replace(found, name=node.name), unknown, (), needed)

    def _specified(self) -> Iterator[ModuleTool]:
        """Yield the tools of `TOOL_SPEC` and `TOOL_SPECS`."""
        module = self.source.module
        node = self.source.value("TOOL_SPEC")
        if node is not None:
            tool = from_spec(node, self.source, "TOOL_SPEC")
            yield _of_spec(module, None, tool, self._has_function(tool.name))
        listed = self.source.value("TOOL_SPECS")
        if listed is None:
            return
        for one in listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else [listed]:
            tool = from_spec(one, self.source, "TOOL_SPECS")
            yield _of_spec(module, tool.name, tool, self._has_function(tool.name))

    def _has_function(self, name: str | None) -> bool:
        names = (name or "", self.source.module.rpartition(".")[2])
        return any(self.source.function(one) is not None for one in names)

    def _of_provider(self, node: Function) -> ModuleTool | None:
        """Return a function that makes tools: it has `@tool` functions inside, and needs no arguments."""
        inner = [
            part
            for part in ast.walk(node)
            if part is not node
            and isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))
            and self._strands_tool(part) is not None
        ]
        if not inner or node.name.startswith("_"):
            return None
        listed = ", ".join(part.name for part in inner[:5]) + (", ..." if len(inner) > 5 else "")
        found = SourceTool(node.name, "provider", self.source.file, node.lineno, members=None)
        unknown = (f"it makes its tools ({listed}) when it is called",)
        return ModuleTool(self.source.module, node.name, found, unknown, (), _required(node.args))


def _of_spec(module: str, attribute: str | None, tool: SourceTool, has_function: bool) -> ModuleTool:
    # Code may still change the spec: what loading finds is compared with what was read.
    unknown = []
    if None in (tool.name, tool.description, tool.input_schema):
        unknown.append("its tool spec is code")
    elif not has_function:
        unknown.append("its module may not have a function of the name in the spec")
    return ModuleTool(module, attribute, tool, tuple(unknown))


def _top_level(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield the functions and classes of a module, also those inside `if` and `try`."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            inner = [*node.body, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
            yield from _top_level(inner)
            for handler in getattr(node, "handlers", ()):
                yield from _top_level(handler.body)


def _imported_from_sdk(node: ast.AST) -> list[ast.alias]:
    if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == SDK:
        return node.names
    if isinstance(node, ast.Import):
        return [alias for alias in node.names if alias.name.partition(".")[0] == SDK]
    return []


def _needed(node: ast.ClassDef) -> tuple[str, ...]:
    """Return the arguments without which a class cannot be made; those of its bases are not looked for."""
    made = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    return _required(made.args) if made else ()


def _required(arguments: ast.arguments) -> tuple[str, ...]:
    listed = arguments.posonlyargs + arguments.args
    without = listed[: len(listed) - len(arguments.defaults)]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    required = [*without, *(one for one, default in keywords if default is None)]
    return tuple(one.arg for one in required if one.arg not in ("self", "cls", "config"))
