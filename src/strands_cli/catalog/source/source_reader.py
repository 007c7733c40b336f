"""Read the definitions of tools from the syntax tree of their source, executing and guessing nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from strands_cli.catalog.source.defined_tools import DefinedTools, required_arguments
from strands_cli.catalog.source.source_module import (
    UNKNOWN,
    Bindings,
    ForeignValue,
    Function,
    ReadModule,
    SourceModule,
    UnknownValue,
    description_of,
    exported_names,
    is_from_python,
    literal,
    open_module,
)
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.catalog.source.type_annotations import ModuleNames, is_bound_once, is_plain_suite

# Whether the source of a module surely has no tool of a name; in doubt it has one.


# Names with which code binds names outside its source.
_DYNAMIC = frozenset(
    {"globals", "locals", "vars", "exec", "eval", "setattr", "modules", "__dict__", "__getattr__", "import_module"}
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def lacks_tool(raw: bytes, attribute: str) -> bool:
    """Return whether no run of a module's source binds an attribute, which may be one of a class, to a tool."""
    try:
        nodes = list(ast.walk(ast.parse(raw)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if _binds_unseen(nodes):
        return False
    name, *inner = attribute.split(".")
    binding = [node for node in nodes if name in _bound(node)]
    if not binding:
        return True
    if len(inner) != 1 or len(binding) != 1 or not _is_plain_class(binding[0]):
        return False
    changed = any(isinstance(node, ast.Attribute) and node.attr == inner[0] and _is_stored(node) for node in nodes)
    return not changed and _class_lacks(binding[0], inner[0])


def binds_unseen(tree: ast.Module) -> bool:
    """Return whether a module may have names that its source does not show."""
    return _binds_unseen(ast.walk(tree))


def _binds_unseen(nodes: Iterable[ast.AST]) -> bool:
    return any(_is_dynamic(node) for node in nodes)


def _class_lacks(owner: ast.AST, name: str) -> bool:
    """Return whether a class has no such name, or it is one of its methods, which are no tools."""
    binding = [node for node in ast.walk(owner) if node is not owner and name in _bound(node)]
    return all(isinstance(node, _FUNCTIONS) and not node.decorator_list for node in binding)


def _is_plain_class(node: ast.AST) -> bool:
    """Return whether a class has only the names that its body binds, besides those of every class."""
    if not isinstance(node, ast.ClassDef) or node.decorator_list or node.keywords:
        return False
    return all(isinstance(base, ast.Name) and base.id == "object" for base in node.bases)


def _is_dynamic(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        return True
    words = (getattr(node, "id", None), getattr(node, "attr", None), *_bound(node))
    return any(word in _DYNAMIC for word in words)


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds, wherever it is."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.Name) and _is_stored(node):
        yield node.id
    elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _is_stored(node: ast.Name | ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


# Why an object reference surely names no tool, as far as the source of its module shows it.


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
    names = [
        name_or_module for name_or_module in (name, source.module.rpartition(".")[2]) if isinstance(name_or_module, str)
    ]
    if node is None or binds_unseen(source.tree) or any(source.definition(name) is not None for name in names):
        return None
    return f"its TOOL_SPEC names '{name}', and the module has no function of that name", node.lineno


def _spoken(value: ast.expr | None) -> str:
    constant = value.value if isinstance(value, ast.Constant) else ...
    words = {str: "a text", bool: "true or false", int: "a number", float: "a number", type(None): "None"}
    return words.get(type(constant), "a value that is written out")


def _needs(node: Function) -> bool:
    listed = node.args.posonlyargs + node.args.args
    without = listed[: len(listed) - len(node.args.defaults)]
    return any(argument.arg != "config" for argument in without) or None in node.args.kw_defaults


MAX_HOPS = 5
OpenNamed = Callable[[str], "DefinedTools | None"]


def read_tool(module: str, attribute: str | None, read_module: ReadModule) -> SourceTool:
    """Read one object reference from source.

    Args:
        attribute: As in the entry point; None for the whole module.
        read_module: Returns a module's source; for a name without source the result is unknown, not an error.

    Returns: The definition; a name imported from the same package is followed through a few modules.

    Raises:
        SourceError: A module's source is not Python.
    """

    def open_named(name: str) -> DefinedTools | None:
        source = open_module(name, read_module)
        return DefinedTools(ModuleNames(source, read_module)) if source is not None else None

    if attribute is None:
        return _read_module_tool(module, open_named)
    if "." in attribute:
        return SourceTool(members=None)
    return _follow(module, attribute, open_named, MAX_HOPS)


def tools_of_module(module: str, read_module: ReadModule) -> list[SourceTool]:
    """Return the tools that a module itself defines, in the order of their lines, each with its object reference.

    Raises:
        SourceError: The source is not Python, or too large.
    """
    source = open_module(module, read_module)
    if source is None:
        return []
    listed = _ModuleListing(DefinedTools(ModuleNames(source, read_module), of_sdk=True))
    tools = sorted(listed.tools(), key=lambda listed_tool: (listed_tool.line or 0, listed_tool.entry))
    # Of two definitions of one name in a module the later one stays.
    last = {tool.entry: tool for tool in tools}
    return [tool for tool in tools if last[tool.entry] is tool]


def _read_module_tool(module: str, open_named: OpenNamed) -> SourceTool:
    tools = open_named(module)
    if tools is None:
        return SourceTool(members=None)
    source = tools.source
    spec_node = source.value("TOOL_SPEC")
    if spec_node is not None:
        return tools.of_spec(spec_node, "TOOL_SPEC")
    if source.definition("TOOL_SPECS") is not None:
        return _from_specs(tools)
    tools_found = _tools(tools, open_named)
    certain = is_plain_suite(source.tree)
    if tools_found and len(tools_found) == 1:
        return replace(tools_found[0], certain=tools_found[0].certain and certain)
    if tools_found and all(tool.name is not None for tool in tools_found):
        suite = SourceTool(kind="suite", file=source.file, line=1, description=source.doc, members=tuple(tools_found))
        return replace(suite, certain=certain)
    return SourceTool(file=source.file, line=1, members=None)


def _tools(tools: DefinedTools, open_named: OpenNamed) -> list[SourceTool] | None:
    """Return the tools that loading finds in this module, or None if the source does not show them.

    These are the tools that `__all__` names, also imported ones; without `__all__`, those defined here.
    """
    source = tools.source
    bindings = Bindings(source.tree.body, tools.of_function)
    names: list[str] | None = list(bindings.names)
    chosen = "__all__" in bindings.names
    if chosen:
        names = exported_names(source.tree.body, literal(source.value("__all__"), folds=False))
    if names is None or (bindings.open_ended and chosen):
        return None
    source_tools: list[SourceTool] = []
    for name in names:
        bound = bindings.names.get(name)
        if not chosen and isinstance(bound, (ast.ImportFrom, ForeignValue)):
            continue
        tool = _imported_tool(source, bound, name, open_named) if isinstance(bound, ast.ImportFrom) else bound
        if isinstance(tool, UnknownValue):
            return None
        if isinstance(tool, SourceTool) and not any(tool is other for other in source_tools):
            source_tools.append(tool)
    return source_tools


def _imported_tool(
    source: SourceModule, node: ast.ImportFrom, name: str, open_named: OpenNamed
) -> SourceTool | UnknownValue | None:
    """Return the tool with an imported name; other distributions are not read."""
    if is_from_python(node):
        return None
    target, original = source.imported(node, name)
    if target is None or target.partition(".")[0] != source.module.partition(".")[0]:
        return UNKNOWN
    tool = _follow(target, original, open_named, MAX_HOPS)
    return tool if tool.kind == "function" else UNKNOWN


def _from_specs(tools: DefinedTools) -> SourceTool:
    """Read `TOOL_SPECS`; if a member has no literal name, all members are unknown."""
    source = tools.source
    node = source.value("TOOL_SPECS")
    listed = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
    members = tuple(tools.of_spec(node, "TOOL_SPECS") for node in listed)
    if node is None or not members or any(member.name is None for member in members):
        return SourceTool(file=source.file, line=1, members=None)
    return SourceTool(kind="suite", file=source.file, line=node.lineno, members=members)


def _follow(module: str, attribute: str, open_named: OpenNamed, hops: int) -> SourceTool:
    tools = open_named(module)
    if tools is None:
        return SourceTool(members=None)
    source = tools.source
    node = source.definition(attribute)
    if isinstance(node, ast.ClassDef):
        return tools.of_class(node)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        tool = tools.of_function(node)
        if tool is not None:
            return tool
        spec_node = source.value("TOOL_SPEC")
        spec = literal(spec_node)
        if spec_node is not None and isinstance(spec, dict) and spec.get("name") == attribute:
            return tools.of_spec(spec_node, "TOOL_SPEC")
        doc = description_of(node)
        return SourceTool(kind="provider", file=source.file, line=node.lineno, description=doc, members=None)
    if isinstance(node, ast.ImportFrom) and hops:
        target, original = source.imported(node, attribute)
        if target is not None and target.partition(".")[0] == module.partition(".")[0]:
            return _follow(target, original, open_named, hops - 1)
    value = node.value if isinstance(node, ast.Assign) else None
    maker = (
        source.definition(value.func.id) if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None
    )
    if isinstance(maker, ast.ClassDef) and is_bound_once(source.tree, attribute):
        class_tool = tools.of_class(maker)
        if class_tool.kind == "agent_tool":
            return class_tool
    line = getattr(node, "lineno", None)
    return SourceTool(file=source.file, line=line, members=None)


class _ModuleListing:
    """Lists the tools of one module, and why the source does not show the definition of some."""

    def __init__(self, defined: DefinedTools) -> None:
        self._defined = defined
        self._source = defined.source
        self._bound = Bindings(self._source.tree.body, lambda node: defined.decorator(node) and node).names

    def tools(self) -> Iterator[SourceTool]:
        """Yield the tools of specs, then those of functions and classes."""
        specified = list(self._specified())
        yield from specified
        names = {tool.name for tool in specified}
        for node in _top_level(self._source.tree.body):
            if isinstance(node, ast.ClassDef):
                yield from self._of_class(node)
            elif (tool := self._defined.of_function(node)) is not None:
                if node.name not in names:
                    yield self._as_bound(tool, node)
            elif provider := self._of_provider(node):
                yield provider

    def _as_bound(self, tool: SourceTool, node: Function) -> SourceTool:
        if self._bound.get(node.name) is node:
            return tool
        return replace(
            tool, unknown=(*tool.unknown, f"'{node.name}' may be bound to something else when the module runs")
        )

    def _of_class(self, node: ast.ClassDef) -> Iterator[SourceTool]:
        tool = self._defined.of_class(node)
        if tool.kind == "class":
            yield replace(tool, name=node.name)
        elif tool.kind == "agent_tool" and None not in (tool.name, tool.description, tool.input_schema):
            yield tool
        elif tool.kind == "agent_tool":
            unknown = ("an AgentTool states its name and its input only after loading",)
            yield replace(tool, name=node.name, unknown=unknown)
        elif tool.kind == "provider":
            yield replace(tool, name=node.name, unknown=("its tools are known only after loading",))

    def _specified(self) -> Iterator[SourceTool]:
        """Yield the tools of `TOOL_SPEC` and `TOOL_SPECS`."""
        node = self._source.value("TOOL_SPEC")
        if node is not None:
            yield self._of_spec(node, "TOOL_SPEC")
        listed = self._source.value("TOOL_SPECS")
        if listed is None:
            return
        for element in listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else [listed]:
            tool = self._of_spec(element, "TOOL_SPECS")
            yield replace(tool, attribute=tool.name)

    def _of_spec(self, node: ast.expr, variable: str) -> SourceTool:
        # Code may still change the spec: the loaded one is compared with this one.
        tool = self._defined.of_spec(node, variable)
        if None in (tool.name, tool.description, tool.input_schema):
            return replace(tool, unknown=("its tool spec is code",))
        names = (tool.name or "", self._source.module.rpartition(".")[2])
        if any(self._source.function(name) is not None for name in names):
            return tool
        return replace(tool, unknown=("its module may not have a function of the name in the spec",))

    def _of_provider(self, node: Function) -> SourceTool | None:
        """Return a function that makes tools: it has `@tool` functions inside, and needs no arguments."""
        inner = [
            part
            for part in ast.walk(node)
            if part is not node
            and isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))
            and self._defined.decorator(part) is not None
        ]
        if not inner or node.name.startswith("_"):
            return None
        listed = ", ".join(part.name for part in inner[:5]) + (", ..." if len(inner) > 5 else "")
        return SourceTool(
            node.name,
            "provider",
            self._source.file,
            node.lineno,
            members=None,
            module=self._source.module,
            attribute=node.name,
            unknown=(f"it makes its tools ({listed}) when it is called",),
            needs=required_arguments(node.args),
        )


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
