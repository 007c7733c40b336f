"""Read a tool's definition from the syntax tree of its source, executing and guessing nothing."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from strands_cli.catalog.source.docstrings import description_of, docstring_of
from strands_cli.catalog.source.fixed_names import is_fixed, is_plain_suite
from strands_cli.catalog.source.spec_words import CATALOGUE, TOOL_WORD, meaningless_words, normal_spec, with_metadata
from strands_cli.catalog.source.static_values import (
    UNKNOWN,
    Bindings,
    Foreign,
    Function,
    Unknown,
    exported_names,
    is_from_python,
)
from strands_cli.errors import Finding, Where
from strands_cli.metadata import HINTS
from strands_cli.quick_dataclass import dataclass

MAX_SOURCE_BYTES = 2_000_000
MAX_HOPS = 5


class SourceError(Exception):
    """The source is not valid Python; `line` is the place, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class SourceTool:
    """A tool's definition in its source; `None` and `"unknown"` mean that it is known only after loading.

    Attributes:
        name: The name the model sees.
        kind: One of `manifest.KINDS`, or `unknown`.
        file: The file that defines it.
        line: 1-based line of the definition.
        certain: Whether running the code practically cannot change the definition.
        members: As in `ToolRecord`.
        catalogue: The fields that a list of tools shows: `family`, `requires`, `deprecated` and others.
        meaningless: The words that have no effect, each with what to write instead.
    """

    name: str | None = None
    kind: str = "unknown"
    file: str = ""
    line: int | None = None
    description: str | None = None
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    strands_cli: Mapping[str, Any] = field(default_factory=dict)
    members: tuple[SourceTool, ...] | None = ()
    certain: bool = True
    catalogue: Mapping[str, Any] = field(default_factory=dict)
    meaningless: tuple[tuple[str, str | None], ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether the source shows everything that a model needs: it is literal and nothing changes it."""
        if not self.certain:
            return False
        if self.kind in ("class", "suite", "provider"):
            return bool(self.members) and all(member.complete for member in self.members or ())
        return None not in (self.name, self.description, self.input_schema)

    def check_words(self, distribution: str) -> Iterator[Finding]:
        """Yield a finding for each word of the tool and its members that means nothing."""
        where = Where(self.file, self.line) if self.file else None
        for word, fix in self.meaningless:
            message = f"{word!r} of the tool '{self.name}' of '{distribution}' means nothing"
            yield Finding(TOOL_WORD, message, where, fix, "warning")
        for member in self.members or ():
            yield from member.check_words(distribution)


# Returns a module's file and source by its dotted name, or None.
ReadModule = Callable[[str], "tuple[str, bytes] | None"]


def read_tool(module: str, attribute: str | None, read_module: ReadModule) -> SourceTool:
    """Read one object reference from source.

    Args:
        attribute: As in the entry point; None for the whole module.
        read_module: Returns a module's source; for a name without source the result is unknown, not an error.

    Returns:
        The definition; a name that is imported from the same package is followed through a few modules.

    Raises:
        SourceError: A module's source is not Python.
    """
    if attribute is None:
        return _read_module_tool(module, read_module)
    if "." in attribute:
        return SourceTool(members=None)
    return _follow(module, attribute, read_module, MAX_HOPS)


def _read_module_tool(module: str, read_module: ReadModule) -> SourceTool:
    source = _open(module, read_module)
    if source is None:
        return SourceTool(members=None)
    spec_node = source.value("TOOL_SPEC")
    if spec_node is not None:
        return _from_spec(spec_node, source, "TOOL_SPEC")
    if source.definition("TOOL_SPECS") is not None:
        return _from_specs(source)
    tools = source.tools(read_module)
    certain = is_plain_suite(source.tree)
    if tools and len(tools) == 1:
        return replace(tools[0], certain=tools[0].certain and certain)
    if tools and all(tool.name is not None for tool in tools):
        found = SourceTool(kind="suite", file=source.file, line=1, description=source.doc, members=tuple(tools))
        return replace(found, certain=certain)
    return SourceTool(file=source.file, line=1, members=None)


def _from_specs(source: _Source) -> SourceTool:
    """Read `TOOL_SPECS`; if a member has no literal name, all members are unknown."""
    node = source.value("TOOL_SPECS")
    listed = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
    members = tuple(_from_spec(one, source, "TOOL_SPECS") for one in listed)
    if node is None or not members or any(member.name is None for member in members):
        return SourceTool(file=source.file, line=1, members=None)
    return SourceTool(kind="suite", file=source.file, line=node.lineno, members=members)


def _follow(module: str, attribute: str, read_module: ReadModule, hops: int) -> SourceTool:
    source = _open(module, read_module)
    if source is None:
        return SourceTool(members=None)
    node = source.definition(attribute)
    if isinstance(node, ast.ClassDef):
        return _from_class(node, source)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        decorator = source.tool_decorator(node)
        if decorator is not None:
            return source.from_function(node, decorator)
        spec_node = source.value("TOOL_SPEC")
        spec = _literal(spec_node)
        if spec_node is not None and isinstance(spec, dict) and spec.get("name") == attribute:
            return _from_spec(spec_node, source, "TOOL_SPEC")
        doc = description_of(node)
        return SourceTool(kind="provider", file=source.file, line=node.lineno, description=doc, members=None)
    if isinstance(node, ast.ImportFrom) and hops:
        target, original = source.imported(node, attribute)
        if target is not None and target.partition(".")[0] == module.partition(".")[0]:
            return _follow(target, original, read_module, hops - 1)
    line = getattr(node, "lineno", None)
    return SourceTool(file=source.file, line=line, members=None)


def _open(module: str, read_module: ReadModule) -> _Source | None:
    found = read_module(module)
    if found is None:
        return None
    file, raw = found
    if not file.endswith(".py"):
        return None  # compiled: nothing to read
    if len(raw) > MAX_SOURCE_BYTES:
        raise SourceError(f"the source is larger than {MAX_SOURCE_BYTES:,} bytes")
    try:
        tree = ast.parse(raw, file)
    except SyntaxError as error:
        raise SourceError(f"the source is not Python: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:  # null bytes, nesting beyond the parser's limits
        raise SourceError(f"the source is not Python: {error}") from None
    return _Source(module, file, tree)


class _Source:
    """One parsed module."""

    def __init__(self, module: str, file: str, tree: ast.Module) -> None:
        self.module = module
        self.file = file
        self.tree = tree
        self.doc = docstring_of(tree).split("\n\n")[0].replace("\n", " ") or None
        self.tool_names = {"tool"} | {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "strands"
            for alias in node.names
            if alias.name == "tool"
        }

    def definition(self, name: str) -> ast.AST | None:
        """Return the last statement at top level that binds the name."""
        found: ast.AST | None = None
        for node in self.tree.body:
            if name in _bound_names(node):
                found = node
        return found

    def value(self, name: str) -> ast.expr | None:
        node = self.definition(name)
        return node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None

    def function(self, name: str) -> Function | None:
        node = self.definition(name)
        return node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None

    def imported(self, node: ast.ImportFrom, name: str) -> tuple[str | None, str]:
        """Return the absolute module and the original name behind an imported one."""
        original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
        if not node.level:
            return node.module, original
        is_package = self.file.endswith("__init__.py")
        parts = self.module.split(".")
        parents = parts[: len(parts) - node.level + is_package]
        return ".".join([*parents, *([node.module] if node.module else [])]) or None, original

    def tools(self, read_module: ReadModule) -> list[SourceTool] | None:
        """Return the tools that loading finds in this module, or None if the source does not show them.

        These are the tools that `__all__` names, also imported ones; without `__all__`, those defined here.
        """
        bindings = Bindings(self.tree.body, self._decorated)
        names: list[str] | None = list(bindings.names)
        chosen = "__all__" in bindings.names
        if chosen:
            names = exported_names(self.tree.body, _literal(self.value("__all__")))
        if names is None or (bindings.open_ended and chosen):
            return None
        found: list[SourceTool] = []
        for name in names:
            bound = bindings.names.get(name)
            if not chosen and isinstance(bound, (ast.ImportFrom, Foreign)):
                continue
            tool = self._imported_tool(bound, name, read_module) if isinstance(bound, ast.ImportFrom) else bound
            if isinstance(tool, Unknown):
                return None
            if isinstance(tool, SourceTool) and not any(tool is one for one in found):
                found.append(tool)
        return found

    def _decorated(self, node: Function) -> SourceTool | None:
        decorator = self.tool_decorator(node)
        return None if decorator is None else self.from_function(node, decorator)

    def _imported_tool(self, node: ast.ImportFrom, name: str, read_module: ReadModule) -> SourceTool | Unknown | None:
        """Return the tool with an imported name; other distributions are not read."""
        if is_from_python(node):
            return None
        target, original = self.imported(node, name)
        if target is None or target.partition(".")[0] != self.module.partition(".")[0]:
            return UNKNOWN
        found = _follow(target, original, read_module, MAX_HOPS)
        return found if found.kind == "function" else UNKNOWN

    def tool_decorator(self, node: Function) -> ast.expr | None:
        for decorator in node.decorator_list:
            if _decorator_name(decorator) in self.tool_names:
                return decorator
        return None

    def from_function(self, node: Function, decorator: ast.expr) -> SourceTool:
        keywords = _keywords(decorator)
        # A keyword that is not literal makes its field unknown; an absent one has the SDK's default.
        name = keywords.get("name", node.name)
        description = keywords.get("description", description_of(node) or node.name)
        known = all(_decorator_name(one) in {*self.tool_names, "tool_metadata"} for one in node.decorator_list)
        spec = {"name": name, "description": description, "inputSchema": keywords.get("inputSchema"), **_metadata(node)}
        certain = known and _has_literal_metadata(node)
        return replace(from_tool_spec(spec, "function"), certain=certain, file=self.file, line=node.lineno)


def _from_spec(node: ast.expr, source: _Source, variable: str) -> SourceTool:
    spec = _literal(node)
    last = source.module.rpartition(".")[2]
    if not isinstance(spec, dict):
        return SourceTool(kind="module", file=source.file, line=(source.function(last) or node).lineno)
    names = (str(spec.get("name")), last)
    functions = [name for name in names if source.definition(name)]
    function = source.function(functions[0]) if functions else None
    return replace(
        from_tool_spec(with_metadata(spec, _metadata(function)) if function else spec, "module"),
        meaningless=tuple(meaningless_words(spec)),
        certain=is_fixed(source.tree, variable) and function is not None and _has_literal_metadata(function),
        file=source.file,
        line=(function or node).lineno,
    )


def from_tool_spec(spec: Mapping[str, Any], kind: str) -> SourceTool:
    """Read a Strands `ToolSpec`, whose schemas may be under the key `json`."""
    meaningless, spec = tuple(meaningless_words(spec)), normal_spec(spec)
    name, description = spec.get("name"), spec.get("description")
    return SourceTool(
        name=name if isinstance(name, str) else None,
        kind=kind,
        description=description if isinstance(description, str) else None,
        input_schema=_schema(spec.get("inputSchema")),
        output_schema=_schema(spec.get("outputSchema")),
        annotations=_mapping(spec.get("annotations")),
        strands_cli=_mapping(spec.get("strands_cli")),
        catalogue={word: spec[word] for word in CATALOGUE if word in spec},
        meaningless=meaningless,
    )


def _from_class(node: ast.ClassDef, source: _Source) -> SourceTool:
    found = SourceTool(file=source.file, line=node.lineno, description=description_of(node), members=None)
    methods = [
        source.from_function(part, decorator)
        for part in node.body
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (decorator := source.tool_decorator(part)) is not None
    ]
    if methods:
        # Bases and decorators may add other tools, so only a class without them is certain.
        certain = not node.decorator_list and all(getattr(base, "id", "") == "object" for base in node.bases)
        return replace(found, kind="class", members=tuple(methods), certain=certain)
    bases = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases}
    if "AgentTool" in bases:
        declared = from_tool_spec(_metadata(node), "agent_tool")
        return replace(declared, file=found.file, line=found.line, description=found.description)
    return replace(found, kind="provider") if "ToolProvider" in bases else found


def _metadata(node: Function | ast.ClassDef) -> dict[str, Any]:
    """Return what `@tool_metadata` says, as a part of a tool spec."""
    fields: dict[str, Any] = {}
    for decorator in reversed(node.decorator_list):  # the outer one, which is written first, takes precedence
        if _decorator_name(decorator) == "tool_metadata":
            fields.update({key: value for key, value in _keywords(decorator).items() if value is not None})
    annotations = {hint: fields.pop(key) for key, hint in {**HINTS, "title": "title"}.items() if key in fields}
    return {"annotations": annotations, "strands_cli": fields}


def _has_literal_metadata(node: Function) -> bool:
    metadata = [one for one in node.decorator_list if _decorator_name(one) == "tool_metadata"]
    keywords = [keyword for one in metadata if isinstance(one, ast.Call) for keyword in one.keywords]
    return all(keyword.arg and _literal(keyword.value) is not None for keyword in keywords)


def _decorator_name(decorator: ast.expr) -> str | None:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)


def _keywords(decorator: ast.expr) -> dict[str, Any]:
    if not isinstance(decorator, ast.Call):
        return {}
    return {keyword.arg: _literal(keyword.value) for keyword in decorator.keywords if keyword.arg}


def _bound_names(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return (node.name,)
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return (node.target.id,)
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    return ()


def _literal(node: ast.expr | None) -> Any:
    if node is None:
        return None
    try:
        value = ast.literal_eval(node)
        # Not every literal is JSON: bytes, sets, infinities and lone surrogates are not.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _schema(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, Mapping):
        return None
    inner = value.get("json")
    return dict(inner) if isinstance(inner, Mapping) else dict(value)
