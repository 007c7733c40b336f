"""What every tool must do, and what these answer."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from strands_tool_your_units.units import Units

from strands_cli_dev import Example, ToolContract


class TestUnits(ToolContract):
    """The standard tests: schema, hints, results, errors, manifest, side effects."""

    tool = "strands_tool_your_units.units:Units"
    examples: ClassVar[dict[str, list[Any]]] = {
        "convert": [
            Example({"amount": 26.2, "source": "mi", "target": "km"}, expected="42.1648128 km"),
            Example({"amount": 1, "source": "mi", "target": "kg"}, status="error"),
        ],
        "list_units": [Example({"kind": "temperature"}, expected="C, F, K"), {"kind": "mass"}],
        "define_unit": [Example({"name": "smoot", "amount": 1.702, "unit": "m"}, expected="1 smoot is 1.702 m")],
    }


@pytest.mark.parametrize(
    ("amount", "source", "target", "result"),
    [
        (100, "C", "F", "212 F"),
        (-40, "F", "C", "-40 C"),
        (0, "C", "K", "273.15 K"),
        (1, "mi", "m", "1609.344 m"),
        (1, "gal", "ml", "3785.411784 ml"),
        (0, "km", "m", "0 m"),
    ],
)
def test_amounts_are_converted(amount: float, source: str, target: str, result: str) -> None:
    answer = Units().convert(amount=amount, source=source, target=target)
    assert answer["content"] == [{"text": result}]


def test_a_unit_that_is_defined_can_be_used_and_is_gone_with_its_run() -> None:
    units = Units({"units": {"smoot": "1.702 m"}})
    assert units.convert(amount=364.4, source="smoot", target="m")["content"][0]["text"] == "620.2088 m"
    assert units.define_unit(name="bridge", amount=364.4, unit="smoot")["status"] == "success"
    assert units.convert(amount=1, source="bridge", target="smoot")["content"][0]["text"] == "364.4 smoot"
    assert Units().convert(amount=1, source="smoot", target="m")["status"] == "error"


@pytest.mark.parametrize(
    "given",
    [
        {"name": "m", "amount": 2, "unit": "km"},
        {"name": "x", "amount": 0, "unit": "m"},
        {"name": "x", "amount": 1, "unit": "C"},
        {"name": "x!", "amount": 1, "unit": "m"},
        {"name": "x", "amount": float("nan"), "unit": "m"},
    ],
)
def test_a_wrong_unit_is_refused(given: dict[str, Any]) -> None:
    assert Units().define_unit(**given)["status"] == "error"
