from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.policy.argument_globs import fits_any, fits_every, matches_glob


@pytest.mark.parametrize(
    ("glob", "fits", "others"),
    [
        ("docs/*", ["docs/a", "docs/"], ["docs/a/b", "docs", "xdocs/a"]),
        ("docs/**", ["docs/a", "docs/a/b", "docs/"], ["docs", "xdocs/a"]),
        ("**/x", ["x", "a/x", "a/b/x"], ["ax", "a/xx", "a/bx"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb", "ax/b"]),
        ("*.md", ["a.md", ".md"], ["d/a.md", "a.mdx"]),
        ("**.md", ["a.md", "d/a.md"], ["a.mdx"]),
        ("a?c", ["abc"], ["a/c", "ac"]),
        ("[ab]", ["[ab]"], ["a"]),
        ("", [""], ["a"]),
        ("*", ["", "a"], ["a/b"]),
        ("**", ["", "a/b"], []),
        ("https://x/**", ["https://x/a/b"], ["https://x.evil/a", "http://x/a"]),
    ],
)
def test_a_star_stays_within_a_segment_and_two_cross(glob: str, fits: list[str], others: list[str]) -> None:
    assert [text for text in fits if not matches_glob(text, glob)] == []
    assert [text for text in others if matches_glob(text, glob)] == []


def as_regex(glob: str) -> str:
    """Return the glob as a regular expression, piece by piece from the left."""
    done, rest = "", glob
    while rest:
        stars = len(rest) - len(rest.lstrip("*"))
        begins = len(glob) == len(rest) or glob[len(glob) - len(rest) - 1] == "/"
        if stars > 1 and begins and rest[stars : stars + 1] == "/":
            done, rest = f"{done}(?:.*/)?", rest[stars + 1 :]
        elif stars:
            done, rest = done + (".*" if stars > 1 else "[^/]*"), rest[stars:]
        else:
            done, rest = done + ("[^/]" if rest[0] == "?" else re.escape(rest[0])), rest[1:]
    return done


@given(st.text("ab/*?", max_size=8), st.text("ab/", max_size=8))
def test_the_automaton_says_what_the_regular_expression_says(glob: str, text: str) -> None:
    assert matches_glob(text, glob) == bool(re.fullmatch(as_regex(glob), text, re.DOTALL))


def test_a_hostile_text_costs_time_in_proportion_to_its_length() -> None:
    started = time.process_time()
    assert not matches_glob("a" * 50_000, "**a" * 20 + "b")
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "value",
    [
        "docs/../secrets/a",
        "docs/..",
        "../docs/a",
        "docs\\a",
        "docs/a\n",
        "docs/\x00",
        "docs/%2e%2e/a",
        "docs%2Fa",
        "docs/%252e",
        "docs/\u202ea",
        "docs/\u200ba",
        "docs/\uff0e\uff0e/a",
        "docs/\u2025/x",
    ],
)
def test_a_value_that_may_mean_another_place_is_never_allowed(value: str) -> None:
    assert not fits_every({"path": value}, "path", "**")
    assert not fits_every({"path": value}, "path", value)


@pytest.mark.parametrize(
    "value",
    ["https://evil.example?.good.example/", "https://evil.example#.good.example/", "https://a@evil.good.example/"],
)
def test_a_host_that_hides_another_is_never_allowed(value: str) -> None:
    assert fits_every({"url": "https://api.good.example/x"}, "url", "https://*.good.example/**")
    assert not fits_every({"url": value}, "url", "https://*.good.example/**")


@pytest.mark.parametrize(
    "value",
    [
        "secrets/a",
        "docs/../secrets/a",
        "./secrets/a",
        "secrets//a",
        "SECRETS/a",
        "secrets\\a",
        "secrets%2fa",
        "%73ecrets/a",
        "%2573ecrets/a",
        " secrets/a ",
        "sec\u200brets/a",
        "\uff53ecrets/a",
        "docs%2f..%2fsecrets/a",
        ["docs/a", "secrets/b"],
        [["secrets/a"]],
        ["docs/a", {"x": 1}, "secrets/b"],
    ],
)
def test_a_deny_rule_finds_every_spelling_and_every_element(value: Any) -> None:
    assert fits_any({"path": value}, "path", "secrets/**")


@pytest.mark.parametrize("value", ["docs/a", "docs/secrets/a", "secret/a", [], None, {"secrets/a": 1}])
def test_a_deny_rule_leaves_other_values_alone(value: Any) -> None:
    assert not fits_any({"path": value}, "path", "secrets/**")
    assert not fits_any({"other": "secrets/a"}, "path", "secrets/**")


def test_an_allow_rule_wants_all_elements_and_at_least_one() -> None:
    assert fits_every({"path": ["docs/a", "docs/b"]}, "path", "docs/**")
    assert not fits_every({"path": ["docs/a", "other/b"]}, "path", "docs/**")
    assert not fits_every({"path": []}, "path", "**")
    assert not fits_every({}, "path", "**")


def test_a_dotted_path_goes_into_objects_lists_and_keys_with_dots() -> None:
    nested = {"files": [{"to": "docs/a"}, {"to": "secrets/b"}], "a.b": "secrets/c", "o": {"p.q": {"r": "secrets/d"}}}
    assert fits_any(nested, "files.to", "secrets/**")
    assert not fits_every(nested, "files.to", "docs/**")
    assert not fits_every({"files": [{"to": "docs/a"}, {}]}, "files.to", "docs/**")
    assert fits_any(nested, "a.b", "secrets/**")
    assert fits_any(nested, "o.p.q.r", "secrets/**")
    both = {"a.b": "docs/x", "a": {"b": "secrets/x"}}
    assert fits_any(both, "a.b", "secrets/**")
    assert not fits_every(both, "a.b", "docs/**")


@pytest.mark.parametrize(
    ("value", "glob"), [(True, "true"), (7, "7"), (None, "null"), ({"b": 1, "a": 2}, '{"a":2,"b":1}')]
)
def test_what_is_not_text_is_compared_as_json(value: Any, glob: str) -> None:
    assert fits_any({"x": value}, "x", glob)
    assert fits_every({"x": value}, "x", glob)
    assert fits_any({"x": 7.0}, "x", "7")


def test_a_lone_star_restricts_every_value() -> None:
    assert fits_any({"x": "a/b\nc"}, "x", "*")
    assert not fits_any({}, "x", "*")
