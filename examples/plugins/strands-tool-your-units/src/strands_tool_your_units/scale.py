"""Units as numbers: each has a kind, and a factor to the unit that its kind is measured in."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

DIGITS = 12


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a kind (`length`); `factor` of them are one base unit, `offset` is added before (temperatures)."""

    kind: str
    factor: Decimal
    offset: Decimal = Decimal(0)


def _units(kind: str, table: dict[str, str]) -> dict[str, Unit]:
    return {name: Unit(kind, Decimal(factor)) for name, factor in table.items()}


KNOWN: dict[str, Unit] = {
    **_units(
        "length",
        {
            "m": "1",
            "km": "1000",
            "cm": "0.01",
            "mm": "0.001",
            "in": "0.0254",
            "ft": "0.3048",
            "yd": "0.9144",
            "mi": "1609.344",
            "nmi": "1852",
        },
    ),
    **_units(
        "mass", {"kg": "1", "g": "0.001", "mg": "0.000001", "t": "1000", "lb": "0.45359237", "oz": "0.028349523125"}
    ),
    **_units("time", {"s": "1", "ms": "0.001", "min": "60", "h": "3600", "d": "86400"}),
    **_units("volume", {"l": "1", "ml": "0.001", "m3": "1000", "gal": "3.785411784"}),
    "K": Unit("temperature", Decimal(1)),
    "C": Unit("temperature", Decimal(1), Decimal("273.15")),
    "F": Unit("temperature", Decimal(5) / Decimal(9), Decimal("459.67")),
}


def converted(amount: Decimal, source: Unit, target: Unit) -> Decimal:
    """Return an amount in another unit of the same kind, to 12 digits.

    Raises:
        ValueError: the two measure different things.
    """
    if source.kind != target.kind:
        raise ValueError(f"{source.kind} cannot be converted to {target.kind}")
    base = (amount + source.offset) * source.factor
    return _rounded(base / target.factor - target.offset)


def _rounded(number: Decimal) -> Decimal:
    if not number:
        return Decimal(0)
    rounded = round(number, DIGITS - 1 - number.adjusted())
    return rounded.normalize() if rounded else Decimal(0)
