"""What head and tail return of a file, whatever its size and encoding."""

from __future__ import annotations

import re
import threading

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")

ENDS = ["head", "tail"]
# The notice of bytes that are not text: how many places, and of which encoding.
UNFIT = r"{} .*\b{}\b.*\bU\+FFFD$"


@pytest.mark.parametrize(("verb", "text"), [("head", "one\ntwo\n"), ("tail", "two\nthree\n")])
def test_the_lines_asked_for_come_back_as_they_are(room, every_way: str, verb: str, text: str) -> None:
    answer = room.call(verb, path="docs/a.txt", lines=2)
    assert answer.text == text
    assert answer.value == {
        "path": "docs/a.txt",
        "size": 14,
        "encoding": "utf-8",
        "lines": 2,
        "has_more": True,
        "truncated": False,
        "notices": [],
    }


@pytest.mark.parametrize("verb", ENDS)
def test_ten_lines_are_the_default_and_a_short_file_comes_whole(room, verb: str) -> None:
    (room.path / "long").write_text("".join(f"{number}\n" for number in range(30)))
    assert room.call(verb, path="long").value["lines"] == 10
    whole = room.call(verb, path="docs/a.txt")
    assert (whole.text, whole.value["has_more"]) == ("one\ntwo\nthree\n", False)


@pytest.mark.parametrize("verb", ENDS)
def test_an_empty_file_is_not_an_error(room, verb: str) -> None:
    (room.path / "empty").touch()
    answer = room.call(verb, path="empty")
    assert (answer.status, answer.text) == ("success", "")
    assert len(answer.value["notices"]) == 1


def test_the_byte_limit_cuts_at_a_line_and_says_so(room) -> None:
    first = room.call("head", path="docs/a.txt", bytes_limit=9)
    assert (first.text, first.value["truncated"]) == ("one\ntwo\n", True)
    assert re.search(r"\b9 .*\bfile_read .*\bline 3$", *first.value["notices"])
    last = room.call("tail", path="docs/a.txt", bytes_limit=9)
    assert (last.text, last.value["truncated"], last.value["has_more"]) == ("three\n", True, True)
    assert re.search(r"\b9\b", *last.value["notices"])


def test_a_line_longer_than_the_limit_keeps_the_end_nearest_to_the_question(room) -> None:
    (room.path / "x").write_text("a" * 50 + "ü" * 50 + "b")
    assert room.call("head", path="x", bytes_limit=4).text == "aaaa"
    last = room.call("tail", path="x", bytes_limit=4)
    assert last.text == "üb"
    assert re.search(r"\b4\b", *last.value["notices"])


@pytest.mark.parametrize("verb", ENDS)
def test_bytes_that_do_not_fit_are_counted(room, verb: str) -> None:
    (room.path / "x").write_bytes(b"a\xff\n\xfeb")
    answer = room.call(verb, path="x")
    assert answer.text == "a\ufffd\n\ufffdb"
    assert re.match(UNFIT.format(2, "utf-8"), *answer.value["notices"])


def test_the_end_of_a_huge_file_is_read_without_the_rest(room) -> None:
    with (room.path / "huge").open("wb") as stream:
        stream.write(b"text\n" * 4_000)
        stream.seek(30_000_000_000)
        stream.write(b"\n".join(b"line %d" % number for number in range(20_000)))
    assert room.call("tail", path="huge", lines=2).text == "line 19998\nline 19999"


def test_an_end_that_is_binary_is_refused(room) -> None:
    (room.path / "x").write_bytes(b"text\n" * 4_000 + b"\0\1")
    assert room.call("tail", path="x").error == ("invalid_input", "binary")


@pytest.mark.parametrize("verb", ENDS)
def test_a_cancelled_call_ends(room, verb: str) -> None:
    cancelled = threading.Event()
    cancelled.set()
    room.extra = {"cancel": cancelled}
    assert room.call(verb, path="docs/a.txt").error == ("cancelled", "cancelled")


def test_a_wide_text_with_a_byte_too_many_does_not_become_gibberish(room) -> None:
    (room.path / "x").write_bytes(("line\n" * 50).encode("utf-16") + b"x")
    answer = room.call("tail", path="x", bytes_limit=9)
    assert answer.text == "line\n\ufffd"
    assert re.match(UNFIT.format(1, "utf-16"), answer.value["notices"][-1])


@pytest.mark.parametrize("character", ["ü", "€", "𝒳"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_no_block_that_begins_within_a_character_shows(room, character: str, encoding: str) -> None:
    text = "\ufeff" * (encoding != "utf-8") + character * 99
    (room.path / "x").write_bytes(text.encode(encoding))
    for limit in range(1, 30):
        answer = room.call("tail", path="x", bytes_limit=limit)
        assert answer.text == character * (limit // len(character.encode()))
        assert not any("U+FFFD" in notice for notice in answer.value["notices"])


def lines_of(text: str) -> list[str]:
    pieces = text.split("\n")
    return [*(piece + "\n" for piece in pieces[:-1]), *(pieces[-1:] if pieces[-1] else [])]


def expected_tail(text: str, lines: int, limit: int) -> str:
    """Say slowly what tail should return."""
    wanted = lines_of(text)[-lines:]
    for start in range(len(wanted)):
        if len("".join(wanted[start:]).encode()) <= limit:
            return "".join(wanted[start:])
    last = wanted[-1] if wanted else ""
    return next((last[start:] for start in range(len(last)) if len(last[start:].encode()) <= limit), "")


@settings(max_examples=400, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    text=st.text(st.sampled_from("aü€𝒳\n\r"), max_size=60),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    lines=st.integers(1, 6),
    limit=st.integers(1, 50),
)
@example(text="𝒳" * 40, encoding="utf-16", lines=1, limit=9)
@example(text="aa\n" * 20, encoding="utf-8", lines=6, limit=12)
def test_the_tail_is_that_of_the_whole_text(room, text: str, encoding: str, lines: int, limit: int) -> None:
    (room.path / "x").write_bytes(text.encode(encoding))
    answer = room.call("tail", path="x", lines=lines, bytes_limit=limit)
    assert answer.text == expected_tail(text, lines, limit)
    assert answer.value["has_more"] is (answer.text != text)
    assert answer.value["truncated"] is (answer.text != "".join(lines_of(text)[-lines:]))
    assert not any("U+FFFD" in notice for notice in answer.value["notices"])
