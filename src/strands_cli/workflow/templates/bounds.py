"""The bounds of a rendering: its size, and its work, counted in steps and so the same on every machine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, operators
from jinja2.utils import Namespace

from strands_cli.workflow.templates.plugin_filters import TemplateError

if TYPE_CHECKING:
    from jinja2.compiler import Frame, MacroRef

Result = TypeVar("Result")

# About as many as an interpreter takes in a few seconds.
MAX_STEPS = 2_000_000
MAX_OUTPUT = 4_000_000
MAX_PIECE = 1_000_000
# A longer number could not be written.
MAX_BITS = 10_000
# Of all texts in a list together.
MAX_TEXTS = 4 * MAX_OUTPUT
# Characters that the C code behind a filter or method handles in the time of one step.
_CHARACTERS_A_STEP = 64
# Filters that look at each character of a text, or each item of a list, in Python.
_ITEM_BY_ITEM = frozenset(
    {"batch", "dictsort", "groupby", "items", "join", "list", "map", "max", "min", "random", "reject", "rejectattr"}
    | {"reverse", "select", "selectattr", "slice", "sort", "sum", "unique", "xmlattr"}
)
# Those that do so with every character or item at all levels, and the characters that they handle in a step.
_CHARACTER_BY_CHARACTER = frozenset(
    {"indent", "pprint", "striptags", "title", "tojson", "urlencode", "urlize", "wordcount", "wordwrap"}
)
_SLOW_CHARACTERS_A_STEP = 4
_STEPS_A_PIECE = 3
_TWICE_AS_SLOW = frozenset({"urlize", "xmlattr"})
# Items counted, or compared, in the time of one step.
_ITEMS_A_STEP = 8
# Parts of expressions evaluated in the time of one step.
_PARTS_A_STEP = 2
# Steps of a filter, of the one that looks up an attribute, and of a macro besides its body.
_FILTER, _ATTR, _MACRO = 3, 20, 6
_SCALARS = frozenset({int, float, bool, type(None)})
_SIMPLE = (int, float, type(None), Namespace)
# Whole numbers from here on share their hash with smaller ones: a set or mapping of such numbers takes quadratic time.
_EQUAL_HASHES = 2**60
# Filters whose result is a part of their input.
_PASSING_ON = frozenset({"attr", "d", "default", "first", "last", "max", "min", "random"})

_left: ContextVar[list[int]] = ContextVar("steps left")


def counted(work: Callable[[], Result]) -> Result:
    """Return the result of a rendering with bounded work."""
    token = _left.set([MAX_STEPS])
    try:
        return work()
    finally:
        _left.reset(token)


def spend(steps: int = 1) -> None:
    """Count steps of work.

    Raises:
        TemplateError: The rendering has none left.
    """
    left = _left.get(None)
    if left is not None:
        left[0] -= steps
        if left[0] < 0:
            raise TemplateError(f"the template takes more than {MAX_STEPS:,} steps")


def bounded(value: Any) -> Any:
    """Return a value that a template has made, if it is not too large; lists in lists count each time they occur.

    Raises:
        TemplateError: It is.
    """
    if isinstance(value, str):
        _require_short(len(value))
        # Other characters than ASCII take up to four bytes each.
        spend(1 + len(value) * (1 if value.isascii() else 4) // _CHARACTERS_A_STEP)
    elif isinstance(value, (list, tuple, dict)):
        items, characters = size_of_all(value)
        spend(1 + items + characters // _CHARACTERS_A_STEP)
    else:
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise TemplateError(f"a number of more than {MAX_BITS:,} bits")
        spend()
    return value


def size_of_all(value: Any) -> tuple[int, int]:
    """Return how many items and characters a value has at all levels; raises as soon as there are too many."""
    items, characters, containers, pending = 0, 0, 0, [value]
    while pending:
        inner = pending.pop()
        if isinstance(inner, str):
            characters += len(inner)
        elif (parts := _parts_of(inner)) is not None:
            items += len(parts)
            containers += 1
            kinds = set(map(type, parts))
            if kinds == {str}:
                characters += sum(map(len, parts))
            elif not kinds <= _SCALARS:
                pending += parts
        elif isinstance(inner, Namespace):
            raise TemplateError("a namespace has no text, and cannot be in a list")
        if items > MAX_PIECE or characters > MAX_TEXTS:
            raise TemplateError(f"a value of more than {MAX_PIECE:,} items or {MAX_TEXTS:,} characters")
    spend(items // _ITEMS_A_STEP + containers)
    return items, characters


def _parts_of(value: Any) -> Sequence[Any] | None:
    """Return the parts of a list, mapping or result of a step; None for another value."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, Mapping):
        return (*value.keys(), *value.values())
    names = getattr(type(value), "__dataclass_fields__", None)
    return None if names is None else [getattr(value, name) for name in names]


def looked_at(value: Any) -> Any:
    """Return a value after counting the work of looking at all of it, as comparisons, tests and searches do."""
    if isinstance(value, str):
        spend(len(value) // _CHARACTERS_A_STEP)
    elif isinstance(value, range):
        spend(len(value) // _ITEMS_A_STEP)
    elif not isinstance(value, _SIMPLE):
        spend(size_of_all(value)[1] // _CHARACTERS_A_STEP)
    return value


def require_different_hashes(values: Iterable[Any]) -> None:
    """Raise for numbers so large that a set or mapping of them could take hours."""
    for value in values:
        if isinstance(value, (list, tuple)):
            require_different_hashes(value[:2])
        elif isinstance(value, int) and abs(value) >= _EQUAL_HASHES:
            raise TemplateError("a set or mapping of numbers with more than 18 digits")


def _require_short(length: int) -> None:
    if length > MAX_OUTPUT:
        raise TemplateError(f"a value of more than {MAX_OUTPUT:,} characters")


def text_of(value: Any) -> str:
    """Return the text of a value in the output, not longer than a text may be."""
    if isinstance(value, str):
        return value
    size_of_all(value)
    text = str(bounded(value))
    _require_short(len(text))
    return text


def joined(pieces: Iterable[Any], by: str = "") -> str:
    """Join texts, as `join`, `~` and captured blocks do."""
    texts = [text_of(piece) for piece in pieces]
    _require_short(sum(map(len, texts)) + len(by) * max(0, len(texts) - 1))
    return bounded(by.join(texts))  # type: ignore[no-any-return]


def bounded_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter with bounds on its input and its result."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        index = min(int(hasattr(function, "jinja_pass_arg")), len(args) - 1)
        subject, further = (args[index], args[index + 1 :]) if args else ("", ())
        # The first argument of `join` does not name an attribute.
        parts = _parts_of_names((*further[name == "join" :], *kwargs.values()))
        spend(_ATTR if name == "attr" else _FILTER)
        if name in _ITEM_BY_ITEM and isinstance(subject, Iterator):
            args = (*args[:index], _each_counted(subject, parts), *args[index + 1 :])
        else:
            spend(_work(name, subject, parts) << (name in _TWICE_AS_SLOW))
        if isinstance(subject, Namespace):
            size_of_all(subject)
        result = function(*args, **kwargs)
        return result if name in _PASSING_ON else bounded(result)

    return call


def bounded_test(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a test that counts the work of looking at its arguments."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        spend()
        for argument in args:
            looked_at(argument)
        return function(*args, **kwargs)

    return call


def _work(name: str, subject: Any, parts: int) -> int:
    """Return how many steps a filter takes for its input."""
    if name in _CHARACTER_BY_CHARACTER:
        items, characters = size_of_all([subject])
        return _STEPS_A_PIECE * items + characters // _SLOW_CHARACTERS_A_STEP
    length = len(subject) if isinstance(subject, (str, list, tuple, Mapping, range)) else 0
    return length * parts if name in _ITEM_BY_ITEM else length // _CHARACTERS_A_STEP


def _parts_of_names(arguments: Iterable[Any]) -> int:
    """Return how many parts the attributes have that a filter looks up in each item, as `a.b,c`."""
    return 1 + sum(argument.count(".") + argument.count(",") for argument in arguments if isinstance(argument, str))


def _each_counted(items: Iterator[Any], steps: int) -> Iterator[Any]:
    for item in items:
        spend(steps)
        yield item


def _steps_of(evaluated: Iterable[nodes.Node]) -> int:
    """Return how many steps statements and expressions take, without the blocks inside them."""
    parts, pending = 0, list(evaluated)
    while pending:
        node = pending.pop()
        parts += 1
        pending += node.elif_ if isinstance(node, nodes.If) else ()
        pending += (child for child in node.iter_child_nodes() if not isinstance(child, nodes.Stmt))
    return 1 + parts // _PARTS_A_STEP


class BoundedCode(CodeGenerator):
    """Compiles templates to code that counts its steps, bounds its values, and evaluates nothing beforehand."""

    _of_defaults = 0

    def blockvisit(self, nodes: Iterable[nodes.Node], frame: Frame) -> None:
        """Count the parts of a block each time that it begins: the body of a loop, a macro, a branch."""
        statements, of_defaults, self._of_defaults = list(nodes), self._of_defaults, 0
        self.writeline(f"environment.spend({_steps_of(statements) + of_defaults})")
        super().blockvisit(statements, frame)

    def macro_body(self, node: nodes.Macro | nodes.CallBlock, frame: Frame) -> tuple[Frame, MacroRef]:
        """Count each call of a macro, with its defaults."""
        self._of_defaults = _MACRO + _steps_of(node.defaults)
        return super().macro_body(node, frame)

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802 - Jinja's names, here and below
        """Count the items that the condition of a loop skips too."""
        if node.test is not None:
            steps = nodes.Const(1 + _steps_of([node.test]))
            always = nodes.Call(nodes.EnvironmentAttribute("spent"), [steps], [], None, None)
            test = nodes.And(always, node.test)
            line, of = node.lineno, self.environment
            node = nodes.For(node.target, node.iter, node.body, node.else_, test, node.recursive, lineno=line)
            node.set_environment(of)
        super().visit_For(node, frame)

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802
        """Count the compared values."""
        self.write("(")
        self._looked_at(node.expr, frame)
        for operand in node.ops:
            self.write(f" {operators[operand.op]} ")
            self._looked_at(operand.expr, frame)
        self.write(")")

    def _looked_at(self, node: nodes.Expr, frame: Frame) -> None:
        constant = isinstance(node, nodes.Const)
        self.write("" if constant else "environment.looked_at(")
        self.visit(node, frame)
        self.write("" if constant else ")")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        """Bound `~`."""
        self.write("environment.concat((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_List(self, node: nodes.List, frame: Frame) -> None:  # noqa: N802
        """Bound lists in lists."""
        self._bounded(super().visit_List, node, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:  # noqa: N802
        """Bound tuples used as values, not those that take values."""
        if node.ctx == "load":
            self._bounded(super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802
        """Bound mappings in mappings."""
        self._bounded(super().visit_Dict, node, frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        """Count the copies that slices make."""
        if isinstance(node.arg, nodes.Slice):
            self._bounded(super().visit_Getitem, node, frame)
        else:
            super().visit_Getitem(node, frame)

    def _bounded(self, visit: Callable[[Any, Frame], None], node: nodes.Node, frame: Frame) -> None:
        self.write("environment.bounded(")
        visit(node, frame)
        self.write(")")

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        if not isinstance(node, nodes.TemplateData):
            raise nodes.Impossible
        return super()._output_child_to_const(node, frame, finalize)

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        del node, frame, finalize
        self.write("environment.text_of(")
