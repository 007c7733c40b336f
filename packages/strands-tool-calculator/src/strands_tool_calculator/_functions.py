"""The functions and constants an expression may use, each with its number of arguments and its size estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from strands_tool_calculator._numbers import MAX_BITS, Number, bits, require_bits, too_large
from strands_tool_kit import ToolError

CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e, "tau": math.tau}
_MAX_PLACES = 1_000


@dataclass(frozen=True, slots=True)
class Function:
    """A function with the least and greatest number of its arguments (None: any number)."""

    apply: Callable[..., Any]
    least: int = 1
    greatest: int | None = 1

    def call(self, name: str, arguments: Sequence[Number]) -> Number:
        """Apply the function, or raise when the number of arguments is wrong."""
        if len(arguments) < self.least or (self.greatest is not None and len(arguments) > self.greatest):
            most = {None: " or more", self.least: ""}.get(self.greatest, f" to {self.greatest}")
            raise ToolError(
                "invalid_input",
                f"'{name}' takes {self.least}{most} argument(s), not {len(arguments)}",
                reason="arguments",
            )
        result: Number = self.apply(*arguments)
        return result


def _whole(*values: Number, least: int | None = 0) -> tuple[int, ...]:
    """Return the values as integers, or raise `ValueError` when one is not a whole number of at least `least`."""
    wholes = []
    for value in values:
        if not isinstance(value, int) and not (isinstance(value, float) and value.is_integer()):
            raise ValueError("a whole number is needed")
        if least is not None and value < least:
            raise ValueError("a number that is not negative is needed")
        wholes.append(int(value))
    return tuple(wholes)


def _factorial(value: Number) -> int:
    (n,) = _whole(value)
    if n > MAX_BITS or math.lgamma(n + 1) / math.log(2) > MAX_BITS:
        raise too_large()
    return math.factorial(n)


def _comb(total: Number, chosen: Number) -> int:
    n, k = _whole(total, chosen)
    # comb(n, k) is below both n**k and 2**n, and equals comb(n, n - k).
    if k <= n and min(min(k, n - k) * bits(n), n) > MAX_BITS:
        raise too_large()
    return math.comb(n, k)


def _perm(total: Number, chosen: Number) -> int:
    n, k = _whole(total, chosen)
    if k <= n and k * bits(n) > MAX_BITS:
        raise too_large()
    return math.perm(n, k)


def _round(value: Any, places: Number = 0) -> Any:
    (count,) = _whole(places, least=None)
    if abs(count) > _MAX_PLACES:
        raise ValueError(f"rounding to {count} places; the limit is {_MAX_PLACES}")
    return round(value, count) if count else round(value)


def _exact_sqrt(value: Number) -> Number:
    if value < 0:
        raise ValueError("the square root of a negative number is not real")
    ratio = Fraction(value)
    top, bottom = math.isqrt(ratio.numerator), math.isqrt(ratio.denominator)
    if top * top != ratio.numerator or bottom * bottom != ratio.denominator:
        raise ToolError("invalid_input", "this square root is irrational; use mode 'float'", reason="not-exact")
    return Fraction(top, bottom)


def _sum(*values: Number) -> Number:
    if any(isinstance(value, float) for value in values):
        return math.fsum(values)
    total: Number = sum(values)
    return total


def _mean(*values: Number) -> Number:
    return _sum(*values) / len(values)


def _exact_mean(*values: Number) -> Number:
    return Fraction(_sum(*values)) / len(values)


def _median_of(mean: Callable[..., Number]) -> Callable[..., Number]:
    def median(*values: Number) -> Number:
        ordered: list[Number] = sorted(values)
        middle = len(ordered) // 2
        return ordered[middle] if len(ordered) % 2 else mean(ordered[middle - 1], ordered[middle])

    return median


def _isqrt(value: Number) -> int:
    return math.isqrt(*_whole(value))


def _gcd(*values: Number) -> int:
    return math.gcd(*_whole(*values, least=None))


def _lcm(*values: Number) -> int:
    multiple = 1
    for whole in _whole(*values, least=None):
        multiple = math.lcm(multiple, whole)
        require_bits(multiple)
    return multiple


def _power(base: Number, exponent: Number) -> float:
    return math.pow(base, exponent)


_REAL_FUNCTIONS = (
    *("sqrt", "cbrt", "exp", "expm1", "log2", "log10", "log1p", "degrees", "radians"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)

_BOTH: dict[str, Function] = {
    "abs": Function(abs),
    "ceil": Function(math.ceil),
    "comb": Function(_comb, 2, 2),
    "factorial": Function(_factorial),
    "floor": Function(math.floor),
    "gcd": Function(_gcd, 1, None),
    "isqrt": Function(_isqrt),
    "lcm": Function(_lcm, 1, None),
    "max": Function(lambda *values: max(values), 1, None),
    "min": Function(lambda *values: min(values), 1, None),
    "perm": Function(_perm, 2, 2),
    "round": Function(_round, 1, 2),
    "sum": Function(_sum, 1, None),
    "trunc": Function(math.trunc),
}

EXACT_FUNCTIONS: dict[str, Function] = {
    **_BOTH,
    "mean": Function(_exact_mean, 1, None),
    "median": Function(_median_of(_exact_mean), 1, None),
    "sqrt": Function(_exact_sqrt),
}

FUNCTIONS: dict[str, Function] = {
    **_BOTH,
    "mean": Function(_mean, 1, None),
    "median": Function(_median_of(_mean), 1, None),
    "hypot": Function(math.hypot, 1, None),
    "log": Function(math.log, 1, 2),
    "atan2": Function(math.atan2, 2, 2),
    "pow": Function(_power, 2, 2),
    **{name: Function(getattr(math, name)) for name in _REAL_FUNCTIONS},
}
