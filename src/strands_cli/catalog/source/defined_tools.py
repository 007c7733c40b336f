"""The tools that the statements of one module define: functions, classes and specs, with the input of signatures."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from strands_cli.catalog.source.source_module import (
    Function,
    SourceModule,
    bound_names,
    decorator_name,
    description_of,
    literal,
)
from strands_cli.catalog.source.source_tool import SourceTool, meaningless_words, with_metadata
from strands_cli.catalog.source.type_annotations import ModuleNames, is_bound_once, is_fixed, read_signature
from strands_cli.metadata import HINTS

# Decorators below `@tool` that leave a function's name, docstring and parameters as they are.


# All of them use `functools.wraps`, which the SDK's `@tool` looks through.
_STANDARD = frozenset(
    {"warnings.deprecated", "typing_extensions.deprecated", "functools.cache", "functools.lru_cache", "functools.wraps"}
)


def keeps_definition(decorator: ast.expr, names: ModuleNames) -> bool:
    """Return whether a decorator surely wraps the function without changing the description of the tool."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return f"{names.meaning(called.value.id)}.{called.attr}" in _STANDARD
    if not isinstance(called, ast.Name):
        return False
    function = names.function(called.id)
    if function is None:
        return names.meaning(called.id) in _STANDARD
    decorator_function, where = function
    if isinstance(decorator, ast.Call):  # a function that returns the decorator
        inner = _returned(decorator_function)
        return inner is not None and _wraps(inner, where)
    return _wraps(decorator_function, where)


def _wraps(function: Function, names: ModuleNames) -> bool:
    """Return whether a decorator returns a function inside it with `@wraps(f)` of its only argument."""
    wrapper = _returned(function)
    if wrapper is None or len(function.args.args) != 1 or len(wrapper.decorator_list) != 1:
        return False
    mark = wrapper.decorator_list[0]
    if not isinstance(mark, ast.Call) or len(mark.args) != 1 or mark.keywords:
        return False
    of = mark.args[0]
    return isinstance(of, ast.Name) and of.id == function.args.args[0].arg and keeps_definition(mark, names)


def _returned(function: Function) -> Function | None:
    """Return the inner function that a function returns, if it can return nothing else."""
    inner = [node for node in function.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    last = function.body[-1]
    plain = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Expr, ast.Return)
    if len(inner) != 1 or not all(isinstance(node, plain) for node in function.body):
        return None
    value = last.value if isinstance(last, ast.Return) else None
    return inner[0] if isinstance(value, ast.Name) and value.id == inner[0].name else None


class DefinedTools:
    """The tools of one parsed module.

    Args:
        names: The module.
        of_sdk: Whether a function is a tool only by a `@tool` of the SDK: other libraries have one too.
    """

    def __init__(self, names: ModuleNames, *, of_sdk: bool = False) -> None:
        self.names = names
        self.source = names.source
        self._of_sdk = of_sdk

    def decorator(self, node: Function) -> ast.expr | None:
        """Return the `@tool` of a function."""
        return self.source.tool_decorator(node, of_sdk=self._of_sdk)

    def of_function(self, node: Function) -> SourceTool | None:
        """Return the tool that `@tool` makes of a function; None without that decorator."""
        decorator = self.decorator(node)
        return None if decorator is None else self._decorated(node, decorator)

    def _decorated(self, node: Function, decorator: ast.expr) -> SourceTool:
        keywords = {**_keywords(decorator), **_named_texts(decorator, self.source)}
        # A computed keyword makes its field unknown; an absent one has the SDK's default.
        name = keywords.get("name", node.name)
        description = keywords.get("description", description_of(node) or node.name)
        is_known = all(
            decorator_name(other) in {*self.source.tool_names, "tool_metadata"} for other in node.decorator_list
        )
        spec = {"name": name, "description": description, "inputSchema": keywords.get("inputSchema"), **_metadata(node)}
        tool = replace(
            SourceTool.from_spec(spec, "function"),
            certain=is_known and _has_literal_metadata(node),
            file=self.source.file,
            line=node.lineno,
            module=self.source.module,
            attribute=node.name,
        )
        return self._with_input(tool, node, decorator)

    def _with_input(self, tool: SourceTool, node: Function, decorator: ast.expr) -> SourceTool:
        """Return a tool with the input schema of its signature, where the SDK makes it and nothing may change it."""
        unknown = [f"@{name} may change it" for name in self._changing(node, decorator)]
        if tool.name is None or tool.description is None:
            unknown.append("its name or description is code")
        if tool.input_schema is not None:
            return replace(tool, unknown=tuple(unknown))
        if any(keyword.arg == "inputSchema" for keyword in getattr(decorator, "keywords", ())):
            return replace(tool, unknown=(*unknown, "its input schema is code"))
        signature = read_signature(node, decorator, self.names)
        unknown += signature.unknown
        schema = None if unknown else signature.schema
        return replace(
            tool, input_schema=schema, is_inferred=True, unknown=tuple(unknown), computed=tuple(signature.computed)
        )

    def _changing(self, node: Function, decorator: ast.expr) -> Iterator[str | None]:
        """Yield the decorators that may change the description: those above `@tool`, and unknown ones below it."""
        index = node.decorator_list.index(decorator)
        above, below = node.decorator_list[:index], node.decorator_list[index + 1 :]
        for other in (*above, *(node for node in below if not keeps_definition(node, self.names))):
            if decorator_name(other) != "tool_metadata":
                yield decorator_name(other)

    def of_spec(self, node: ast.expr, variable: str) -> SourceTool:
        """Return the tool of a `TOOL_SPEC`, or of an element of `TOOL_SPECS`; a computed one has no name."""
        source, spec = self.source, literal(node)
        last = source.module.rpartition(".")[2]
        if not isinstance(spec, dict):
            line = (source.function(last) or node).lineno
            return SourceTool(kind="module", file=source.file, line=line, module=source.module)
        names = (str(spec.get("name")), last)
        functions = [name for name in names if source.definition(name)]
        function = source.function(functions[0]) if functions else None
        return replace(
            SourceTool.from_spec(with_metadata(spec, _metadata(function)) if function else spec, "module"),
            meaningless=tuple(meaningless_words(spec)),
            certain=is_fixed(source.tree, variable) and function is not None and _has_literal_metadata(function),
            file=source.file,
            line=(function or node).lineno,
            module=source.module,
        )

    def of_class(self, node: ast.ClassDef) -> SourceTool:
        """Return a class with `@tool` methods, an `AgentTool` or a `ToolProvider`; another class has no known kind."""
        class_tool = SourceTool(
            file=self.source.file,
            line=node.lineno,
            description=description_of(node),
            members=None,
            module=self.source.module,
            attribute=node.name,
            needs=_needed(node),
        )
        functions = [part for part in node.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))]
        methods = [(part.name, tool) for part in functions if (tool := self.of_function(part)) is not None]
        if methods:
            return self._of_methods(node, class_tool, methods)
        bases = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases}
        if "AgentTool" in bases:
            declared = SourceTool.from_spec({**_own_spec(node, self.source), **_metadata(node)}, "agent_tool")
            fields = {name: getattr(class_tool, name) for name in ("file", "line", "module", "attribute", "needs")}
            # An instance may answer otherwise, so its manifest is made by loading it.
            return replace(
                declared, **fields, description=declared.description or class_tool.description, certain=False
            )
        return replace(class_tool, kind="provider") if "ToolProvider" in bases else class_tool

    def _of_methods(
        self, node: ast.ClassDef, class_tool: SourceTool, methods: list[tuple[str, SourceTool]]
    ) -> SourceTool:
        named = [(tool.name or method, tool) for method, tool in methods]
        unknown = [f"{name}: {reason}" for name, tool in named for reason in tool.unknown]
        if node.bases or not all(keeps_definition(other, self.names) for other in node.decorator_list):
            unknown.append("its bases or decorators may add or change tools")
        return replace(
            class_tool,
            kind="class",
            members=tuple(tool for _, tool in methods),
            # Bases and decorators may add other tools, so only a class without them is certain.
            certain=not node.decorator_list and all(getattr(base, "id", "") == "object" for base in node.bases),
            unknown=tuple(unknown),
            computed=tuple(f"{name}.{computed_field}" for name, tool in named for computed_field in tool.computed),
        )


def required_arguments(arguments: ast.arguments) -> tuple[str, ...]:
    """Return the arguments without a default, besides those that a call of the program gives."""
    listed = arguments.posonlyargs + arguments.args
    without = listed[: len(listed) - len(arguments.defaults)]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    required = [*without, *(keyword_argument for keyword_argument, default in keywords if default is None)]
    return tuple(argument.arg for argument in required if argument.arg not in ("self", "cls", "config"))


def _needed(node: ast.ClassDef) -> tuple[str, ...]:
    """Return the arguments without which a class cannot be made; those of its bases are not looked for."""
    init = next(
        (
            statement
            for statement in node.body
            if isinstance(statement, ast.FunctionDef) and statement.name == "__init__"
        ),
        None,
    )
    return required_arguments(init.args) if init else ()


def _own_spec(node: ast.ClassDef, source: SourceModule) -> dict[str, Any]:
    """Return the literal `tool_spec` of an `AgentTool`, under its literal `tool_name`."""
    spec, name = (literal(_stated(node, word, source)) for word in ("tool_spec", "tool_name"))
    return {**spec, "name": name} if isinstance(spec, dict) else {}


def _stated(node: ast.ClassDef, word: str, source: SourceModule) -> ast.expr | None:
    """Return the value of an attribute of a class, or the only value that its property of that name returns."""
    value: ast.expr | None = None
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == word:
            body = [node for node in part.body if not isinstance(node, ast.Expr)]
            value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
        elif word in bound_names(part):
            value = part.value if isinstance(part, (ast.Assign, ast.AnnAssign)) else None
    if isinstance(value, ast.Name):
        return source.value(value.id) if is_fixed(source.tree, value.id) else None
    return value


def _metadata(node: Function | ast.ClassDef) -> dict[str, Any]:
    """Return the words of `@tool_metadata`, as a part of a tool spec."""
    fields: dict[str, Any] = {}
    for decorator in reversed(node.decorator_list):  # the outer one, written first, takes precedence
        if decorator_name(decorator) == "tool_metadata":
            fields.update({key: value for key, value in _keywords(decorator).items() if value is not None})
    annotations = {hint: fields.pop(key) for key, hint in {**HINTS, "title": "title"}.items() if key in fields}
    return {"annotations": annotations, "strands_cli": fields}


def _has_literal_metadata(node: Function) -> bool:
    metadata = [decorator for decorator in node.decorator_list if decorator_name(decorator) == "tool_metadata"]
    keywords = [keyword for node in metadata if isinstance(node, ast.Call) for keyword in node.keywords]
    return all(keyword.arg and literal(keyword.value) is not None for keyword in keywords)


def _keywords(decorator: ast.expr) -> dict[str, Any]:
    if not isinstance(decorator, ast.Call):
        return {}
    return {keyword.arg: literal(keyword.value) for keyword in decorator.keywords if keyword.arg}


def _named_texts(decorator: ast.expr, source: SourceModule) -> dict[str, str]:
    """Return the keywords whose value is the name of a text that never changes."""
    named = {
        keyword.arg: source.value(keyword.value.id)
        for keyword in (decorator.keywords if isinstance(decorator, ast.Call) else ())
        if keyword.arg and isinstance(keyword.value, ast.Name) and is_bound_once(source.tree, keyword.value.id)
    }
    texts = {key: node.value for key, node in named.items() if isinstance(node, ast.Constant)}
    return {key: value for key, value in texts.items() if isinstance(value, str)}
