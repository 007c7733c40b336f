"""The Jinja environment for templates: sandboxed, immutable, strict, with bounded results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from types import BuiltinMethodType, MethodType
from typing import Any, TypeVar, cast

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError, UndefinedError
from jinja2.meta import TrackingCodeGenerator
from jinja2.parser import Parser
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from strands_cli.default_parts import FILTERS as PLUGIN_FILTERS
from strands_cli.errors import StrandsCliError, clear_edit, did_you_mean
from strands_cli.parts.named_parts import part_named, parts_of, require_admitted
from strands_cli.workflow.templates.bounds import (
    MAX_BITS,
    MAX_OUTPUT,
    MAX_PIECE,
    BoundedCode,
    bounded,
    bounded_filter,
    bounded_test,
    counted,
    joined,
    looked_at,
    require_different_hashes,
    size_of_all,
    spend,
    text_of,
)
from strands_cli.workflow.templates.filters import (
    FILTERS,
    FUNCTIONS,
    bounded_range,
    fields_of,
    kind_of,
    plain,
    regex_found,
    require_small_call,
    require_small_format,
    size_of,
)
from strands_cli.workflow.templates.plugin_filters import Facts, Path, TemplateError, UnknownNameError, plugin_filter
from strands_cli.workflow.templates.template_paths import (
    TemplateNodes,
    asked_names,
    assumed_missing,
    compared_words,
    outermost,
    path_of,
    paths_of,
    printed_paths,
)

# The paths that a template may read, and those without which it always fails.


_MAY_BE_ABSENT = ("default", "d")


def mentions_of(parts: TemplateNodes) -> frozenset[Path]:
    """Return every path that a template may read, also those that may be absent."""
    return frozenset(path for node in outermost(parts) if (path := path_of(node)))


def certain_reads(tree: nodes.Node) -> frozenset[Path]:
    """Return the children of names without which a template always fails, as `(name, child)`.

    A branch, a loop or the right side of an `and` may never be evaluated. A child that is only passed on, tested or has
    a default may be absent; one that is printed, or has a part that is read, may not.
    """
    return frozenset(path[:2] for path in _required(tree) if len(path) > 1 and path[1] != "*")


def _required(node: nodes.Node, *, printed: bool = False) -> Iterator[Path]:
    """Yield the paths evaluated in every case whose second part must exist."""
    if isinstance(node, (nodes.Getattr, nodes.Getitem)):
        path = path_of(node)
        if len(path) > 2 or printed:
            yield path
    for child in _always_evaluated(node):
        yield from _required(child, printed=isinstance(node, nodes.Output))


def _always_evaluated(node: nodes.Node) -> list[nodes.Node]:
    """Return the children of a node evaluated in every case."""
    if isinstance(node, (nodes.Macro, nodes.CallBlock)):
        return []
    if isinstance(node, (nodes.If, nodes.CondExpr)):
        return [node.test]
    if isinstance(node, nodes.For):
        return [node.iter]
    if isinstance(node, (nodes.And, nodes.Or)):
        return [node.left]
    if isinstance(node, nodes.Compare):
        return [node.expr, *(operand.expr for operand in node.ops[:1])]
    children = list(node.iter_child_nodes())
    is_lax = isinstance(node, nodes.Test) or (isinstance(node, nodes.Filter) and node.name in _MAY_BE_ABSENT)
    return [child for child in children if len(path_of(child)) != 2] if is_lax else children


Result = TypeVar("Result")

# More than a workflow has steps, so that a second look at all of its templates finds them.
MOST_FACTS = 20_000
# In the expressions of one template: to check so many words and signs takes a second or two.
MAX_TOKENS = 100_000

_INTRICATE = 60
# Steps of a call, and of a field of a format.
_CALL, _FIELD = 4, 8
_CHECKED_METHODS = frozenset(
    {"ljust", "rjust", "center", "zfill", "expandtabs", "replace", "encode", "translate", "to_bytes"}
)
_FILE = "<template>"
# The name under which a function is among the globals: one that no input can have.
_FUNCTION = "{}\u00b7"
_NOT_HERE: dict[type[nodes.Node], str] = {
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "import",
    nodes.Extends: "extends",
}


class _Parser(Parser):
    """Jinja's parser with one comparison more, `a contains b`, which is `b in a`, and with functions by their calls."""

    def parse_call(self, node: nodes.Expr) -> nodes.Call:
        # An uncalled name may be that of an input.
        if isinstance(node, nodes.Name) and node.name in FUNCTIONS:
            node = nodes.Name(_FUNCTION.format(node.name), "load", lineno=node.lineno)
        return super().parse_call(node)

    def parse_compare(self) -> nodes.Expr:
        expression = super().parse_compare()
        while self.stream.current.test("name:contains"):
            line = next(self.stream).lineno
            part = self.parse_math1()
            expression = nodes.Compare(part, [nodes.Operand("in", expression, lineno=line)], lineno=line)
        return expression


class MissingName(jinja2.StrictUndefined):
    """A name without a value; its error lists the names that exist."""

    __slots__ = ()

    def __init__(
        self, hint: str | None = None, obj: Any = missing, name: Any = None, exc: Any = UndefinedError
    ) -> None:
        plain = hint is None and name is not None and exc is UndefinedError
        reason: Any = _reason_for(obj, name) if plain else exc
        super().__init__(hint, obj, name, reason)


def _reason_for(owner: Any, name: Any) -> Callable[[str], TemplateError]:
    def explain(message: str) -> TemplateError:
        del message  # Jinja's message names Python types
        if owner is missing:
            return UnknownNameError(f"nothing is named {name!r} here", str(name), None)
        if isinstance(owner, (list, tuple)):
            return TemplateError(f"there is no item {name} in a list of {len(owner)}")
        known_names = [str(key) for key in (owner if isinstance(owner, Mapping) else fields_of(owner))]
        error = UnknownNameError(f"there is no {name!r} in this {kind_of(owner)}", str(name), known_names)
        error.of_text = str(name) if isinstance(owner, str) else ""
        return error

    return explain


class _FreeNames(BoundedCode, TrackingCodeGenerator):
    """Collects the names that a template takes from outside; Jinja's own collector evaluates constants, unbounded."""

    def of(self, tree: nodes.Template) -> set[str]:
        """Return the names, without the globals."""
        self.optimizer = None
        self.visit(tree)
        return self.undeclared_identifiers


class Sandbox(ImmutableSandboxedEnvironment):
    """Compiles and runs templates; errors are `TemplateError` with the line inside the template."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})
    code_generator_class = BoundedCode
    # Called by the compiled code.
    bounded = staticmethod(bounded)
    looked_at = staticmethod(looked_at)
    spend = staticmethod(spend)
    text_of = staticmethod(text_of)
    concat = staticmethod(joined)

    def __init__(self) -> None:
        # The optimizer would evaluate constant expressions, however large, when a template is only checked.
        super().__init__(undefined=MissingName, keep_trailing_newline=True, autoescape=False, optimized=False)
        filters = {**self.filters, **FILTERS}
        self.filters.update({name: bounded_filter(name, function) for name, function in filters.items()})
        looking = {name: cast("Callable[..., Any]", test) for name, test in self.tests.items() if "defined" not in name}
        self.tests.update({name: bounded_test(test) for name, test in looking.items()})
        self.tests["search"] = regex_found
        self.globals.update({_FUNCTION.format(name): function for name, function in FUNCTIONS.items()})
        self.globals["range"] = bounded_range
        self.globals.pop("lipsum", None)
        self.parts = lru_cache(maxsize=1024)(self._parts)
        self.facts = lru_cache(maxsize=MOST_FACTS)(self._facts)
        self.template = lru_cache(maxsize=1024)(self._template)
        self.expression_parts = lru_cache(maxsize=1024)(self._expression_parts)
        self.expression = lru_cache(maxsize=1024)(self._expression)

    def render(self, text: str, names: Mapping[str, Any]) -> str:
        """Render a template; raises `TemplateError`."""
        template = self.template(text)

        def rendered() -> str:
            pieces: list[str] = []
            size = 0
            for piece in template.root_render_func(template.new_context(dict(names))):
                size += len(piece)
                if size > MAX_OUTPUT:
                    raise TemplateError(f"the output is longer than {MAX_OUTPUT:,} characters")
                pieces.append(piece)
            return "".join(pieces)

        return _with_lines(template, rendered)

    def value(self, expression: str, names: Mapping[str, Any]) -> Any:
        """Return the value of an expression as JSON can hold it; raises `TemplateError`."""
        template = self.expression(expression)

        def value() -> Any:
            context = template.new_context(dict(names))
            for _ in template.root_render_func(context):
                pass
            return plain(context.vars["result"])

        return _with_lines(template, value)

    def _facts(self, text: str, *, is_condition: bool = False) -> Facts | TemplateError:
        """Return the facts of a template or the expression of a condition, or why it does not compile."""
        try:
            parts = self.expression_parts(text) if is_condition else self.parts(text)
            # The interpreter compiles fewer nested levels than the parser accepts.
            if max(parts.depth, text.count("(") + text.count("[") + text.count("{")) > _INTRICATE:
                self.expression(text) if is_condition else self._compiled(parts.tree)
            return self._facts_of(parts)
        except TemplateError as error:
            # Without its frames, which have the tree.
            return error.with_traceback(None)

    def _facts_of(self, parts: TemplateNodes) -> Facts:
        names = parts.of(nodes.Name)
        if parts.sets_names:
            free = _FreeNames(self).of(parts.tree)
        else:
            free = {node.name for node in names} - self.globals.keys() - {"self"}
        paths, reads = paths_of(parts, free)
        mentions = mentions_of(parts)
        return Facts(
            paths=paths,
            reads=reads,
            mentions=mentions,
            certain=certain_reads(parts.tree) if any(len(path) > 1 for path in mentions) else frozenset(),
            sets=frozenset(node.name for node in names if node.ctx != "load"),
            words=tuple(compared_words(parts)),
            printed=tuple(dict.fromkeys(printed_paths(parts))),
            assumed_missing=tuple(dict.fromkeys(assumed_missing(parts))),
            asked_names=frozenset(asked_names(parts)),
        )

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Prefer a mapping's own key to a method of the same name, so that a node may be called `items`."""
        if isinstance(obj, Mapping) and (attribute in obj or attribute in getattr(obj, "absent", ())):
            return obj[attribute]
        return super().getattr(obj, attribute)

    @staticmethod
    def spent(steps: int) -> bool:
        """Count the steps of a condition."""
        spend(steps)
        return True

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Refuse calls of text methods whose result would be huge, and bound all other results."""
        owner = obj.__self__ if isinstance(obj, BuiltinMethodType) else None
        spend(_CALL + len(args) + len(kwargs))
        looked_at(owner if isinstance(owner, (str, list, tuple, range)) else args if _compares(obj) else None)
        if obj is dict or getattr(obj, "__name__", "") == "fromkeys":
            require_different_hashes(args[0] if args and isinstance(args[0], (list, tuple, range)) else ())
        if isinstance(owner, (str, int)):
            if obj.__name__ == "join" and len(args) == 1:
                return self.concat(args[0], str(owner))
            if obj.__name__ in _CHECKED_METHODS:
                require_small_call(obj.__name__, str(owner), args)
        return bounded(super().call(context, obj, *args, **kwargs))

    def wrap_str_format(self, value: Any) -> Any:
        """Refuse a `format` whose result would be huge."""
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None

        def checked(*args: Any, **kwargs: Any) -> Any:
            require_small_format(value.__self__, "{", [*args, kwargs])
            spend(_FIELD * value.__self__.count("{"))
            return wrapped(*args, **kwargs)

        return checked

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Refuse arithmetic whose result would be huge."""
        are_numbers = isinstance(left, int) and isinstance(right, int)
        if operator == "**" and are_numbers and left.bit_length() * right > MAX_BITS:
            raise TemplateError(f"a power of more than {MAX_BITS:,} bits")
        if operator == "%" and isinstance(left, str):
            require_small_format(left, "%", [right])
        if operator in "*+" and size_of(left, operator, right) > (MAX_BITS if are_numbers else MAX_PIECE):
            raise TemplateError(f"a value of more than {MAX_PIECE:,} items or characters")
        if operator == "*" and (isinstance(left, (list, tuple)) or isinstance(right, (list, tuple))):
            _require_product(left, right)
        return bounded(super().call_binop(context, operator, left, right))

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        return _Parser(self, source, name, filename).parse()

    def _parts(self, text: str) -> TemplateNodes:
        try:
            self._require_short(text)
            return self._with_known_words(TemplateNodes(self.parse(text)))
        except TemplateSyntaxError as error:
            raise TemplateError(_one_line(error.message), error.lineno, is_syntax=True) from None
        except RecursionError:
            raise TemplateError("the template is nested too deeply") from None
        except ValueError:  # the interpreter reads whole numbers up to a length
            raise TemplateError("a number in the template is too long", is_syntax=True) from None

    def _require_short(self, text: str) -> None:
        # A token has a character at least.
        tokens = islice(self.lexer.tokeniter(text, None), MAX_TOKENS) if len(text) > MAX_TOKENS else ()
        if len(text) > MAX_PIECE or sum(1 for _ in tokens) == MAX_TOKENS:
            raise TemplateError(
                f"a template of more than {MAX_PIECE:,} characters, or {MAX_TOKENS:,} words and signs in expressions"
            )

    def _with_known_words(self, parts: TemplateNodes) -> TemplateNodes:
        """Return the parts of a template whose filters and tests exist."""
        if parts.sets_names:
            _call_own_macros(parts)
        for node in parts.every:
            if isinstance(node, nodes.Filter) and node.name not in self.filters:
                self._add_filter(node)
            if isinstance(node, nodes.Test) and node.name not in self.tests:
                raise _unknown("test", node, self.tests)
            if (word := _NOT_HERE.get(type(node))) is not None:
                raise TemplateError(f"`{word}` needs other template files, which do not exist", node.lineno)
        return parts

    def _add_filter(self, node: nodes.Filter) -> None:
        """Add the filter of an installed distribution; it is imported when it is first called.

        Raises:
            TemplateError: No distribution has it.
            Denied: Its distribution may not be imported.
        """
        part = part_named(PLUGIN_FILTERS, node.name)
        if part is None:
            known_filters = [*self.filters, *(part.name for part in parts_of(PLUGIN_FILTERS))]
            raise _unknown("filter", node, known_filters, "; the distribution that brings it may be missing")
        require_admitted(part)
        self.filters[node.name] = bounded_filter(node.name, plugin_filter(part))

    def _template(self, text: str) -> jinja2.Template:
        return self._compiled(self.parts(text).tree)

    def _expression_parts(self, text: str) -> TemplateNodes:
        """Return the parts of a template that prints an expression."""
        try:
            parser = _Parser(self, text, state="variable")
            expression = parser.parse_expression()
            if not parser.stream.eos:
                message = f"unexpected {parser.stream.current.value!r} after the expression"
                raise TemplateError(message, is_syntax=True)
            expression.set_environment(self)
            return self._with_known_words(TemplateNodes(nodes.Template([nodes.Output([expression])])))
        except TemplateSyntaxError as error:
            raise TemplateError(_one_line(error.message), error.lineno, is_syntax=True) from None
        except RecursionError:
            raise TemplateError("the expression is nested too deeply") from None
        except ValueError:
            raise TemplateError("a number in the expression is too long", is_syntax=True) from None

    def _expression(self, text: str) -> jinja2.Template:
        (printed,) = self.expression_parts(text).of(nodes.Output)
        assignment = nodes.Assign(nodes.Name("result", "store"), printed.nodes[0], lineno=1)
        return self._compiled(nodes.Template([assignment], lineno=1))

    def _compiled(self, tree: nodes.Template) -> jinja2.Template:
        try:
            template = self.from_string(tree)
            # Read for each rendering, and a chain of mappings is slow to read. No template of ours has further ones.
            template.globals = dict(template.globals)
            return template
        except TemplateSyntaxError as error:
            raise TemplateError(_one_line(error.message), error.lineno, is_syntax=True) from None
        except (RecursionError, MemoryError, SyntaxError):
            raise TemplateError("the template is too large or nested too deeply") from None


def _with_lines(template: jinja2.Template, work: Callable[[], Result]) -> Result:
    """Return the result of a rendering, within its bounds; every error of it is a `TemplateError` with its line.

    A function, since a context manager costs as much as a short rendering.
    """
    try:
        return counted(work)
    except TemplateError as error:
        error.line = error.line or _line_of(template, error)
        raise
    except SecurityError as error:
        raise TemplateError(f"not allowed in a template: {_one_line(str(error))}", _line_of(template, error)) from None
    except (RecursionError, MemoryError) as error:
        raise TemplateError("the template needs too much memory", _line_of(template, error)) from None
    except Exception as error:  # noqa: BLE001 - filters and methods may raise anything
        failed = TemplateError(_one_line(str(error)) or type(error).__name__, _line_of(template, error))
        failed.fix = error.fix if isinstance(error, StrandsCliError) else None
        raise failed from None


def _call_own_macros(parts: TemplateNodes) -> None:
    """Let a call mean the macro or the value that the template itself defines, rather than a function of that name."""
    own = {node.name for node in parts.of(nodes.Macro)}
    own |= {node.name for node in parts.of(nodes.Name) if node.ctx != "load"}
    functions = {_FUNCTION.format(name): name for name in own}
    for node in parts.of(nodes.Name):
        node.name = functions.get(node.name, node.name)


def _line_of(template: jinja2.Template, error: BaseException) -> int | None:
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


def _compares(function: Any) -> bool:
    """Return whether a function is `loop.changed`, which compares its arguments."""
    return isinstance(function, MethodType) and function.__func__ is LoopContext.changed


def _require_product(left: Any, right: Any) -> None:
    """Raise for a list repeated so often that its parts, at all levels, are too many."""
    values, times = (right, left) if isinstance(left, int) else (left, right)
    items, characters = size_of_all(values)
    if isinstance(times, int) and (items * times > MAX_PIECE or characters * times > MAX_OUTPUT):
        raise TemplateError(f"a value of more than {MAX_PIECE:,} items or {MAX_OUTPUT:,} characters")


def _unknown(kind: str, node: nodes.Filter | nodes.Test, known_names: Iterable[str], hint: str = "") -> TemplateError:
    """Return the error about a filter or a test that does not exist, with the hint where no name is alike."""
    names = list(known_names)
    if close := did_you_mean(node.name, names):
        hint = f"; did you mean {close!r}?"
    error = TemplateError(f"there is no {kind} {node.name!r}{hint}", node.lineno)
    error.edits = clear_edit(node.name, names)
    return error


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


# The nodes of a graph in templates: an unfinished node has the fields of a result, and is not defined.


class NotExecuted(MissingName):
    """An absent result: true and with fields, but `is defined` is false, and as a text it is an error."""

    __slots__ = ("fields",)

    def __init__(self, name: str, owner: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
        super().__init__(obj=owner, name=name)
        self.fields = fields

    def __getattr__(self, name: str) -> Any:
        """Return a field, or raise as for a missing name."""
        return self.fields[name] if name in self.fields else super().__getattr__(name)

    def __getitem__(self, name: Any) -> Any:
        """Return a field, or raise as for a missing name."""
        return self.fields[name] if name in self.fields else super().__getitem__(name)

    def __bool__(self) -> bool:  # type: ignore[override]  # Jinja types it as always raising
        """Be true, as the result of a finished node is."""
        return True


class Results(dict[str, Any]):
    """The results of finished nodes; `absent` are the fields of each node, for the others.

    Its text, its length and a loop over it know only the finished nodes.
    """

    def __init__(self, done: Mapping[str, Any], absent: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(done)
        self.absent = absent

    def __missing__(self, name: str) -> NotExecuted:
        return NotExecuted(name, self, self.absent[name])
