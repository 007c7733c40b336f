"""The tool `calculator`: evaluate one arithmetic expression, in floating point or exactly."""

from __future__ import annotations

from typing import Any

from strands_tool_calculator._evaluate import evaluate
from strands_tool_calculator._numbers import describe
from strands_tool_kit import answer, read_input

TOOL_SPEC = {
    "name": "calculator",
    "description": (
        "Evaluate one arithmetic expression and return its value. Operators: + - * / // % ** << >> and brackets; "
        "write powers with **, not ^. Functions: sqrt, cbrt, exp, log, log2, log10, sin, cos, tan, asin, acos, atan, "
        "atan2, hypot, degrees, radians, abs, round, floor, ceil, trunc, min, max, sum, mean, median, factorial, comb, "
        "perm, gcd, lcm, isqrt. Constants: pi, e, tau. Mode 'exact' computes with fractions and rounds nothing."
    ),
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "expression": {
                    "type": "string",
                    "description": "The expression, for example '(1250 * 3 + 99.5) / 7' or 'sqrt(2) * mean(3, 4, 8)'.",
                    "minLength": 1,
                    "maxLength": 2000,
                },
                "mode": {
                    "type": "string",
                    "enum": ["float", "exact"],
                    "default": "float",
                    "description": "'float': decimals are doubles, whole numbers exact. 'exact': fractions throughout.",
                },
                "digits": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 1000,
                    "default": 20,
                    "description": "Significant digits of the decimal form of a fraction (mode 'exact').",
                },
                "variables": {
                    "type": "object",
                    "additionalProperties": {"type": "number"},
                    "default": {},
                    "description": 'Numbers the expression may use by name, for example {"rate": 0.07}.',
                },
            },
            "required": ["expression"],
            "additionalProperties": False,
        }
    },
    "outputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "result": {"type": "string", "description": "The value as text, complete."},
                "value": {"type": ["number", "null"], "description": "The nearest JSON number; null beyond its range."},
                "is_exact": {"type": "boolean", "description": "Whether 'result' is the value without rounding."},
                "fraction": {"type": "string", "description": "Numerator/denominator, in exact mode."},
                "decimal": {"type": "string", "description": "The fraction rounded to 'digits' significant digits."},
            },
            "required": ["result", "value", "is_exact"],
        }
    },
    "annotations": {
        "title": "Calculator",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
    "strands_cli": {
        "requires_confirmation": False,
        "capabilities": {"network": [], "filesystem": [], "subprocess": False, "env": [], "secrets": []},
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
        given = read_input(tool, TOOL_SPEC)
        value = evaluate(given["expression"], given["variables"], exact=given["mode"] == "exact")
        return describe(value, given["digits"])

    return answer(tool, work)
