"""What every tool must do, the calculator does; needs strands-cli, which the tool itself does not."""

from __future__ import annotations

import pytest

testing = pytest.importorskip("strands_cli_dev")


class TestCalculator(testing.ToolContract):  # type: ignore[name-defined, misc]
    tool = "strands_tool_calculator.calculator"
    examples = (
        testing.Example({"expression": "6 * 7"}, expected="42"),
        {"expression": "principal * 1.07", "variables": {"principal": 1000}},
        {"expression": "0.1 + 0.2", "mode": "exact"},
        testing.Example({"expression": "1 / 0"}, status="error"),
    )
