"""What the calculator computes, what it refuses, and that neither takes long."""

from __future__ import annotations

import math
import sys
import threading
import time
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_tool_calculator.calculator import calculator


def call(expression: Any, **given: Any) -> dict[str, Any]:
    use = {"toolUseId": "use-1", "name": "calculator", "input": {"expression": expression, **given}}
    result = calculator(use, agent=None, messages=[])
    assert result["toolUseId"] == "use-1"
    return result


def value_of(expression: str, **given: Any) -> dict[str, Any]:
    result = call(expression, **given)
    assert result["status"] == "success", result
    return result["content"][1]["json"]


def reason_of(expression: Any, **given: Any) -> str:
    result = call(expression, **given)
    assert result["status"] == "error", result
    error = result["content"][1]["json"]["error"]
    assert error["code"] == "invalid_input"
    assert error["retryable"] is False
    assert error["message"] in result["content"][0]["text"]
    return error["details"]["reason"]


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("2 ** 10", "1024"),
        ("-2 ** 2", "-4"),
        ("2 ** 3 ** 2", "512"),
        ("2 ** -1", "0.5"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("6 / 3", "2.0"),
        ("1 << 8 >> 2", "64"),
        ("0xff + 0b11 + 0o7", "265"),
        ("1_000 * 2", "2000"),
        ("1.5e3", "1500.0"),
        (".5 + 5.", "5.5"),
        ("sqrt(16)", "4.0"),
        ("cbrt(8)", "2.0"),
        ("log(8, 2)", "3.0"),
        ("sum([1, 2, 3]) + sum(1, 2)", "9"),
        ("max(1, [5, 2])", "5"),
        ("mean(1, 2)", "1.5"),
        ("median(3, 1, 2)", "2"),
        ("median(4, 1, 2, 3)", "2.5"),
        ("factorial(5)", "120"),
        ("factorial(5.0)", "120"),
        ("comb(3000, 1500) == 0", None),
        ("comb(5, 2) + perm(5, 2)", "30"),
        ("gcd(12, 18) + lcm(4, 6)", "18"),
        ("round(2.675, 2)", "2.67"),
        ("round(2.5)", "2"),
        ("round(1234, -2)", "1200"),
        ("isqrt(17)", "4"),
        ("10 ** 30 + 1", "1000000000000000000000000000001"),
        (" 1 +\n 2 ", "3"),
        ("--1", "1"),
    ],
)
def test_an_expression_has_its_value(expression: str, result: str | None) -> None:
    if result is None:
        assert reason_of(expression) == "syntax"
    else:
        assert value_of(expression)["result"] == result


def test_constants_and_functions_are_those_of_the_math_module() -> None:
    assert value_of("sin(pi / 6) + cos(tau) + log(e)")["value"] == math.sin(math.pi / 6) + math.cos(math.tau) + 1.0
    assert value_of("hypot(3, 4) + atan2(1, 1) + degrees(pi)")["value"] == 5 + math.pi / 4 + 180


@pytest.mark.parametrize(
    ("expression", "result", "decimal"),
    [
        ("0.1 + 0.2", "0.3", "0.3"),
        ("1/3 + 1/6", "0.5", "0.5"),
        ("1/3", "1/3", "0.33333333333333333333"),
        ("2/3", "2/3", "0.66666666666666666667"),
        ("sqrt(9/4)", "1.5", "1.5"),
        ("(2/3) ** -2", "2.25", "2.25"),
        ("1e-7 * 3", "0.0000003", "0.0000003"),
        ("mean(1, 2, 2)", "5/3", "1.6666666666666666667"),
        ("round(2/3, 3)", "0.667", "0.667"),
        ("-1/7", "-1/7", "-0.14285714285714285714"),
        ("7.5 // 2 + 7.5 % 2", "4.5", "4.5"),
    ],
)
def test_exact_mode_rounds_nothing(expression: str, result: str, decimal: str) -> None:
    value = value_of(expression, mode="exact")
    assert (value["result"], value["decimal"], value["is_exact"]) == (result, decimal, True)


def test_exact_mode_gives_a_whole_number_as_such() -> None:
    assert value_of("0.5 + 0.5", mode="exact") == {"result": "1", "value": 1, "is_exact": True}


def test_digits_set_the_length_of_the_decimal() -> None:
    assert value_of("1/7", mode="exact", digits=5)["decimal"] == "0.14286"
    assert call("1/7", mode="exact", digits=3)["content"][0]["text"] == "1/7 (about 0.143)"


@pytest.mark.parametrize("expression", ["sin(1)", "pi", "2 ** 0.5", "sqrt(2)", "log(2)"])
def test_exact_mode_refuses_irrational_values(expression: str) -> None:
    assert reason_of(expression, mode="exact") == "not-exact"


def test_variables_mean_numbers() -> None:
    assert value_of("a * (1 + rate) ** n", variables={"a": 100, "rate": 0.5, "n": 2})["result"] == "225.0"
    assert value_of("x + 0.2", variables={"x": 0.1}, mode="exact")["result"] == "0.3"


@pytest.mark.parametrize(
    "variables",
    [
        {"sin": 1},
        {"pi": 3},
        {"a b": 1},
        {"__class__x!": 1},
        {"ä": 1},
        {"x": "1"},
        {"x": True},
        {"x": math.nan},
        {"x": 10**4000},
    ],
)
def test_variables_must_be_named_and_finite_numbers(variables: dict[str, Any]) -> None:
    assert reason_of("1", variables=variables) in ("unknown-name", "domain", "too-large")


def test_a_number_json_cannot_carry_has_its_text_only_or_its_nearest_double() -> None:
    assert value_of("10 ** 400")["value"] is None
    assert value_of("10 ** 400")["result"] == str(10**400)
    assert value_of("2 ** 53 + 1")["value"] == float(2**53)


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("2^8", "write ** for a power"),
        ("5!", "write factorial(n)"),
        ("1,000 + 1", "1000, not 1,000"),
        ("1, 2", "1000, not 1,000"),
        ("15% of 80", "0.15"),
        ("15%", "0.15"),
        ("math.sqrt(2)", "write sqrt(2)"),
        ("3 × 4", "write *"),
        ("√2", "write sqrt(x)"),
        ("x = 3", "without '='"),
        ("2x", "as in 2*x"),
        ("2(3)", "2*(3)"),
        ("$5", "currency"),
        ("sqr(4)", "did you mean sqrt"),
        ("Sin(1)", "did you mean sin"),
        ("sqrt", "write sqrt(...)"),
        ("log()", "takes 1 to 2 argument(s), not 0"),
        ("sum()", "takes 1 or more argument(s), not 0"),
        ("1 < 2", "comparisons"),
        ("0123", "leading zeros"),
    ],
)
def test_a_common_slip_gets_a_hint(expression: str, hint: str) -> None:
    result = call(expression)
    assert result["status"] == "error"
    assert hint in result["content"][0]["text"]


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('id')",
        "().__class__.__bases__[0].__subclasses__()",
        "(1).__class__",
        "[].append(1)",
        "[x for x in [1]]",
        "sum(x for x in [1])",
        "lambda: 1",
        "(lambda x: x)(1)",
        "f'{1}'",
        "'a' * 10",
        "b'a'",
        "{1: 2}",
        "{1}",
        "[1][0]",
        "1 if 1 else 2",
        "1 and 2",
        "not 1",
        "(x := 5)",
        "print(1)",
        "eval(1)",
        "open(0)",
        "sqrt(*[4])",
        "max(**x)",
        "round(2.5, ndigits=1)",
        "sum([[1]])",
        "[1, 2]",
        "True",
        "None",
        "...",
        "1j",
        "1 @ 2",
        "1 & 2",
        "~1",
        "await x",
        "yield",
        "import os",
        "1; 2",
        "1\\\n+2",
        "# only a comment",
        "\x00",
        "１+１",
        "٣",
        "1\u200b+1",
        "ｓqrt(4)",
        "𝐬qrt(4)",
        "1..real",
        "1.__abs__()",
        "1if 1else 2",
        "0x",
        "1__0",
        "1e",
        "1.2.3",
        "",
        "   ",
        ")",
        "(" * 10,
    ],
)
def test_nothing_but_arithmetic_is_accepted(expression: str) -> None:
    reason_of(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9**9",
        "2 ** 10001",
        "(10 ** 3000) ** 2",
        "2 ** -100000 * 1",
        "1 << 10**9",
        "1 << (1 << 9000)",
        "factorial(10**9)",
        "factorial(3000)",
        "factorial(factorial(20))",
        "comb(10**9, 5 * 10**8)",
        "comb(100000, 50000)",
        "perm(10**9, 10**7)",
        "lcm(2**9999 + 1, 2**9998 + 1)",
        "1e400 * 10 ** 10000",
        "exp(1000)",
        "9" * 1_900 + " ** 9",
    ],
)
@pytest.mark.parametrize("mode", ["float", "exact"])
def test_a_bomb_is_refused_before_it_goes_off(expression: str, mode: str) -> None:
    began = time.process_time()
    reason = reason_of(expression, mode=mode)
    assert time.process_time() - began < 1
    assert reason in ("too-large", "not-exact", "syntax")


@pytest.mark.parametrize("expression", ["10 ** 400 * 1.0", "1e308 * 10", "1e400", "0.5 + 2 ** 2000", "sqrt(10 ** 700)"])
def test_what_a_float_cannot_hold_is_refused_not_infinite(expression: str) -> None:
    assert reason_of(expression) == "too-large"


@pytest.mark.parametrize("expression", ["(1/3) ** 100000", "1e999999999", "1e-999999999", "0.1e9999999999999999999"])
def test_a_huge_exponent_is_not_a_bomb_in_exact_mode(expression: str) -> None:
    assert reason_of(expression, mode="exact") == "too-large"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("(" * 51 + "1" + ")" * 51, "too-deep"),
        ("-" * 17 + "1", "too-deep"),
        ("- " * 17 + "1", "too-deep"),
        ("**".join(["1"] * 60), "too-deep"),
        ("[" * 60 + "1" + "]" * 60, "too-deep"),
        ("abs(" * 60 + "1" + ")" * 60, "too-deep"),
        ("1+" * 600 + "1", "too-long"),
        ("1" * 2_001, "length"),
        ("not " * 400 + "1", "not-allowed"),
        ("1 if 1 else " * 100 + "1", "not-allowed"),
    ],
)
def test_nesting_and_length_are_capped(expression: str, reason: str) -> None:
    assert reason_of(expression) == reason


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("(" * 50 + "1" + ")" * 50, "1"),
        ("-" * 16 + "1", "1"),
        ("+".join(["1"] * 501), "501"),
        ("**".join(["1"] * 51), "1"),
    ],
)
def test_the_caps_leave_room_for_honest_work(expression: str, result: str) -> None:
    assert value_of(expression)["result"] == result


def test_deep_input_is_safe_in_a_thread_with_a_small_stack() -> None:
    before = threading.stack_size(256 * 1024)
    results: list[dict[str, Any]] = []
    deepest = ["(" * 50 + "1" + ")" * 50, "+".join(["1"] * 501), "**".join(["1"] * 51), "not " * 490 + "1"]
    try:
        thread = threading.Thread(target=lambda: results.extend(map(call, deepest)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert [result["status"] for result in results] == ["success", "success", "success", "error"]


@pytest.mark.parametrize("mode", ["float", "exact"])
def test_the_dearest_expression_within_the_caps_is_cheap(mode: str) -> None:
    began = time.process_time()
    for expression in (
        "+".join(f"1/{prime}" for prime in range(1, 250)),
        "*".join(["factorial(700)"] * 120),
        "+".join(["(2**9990)"] * 180),
        "%".join(["(2**9990-1)"] * 150),
        "+".join(["comb(3000,1500)"] * 110),
        "(3**6000)**-1+" * 90 + "1",
        "lcm(" + ",".join(f"2**{9990 - number}-1" for number in range(150)) + ")",
        "gcd(" + ",".join(f"2**{9990 - number}-1" for number in range(150)) + ")",
    ):
        call(expression, mode=mode, digits=1000)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("expression", ["1/0", "1//0", "1%0", "0**-1", "0.0**-1", "1 % 0.0", "mean(0)/0"])
@pytest.mark.parametrize("mode", ["float", "exact"])
def test_division_by_zero_is_named(expression: str, mode: str) -> None:
    assert reason_of(expression, mode=mode) == "division-by-zero"


@pytest.mark.parametrize(
    "expression",
    [
        "sqrt(-1)",
        "log(0)",
        "(-8) ** 0.5",
        "asin(2)",
        "factorial(-1)",
        "factorial(1.5)",
        "1 << -1",
        "1.5 << 1",
        "isqrt(-1)",
        "round(1, 2000)",
    ],
)
def test_a_value_that_does_not_exist_is_named(expression: str) -> None:
    assert reason_of(expression) == "domain"


@pytest.mark.parametrize(
    "given_input",
    [None, [], "1+1", {}, {"expression": 3}, {"expression": "1", "mode": "fast"}, {"expression": "1", "expr": "2"}],
)
def test_malformed_input_is_an_answer_not_an_exception(given_input: Any) -> None:
    result = calculator({"toolUseId": "u", "name": "calculator", "input": given_input})
    assert result["content"][1]["json"]["error"]["code"] == "invalid_input"


NUMBERS = st.integers(-50, 50).map(str)
EXPRESSIONS = st.recursive(
    NUMBERS,
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
        lambda parts: f"({' '.join(parts)})"
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(EXPRESSIONS)
def test_exact_mode_agrees_with_python_on_fractions(expression: str) -> None:
    import re

    try:
        expected = eval(re.sub(r"(\d+)", r"F(\1)", expression), {"F": Fraction, "__builtins__": {}})
    except ZeroDivisionError:
        assert reason_of(expression, mode="exact") == "division-by-zero"
        return
    value = value_of(expression, mode="exact")
    assert Fraction(value.get("fraction", value["result"])) == expected


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(st.text(st.sampled_from("0123456789.+-*/%()[],<> eExXsqrtlogpi_^!'ü\n"), max_size=40))
def test_any_text_gets_an_answer(text: str) -> None:
    for mode in ("float", "exact"):
        result = call(text, mode=mode)
        assert result["status"] in ("success", "error")
        if result["status"] == "success":
            assert math.isfinite(result["content"][1]["json"]["value"] or 0)


def test_the_limit_on_digits_stays_below_pythons_own() -> None:
    assert len(value_of("2 ** 9999")["result"]) < sys.int_info.default_max_str_digits
