"""A regular expression of a workflow ends in time, and finds what Python's own engine finds."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given, settings
from hypothesis.strategies import lists, sampled_from, text

from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.templates import regular_expressions as regex
from strands_cli.workflow.templates.plugin_filters import TemplateError
from strands_cli.workflow.templates.template import Templates
from strands_cli.yaml_files.document_reader import read_document
from tests.wordings import Wording
from tests.workflow.spoiled import chain


def test_a_pattern_that_would_not_end_is_broken_off_and_named(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr(regex, "SECONDS", 0.3)
    with pytest.raises(TemplateError) as raised:
        Templates().render("{{ text | regex_search('(a|aa)+$') }}", {"text": "a" * 60 + "b"})
    wording(raised.value)
    with pytest.raises(TemplateError) as refused:
        Templates().evaluate("text is search('(a|aa)+$')", {"text": "a" * 60 + "b"})
    wording(refused.value)


def test_a_pattern_that_was_too_slow_over_a_text_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = []
    for seconds in (0.2, 0.4):  # a plan and its run render the same template
        monkeypatch.setattr(regex, "SECONDS", seconds)
        with pytest.raises(regex.SlowPattern) as raised:
            regex.search("(a|aa)+$", "a" * 60 + "b")
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
        ("a{e<=1}", "abe a{e<=1}"),
        (r"[]\[{]+", "x]{[}"),
        ("(?i)straSSe", "STRASSE"),
        ("x{,}y|{|}|x{}", "x{}"),
    ],
)
def test_a_search_finds_what_pythons_own_engine_finds(pattern: str, text: str) -> None:
    match = re.search(pattern, text)
    assert regex.search(pattern, text) == (regex.RegexMatch(match[0], match.groups()) if match else None)
    assert (regex.fullmatch(pattern, text) is None) == (re.fullmatch(pattern, text) is None)
    assert regex.replaced(pattern, text, r"\1") == re.sub(pattern, lambda _: r"\1", text)


PIECES = [*"ab.[]{}()|?*+^$-1,", r"\d", r"\w", r"\b", r"\]", "(?:", "(?i:", "[^a", "{1,2}", "{e", "{,2}"]


@pytest.mark.hostile
@settings(max_examples=2_000, deadline=None)
@given(pattern=lists(sampled_from(PIECES), max_size=8).map("".join), text=text("ab1[]{}-,e ", max_size=12))
def test_any_pattern_means_the_same_as_in_python(pattern: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            match = re.search(pattern, text)
        except re.error:
            with pytest.raises(re.error):
                regex.search(pattern, text)
            return
        assert regex.search(pattern, text) == (regex.RegexMatch(match[0], match.groups()) if match else None)


def test_a_pattern_without_measure_is_refused() -> None:
    with pytest.raises(regex.SlowPattern, match=r"\b1,000\b"):
        regex.search("a" * 1001, "a")


def test_a_gate_whose_pattern_does_not_end_is_found_when_the_file_is_checked(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr(regex, "SECONDS", 0.3)
    gate = "{type: hitl, prompt: x, default: " + "a" * 60 + "b, validation: {pattern: '(a|aa)+$'}}"
    found = [
        finding
        for finding in load_spec(read_document("flow.yaml", chain(gate))).findings
        if finding.code == "bad-regex"
    ]
    wording(found[0].message)


@pytest.mark.parametrize("pattern", ["x*", "", "(?=a)", r"\b", "(a|)", "^"])
def test_a_pattern_that_finds_no_character_is_known(pattern: str) -> None:
    assert regex.matches_empty_text(pattern)


@pytest.mark.parametrize("pattern", [r"ACME-\d{4}", "sk-[A-Za-z0-9]+", r"(?<=id )\d{5}", r"\w+@x", r"\b\d{3}\b"])
def test_a_pattern_that_finds_a_character_is_admitted(pattern: str) -> None:
    assert not regex.matches_empty_text(pattern)
