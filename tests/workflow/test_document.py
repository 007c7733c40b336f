"""Text becomes plain values with positions; every malformed text gets one clear finding, none a crash."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from strands_cli.errors import InvalidInput, UsageError
from strands_cli.yaml_files import yaml_events
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.document_reader import MAX_BYTES, read_document


def read(text: str) -> Document:
    return read_document("f.yaml", text)


def refused(text: str) -> tuple[str, int | None, int | None]:
    with pytest.raises(InvalidInput) as caught:
        read(text)
    (finding,) = caught.value.findings
    assert finding.where is not None
    return finding.code, finding.where.line, finding.where.column


BILLION_LAUGHS = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
)

MALFORMED = {
    "nothing": ("", "document-empty", 1),
    "only a comment": ("# hello\n", "document-empty", 1),
    "only a separator": ("---\n", "document-empty", 1),
    "null": ("~", "document-empty", 1),
    "two documents": ("a: 1\n---\nb: 2\n", "several-documents", 2),
    "open bracket": ("a:\n  b: [1,\n", "not-yaml", 3),
    "open quote": ("a: 'x\n\n", "not-yaml", 3),
    "two colons": ("a: b: c\n", "not-yaml", 1),
    "tab for indentation": ("a:\n\tb: 1\n", "not-yaml", 2),
    "bad indentation": ("a:\n  b: 1\n c: 2\n", "not-yaml", 3),
    "percent": ("a: %x\n", "not-yaml", 1),
    "NUL": ("a: 1\nb: \0\n", "bad-character", 2),
    "escape character": ("a: \x1b[31m\n", "bad-character", 1),
    "surrogate": ("a: 1\nb: \ud800\n", "bad-character", 2),
    "list as key": ("? [a]\n: 1\n", "key-not-text", 1),
    "mapping as key": ("? {a: b}\n: 1\n", "key-not-text", 1),
    "alias of a list as key": ("a: &a [1]\n*a : 1\n", "key-not-text", 2),
    "alias inside itself": ("a: &a\n  b: *a\n", "alias-loop", 2),
    "alias of nothing": ("a: &one 1\nb: *two\n", "unknown-alias", 2),
    "flow too deep": ("a: " + "[" * 5000, "document-too-deep", 1),
    "block too deep": ("\n".join(" " * i + "a:" for i in range(500)), "document-too-deep", 101),
    "aliases too deep": (
        "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 200)),
        "document-too-deep",
        99,
    ),
    "bomb of anchors": (BILLION_LAUGHS, "alias-bomb", 5),
    "bomb of merges": (
        "a0: &a0 {" + ", ".join(f"k{i}: 1" for i in range(2000)) + "}\nb:\n" + "  - <<: *a0\n" * 100,
        "alias-bomb",
        52,
    ),
}


@pytest.mark.parametrize(("text", "code", "line"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_text_is_one_finding_with_its_line(text: str, code: str, line: int) -> None:
    assert refused(text)[:2] == (code, line)


@pytest.mark.parametrize(("text", "code", "line"), MALFORMED.values(), ids=MALFORMED)
def test_without_the_c_parser_the_same_texts_are_refused(
    text: str, code: str, line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_events, "LOADER", yaml.SafeLoader)
    assert refused(text)[0] == code


def test_a_tab_is_named_as_the_reason() -> None:
    with pytest.raises(InvalidInput) as caught:
        read("a:\n\tb: 1\n")
    assert "tabs" in str(caught.value.findings[0].fix)


@pytest.mark.parametrize("loader", [yaml_events.LOADER, yaml.SafeLoader])
@pytest.mark.parametrize(
    ("text", "opened", "closing"),
    [
        ("a:\n  tools: [x, y\n  prompt: z\n", ("[", 2, 10), "]"),
        ("a: {b: 1\nc: 2\n", ("{", 1, 4), "}"),
        ("a: [1, [2, 3]\n", ("[", 1, 4), "]"),
        ("a: [\n", ("[", 1, 4), "]"),
        ("a: {b: [1, 2}\n", ("[", 1, 8), "]"),
        ("a: [x: [1], y: [2\n", ("[", 1, 16), "]"),
        ("a: [x: 1\nb: 2\n", ("[", 1, 4), "]"),
    ],
)
def test_an_open_bracket_is_named_with_its_place_and_what_closes_it(
    text: str, opened: tuple[str, int, int], closing: str, loader: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_events, "LOADER", loader)
    with pytest.raises(InvalidInput) as caught:
        read(text)
    (finding,) = caught.value.findings
    bracket, line, column = opened
    assert f"`{bracket}` in line {line}, column {column}" in finding.message
    assert f"`{closing}`" in str(finding.fix)


def test_an_open_quote_inside_brackets_is_not_reported_as_a_bracket() -> None:
    with pytest.raises(InvalidInput) as caught:
        read("a: [x, 'it]\n")
    assert "quoted" in caught.value.findings[0].message


FAULTS = {
    "duplicate key": ("a: 1\nb: 2\na: 3\n", "duplicate-key", 3, "/a"),
    "duplicate in a flow mapping": ("x: {a: 1, a: 2}\n", "duplicate-key", 1, "/x/a"),
    "duplicate after quoting": ("on: 1\n'on': 2\n", "duplicate-key", 2, "/on"),
    "duplicate number": ("1: a\n1: b\n", "duplicate-key", 2, "/1"),
    "python tag": ("a: !!python/object/apply:os.system [ls]\n", "yaml-tag", 1, "/a"),
    "own tag": ("a: !env HOME\n", "yaml-tag", 1, "/a"),
    "set": ("a: !!set {x, y}\n", "yaml-tag", 1, "/a"),
    "binary": ("a: !!binary aGk=\n", "yaml-tag", 1, "/a"),
    "infinity": ("a: .inf\n", "number-not-usable", 1, "/a"),
    "too large a float": ("a: 1e999\n", "number-not-usable", 1, "/a"),
    "too long a number": ("a: " + "9" * 5000 + "\n", "number-not-usable", 1, "/a"),
    "merge of text": ("a:\n  <<: b\n", "bad-merge", 2, "/a"),
    "merge of a list of text": ("a:\n  <<: [b]\n", "bad-merge", 2, "/a"),
}


@pytest.mark.parametrize(("text", "code", "line", "pointer"), FAULTS.values(), ids=FAULTS)
def test_a_fault_in_one_value_leaves_the_rest_readable(text: str, code: str, line: int, pointer: str) -> None:
    (finding,) = read(text).findings
    assert finding.where is not None
    assert (finding.code, finding.where.line, finding.where.pointer) == (code, line, pointer)


def test_every_duplicate_is_reported() -> None:
    findings = read("a: 1\na: 2\na: 3\nb: {c: 1, c: 2}\n").findings
    assert [finding.where.line for finding in findings if finding.where] == [2, 3, 4]


SCALARS: dict[str, Any] = {
    "yes": "yes",
    "on": "on",
    "No": "No",
    "true": True,
    "FALSE": False,
    "null": None,
    "~": None,
    "12": 12,
    "-3": -3,
    "010": 10,
    "0o17": 15,
    "0x1F": 31,
    "1_000": "1_000",
    "1:30": "1:30",
    "1.5": 1.5,
    ".5": 0.5,
    "1e3": 1000.0,
    "1.0.0": "1.0.0",
    "2024-01-01": "2024-01-01",
    "2024-01-01T10:00:00Z": "2024-01-01T10:00:00Z",
    "'12'": "12",
    '"true"': "true",
    "!!str 12": "12",
    "!!int '12'": 12,
    "! 12": "12",
    "=": "=",
    "NaN": "NaN",
    "18446744073709551616": 18446744073709551616,
}


@pytest.mark.parametrize(("written", "value"), SCALARS.items(), ids=SCALARS)
def test_scalars_mean_what_yaml_1_2_says(written: str, value: Any) -> None:
    found = read(f"a: {written}\n")
    assert found.value == {"a": value}
    assert type(found.value["a"]) is type(value)
    assert found.findings == ()


def test_keys_are_text_whatever_they_look_like() -> None:
    assert read("1: a\ntrue: b\n~: c\non: d\n2024-01-01: e\n1.0: f\n").value == {
        "1": "a",
        "true": "b",
        "~": "c",
        "on": "d",
        "2024-01-01": "e",
        "1.0": "f",
    }


def test_an_anchor_can_be_a_key() -> None:
    assert read("a: &k name\n*k : 1\nb: &n 5\n*n : 2\n").value == {"a": "name", "name": 1, "b": 5, "5": 2}


def test_merge_keys_add_and_never_overwrite() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  z: 3\n  <<: [*a, *b]\nd: {<<: *a, <<: *b}\n"
    found = read(text)
    assert found.value["c"] == {"x": 1, "y": 1, "z": 3}
    assert found.value["d"] == {"x": 1, "y": 1, "z": 2}
    assert found.value["a"] == {"x": 1, "y": 1}


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert read("a: {'<<': 1}\n").value == {"a": {"<<": 1}}


def test_merge_keys_pass_on() -> None:
    assert read("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}\n").value["c"] == {"x": 1, "y": 2}


def test_positions_are_those_of_values_and_keys() -> None:
    found = read("name: x\nagents:\n  one: {prompt: hi}\n  two:\n    tools:\n      - a\n      - b\n")
    assert str(found.where("/name")) == "f.yaml:1:7  (/name)"
    assert str(found.where("/name", key=True)) == "f.yaml:1:1  (/name)"
    assert str(found.where("/agents/one/prompt")) == "f.yaml:3:17  (/agents/one/prompt)"
    assert str(found.where("/agents/two")) == "f.yaml:4:3  (/agents/two)"
    assert str(found.where("/agents/two/tools/1")) == "f.yaml:7:9  (/agents/two/tools/1)"
    assert str(found.where("")) == "f.yaml:1:1"


def test_an_unknown_pointer_has_the_place_of_its_ancestor() -> None:
    found = read("a:\n  b: {c: 1}\n")
    assert str(found.where("/a/b/zz/0")) == "f.yaml:2:6  (/a/b/zz/0)"
    assert str(found.where("/zz")) == "f.yaml:1:1  (/zz)"


def test_what_an_alias_brings_has_the_place_where_it_was_written() -> None:
    found = read("a: &a\n  x: 1\n  y:\n    - 2\nb: *a\nc:\n  <<: *a\n  z: 3\nd: {<<: [*a]}\n")
    assert found.where("/b").line == 5
    assert found.where("/b/y/0").line == 4
    assert found.where("/c/x").line == 2
    assert found.where("/c/y/0").line == 4
    assert found.where("/d/y/0").line == 4
    assert found.where("/c/z").line == 8


def test_columns_count_characters() -> None:
    found = read("a: {'\U0001f600\U0001f600': 1, b: 2}\n")
    assert found.where("/a/b").column == 17


def test_keys_with_slashes_have_pointers() -> None:
    found = read("a/b: {c~d: 1}\n")
    assert found.where("/a~1b/c~0d").column == 12


def test_json_is_read_as_json() -> None:
    value = {"a": "\U0001f600 \u2028 \x7f / \\ud83d", "b": [1, -2.5e3, True, None], "c d": {"": "\t"}}
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value, indent="\t")):
        assert read(text).value == value
        assert read(text.replace("/", "\\/")).value == value


def test_duplicate_keys_in_json_are_found() -> None:
    assert [finding.code for finding in read('{"a": 1, "a": 2}').findings] == ["duplicate-key"]


def test_a_byte_order_mark_is_not_a_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    found = read_document(path)
    assert found.value == {"a": 1}
    assert found.where("/a").column == 4


def test_other_encodings_are_refused_with_a_place(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes("a: 1\nb: é\n".encode("latin-1"))
    with pytest.raises(InvalidInput) as caught:
        read_document(path)
    (finding,) = caught.value.findings
    assert (finding.code, str(finding.where)) == ("not-utf8", f"{path}:2:4")


def test_more_than_10_mb_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES * 40)
    with pytest.raises(InvalidInput) as caught:
        read_document(path)
    assert caught.value.findings[0].code == "document-too-large"
    with pytest.raises(InvalidInput):
        read("a: " + "x" * MAX_BYTES)


@pytest.mark.parametrize("name", ["missing.yaml", ".", "a\0b", "x" * 5000])
def test_a_file_that_cannot_be_opened_is_a_usage_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_document(str(tmp_path / name))
    assert caught.value.findings[0].code == "file-unreadable"


def test_standard_input_is_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: 1\n")))
    found = read_document("-")
    assert (found.file, found.value) == ("<stdin>", {"a": 1})


def test_a_text_in_a_literal_block_has_lines_of_its_own() -> None:
    found = read("a: |\n  one\n  two\nb: 'x'\nc: >\n  one\n  two\n")
    assert found.where_in_text("/a", 2).line == 3
    assert found.where_in_text("/b", 1).line == 4
    assert found.where_in_text("/c", 2).line == 5


def test_a_folder_in_place_of_a_file_has_its_files_in_the_fix(tmp_path: Path) -> None:
    def fix() -> str:
        with pytest.raises(UsageError) as raised:
            read_document(tmp_path)
        return str(raised.value.findings[0].fix)

    assert ".yaml" not in fix()
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "b.yaml").write_text("x")
    assert fix().endswith(str(tmp_path / "b.yaml"))
    (tmp_path / "a.yml").write_text("x")
    assert str(tmp_path / "a.yml") in fix()
