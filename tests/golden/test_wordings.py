"""The pinned wordings belong to tests that exist, and no other test holds a sentence of the source."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.wordings import PINNED

# It reads every source.
pytestmark = pytest.mark.docs

TESTS = Path(__file__).parent.parent
CLONE = TESTS.parent
SOURCES = [*(CLONE / "src").rglob("*.py"), *CLONE.glob("packages/*/src/**/*.py")]
TEST_FILES = [
    file
    for place in (TESTS, *CLONE.glob("packages/*/tests"))
    for file in sorted(place.rglob("*.py"))
    if TESTS / "golden" not in file.parents
]
WORDS, CHARACTERS = 4, 25
PROSE = re.compile(r"[A-Za-z][A-Za-z']*(?:,? +[A-Za-z][A-Za-z']*)*")
# What a person types is asserted as it is.
COMMAND = re.compile(r"\b(strands|pip install) ")
# Each exception says why its sentences are not messages.
REPEATING = {
    "tests/api/test_builder.py": "it builds the starters of the patterns in Python, with the prompts of their YAML",
}


def asking() -> Iterator[str]:
    """Yield the names of the tests that compare wordings, as the pinned ones begin."""
    for file in (file for file in TEST_FILES if file.name.startswith("test_")):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "wording" in text else ():
            if isinstance(node, ast.FunctionDef) and any(one.arg == "wording" for one in node.args.args):
                yield f"{file.stem}: {node.name}"


def test_each_pinned_wording_belongs_to_a_test_and_each_such_test_has_one() -> None:
    pinned = {name.partition("[")[0].partition(" (")[0] for name in json.loads(PINNED.read_text(encoding="utf-8"))}
    assert pinned == set(asking())


def test_nothing_of_this_machine_is_pinned() -> None:
    text = PINNED.read_text(encoding="utf-8")
    assert str(CLONE) not in text
    assert "/tmp/pytest" not in text


def literals(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each literal, also of the parts of an f-string, without docstrings."""
    tree = ast.parse(text)
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, described) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def phrases(text: str) -> Iterator[str]:
    """Yield, from each word on, the shortest run of words that is long enough to be recognized."""
    for run in PROSE.findall(text.replace("\\", "")):
        words = run.lower().replace(",", "").split()
        for first in range(len(words)):
            for last in range(first + WORDS, len(words) + 1):
                if len(phrase := " ".join(words[first:last])) >= CHARACTERS:
                    yield phrase
                    break


@cache
def of_the_source() -> frozenset[str]:
    texts = (text for file in SOURCES for _, text in literals(file.read_text(encoding="utf-8")))
    return frozenset(phrase for text in texts for phrase in phrases(text) if not COMMAND.search(phrase))


def repeated(text: str) -> list[tuple[int, str]]:
    """Return the line and the first phrase of each literal that holds a phrase of the source."""
    found = [(line, sorted({*phrases(one)} & of_the_source())) for line, one in literals(text)]
    return [(line, same[0]) for line, same in found if same]


@pytest.mark.docs
def test_no_test_repeats_a_sentence_of_the_source() -> None:
    found = {file.relative_to(CLONE).as_posix(): repeated(file.read_text(encoding="utf-8")) for file in TEST_FILES}
    repeating = {name: same for name, same in found.items() if same}
    assert {name: repeating[name] for name in repeating.keys() - REPEATING.keys()} == {}, "assert codes, or `wording`"
    assert repeating.keys() >= REPEATING.keys(), "an exception that no file needs"


@pytest.mark.docs
@pytest.mark.parametrize(
    "line",
    [
        "assert text == 'two of the given tools are called'",
        "pytest.raises(ValueError, match=r'^two of the given\\ tools are called')",
        "f'{name}: two of the given tools are called {name!r}'",
        "PLACES = {'both': ('a', 'Two of the given tools are called')}",
    ],
)
def test_a_repeated_sentence_is_noticed(line: str) -> None:
    assert [number for number, _ in repeated(line)] == [1]


@pytest.mark.parametrize(
    "line", ["fix == 'strands runs show RUN --json'", "'''two of the given tools are called'''", "name == 'no tool'"]
)
def test_a_command_a_docstring_and_a_few_words_are_free(line: str) -> None:
    assert repeated(line) == []
