"""Evaluate checked nodes with integers, floats or exact fractions, refusing values that would grow too large."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from strands_tool_calculator._functions import CONSTANTS, EXACT_FUNCTIONS, FUNCTIONS, Function
from strands_tool_calculator._numbers import MAX_BITS, Number, bits, require_bits, simplest, too_large
from strands_tool_calculator._syntax import one_line, operands, parse
from strands_tool_kit import ToolError

_MAX_EXPONENT = 3_000
_RESERVED = {*FUNCTIONS, *CONSTANTS}


def evaluate(expression: str, variables: Mapping[str, int | float], *, exact: bool) -> Number:
    """Return the value of an expression: an int or float, or in exact mode an int or `Fraction`.

    Args:
        expression: Arithmetic in Python's notation; see the README for functions and limits.
        variables: Names the expression may use. In exact mode a float means the decimal it is written as.
        exact: Compute with fractions; nothing is rounded, and functions with irrational values are refused.

    Raises:
        ToolError: `invalid_input` for everything without a value here.
    """
    names = _names(variables, exact=exact)
    stack: list[Number] = []
    text = one_line(expression)
    for node in parse(text):
        count = len(operands(node))
        arguments = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        try:
            value = _value(node, arguments, text, names, exact=exact)
        except ZeroDivisionError:
            raise ToolError("invalid_input", "division by zero", reason="division-by-zero") from None
        except OverflowError:
            raise too_large() from None
        except (ValueError, TypeError) as error:
            raise ToolError("invalid_input", f"no value: {error}", reason="domain") from None
        stack.append(require_bits(simplest(value)))
    return stack[0]


def _value(
    node: ast.expr, arguments: Sequence[Number], text: str, names: Mapping[str, Number], *, exact: bool
) -> Number:
    """Return the value of one node whose operands are known."""
    match node:
        case ast.Constant(value=int() as whole):
            return whole
        case ast.Constant(value=float() as inexact):
            return _exact_literal(text[node.col_offset : node.end_col_offset]) if exact else inexact
        case ast.Name(id=name):
            return _lookup(name, names, exact=exact)
        case ast.UnaryOp(op=ast.USub()):
            return -arguments[0]
        case ast.UnaryOp():
            return arguments[0]
        case ast.BinOp(op=sign):
            return _OPERATIONS[type(sign)](arguments[0], arguments[1], exact)
        case ast.Call(func=ast.Name(id=name)):
            return _function(name, exact=exact).call(name, arguments)
    raise AssertionError(f"{type(node).__name__} passed the allowlist and has no rule")


def _names(variables: Mapping[str, int | float], *, exact: bool) -> dict[str, Number]:
    """Check the variables and turn them into numbers of the mode."""
    names: dict[str, Number] = {}
    for name, value in variables.items():
        if not (isinstance(name, str) and name.isascii() and name.isidentifier()) or name in _RESERVED:
            raise ToolError("invalid_input", f"{name!a} cannot be the name of a variable", reason="unknown-name")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(_as_float(value)):
            raise ToolError("invalid_input", f"the variable '{name}' is not a finite number", reason="domain")
        names[name] = require_bits(Fraction(repr(value)) if exact and isinstance(value, float) else value)
    return names


def _as_float(value: int | float) -> float:
    return value if isinstance(value, float) else 0.0


def _exact_literal(literal: str) -> Fraction:
    """Read a decimal literal as the fraction it denotes, after a look at its exponent."""
    _, _, exponent = literal.lower().replace("_", "").partition("e")
    if exponent and abs(int(exponent)) > _MAX_EXPONENT:
        raise too_large()
    return Fraction(literal.replace("_", ""))


def _lookup(name: str, names: Mapping[str, Number], *, exact: bool) -> Number:
    if name in names:
        return names[name]
    if name in CONSTANTS and not exact:
        return CONSTANTS[name]
    if name in CONSTANTS:
        raise ToolError("invalid_input", f"'{name}' is irrational; use mode 'float'", reason="not-exact")
    if name in FUNCTIONS:
        raise ToolError("invalid_input", f"'{name}' is a function; write {name}(...)", reason="syntax")
    raise _unknown(name, [*names, *CONSTANTS, *FUNCTIONS])


def _function(name: str, *, exact: bool) -> Function:
    if exact and name in FUNCTIONS and name not in EXACT_FUNCTIONS:
        raise ToolError(
            "invalid_input", f"'{name}' has no exact value in general; use mode 'float'", reason="not-exact"
        )
    if name not in FUNCTIONS:
        raise _unknown(name, list(FUNCTIONS))
    return EXACT_FUNCTIONS[name] if exact else FUNCTIONS[name]


def _unknown(name: str, names: Sequence[str]) -> ToolError:
    import difflib  # only a mistake pays for it

    close = difflib.get_close_matches(name[:64], names, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known names: {', '.join(sorted(names))}"
    return ToolError("invalid_input", f"unknown name '{name[:64]}'; {hint}", reason="unknown-name", close=close)


def _divide(left: Number, right: Number, exact: bool) -> Number:
    return Fraction(left) / Fraction(right) if exact else left / right


def _power(base: Number, exponent: Number, exact: bool) -> Number:
    """Raise to a power after estimating the size of the result."""
    if isinstance(exponent, int) and not isinstance(base, float):
        # The result has more than (bits - 1) * exponent bits, and at most twice as many.
        if (bits(base) - 1) * abs(exponent) > MAX_BITS:
            raise too_large()
        if exact or exponent >= 0:
            return Fraction(base) ** exponent
    elif exact:
        raise ToolError(
            "invalid_input", "only sqrt(x) is an exact fractional power; use mode 'float'", reason="not-exact"
        )
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("a negative number to a fractional power is not real")
    return result


def _shift_left(value: Number, places: Number, exact: bool) -> Number:
    whole, count = _shift_operands(value, places)
    if count + bits(whole) > MAX_BITS:
        raise too_large()
    return whole << count


def _shift_right(value: Number, places: Number, exact: bool) -> Number:
    whole, count = _shift_operands(value, places)
    return whole >> count


def _shift_operands(value: Number, places: Number) -> tuple[int, int]:
    if not isinstance(value, int) or not isinstance(places, int) or places < 0:
        raise ValueError("shifts take whole numbers, and a count that is not negative")
    return value, places


def _plain(operation: Callable[[Number, Number], Number]) -> Callable[[Number, Number, bool], Number]:
    """Lift an operation whose result is at most twice as long as its operands, so that no estimate is needed."""
    return lambda left, right, exact: operation(left, right)


_OPERATIONS: dict[type[ast.operator], Callable[[Number, Number, bool], Number]] = {
    ast.Add: _plain(operator.add),
    ast.Sub: _plain(operator.sub),
    ast.Mult: _plain(operator.mul),
    ast.FloorDiv: _plain(operator.floordiv),
    ast.Mod: _plain(operator.mod),
    ast.Div: _divide,
    ast.Pow: _power,
    ast.LShift: _shift_left,
    ast.RShift: _shift_right,
}
