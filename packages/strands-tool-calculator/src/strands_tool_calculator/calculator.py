"""The tool `calculator`: evaluate one arithmetic expression, in floating point or exactly."""

from __future__ import annotations

from typing import Any

from strands_tool_calculator._evaluate import evaluate
from strands_tool_calculator._numbers import describe
from strands_tool_kit import answer, read_input
from strands_tool_kit.spec import boolean, capabilities, choice, for_programs, hints, inputs, integer, outputs, string

TOOL_SPEC: dict[str, Any] = {
    "name": "calculator",
    "description": (
        "Evaluate one arithmetic expression and return its value. Operators: + - * / // % ** << >> and brackets; "
        "write powers with **, not ^. Functions: sqrt, cbrt, exp, log, log2, log10, sin, cos, tan, asin, acos, atan, "
        "atan2, hypot, degrees, radians, abs, round, floor, ceil, trunc, min, max, sum, mean, median, factorial, comb, "
        "perm, gcd, lcm, isqrt. Constants: pi, e, tau. Mode 'exact' computes with fractions and rounds nothing."
    ),
    "inputSchema": inputs(
        {
            "expression": {
                "type": "string",
                "description": "The expression, for example '(1250 * 3 + 99.5) / 7' or 'sqrt(2) * mean(3, 4, 8)'.",
                "minLength": 1,
                "maxLength": 2000,
            },
            "mode": choice(
                ["float", "exact"],
                "'float': decimals are doubles, whole numbers exact. 'exact': fractions throughout.",
                default="float",
            ),
            "digits": integer(
                "Significant digits of the decimal form of a fraction (mode 'exact').", between=(1, 1000), default=20
            ),
            "variables": {
                "type": "object",
                "additionalProperties": {"type": "number"},
                "default": {},
                "description": 'Numbers the expression may use by name, for example {"rate": 0.07}.',
            },
        },
        required=["expression"],
    ),
    "outputSchema": outputs(
        {
            **for_programs(
                result=string("The value as text, complete."),
                value={"type": ["number", "null"], "description": "The nearest JSON number; null beyond its range."},
            ),
            "is_exact": boolean("Whether 'result' is the value without rounding."),
            **for_programs(
                fraction=string("Numerator/denominator, in exact mode."),
                decimal=string("The fraction rounded to 'digits' significant digits."),
            ),
        },
        optional=["fraction", "decimal"],
    ),
    "annotations": hints("Calculator", reads_only=True),
    "strands_cli": {
        "requires_confirmation": False,
        "capabilities": capabilities(),
        "resources": {"reads": [], "writes": []},
        "timeout_s": 10,
        "max_output_bytes": 16384,
    },
}


def calculator(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Evaluate the expression of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; this tool needs none of it.

    Returns:
        A Strands tool result: the value as text and as JSON, or an error `invalid_input` with the reason.
    """

    def work() -> tuple[str, dict[str, Any]]:
        values = read_input(tool, TOOL_SPEC)
        value = evaluate(values["expression"], values["variables"], exact=values["mode"] == "exact")
        return describe(value, values["digits"])

    return answer(tool, work)
