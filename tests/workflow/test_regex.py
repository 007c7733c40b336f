"""A regular expression of a workflow ends in time, and finds what Python's own engine finds."""

from __future__ import annotations

import re

import pytest

from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.templates import bounded_regex as regex
from strands_cli.workflow.templates.regex_steps import require_linear
from strands_cli.workflow.templates.template import Templates
from strands_cli.workflow.templates.template_errors import TemplateError
from strands_cli.yaml_files.document_reader import read_document
from tests.wordings import Wording
from tests.workflow.spoiled import chain

SLOW = ["(a+)+b", "(a|a)*b", "(?:a?){40}" + "a{40}", "a*a*a*a*a*a*b", "(?x)( a+ ) +b", "a?" * 30 + "a{30}"]


@pytest.mark.parametrize("pattern", SLOW)
def test_no_pattern_that_can_take_for_ever_runs_without_a_limit(pattern: str) -> None:
    assert not regex.is_cheap(pattern, 30)


def test_a_pattern_that_would_not_end_is_broken_off_and_named(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr(regex, "SECONDS", 0.3)
    with pytest.raises(TemplateError) as raised:
        Templates().render("{{ text | regex_search('(a+)+b') }}", {"text": "a" * 40})
    wording(raised.value)
    with pytest.raises(TemplateError) as refused:
        Templates().evaluate("text is search('(a+)+b')", {"text": "a" * 40})
    wording(refused.value)


def test_a_pattern_that_was_too_slow_over_a_text_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = []
    for seconds in (0.2, 0.4):  # a plan and its run render the same template
        monkeypatch.setattr(regex, "SECONDS", seconds)
        with pytest.raises(regex.SlowPattern) as raised:
            regex.search("(a+)+c", "a" * 41)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"score: (\d+)", "the score: 42."),
        (r"(\w+)+ly", "slowly"),
        ("(a)|(b)", "b"),
        ("x", "y"),
        (r"\d+", "ü7\ud800" * 900),
    ],
)
def test_what_is_found_is_the_same_in_both_ways(pattern: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    match = re.search(pattern, text)
    expected = regex.Found(match[0], match.groups()) if match else None
    assert regex.search(pattern, text) == expected
    assert (regex.fullmatch(pattern, text) is None) == (re.fullmatch(pattern, text) is None)
    # Nothing is cheap now: the search takes place in the other process.
    monkeypatch.setattr(regex, "CHEAP", -1)
    assert regex.search(pattern, text) == expected


def test_a_pattern_without_measure_is_refused() -> None:
    with pytest.raises(regex.SlowPattern, match=r"\b1,000\b"):
        regex.search("a" * 1001, "a")


def test_a_gate_whose_pattern_does_not_end_is_found_when_the_file_is_checked(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr(regex, "SECONDS", 0.3)
    gate = "{type: hitl, prompt: x, default: " + "a" * 40 + ", validation: {pattern: '(a+)+b'}}"
    found = [
        finding
        for finding in load_spec(read_document("flow.yaml", chain(gate))).findings
        if finding.code == "bad-regex"
    ]
    wording(found[0].message)


LINEAR = [
    r"ACME-\d{4}",
    r"\b\d{3}-\d{2}-\d{4}\b",
    "sk-[A-Za-z0-9]+",
    r"(?i)(alpha|beta) \d{1,9}",
    "x{0,3}?y",
    "(?x) a {3} # c",
    r"(?<=id )\d{5}",
    r"[\w.]{1,30}@[\w.]{1,30}",
]
NOT_LINEAR = [
    *SLOW,
    r"\w+@x",
    r"sk-\w+\b",
    "(a|a){1,30}b",
    "(?:ab)+",
    r"(['x])\1",
    "a{70000}",
    "x*",
    "",
    "(?=a)",
    r"\b",
    "x(?>a+)",
    "(a{1,40}){1,40}",
    "|".join(["a{1,99}b"] * 20),
    "a" * 1001,
    "a+?",
    "(?:a|b+)",
]


@pytest.mark.parametrize("pattern", LINEAR)
def test_a_pattern_whose_repeats_are_limited_takes_time_in_proportion_to_a_text(pattern: str) -> None:
    require_linear(pattern)


@pytest.mark.parametrize("pattern", NOT_LINEAR)
def test_a_pattern_that_can_take_more_or_finds_nothing_is_not_admitted(pattern: str) -> None:
    with pytest.raises(regex.SlowPattern):
        require_linear(pattern)
