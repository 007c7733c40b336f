"""The tools of `Units`: they share the units that a run has defined."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from strands import tool

from strands_cli.metadata import tool_metadata
from strands_tool_your_units.scale import KNOWN, Unit, converted

_NOTHING = {"network": [], "filesystem": [], "subprocess": False, "env": [], "secrets": []}
MAX_OWN_UNITS = 100


class Units:
    """Made once for each run, with the units that `define_unit` adds."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self.units = dict(KNOWN)
        for name, text in (config or {}).get("units", {}).items():
            amount, base = text.split()
            self.units[name] = self._scaled(Decimal(amount), base)

    @tool_metadata(read_only=True, destructive=False, idempotent=True, open_world=False, capabilities=_NOTHING)
    @tool
    def convert(self, amount: float, source: str, target: str) -> dict[str, Any]:
        """Convert an amount from one unit to another of the same kind, such as mi to km or C to F.

        Args:
            amount: How many of the source unit.
            source: The unit it is in, for example mi.
            target: The unit that is wanted, for example km.
        """
        try:
            result = converted(Decimal(str(amount)), self._unit(source), self._unit(target))
        except (ValueError, InvalidOperation) as error:
            return {"status": "error", "content": [{"text": f"invalid_input: {error}"}]}
        return {"status": "success", "content": [{"text": f"{result:f} {target}"}]}

    @tool_metadata(read_only=True, destructive=False, idempotent=True, open_world=False, capabilities=_NOTHING)
    @tool
    async def list_units(self, kind: str = "") -> str:
        """List the units that can be converted, those of the run among them.

        Args:
            kind: Only those of one kind: length, mass, time, volume or temperature.
        """
        await asyncio.sleep(0)
        return ", ".join(sorted(name for name, unit in self.units.items() if kind in ("", unit.kind)))

    @tool_metadata(read_only=False, destructive=False, idempotent=True, open_world=False, capabilities=_NOTHING)
    @tool
    def define_unit(self, name: str, amount: float, unit: str) -> dict[str, Any]:
        """Define a unit for the rest of this run, for example a smoot as 1.702 m.

        Args:
            name: What it is called: letters only.
            amount: How many of the other unit one of it is.
            unit: The unit it is measured in.
        """
        try:
            if not name.isalpha() or name in KNOWN:
                raise ValueError(f"'{name[:20]}' is not a name for a new unit")
            if len(self.units) >= len(KNOWN) + MAX_OWN_UNITS:
                raise ValueError(f"there are {MAX_OWN_UNITS} units of this run already")
            self.units[name] = self._scaled(Decimal(str(amount)), unit)
        except (ValueError, InvalidOperation) as error:
            return {"status": "error", "content": [{"text": f"invalid_input: {error}"}]}
        return {"status": "success", "content": [{"text": f"1 {name} is {amount:g} {unit}"}]}

    def close(self) -> None:
        """Forget the units of the run."""
        self.units.clear()

    def _unit(self, name: str) -> Unit:
        if name not in self.units:
            raise ValueError(f"there is no unit '{name[:20]}'; list_units names them all")
        return self.units[name]

    def _scaled(self, amount: Decimal, unit: str) -> Unit:
        base = self._unit(unit)
        if amount <= 0 or base.offset:
            raise ValueError("a unit is a positive amount of another one that begins at zero")
        return Unit(base.kind, amount * base.factor)
