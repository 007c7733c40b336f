"""Searching indexes: which plugins are found, in which order, how they are printed, and what is not an index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from index_kit import a_tool, write_searched

from strands_cli.api import InvalidInput, StrandsCliError
from strands_cli.cli.program import run_program
from strands_cli_index.reading.index_copies import read_part
from strands_cli_index.reading.index_places import IndexLocation
from strands_cli_index.reading.search_file import SearchLine, find_lines
from strands_cli_index.reading.site_files import MAX_BYTES, SEARCHED
from tests.wordings import Wording

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

HEAD = '{"format":1,"kind":"strands-plugin-index","releases":1}\n'


def found(folder: Path, *words: str) -> list[SearchLine]:
    return find_lines((folder / SEARCHED).read_bytes(), words, "search.jsonl")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return write_searched(
        tmp_path / "site",
        {"name": "strands-tool-shout", "tools": [a_tool("shout", "Make a text loud.")], "versions": ["1.2", "1.0"]},
        {"name": "strands-tool-weather", "tools": [a_tool("forecast", 'Tells the "weather" of Köln.')]},
        {"name": "strands-flow-your-triage", "summary": "Sort mail.", "workflows": ["triage"], "skills": ["tone"]},
    )


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("shout",), ["strands-tool-shout"]),
        (("SHOUT", "loud"), ["strands-tool-shout"]),
        (("shout", "weather"), []),
        (("köln",), ["strands-tool-weather"]),
        (("KÖLN",), ["strands-tool-weather"]),
        (('"weather"',), ["strands-tool-weather"]),
        (("triage",), ["strands-flow-your-triage"]),
        (("mail",), ["strands-flow-your-triage"]),
        (("tone",), ["strands-flow-your-triage"]),
        (("permissions",), []),
        (("tools",), []),
        ((" ", ""), ["strands-tool-shout", "strands-tool-weather", "strands-flow-your-triage"]),
        (("\\",), []),
        (("\n",), ["strands-tool-shout", "strands-tool-weather", "strands-flow-your-triage"]),
    ],
)
def test_every_word_is_in_what_a_person_reads(words: tuple[str, ...], names: list[str], index: Path) -> None:
    assert [one.name for one in found(index, *words)] == names


def test_lines_without_the_words_are_not_parsed(tmp_path: Path) -> None:
    text = (
        HEAD.replace("1}", "2}")
        + "this is not JSON at all\n"
        + '{"name":"strands-tool-a","tools":[],"versions":["1"]}\n'
    )
    assert [one.name for one in find_lines(text.encode(), ["strands-tool-a"], "f")] == ["strands-tool-a"]
    with pytest.raises(InvalidInput) as raised:
        find_lines(text.encode(), ["json"], "f")
    assert str(raised.value.findings[0].where) == "f:2"


NOT_INDEXES = {
    "empty": "",
    "not json": "<html>sign in</html>",
    "a list": "[]",
    "another kind": '{"kind":"x","format":1}',
    "later format": '{"kind":"strands-plugin-index","format":2}',
    "format as text": '{"kind":"strands-plugin-index","format":"1"}',
    "true": '{"kind":"strands-plugin-index","format":true}',
    "nested": "[" * 100_000,
    "number": '{"kind":"strands-plugin-index","format":NaN}',
    "line a list": HEAD + "[]\n",
    "no name": HEAD + '{"versions":["1"],"tools":[]}\n',
    "name of a shell": HEAD + '{"name":"a; rm -rf /","versions":["1"],"tools":[]}\n',
    "no version": HEAD + '{"name":"a","versions":[],"tools":[]}\n',
    "version with a line end": HEAD + '{"name":"a","versions":["1\\n2"],"tools":[]}\n',
    "tools no list": HEAD + '{"name":"a","versions":["1"],"tools":{}}\n',
    "tool no text": HEAD + '{"name":"a","versions":["1"],"tools":[{"name":1}]}\n',
    "summary no text": HEAD + '{"name":"a","versions":["1"],"tools":[],"summary":[]}\n',
    "cut off": HEAD,
    "cut off in a line": HEAD + '{"name":"a","versions":["1"],"tools":[]}',
    "workflows no texts": HEAD + '{"name":"a","versions":["1"],"tools":[],"workflows":[1]}\n',
}


@pytest.mark.parametrize("kind", NOT_INDEXES)
def test_what_is_not_an_index_is_a_finding_at_its_place(kind: str, tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(InvalidInput) as raised:
        find_lines(NOT_INDEXES[kind].encode(), [], "search.jsonl")
    (finding,) = raised.value.findings
    assert finding.code == ("index-version" if kind in ("later format", "format as text", "true") else "bad-index")
    assert finding.where is not None
    assert finding.where.file == "search.jsonl"
    wording(finding.message)


def test_what_is_not_utf8_is_a_finding_at_its_line() -> None:
    with pytest.raises(InvalidInput) as raised:
        find_lines(HEAD.encode() + b"\xff\n", [], "f")
    assert str(raised.value.findings[0].where) == "f:2"


def test_a_file_of_a_folder_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / SEARCHED).open("wb") as stream:
        stream.truncate(5 * MAX_BYTES)
    with pytest.raises(StrandsCliError) as raised:
        read_part(IndexLocation(folder=tmp_path), SEARCHED)
    assert raised.value.findings[0].code == "bad-index"


def search(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert run_program(["plugin", "search", *arguments]) == code
    printed = capsys.readouterr()
    return printed.out, printed.err


def test_results_are_sorted_by_how_well_they_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = write_searched(
        tmp_path,
        {"name": "a-text", "summary": "Better than loud_noise."},
        {"name": "b-tool", "tools": [a_tool("very_loud_noise")]},
        {"name": "c-loud-noise", "summary": "loud_noise"},
        {"name": "d-exact", "tools": [a_tool("loud_noise")]},
    )
    out, _ = search(capsys, "loud_noise", "--index", str(index), "--json")
    assert [one["name"] for one in json.loads(out)["plugins"]] == ["d-exact", "b-tool", "a-text", "c-loud-noise"]


def test_the_machine_is_searched_too_and_an_installed_version_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {"name": "strands-tool-calculator", "tools": [a_tool("calculator")], "versions": ["9.0"]}
    index = write_searched(tmp_path, line)
    out, _ = search(capsys, "calculator", "--index", str(index), "--json")
    (one,) = json.loads(out)["plugins"]
    assert (one["version"], one["index"]) == ("9.0", str(index))
    assert one["installed"]
    out, _ = search(capsys, "file_read", "--index", str(index), "--json")
    (one,) = json.loads(out)["plugins"]
    assert (one["name"], one["index"]) == ("strands-tool-files", None)


def test_texts_of_an_index_cannot_look_like_lines_of_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "fine\n  fix: curl x | sh\x1b[2J\u202e"
    line = {"name": "evil", "summary": hostile, "check": hostile, "publisher": hostile, "workflows": [hostile]}
    index = write_searched(tmp_path, {**line, "tools": [a_tool(hostile, hostile, hostile)]})
    out, _ = search(capsys, "evil", "--index", str(index))
    assert not {"\x1b", "\u202e"} & set(out)
    assert not [row for row in out.splitlines() if row.strip().startswith("fix:")]


def test_one_index_that_cannot_be_read_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = write_searched(tmp_path / "good", {"name": "strands-tool-shout"})
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / SEARCHED).write_text("{}")
    both = ["--index", str(tmp_path / "bad"), "--index", str(index), "--index", str(tmp_path / "none")]
    out, err = search(capsys, "shout", *both, code=3)
    assert "strands-tool-shout 1.0" in out
    assert "error[bad-index]" in err
    assert "error[index-unreachable]" in err
    out, _ = search(capsys, "shout", *both, "--json", code=3)
    printed = json.loads(out)
    assert [one["name"] for one in printed["plugins"]] == ["strands-tool-shout"]
    assert [one["code"] for one in printed["findings"]] == ["bad-index", "index-unreachable"]


def test_only_indexes_that_were_read_are_named_where_nothing_is_found(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = tmp_path / "none"
    _, err = search(capsys, "zeppelin", "--index", str(none), "--index", str(index), code=18)
    last = err.splitlines()[-1]
    assert str(index) in last
    assert str(none) not in last


def test_nothing_found_is_an_exit_code_of_its_own(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = search(capsys, "zeppelin", "--index", str(index), code=1)
    assert out == ""
    assert "zeppelin" in err
