"""The Jinja environment in which templates run: sandboxed, immutable, strict, and bounded in what it may produce."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import BuiltinMethodType, GeneratorType
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError, UndefinedError
from jinja2.meta import find_undeclared_variables
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from strands_cli.spec.template import Path, TemplateError, UnknownNameError

MAX_OUTPUT = 4_000_000
MAX_PIECE = 1_000_000
MAX_RANGE = 100_000
MAX_BITS = 10_000

_GROWING_METHODS = frozenset(
    {"ljust", "rjust", "center", "zfill", "expandtabs", "replace", "join", "format", "format_map"}
)
_WIDE_FORMAT = re.compile(r"\d{5,}|\*|:[^}]*\{")
_FILE = "<template>"
_NOT_HERE = {nodes.Include: "include", nodes.Import: "import", nodes.FromImport: "import", nodes.Extends: "extends"}


class _Parser(Parser):
    """Jinja's parser with one comparison more: `a contains b`, which is `b in a`."""

    def parse_compare(self) -> nodes.Expr:
        expression = super().parse_compare()
        while self.stream.current.test("name:contains"):
            line = next(self.stream).lineno
            part = self.parse_math1()
            expression = nodes.Compare(part, [nodes.Operand("in", expression, lineno=line)], lineno=line)
        return expression


class _Missing(jinja2.StrictUndefined):
    """A name without a value; using it says which names there are beside it."""

    __slots__ = ()

    def __init__(
        self, hint: str | None = None, obj: Any = missing, name: Any = None, exc: Any = UndefinedError
    ) -> None:
        plain = hint is None and name is not None and exc is UndefinedError
        reason: Any = _reason_for(obj, name) if plain else exc
        super().__init__(hint, obj, name, reason)


def _reason_for(owner: Any, name: Any) -> Callable[[str], TemplateError]:
    def explain(message: str) -> TemplateError:
        del message  # Jinja's own wording speaks of Python types
        if owner is missing:
            return UnknownNameError(f"nothing is named {name!r} here", str(name), None)
        if isinstance(owner, (list, tuple)):
            return TemplateError(f"there is no item {name} in a list of {len(owner)}")
        known = [str(key) for key in (owner if isinstance(owner, Mapping) else _fields_of(owner))]
        return UnknownNameError(f"there is no {name!r} in this {_kind_of(owner)}", str(name), known)

    return explain


class Sandbox(ImmutableSandboxedEnvironment):
    """Compiles and runs templates; errors are `TemplateError` with the line inside the template."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self) -> None:
        super().__init__(undefined=_Missing, keep_trailing_newline=True, autoescape=False)
        self.filters.update(
            tojson=_tojson, fromjson=_fromjson, regex_search=_regex_search, search=_regex_found,
            replace=_replace, center=_center, format=_format, truncate=_truncate,
        )  # fmt: skip
        self.tests["search"] = _regex_found
        self.globals["range"] = _range
        self.globals.pop("lipsum", None)
        self.template = lru_cache(maxsize=1024)(self._template)
        self.expression = lru_cache(maxsize=1024)(self._expression)

    def render(self, text: str, names: Mapping[str, Any]) -> str:
        """Render a template; raises `TemplateError`."""
        template = self.template(text)
        pieces: list[str] = []
        size = 0
        with _errors_of(template):
            for piece in template.root_render_func(template.new_context(dict(names))):
                size += len(piece)
                if size > MAX_OUTPUT:
                    raise TemplateError(f"the output is longer than {MAX_OUTPUT:,} characters")
                pieces.append(piece)
        return "".join(pieces)

    def value(self, expression: str, names: Mapping[str, Any]) -> Any:
        """Return the value of an expression as JSON can hold it; raises `TemplateError`."""
        template = self.expression(expression)
        with _errors_of(template):
            context = template.new_context(dict(names))
            for _ in template.root_render_func(context):
                pass
            return _plain(context.vars["result"])

    def paths(self, text: str) -> frozenset[Path]:
        """Return the paths of all names that a template uses, does not set, and does not guard against absence."""
        tree = self._tree(text)
        free = find_undeclared_variables(tree) - self.globals.keys()
        guarded: list[nodes.Expr | None] = [
            *(test.node for test in tree.find_all(nodes.Test) if test.name in ("defined", "undefined")),
            *(filtered.node for filtered in tree.find_all(nodes.Filter) if filtered.name in ("default", "d")),
        ]
        lax = {_path_of(node) for node in guarded if node is not None}
        inner = {id(node.node) for node in tree.find_all(nodes.Getattr)}
        inner |= {id(node.node) for node in tree.find_all(nodes.Getitem)}
        called = {id(node.node) for node in tree.find_all(nodes.Call)}
        found = set()
        for node in tree.find_all((nodes.Getattr, nodes.Getitem, nodes.Name)):
            path = _path_of(node)
            if id(node) in inner or not path or path[0] not in free:
                continue
            if id(node) in called and len(path) > 1:
                path = path[:-1]  # `tasks.items()` calls a method, it names no task
            if not any(path[: len(guard)] == guard for guard in lax if guard):
                found.add(path)
        return frozenset(found)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Prefer a mapping's own key to a method of the same name, so that a task may be called `items`."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Refuse calls of text methods whose result would be huge."""
        if isinstance(obj, BuiltinMethodType) and obj.__name__ in _GROWING_METHODS and isinstance(obj.__self__, str):
            _require_small_call(obj.__name__, obj.__self__, args)
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Refuse arithmetic whose result would be huge."""
        if (
            operator == "**"
            and isinstance(left, int)
            and isinstance(right, int)
            and left.bit_length() * right > MAX_BITS
        ):
            raise TemplateError(f"a power of more than {MAX_BITS:,} bits")
        if operator == "%" and isinstance(left, str) and _WIDE_FORMAT.search(left):
            raise TemplateError("a format that is too wide")
        if operator in "*+" and _size_of(left, operator, right) > MAX_PIECE:
            raise TemplateError(f"a value of more than {MAX_PIECE:,} items or characters")
        return super().call_binop(context, operator, left, right)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        return _Parser(self, source, name, filename).parse()

    def _tree(self, text: str) -> nodes.Template:
        try:
            tree = self.parse(text)
            for kind, word in _NOT_HERE.items():
                for node in tree.find_all(kind):
                    raise TemplateError(f"`{word}` needs other template files, and there are none", node.lineno)
            return tree
        except TemplateSyntaxError as error:
            raise TemplateError(_one_line(error.message), error.lineno) from None
        except RecursionError:
            raise TemplateError("the template is nested too deeply") from None

    def _template(self, text: str) -> jinja2.Template:
        return self._compiled(self._tree(text))

    def _expression(self, text: str) -> jinja2.Template:
        try:
            parser = _Parser(self, text, state="variable")
            expression = parser.parse_expression()
            if not parser.stream.eos:
                raise TemplateError(f"unexpected {parser.stream.current.value!r} after the expression")
        except TemplateSyntaxError as error:
            raise TemplateError(_one_line(error.message), error.lineno) from None
        except RecursionError:
            raise TemplateError("the expression is nested too deeply") from None
        expression.set_environment(self)
        return self._compiled(
            nodes.Template([nodes.Assign(nodes.Name("result", "store"), expression, lineno=1)], lineno=1)
        )

    def _compiled(self, tree: nodes.Template) -> jinja2.Template:
        try:
            return self.from_string(tree)
        except TemplateSyntaxError as error:  # an unknown filter or test is found only here
            raise TemplateError(_one_line(error.message), error.lineno) from None
        except (RecursionError, MemoryError, SyntaxError):
            raise TemplateError("the template is too large or nested too deeply") from None


@contextmanager
def _errors_of(template: jinja2.Template) -> Iterator[None]:
    """Turn whatever a rendering raises into a `TemplateError` with its line."""
    try:
        yield
    except TemplateError as error:
        error.line = error.line or _line_of(template, error)
        raise
    except SecurityError as error:
        raise TemplateError(f"not allowed in a template: {_one_line(str(error))}", _line_of(template, error)) from None
    except (RecursionError, MemoryError) as error:
        raise TemplateError("the template needs too much memory", _line_of(template, error)) from None
    except Exception as error:  # noqa: BLE001 - filters and methods raise whatever they like on foreign values
        raise TemplateError(_one_line(str(error)) or type(error).__name__, _line_of(template, error)) from None


def _line_of(template: jinja2.Template, error: BaseException) -> int | None:
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


def _path_of(node: nodes.Node) -> Path:
    """Return the constant path an expression names; it ends where a part is computed, and is empty for others."""
    if isinstance(node, nodes.Name):
        return (node.name,) if node.ctx == "load" else ()
    if isinstance(node, nodes.Getattr):
        before = _path_of(node.node)
        return (*before, node.attr) if before and before[-1] != "*" else before
    if isinstance(node, nodes.Getitem):
        before = _path_of(node.node)
        constant = isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, (str, int))
        token = node.arg.value if constant and isinstance(node.arg, nodes.Const) else "*"
        return (*before, token) if before and before[-1] != "*" else before
    return ()


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _fields_of(value: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []


def _kind_of(value: Any) -> str:
    if isinstance(value, Mapping) or dataclasses.is_dataclass(value):
        return "object"
    return {"str": "text", "int": "number", "float": "number", "NoneType": "empty value"}.get(
        type(value).__name__, "value"
    )


def _plain(value: Any) -> Any:
    """Return a value as plain JSON types; raises `TemplateError` for one that has no JSON form."""
    if isinstance(value, _Missing):
        str(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, GeneratorType)):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in _fields_of(value)}
    raise TemplateError(f"the value is a {type(value).__name__}, which JSON cannot hold")


def _size_of(left: Any, operator: str, right: Any) -> int:
    """Return how long the sum or product of two values gets; 0 for sequences that are not involved."""
    if operator == "+":
        return len(left) + len(right) if isinstance(left, (str, list, tuple)) and hasattr(right, "__len__") else 0
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, (str, list, tuple)) and isinstance(times, int):
            return len(sequence) * max(times, 0)
    if isinstance(left, int) and isinstance(right, int):
        return left.bit_length() + right.bit_length()
    return 0


def _require_small_call(method: str, text: str, arguments: tuple[Any, ...]) -> None:
    if any(isinstance(argument, int) and argument > MAX_PIECE for argument in arguments):
        raise TemplateError(f"`{method}` would make more than {MAX_PIECE:,} characters")
    if method in ("format", "format_map") and _WIDE_FORMAT.search(text):
        raise TemplateError("a format that is too wide")
    if method == "replace" and len(arguments) >= 2:
        _require_small_replace(text, *arguments[:2])
    if method == "join" and len(text) > 1000:
        raise TemplateError("a separator of more than 1,000 characters")


def _require_small_replace(text: str, old: str, new: str) -> None:
    if (text.count(old) + 1) * len(new) > MAX_OUTPUT:
        raise TemplateError(f"`replace` would make more than {MAX_OUTPUT:,} characters")


def _replace(text: Any, old: str, new: str, count: int | None = None) -> str:
    """Replace one text by another, everywhere or the first `count` times."""
    _require_small_replace(str(text), str(old), str(new))
    replaced: str = str(text).replace(str(old), str(new), -1 if count is None else count)
    return replaced


def _truncate(value: Any, length: int = 255, killwords: bool = False, end: str = "...", leeway: int = 0) -> str:
    """Cut a text to at most `length` characters (and `leeway`), at a word if it can, and mark the cut."""
    text = str(value)
    if len(text) <= length + leeway:
        return text
    if length <= len(end):
        return text[:length]
    cut = text[: length - len(end)]
    return (cut if killwords else cut.rsplit(" ", 1)[0]) + end


def _center(text: Any, width: int = 80) -> str:
    _require_small_call("center", str(text), (width,))
    return str(text).center(width)


def _format(text: Any, *arguments: Any, **named: Any) -> str:
    if _WIDE_FORMAT.search(str(text)):
        raise TemplateError("a format that is too wide")
    return str(text) % (named or arguments)


def _range(*bounds: int) -> range:
    """Return a range of at most `MAX_RANGE` numbers."""
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise TemplateError(f"a range of more than {MAX_RANGE:,} numbers")
    return numbers


def _tojson(value: Any, indent: int | None = None) -> str:
    """Write a value as JSON, without the HTML escapes of Jinja's own filter."""
    return json.dumps(_plain(value), ensure_ascii=False, indent=indent)


def _fromjson(text: Any) -> Any:
    """Read JSON; anything but text is taken as already read."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TemplateError(f"`fromjson` was given text that is not JSON: {error}") from None


def _found(text: Any, pattern: str) -> re.Match[str] | None:
    try:
        return re.search(pattern, str(text))
    except re.error as error:
        raise TemplateError(f"the pattern {pattern!r} is not a regular expression: {error}") from None


def _regex_search(text: Any, pattern: str) -> str | None:
    """Return the first match of a pattern, its first group if it has one, or None."""
    match = _found(text, pattern)
    if match is None:
        return None
    return match[1] if match.re.groups else match[0]


def _regex_found(text: Any, pattern: str) -> bool:
    """Return whether a pattern occurs in the text."""
    return _found(text, pattern) is not None
