"""A text with another value keeps its comments, its layout and its styles, and has exactly that value."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from strands_cli.api import read_document
from strands_cli_migrate.earlier.translation import earlier
from strands_cli_migrate.rewritten_text import rewritten, same, written

CASES = sorted((Path(__file__).parent / "earlier_format" / "cases").glob("*.yaml"))


def value_of(text: str) -> Any:
    return read_document("<text>", text).value


def changed(text: str, new: Any, **moved: str) -> str:
    made = rewritten(text, value_of(text), new, {f"/{new}": f"/{old}" for new, old in moved.items()})
    assert made is not None
    assert same(value_of(made), new), made
    return made


TEXT = """\
# A file.
version: 0   # of before

name: small   # the name
list:
  # first
  - one   # is one
  - {a: 1,   # of a
     b: 'two words'}
block: |
  A line.
    {{ x }}   # no comment

last: "a \\"text\\""
"""


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        ({"version": 2}, "version: 0   # of", "version: 2   # of"),
        ({"name": "a: b"}, "name: small   # the", "name: 'a: b'   # the"),
        ({"last": "a 'text'"}, '"a \\"text\\""', "\"a 'text'\""),
        ({"block": "A line.\n  {{ y }}   # no comment\n"}, "{{ x }}", "{{ y }}"),
        ({"block": "A line.\n  {{ x }}   # no comment"}, "block: |\n", "block: |-\n"),
        ({"list": ["one", {"a": 1, "b": "three words"}]}, "'two words'", "'three words'"),
        ({"list": ["one", {"a": 1, "b": "two words"}, "x: y"]}, "'two words'}\n", "'two words'}\n  - \"x: y\"\n"),
        ({"list": ["one", {"b": "two words"}]}, "{a: 1,   # of a\n     b:", "{b:"),
        ({"list": ["one", {"a": 1}]}, ",   # of a\n     b: 'two words'}", "}"),
        ({"list": ["one", {"a": 1, "b": "two words", "c": True}]}, "'two words'}", "'two words', c: true}"),
        ({"more": {"a": {"b": "x\ny"}}}, 'text\\""\n', 'text\\""\nmore:\n  a:\n    b: |-\n      x\n      y\n'),
        ({"runtime": {"provider": "x"}}, "# the name\n", "# the name\nruntime:\n  provider: x\n"),
    ],
)
def test_only_what_differs_is_written(change: dict[str, Any], before: str, after: str) -> None:
    assert TEXT.count(before) == 1
    assert changed(TEXT, {**value_of(TEXT), **change}) == TEXT.replace(before, after)


def test_a_pair_that_goes_takes_its_line_and_no_other() -> None:
    value = value_of(TEXT)
    del value["name"]
    assert changed(TEXT, value) == TEXT.replace("name: small   # the name\n", "")
    del value["last"]
    assert changed(TEXT, value) == TEXT.replace("name: small   # the name\n", "").replace('\nlast: "a \\"text\\""', "")


def test_a_key_with_another_name_keeps_what_is_behind_it() -> None:
    text = "tools:\n  - callable: x   # one\n    as: y\n"
    assert changed(text, {"tools": [{"tool": "x", "as": "y"}]}) == text.replace("callable", "tool")


def test_a_pair_that_moves_keeps_its_text() -> None:
    text = "required:\n  topic: {type: 'string',  default: bees}\n  size: integer\noptional:\n  tone: string   # how\n"
    new = {
        "required": {"size": "integer"},
        "optional": {"tone": "string", "topic": {"type": "string", "default": "bees"}},
    }
    made = rewritten(text, value_of(text), new, {"/optional/topic": "/required/topic"})
    assert made == (
        "required:\n  size: integer\noptional:\n  tone: string   # how\n  topic: {type: 'string',  default: bees}\n"
    )


def test_an_empty_section_gets_what_is_new() -> None:
    assert changed("a: 1\nb:\nc: 2\n", {"a": 1, "b": {"x": 1}, "c": 2}) == "a: 1\nb:\n  x: 1\nc: 2\n"
    assert changed("a:\nb: {}\n", {"a": "x", "b": {"z": [1, None]}}) == "a: x\nb: {z: [1, null]}\n"


def test_an_alias_whose_value_becomes_another_is_written_out_and_one_of_the_same_stays() -> None:
    text = "x-one: &one {a: 1}\nb: *one\nc: *one\n"
    assert (
        changed(text, {"x-one": {"a": 1}, "b": {"a": 2}, "c": {"a": 1}}) == "x-one: &one {a: 1}\nb: {a: 2}\nc: *one\n"
    )
    assert (
        changed(text, {"x-one": {"a": 2}, "b": {"a": 2}, "c": {"a": 1}}) == "x-one: &one {a: 2}\nb: *one\nc: {a: 1}\n"
    )


def test_a_merge_key_stays_and_what_differs_is_written_beside_it() -> None:
    text = "x-base: &base\n  memory: run\n  prompt: p\nagents:\n  a:\n    <<: *base\n    tools: []\n"
    new = {"x-base": {"memory": "run", "prompt": "p"}, "agents": {"a": {"memory": "path", "prompt": "p", "tools": []}}}
    assert changed(text, new) == f"{text}    memory: path\n"


def test_json_stays_json() -> None:
    text = '{\n\t"version": 0,\n\t"name": "caf\\u00e9"\n}\n'
    assert changed(text, {"version": 2, "name": "café"}) == '{\n\t"version": 2,\n\t"name": "caf\\u00e9"\n}\n'


def test_what_cannot_be_kept_is_none() -> None:
    text = "a: &x 1\nb: &x 2\nc: |+\n  x\n\n\n"
    assert rewritten(text, value_of(text), {"a": 1, "b": 2, "c": "x\n\n\n", "d": 1}, {}) != text


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_case_is_written_by_its_parts_in_both_styles(path: Path) -> None:
    case = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for text in (case["workflow"], written(value_of(case["workflow"])), _commented(case["workflow"])):
        old = value_of(text)
        made = earlier(copy.deepcopy(old))
        new = rewritten(text, old, made.value, made.places)
        assert new is not None
        assert same(value_of(new), made.value)
        assert [line for line in _comments(text) if line not in _comments(new)] == []


def _commented(text: str) -> str:
    """Return a text with comments on lines of their own, where no block of text is."""
    rng, lines, is_block = random.Random(text), list[str](), 0
    for number, line in enumerate(text.splitlines()):
        indent = len(line) - len(line.lstrip(" "))
        if is_block and line.strip() and indent <= is_block - 1:
            is_block = 0
        if not is_block and line.strip() and rng.random() < 0.3 and not _is_inside(text, number):
            lines.append(f"{' ' * indent}# comment {number}")
        lines.append(line)
        if line.rstrip().endswith(("|", "|-", ">-", ">")):
            is_block = indent + 1
    return "\n".join(lines) + "\n"


def _is_inside(text: str, number: int) -> bool:
    """Return whether a line is within brackets or a text that began before."""
    before = "\n".join(text.splitlines()[:number])
    return (
        before.count("{") != before.count("}") or before.count("[") != before.count("]") or before.count('"') % 2 == 1
    )


def _comments(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.strip().startswith("# comment"))
