"""The numbers the calculator computes with: their size, their simplest form, their text."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction
from typing import Any

from strands_tool_kit import ToolError

Number = int | float | Fraction

MAX_BITS = 10_000
"""Largest number computed, in bits: about 3,010 decimal digits, below Python's own limit for printing integers."""


def bits(value: Number) -> int:
    """Return the length in bits of an integer, or of the longer half of a fraction; a float counts as 64."""
    if isinstance(value, int):
        return value.bit_length()
    if isinstance(value, Fraction):
        return max(value.numerator.bit_length(), value.denominator.bit_length())
    return 64


def require_bits(value: Number) -> Number:
    """Return the value, or raise when it is longer than `MAX_BITS` or not finite."""
    if bits(value) > MAX_BITS or (isinstance(value, float) and not math.isfinite(value)):
        raise too_large()
    return value


def too_large() -> ToolError:
    """Make the refusal of a number beyond the limits."""
    return ToolError(
        "invalid_input",
        f"the number is too large: the limits are {MAX_BITS} bits for whole numbers and fractions, 1.8e308 for floats",
        reason="too-large",
    )


def simplest(value: Number) -> Number:
    """Turn a fraction with a whole value into an int."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def describe(value: Number, digits: int) -> tuple[str, dict[str, Any]]:
    """Return the text of a value and its JSON form.

    Args:
        value: The result.
        digits: Significant digits of the decimal rendering of a fraction.
    """
    if not isinstance(value, Fraction):
        return str(value), {"result": str(value), "value": _nearest(value), "is_exact": isinstance(value, int)}
    rounded, is_exact = _decimal(value, digits)
    fraction = f"{value.numerator}/{value.denominator}"
    text = rounded if is_exact else f"{fraction} (about {rounded})"
    return text, {
        "result": rounded if is_exact else fraction,
        "value": _nearest(value),
        "is_exact": True,
        "fraction": fraction,
        "decimal": rounded,
    }


def _nearest(value: Number) -> int | float | None:
    """Return the nearest number that every JSON reader keeps, or None beyond the range of a double."""
    if isinstance(value, float) or (isinstance(value, int) and abs(value) <= 2**53):
        return value
    try:
        return float(value)
    except OverflowError:
        return None


def _decimal(value: Fraction, digits: int) -> tuple[str, bool]:
    """Render a fraction with so many significant digits, and return whether that is its exact value."""
    context = decimal.Context(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
    quotient = context.divide(decimal.Decimal(value.numerator), decimal.Decimal(value.denominator))
    small = -digits <= quotient.adjusted() <= digits
    return format(quotient, "f" if small else ""), not context.flags[decimal.Inexact]
