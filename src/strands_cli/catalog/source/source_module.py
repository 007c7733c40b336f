"""One parsed module: what its names are bound to, and the tools that its statements define."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

from strands_cli.catalog.source.docstrings import description_of, docstring_of
from strands_cli.catalog.source.fixed_names import is_bound_once, is_fixed
from strands_cli.catalog.source.source_tool import SourceTool, from_tool_spec
from strands_cli.catalog.source.spec_words import meaningless_words, with_metadata
from strands_cli.catalog.source.static_values import Function
from strands_cli.metadata import HINTS

MAX_SOURCE_BYTES = 2_000_000


class SourceError(Exception):
    """The source is not valid Python; `line` is the place, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


# Returns a module's file and source by its dotted name, or None.
ReadModule = Callable[[str], "tuple[str, bytes] | None"]
# Returns a tool of a module with the input of its function.
WithInput = Callable[["SourceModule", SourceTool, Function, ast.expr], SourceTool]


def open_module(module: str, read_module: ReadModule) -> SourceModule | None:
    """Parse a module; None if it has no source.

    Raises:
        SourceError: The source is not Python, or too large.
    """
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
    return SourceModule(module, file, tree)


class SourceModule:
    """A parsed module."""

    def __init__(self, module: str, file: str, tree: ast.Module) -> None:
        self.module = module
        self.file = file
        # Makes the input of a function's parameters part of its tool, where that is wanted.
        self.with_input: WithInput | None = None
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
        found = self._bindings.get(name)
        return found[-1] if found else None

    def binds_once(self, name: str) -> bool:
        """Return whether one statement at top level binds the name, and none elsewhere may change it."""
        _, declared_global = self._stored
        return len(self._bindings.get(name, ())) == 1 and name not in declared_global and not self.rebinds(name)

    def rebinds(self, name: str) -> bool:
        """Return whether any statement binds the name, or may: `from x import *`."""
        stored, _ = self._stored
        return name in stored or "*" in stored

    @cached_property
    def _bindings(self) -> dict[str, list[ast.stmt]]:
        """The statements at top level that bind each name, in order."""
        found: dict[str, list[ast.stmt]] = {}
        for node in self.tree.body:
            for name in dict.fromkeys(_bound_names(node)):
                found.setdefault(name, []).append(node)
        return found

    @cached_property
    def _stored(self) -> tuple[set[str], set[str]]:
        """The names that any statement assigns or imports, `*` among them, and those that functions declare global."""
        stored, declared_global = set[str](), set[str]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                stored.add(node.id)
            elif isinstance(node, ast.alias):
                stored.add(node.asname or node.name)
            elif isinstance(node, ast.Global):
                declared_global.update(node.names)
        return stored, declared_global

    def value(self, name: str) -> ast.expr | None:
        """Return the expression that a name is assigned last at top level."""
        node = self.definition(name)
        return node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None

    def function(self, name: str) -> Function | None:
        """Return the function that a name is bound to at top level."""
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

    def decorated(self, node: Function) -> SourceTool | None:
        """Return the tool that `@tool` makes of a function; None without that decorator."""
        decorator = self.tool_decorator(node)
        return None if decorator is None else self.from_function(node, decorator)

    def tool_decorator(self, node: Function) -> ast.expr | None:
        """Return the `@tool` of a function, called or not."""
        for decorator in node.decorator_list:
            if decorator_name(decorator) in self.tool_names:
                return decorator
        return None

    def from_function(self, node: Function, decorator: ast.expr) -> SourceTool:
        """Read a function with this `@tool`."""
        keywords = {**_keywords(decorator), **self._named_texts(decorator)}
        # A keyword that is not literal makes its field unknown; an absent one has the SDK's default.
        name = keywords.get("name", node.name)
        description = keywords.get("description", description_of(node) or node.name)
        known = all(decorator_name(one) in {*self.tool_names, "tool_metadata"} for one in node.decorator_list)
        spec = {"name": name, "description": description, "inputSchema": keywords.get("inputSchema"), **_metadata(node)}
        certain = known and _has_literal_metadata(node)
        tool = replace(from_tool_spec(spec, "function"), certain=certain, file=self.file, line=node.lineno)
        return self.with_input(self, tool, node, decorator) if self.with_input else tool

    def _named_texts(self, decorator: ast.expr) -> dict[str, str]:
        """Return the keywords whose value is the name of a text that never changes."""
        named = {
            keyword.arg: self.value(keyword.value.id)
            for keyword in (decorator.keywords if isinstance(decorator, ast.Call) else ())
            if keyword.arg and isinstance(keyword.value, ast.Name) and is_bound_once(self.tree, keyword.value.id)
        }
        found = {key: node.value for key, node in named.items() if isinstance(node, ast.Constant)}
        return {key: value for key, value in found.items() if isinstance(value, str)}


def from_spec(node: ast.expr, source: SourceModule, variable: str) -> SourceTool:
    """Read the tool of a `TOOL_SPEC`, or of an element of `TOOL_SPECS`; one that is computed has no name."""
    spec = literal(node)
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


def from_class(node: ast.ClassDef, source: SourceModule) -> SourceTool:
    """Read a class: one with `@tool` methods, an `AgentTool` or a `ToolProvider`."""
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
        declared = from_tool_spec({**_own_spec(node, source), **_metadata(node)}, "agent_tool")
        description = declared.description or found.description
        # An instance may answer otherwise, so its manifest is made by loading it.
        return replace(declared, file=found.file, line=found.line, description=description, certain=False)
    return replace(found, kind="provider") if "ToolProvider" in bases else found


def _own_spec(node: ast.ClassDef, source: SourceModule) -> dict[str, Any]:
    """Return what an `AgentTool` states literally in `tool_spec`, under the name that it states in `tool_name`."""
    spec, name = (literal(_stated(node, word, source)) for word in ("tool_spec", "tool_name"))
    return {**spec, "name": name} if isinstance(spec, dict) else {}


def _stated(node: ast.ClassDef, word: str, source: SourceModule) -> ast.expr | None:
    """Return the value of an attribute of a class, or what its property of that name only returns."""
    value: ast.expr | None = None
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == word:
            body = [one for one in part.body if not isinstance(one, ast.Expr)]
            value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
        elif word in _bound_names(part):
            value = part.value if isinstance(part, (ast.Assign, ast.AnnAssign)) else None
    if isinstance(value, ast.Name):
        return source.value(value.id) if is_fixed(source.tree, value.id) else None
    return value


def _metadata(node: Function | ast.ClassDef) -> dict[str, Any]:
    """Return what `@tool_metadata` says, as a part of a tool spec."""
    fields: dict[str, Any] = {}
    for decorator in reversed(node.decorator_list):  # the outer one, which is written first, takes precedence
        if decorator_name(decorator) == "tool_metadata":
            fields.update({key: value for key, value in _keywords(decorator).items() if value is not None})
    annotations = {hint: fields.pop(key) for key, hint in {**HINTS, "title": "title"}.items() if key in fields}
    return {"annotations": annotations, "strands_cli": fields}


def _has_literal_metadata(node: Function) -> bool:
    metadata = [one for one in node.decorator_list if decorator_name(one) == "tool_metadata"]
    keywords = [keyword for one in metadata if isinstance(one, ast.Call) for keyword in one.keywords]
    return all(keyword.arg and literal(keyword.value) is not None for keyword in keywords)


def decorator_name(decorator: ast.expr) -> str | None:
    """Return the last part of a decorator's name."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)


def _keywords(decorator: ast.expr) -> dict[str, Any]:
    if not isinstance(decorator, ast.Call):
        return {}
    return {keyword.arg: literal(keyword.value) for keyword in decorator.keywords if keyword.arg}


def _bound_names(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return (node.name,)
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return (node.target.id,)
    if isinstance(node, (ast.ImportFrom, ast.Import)):
        return [alias.asname or alias.name for alias in node.names]
    return ()


def _folded(node: ast.expr) -> ast.expr:
    """Return the expression with texts in place of what makes a text of texts; most literals have nothing of it."""
    if not any(isinstance(part, (ast.Call, ast.BinOp, ast.JoinedStr)) for part in ast.walk(node)):
        return node
    import copy

    from strands_cli.catalog.source.folded_texts import FoldTexts

    folded = FoldTexts().visit(copy.deepcopy(node))
    return folded if isinstance(folded, ast.expr) else node


def literal(node: ast.expr | None, *, folds: bool = True) -> Any:
    """Return the value of a literal that is JSON; None for another expression.

    Args:
        folds: Whether `"a" + "b"` and `textwrap.dedent("...")` are literals too.
    """
    if node is None:
        return None
    try:
        value = ast.literal_eval(_folded(node) if folds else node)
        # Not every literal is JSON: bytes, sets, infinities and lone surrogates are not.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value
