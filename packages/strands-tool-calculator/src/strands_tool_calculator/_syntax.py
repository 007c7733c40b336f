"""From text to a checked list of nodes: caps before parsing, an allowlist after it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from strands_tool_kit import ToolError

MAX_LENGTH = 2_000
MAX_DEPTH = 50
MAX_OPERATORS = 500
MAX_SIGNS = 16

_TOKEN = re.compile(
    r"""
    0[xX][0-9a-fA-F_]+ | 0[oO][0-7_]+ | 0[bB][01_]+
    | (?: [0-9][0-9_]* (?: \.[0-9_]* )? | \.[0-9][0-9_]* ) (?: [eE][-+]?[0-9]+ )?
    | [A-Za-z_][A-Za-z0-9_]*
    | \*\* | // | << | >> | [-+*/%(),\[\]]
    """,
    re.VERBOSE,
)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
_HINTS = {
    "^": "write ** for a power, as in 2**8",
    "!": "write factorial(n)",
    "=": "give the expression alone, without '='",
    "×": "write *",
    "·": "write *",
    "÷": "write /",
    "−": "write the ASCII minus -",
    "–": "write the ASCII minus -",
    "√": "write sqrt(x)",
    "π": "write pi",
    "&": "bitwise operators are not supported",
    "|": "bitwise operators are not supported; write abs(x) for |x|",
    "~": "bitwise operators are not supported",
    ".": "a name has no attributes here; write sqrt(2), not math.sqrt(2)",
    "$": "leave the currency sign out",
    "€": "leave the currency sign out",
    "£": "leave the currency sign out",
    "<": "comparisons are not supported; only numbers are results",
    ">": "comparisons are not supported; only numbers are results",
}


def one_line(expression: str) -> str:
    """Return the expression on one line without outer blanks, so that a column is a place in it."""
    return expression.translate({ord(blank): " " for blank in "\t\r\n"}).strip(" ")


def parse(text: str) -> Sequence[ast.expr]:
    """Return the nodes of a one-line expression in the order of evaluation (operands before their operator).

    Every limit that protects the parser itself is checked on the text first, because the depth of Python's own
    parser is bounded by the C stack of the calling thread.

    Raises:
        ToolError: `invalid_input` with `reason` and, where there is one, the 1-based `column`.
    """
    if not text:
        raise _refuse("the expression is empty", "empty")
    if len(text) > MAX_LENGTH:
        raise _refuse(f"the expression has {len(text)} characters; the limit is {MAX_LENGTH}", "too-long")
    tokens = _scan(text)
    _require_shallow(tokens)
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise _syntax_refusal(text, error) from None
    nodes: list[ast.expr] = []
    pending = [tree.body]
    while pending:
        node = pending.pop()
        nodes.append(node)
        pending.extend(operands(node))
    return nodes[::-1]


def operands(node: ast.expr) -> list[ast.expr]:
    """Return the operands of an allowed node, left to right; a list among a function's arguments is spliced in.

    Raises:
        ToolError: for every node outside the allowlist.
    """
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return []
        case ast.Name():
            return []
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return [operand]
        case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _OPERATORS):
            return [left, right]
        case ast.Call(func=ast.Name(), args=arguments, keywords=[]):
            return [part for argument in arguments for part in _spliced(argument)]
        case ast.Tuple() | ast.List():
            raise _refuse(
                "a list of numbers is only allowed among the arguments of a function; "
                "write numbers without thousands separators (1000, not 1,000)",
                "not-allowed",
                node,
            )
        case ast.Call():
            raise _refuse("only a function name may come before '('; write 2*(3) for a product", "not-allowed", node)
    raise _refuse("only numbers, operators and functions are arithmetic", "not-allowed", node)


def _spliced(argument: ast.expr) -> list[ast.expr]:
    return argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]


def _scan(text: str) -> list[str]:
    """Split the text into tokens, refusing every character that no expression has."""
    tokens: list[str] = []
    position = 0
    while position < len(text):
        if text[position] == " ":
            position += 1
            continue
        match = _TOKEN.match(text, position)
        if match is None:
            character = text[position]
            hint = _HINTS.get(character, "use digits, + - * / // % ** << >>, brackets and function names")
            raise _refuse(f"{character!a} at column {position + 1} is not arithmetic: {hint}", "syntax", position + 1)
        if re.match(r"0[0-9_]", match[0]):
            raise _refuse(
                f"the number {match[0][:20]} begins with 0; write numbers without leading zeros "
                "and without thousands separators (1000, not 1,000)",
                "syntax",
                position + 1,
            )
        position = match.end()
        if match[0][0] in "0123456789." and text[position : position + 1].isalpha():
            raise _refuse(f"write an operator after {match[0][:20]}, as in 2*x", "syntax", position + 1)
        tokens.append(match[0])
    return tokens


def _require_shallow(tokens: list[str]) -> None:
    """Raise when brackets, powers, signs or the mere count of operators would nest too deeply."""
    depth = deepest = signs = longest = 0
    for word in tokens:
        depth += (word in "([") - (word in ")]")
        deepest = max(deepest, depth)
        signs = signs + 1 if word in "+-" else 0
        longest = max(longest, signs)
    if deepest > MAX_DEPTH or tokens.count("**") > MAX_DEPTH or longest > MAX_SIGNS:
        raise _refuse(f"the expression is nested too deeply; the limit is {MAX_DEPTH} levels", "too-deep")
    operators = sum(not (word[0].isalnum() or word[0] in "._()[]") for word in tokens)
    if operators > MAX_OPERATORS:
        raise _refuse(f"the expression has {operators} operators; the limit is {MAX_OPERATORS}", "too-long")


def _syntax_refusal(text: str, error: Exception) -> ToolError:
    """Return the refusal with the parser's error, and a hint for the commonest slips."""
    column = error.offset if isinstance(error, SyntaxError) and error.offset else None
    where = f" at column {column}" if column else ""
    hint = "; write 15% as 0.15" if "%" in text else ""
    message = error.msg if isinstance(error, SyntaxError) else "it is too complex"
    return _refuse(f"not an expression{where}: {message}{hint}", "syntax", column)


def _refuse(message: str, reason: str, where: ast.expr | int | None = None) -> ToolError:
    column = where.col_offset + 1 if isinstance(where, ast.expr) else where
    details: dict[str, Any] = {"column": column} if column else {}
    return ToolError("invalid_input", message, reason=reason, **details)
