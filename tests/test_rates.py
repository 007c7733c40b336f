from __future__ import annotations

import pytest

from strands_cli.engine.effects.provider_limits import Rate
from strands_cli.errors import ExitCode, UsageError


@pytest.mark.parametrize(
    ("text", "rate"),
    [("60/m", Rate(60, 60)), ("5/s", Rate(5, 1)), ("1000/h", Rate(1000, 3600)), ("2/d", Rate(2, 86400))],
)
def test_a_rate_is_a_number_in_a_period(text: str, rate: Rate) -> None:
    assert Rate.parse(text) == rate
    assert str(rate) == text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("60", "60/m"),
        ("60/min", "60/m"),
        ("60/minute", "60/m"),
        ("60 / m", "60/m"),
        ("60 per minute", "60/m"),
        ("60rpm", "60/m"),
        ("5 per second", "5/s"),
        ("5/S", "5/s"),
        ("1000 per hour", "1000/h"),
        ("007/m", "7/m"),
    ],
)
def test_what_is_nearly_a_rate_is_proposed_as_one(text: str, meant: str) -> None:
    with pytest.raises(UsageError) as raised:
        Rate.parse(text, "--limit")
    assert raised.value.exit_code == ExitCode.USAGE
    assert "--limit" in raised.value.message
    assert f" {meant}?" in str(raised.value.fix)
    assert str(Rate.parse(meant)) == meant


@pytest.mark.parametrize(
    "text", ["", "m", "/m", "0/m", "-1/s", "1.5/s", "60/week", "60/m/s", "60/m\n", "١/m", "9" * 40]
)
def test_a_bad_rate_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        Rate.parse(text)
    assert " 60/m" in str(raised.value.fix)
