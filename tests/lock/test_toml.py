"""What the writer writes, `tomllib` reads back to the same values, whatever texts it is given."""

from __future__ import annotations

import tomllib
from string import printable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.lock.lock_reader import (
    Lock,
    LockedDistribution,
    LockedDocument,
    LockedModule,
    LockedTool,
    parse_lock,
)
from strands_cli.lock.lock_writer import json_block, render_lock, toml_string, toml_table
from strands_cli.publishers import Publisher

# Many made-up values take seconds.
pytestmark = pytest.mark.hostile

TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.text("'\"\\\n\r\t\x00\x7f\u202e\ufeff= [#a")
VALUES = TEXT | st.booleans() | TEXT.map(lambda text: f"{text}\n")
NAMES = TEXT.filter(bool)
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
DIGESTS = st.binary(min_size=32, max_size=32).map(lambda raw: f"sha256:{raw.hex()}")
FILES = st.dictionaries(TEXT, DIGESTS, max_size=3)
TOOLS = st.builds(LockedTool.of, NAMES, st.dictionaries(st.text(), JSON, max_size=4), after_load=st.booleans())


def by_name(tools: list[LockedTool]) -> dict[str, LockedTool]:
    return {tool.name: tool for tool in tools}


DOCUMENTS = st.builds(LockedDocument.of, NAMES, st.dictionaries(st.text(), JSON, max_size=4))


def by_file(documents: list[LockedDocument]) -> dict[str, LockedDocument]:
    return {document.file: document for document in documents}


DISTRIBUTIONS = st.builds(
    LockedDistribution,
    NAMES,
    st.none() | NAMES,
    FILES,
    st.lists(TOOLS, max_size=3).map(by_name),
    st.booleans(),
    st.dictionaries(NAMES, NAMES, max_size=3),
    st.none() | st.just(Publisher("github", "acme/tool", "release.yml")),
    st.lists(DOCUMENTS, max_size=2).map(by_file),
)
MODULES = st.builds(LockedModule, NAMES, FILES)


@given(st.dictionaries(TEXT, VALUES))
def test_a_table_reads_back_to_what_was_written(values: dict[str, Any]) -> None:
    assert tomllib.loads(toml_table("part.of", values, quoted=True)) == {"part": {"of": values}}


@given(st.lists(DISTRIBUTIONS, max_size=3), st.lists(MODULES, max_size=2))
def test_a_lock_reads_back_to_an_equal_lock(
    distributions: list[LockedDistribution], modules: list[LockedModule]
) -> None:
    lock = Lock({one.name: one for one in distributions}, {one.reference: one for one in modules})
    text = render_lock(lock)
    back = parse_lock(text.encode())
    assert back == lock
    assert render_lock(back) == text


@given(TEXT)
def test_a_text_hides_nothing_from_a_reader_of_the_file(text: str) -> None:
    assert toml_string(text).isprintable()


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_a_definition_is_written_in_plain_ascii(fields: dict[str, Any]) -> None:
    assert set(json_block(fields)) <= set(printable) - set("\r\x0b\x0c\t")


def test_half_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match="0xd800"):
        toml_string("\ud800")


def test_a_definition_stays_a_block_of_lines_whatever_it_holds() -> None:
    tool = LockedTool.of("shout", {"description": "'''\x7f\u202e''''", "name": "shout"})
    text = render_lock(Lock({"a": LockedDistribution("a", "1", {}, {"shout": tool})}))
    assert "fields = '''\n{\n  \"description\"" in text
    assert parse_lock(text.encode()).distributions["a"].tools["shout"] == tool
