"""What file_read returns of a file, and what it says about the rest."""

from __future__ import annotations

import os
import re
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


def test_a_file_comes_back_exactly_as_it_is(room, every_way: str) -> None:
    text = "Größe\r\n\u2028 tab\t\n\nno newline at the end"
    (room.path / "x.txt").write_bytes(text.encode())
    answer = room.read("x.txt")
    assert answer.text == text
    assert answer.value == {
        "path": "x.txt",
        "size": len(text.encode()),
        "encoding": "utf-8",
        "start_line": 1,
        "end_line": 4,
        "has_more": False,
        "truncated": False,
        "notices": [],
    }


@pytest.mark.parametrize(
    ("start", "count", "text", "end", "has_more"),
    [
        (1, 1, "one\n", 1, True),
        (2, 1, "two\n", 2, True),
        (2, None, "two\nthree\n", 3, False),
        (3, 5, "three\n", 3, False),
        (4, None, "", 3, False),
        (90, 2, "", 89, False),
    ],
)
def test_a_window_is_the_lines_asked_for(room, start, count, text, end, has_more) -> None:
    answer = room.read("docs/a.txt", start_line=start, line_count=count)
    assert (answer.text, answer.value["end_line"], answer.value["has_more"]) == (text, end, has_more)
    assert bool(answer.value["notices"]) == (text == "")


def test_an_empty_file_is_not_an_error_and_has_no_empty_text_block(room) -> None:
    (room.path / "empty").touch()
    answer = room.read("empty")
    assert (answer.status, answer.text) == ("success", "")
    assert len(answer.value["notices"]) == 1


def test_a_long_file_is_cut_at_a_line_end_and_says_how_to_go_on(room) -> None:
    room.config = {"max_read_bytes": 10}
    answer = room.read("docs/a.txt")
    assert answer.text == "one\ntwo\n"
    assert (answer.value["truncated"], answer.value["has_more"], answer.value["end_line"]) == (True, True, 2)
    (notice,) = answer.value["notices"]
    assert re.search(r"\b10 .*\bstart_line 3$", notice)
    assert room.read("docs/a.txt", start_line=3).text == "three\n"


def test_a_line_longer_than_the_limit_is_cut_between_characters(room) -> None:
    room.config = {"max_read_bytes": 10}
    (room.path / "long").write_text("ü" * 300_000)
    answer = room.read("long")
    assert answer.text == "ü" * 5
    assert "line 1 " in answer.value["notices"][0]


@settings(max_examples=120, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=st.text(st.sampled_from("aü\n\r€"), max_size=60), cap=st.integers(4, 40))
def test_reading_on_where_a_cut_ended_gives_the_whole_file(room, text: str, cap: int) -> None:
    (room.path / "x").write_bytes(text.encode())
    room.config = {"max_read_bytes": cap}
    pieces, start = [], 1
    while True:
        answer = room.read("x", start_line=start)
        assert len(answer.text.encode()) <= cap
        if any("longer than" in notice for notice in answer.value["notices"]):
            return  # The rest of an over-long line cannot be reached by lines, as its notice says.
        pieces.append(answer.text)
        if not answer.value["has_more"]:
            break
        start = answer.value["end_line"] + 1
    assert "".join(pieces) == text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides_the_encoding(room, encoding: str) -> None:
    (room.path / "x").write_bytes("grün\n".encode(encoding))
    answer = room.read("x")
    assert (answer.text, answer.value["encoding"]) == ("grün\n", encoding)


def test_utf_8_asked_for_by_name_loses_the_mark_too(room) -> None:
    (room.path / "x").write_bytes("a".encode("utf-8-sig"))
    assert room.read("x", encoding="UTF8").text == "a"


def test_an_encoding_asked_for_is_used(room) -> None:
    (room.path / "x").write_bytes("grün".encode("latin-1"))
    assert room.read("x", encoding="latin-1").text == "grün"


def test_bytes_that_do_not_fit_are_counted_and_genuine_replacement_characters_are_not(room) -> None:
    (room.path / "x").write_bytes("\ufffd ok ".encode() + b"\xff \xfe!")
    answer = room.read("x")
    assert answer.text == "\ufffd ok \ufffd \ufffd!"
    assert re.match(r"2 .*\butf-8\b", *answer.value["notices"])


@pytest.mark.parametrize("encoding", ["no-such", "base64", "rot13", "idna", "unicode_escape", "../evil", "a\0b"])
def test_what_is_not_text_encoding_is_refused(room, encoding: str) -> None:
    assert room.read("docs/a.txt", encoding=encoding).error == ("invalid_input", "encoding")


ENVIRON = b"HOME=/root\0API_TOKEN=tok-1234567890\0PATH=/usr/bin:/bin\0"
WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("content", [ENVIRON, b"x" + ENVIRON, bytes(64), b"\x01\0\0\0" * 8 + bytes(8)])
def test_a_wide_encoding_does_not_disguise_binary_content(room, content: bytes, encoding: str) -> None:
    (room.path / "x").write_bytes(content)
    assert room.read("x", encoding=encoding).error == ("invalid_input", "binary")


@pytest.mark.parametrize("encoding", [*WIDE, "cp500", "cp037"])
def test_an_encoding_with_other_letters_does_not_disguise_plain_text(room, encoding: str) -> None:
    for content in ("token = tok-1234567890\n", "Grün: tok-1234567890\n"):
        for mark in ("utf-8", "utf-8-sig"):
            (room.path / "x").write_bytes(content.encode(mark))
            assert room.read("x", encoding=encoding).error == ("invalid_input", "encoding")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["", "a", "one\ntwo Ā grün\n", "日本語 and Latin letters", "日本語"])
def test_real_text_in_a_wide_encoding_is_read_without_a_mark(room, text: str, encoding: str) -> None:
    (room.path / "x").write_bytes(text.encode(encoding))
    wanted = "binary" if text == "日本語" and "32" in encoding else None
    answer = room.read("x", encoding=encoding)
    assert (answer.error == ("invalid_input", wanted)) if wanted else (answer.text == text)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_an_encoding_that_needs_a_mark_is_refused_without_one(room, encoding: str) -> None:
    (room.path / "x").write_bytes("grün\n".encode(f"{encoding}-le"))
    assert room.read("x", encoding=encoding).error == ("invalid_input", "encoding")


@pytest.mark.parametrize("encoding", ["cp500", "shift_jis", "gb18030", "latin-1", "cp1252"])
def test_text_of_another_encoding_is_read_with_it(room, encoding: str) -> None:
    text = "日本\n" if encoding in ("shift_jis", "gb18030") else "grün\n"
    (room.path / "x").write_bytes(text.encode(encoding))
    assert room.read("x", encoding=encoding).text == text


@pytest.mark.parametrize("content", [b"a\0b", b"%PDF-1.7 text only", b"PK\x03\x04", b"\x7fELF"])
def test_binary_content_is_refused(room, content: bytes) -> None:
    (room.path / "x").write_bytes(content)
    assert room.read("x").error == ("invalid_input", "binary")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_without_a_writer_does_not_block(room, every_way: str) -> None:
    os.mkfifo(room.path / "pipe")
    assert room.read("pipe").error == ("invalid_input", "not-a-file")


def test_a_device_is_refused(room, tmp_path) -> None:
    room.extra = {"workspace": "/dev"}
    assert room.read("null").error == ("invalid_input", "not-a-file")


def test_a_missing_file_names_the_files_beside_it_that_come_close(room, every_way: str) -> None:
    (room.path / "report.md").touch()
    answer = room.read("reprot.md")
    assert answer.value["error"]["code"] == "invalid_input"
    assert "report.md" in answer.value["error"]["message"]


def test_an_unreadable_file_is_denied(room) -> None:
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("root may read everything")
    (room.path / "docs" / "a.txt").chmod(0)
    assert room.read("docs/a.txt").error == ("denied", "permission")


def test_a_passed_deadline_and_a_cancelled_call_end_the_reading(room) -> None:
    room.extra = {"deadline": time.monotonic() - 1}
    assert room.read("docs/a.txt").error == ("timeout", "deadline")
    cancelled = threading.Event()
    cancelled.set()
    room.extra = {"cancel": cancelled}
    assert room.read("docs/a.txt").error == ("cancelled", "cancelled")


def test_a_deadline_ahead_and_a_call_not_cancelled_change_nothing(room) -> None:
    room.extra = {"deadline": time.monotonic() + 60, "cancel": threading.Event()}
    assert room.read("docs/a.txt").status == "success"


def test_a_huge_sparse_line_is_read_in_little_memory(room) -> None:
    with (room.path / "huge").open("wb") as stream:
        stream.write(b"a" * 10_000)  # past the look for binary content
        stream.truncate(20_000_000_000)
    answer = room.read("huge")
    assert len(answer.text) == 262_144
    assert answer.value["truncated"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "missing"),
        ({"path": 3}, "type"),
        ({"path": None}, "type"),
        ({"path": ""}, "length"),
        ({"path": "a", "start_line": 0}, "range"),
        ({"path": "a", "start_line": True}, "type"),
        ({"path": "a", "start_line": "1"}, "type"),
        ({"path": "a", "mode": "lines"}, "unknown"),
    ],
)
def test_bad_input_is_refused_with_the_field_named(room, given: dict, reason: str) -> None:
    answer = room.call("read", **given)
    assert answer.error == ("invalid_input", reason)
    assert answer.value["error"]["details"]["field"]


def test_null_means_an_absent_optional_value(room) -> None:
    assert room.read("docs/a.txt", encoding=None, start_line=None, line_count=None).status == "success"


def test_without_a_host_the_current_directory_is_the_workspace(room, monkeypatch: pytest.MonkeyPatch) -> None:
    from strands_tool_files.file_read import file_read

    monkeypatch.chdir(room.path)
    result = file_read({"toolUseId": "u", "name": "file_read", "input": {"path": "docs/a.txt"}})
    assert result["content"][0]["text"] == "one\ntwo\nthree\n"
    outside = file_read({"toolUseId": "u", "name": "file_read", "input": {"path": "../secret.txt"}})
    assert outside["status"] == "error"
