"""What grep and search find, how they show it, and where they stop."""

from __future__ import annotations

import os
import re
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strands_tool_files import _hits, _lookup, _match

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


@pytest.fixture
def tree(room):
    """Fill the workspace with text at several depths, and with what a search leaves out."""
    for folder in ("src/pkg", ".hidden", ".git"):
        (room.path / folder).mkdir(parents=True)
    (room.path / "src" / "main.py").write_text("import os\n# TODO one\nx = 1\ny = 2\nz = 3\n# todo two\n")
    (room.path / "src" / "pkg" / "deep.py").write_text("# TODO three")
    for secret in (".hidden/h.py", ".git/config", ".env", "server.key"):
        (room.path / secret).write_text("TODO secret")
    (room.path / "picture.png").write_bytes(b"\x89PNG TODO")
    (room.path / "blob").write_bytes(b"TODO\0")
    (room.path / "outlink").symlink_to("../secret.txt")
    (room.path / "uplink").symlink_to("..")
    return room


def found(answer) -> list[tuple[str, int]]:
    return [(match["path"], match["line"]) for match in answer.value["matches"]]


def test_a_tree_is_searched_nearest_first_and_without_what_is_hidden(tree, every_way: str) -> None:
    answer = tree.search("TODO")
    assert found(answer) == [("src/main.py", 2), ("src/pkg/deep.py", 1)]
    assert answer.text.splitlines()[:2] == ["src/main.py:2:# TODO one", "src/pkg/deep.py:1:# TODO three"]
    (notice,) = answer.value["notices"]
    assert answer.text.splitlines()[2:] == [f"[{notice}]"]
    assert re.search(r"\bbinary .*: 2$", notice)
    assert (answer.value["files_searched"], answer.value["truncated"]) == (4, False)


def test_links_in_a_tree_are_not_followed(tree, every_way: str) -> None:
    assert found(tree.search("secret")) == []
    assert found(tree.grep("s.cret")) == []


def test_a_pattern_a_plain_text_and_either_case_are_distinguished(tree) -> None:
    assert found(tree.search("t.do", is_regex=True, ignore_case=True)) == found(tree.grep("T.DO", ignore_case=True))
    assert len(found(tree.grep("T.DO", ignore_case=True))) == 3
    assert found(tree.search("T.DO")) == []
    assert found(tree.search("todo", ignore_case=True)) == found(tree.grep("todo", ignore_case=True))


def test_a_single_file_a_mount_and_a_hidden_directory_by_name_are_searched(tree, every_way: str) -> None:
    assert tree.grep("^# T", "src/main.py").text == "2:# TODO one"
    assert found(tree.search("mounted", path="@data")) == [("@data/m.txt", 1)]
    assert found(tree.search("mounted", path="@data/m.txt")) == [("@data/m.txt", 1)]
    assert found(tree.search("TODO", path=".hidden")) == [(".hidden/h.py", 1)]
    assert tree.search("TODO", path=".git").error == ("sandbox_violation", "protected")
    assert tree.search("TODO", path="picture.png").error == ("invalid_input", "binary")


def test_context_is_shown_once_with_gaps_marked(tree) -> None:
    assert tree.grep("(?i)todo", "src/main.py", context_lines=1).text.splitlines() == [
        "1-import os",
        "2:# TODO one",
        "3-x = 1",
        "--",
        "5-z = 3",
        "6:# todo two",
    ]
    joined = tree.grep("(?i)todo|x", "src/main.py", context_lines=2).text.splitlines()
    assert [line[0] for line in joined] == list("123456")


def test_nothing_found_is_not_an_error(tree) -> None:
    answer = tree.grep("no such text", "src")
    assert (answer.status, answer.value["matches"]) == ("success", [])
    assert re.fullmatch(r"\(.+\)", answer.text)


def test_the_number_of_matches_is_limited_and_exactly_so_many_are_not_cut(tree) -> None:
    answer = tree.search("TODO", max_matches=1)
    assert (len(answer.value["matches"]), answer.value["truncated"]) == (1, True)
    assert all(f"[{notice}]" in answer.text for notice in answer.value["notices"])
    assert re.search(r"\b1\b", answer.value["notices"][0])
    assert not tree.search("TODO", max_matches=2).value["truncated"]


# The notice has the number of each limit, in the unit that a model reads.
@pytest.mark.parametrize(
    ("limit", "value", "number"),
    [("MAX_LOOKED_AT", 3, "3"), ("MAX_OUTPUT", 150, "0 KiB"), ("MAX_SECONDS", 0.0, "0"), ("MAX_SEARCHED", 5, "0 MiB")],
)
def test_every_limit_ends_the_search_and_says_so(tree, monkeypatch, limit: str, value: float, number: str) -> None:
    monkeypatch.setattr(_hits, limit, value)
    answer = tree.search("T")
    assert answer.value["truncated"]
    assert re.search(rf"\b{number}\b", answer.value["notices"][0])


def test_the_part_of_a_long_line_around_the_match_is_shown(room) -> None:
    (room.path / "x").write_text("a" * 5_000 + "needle" + "b" * 5_000)
    for answer in (room.search("needle"), room.grep("need[l]e")):
        text = answer.value["matches"][0]["text"]
        assert "needle" in text
        assert text.startswith("...a")
        assert text.endswith("b...")
        assert len(text) < 410


def test_a_line_without_end_is_searched_at_its_beginning_only_with_a_notice(room) -> None:
    (room.path / "x").write_text("needle" + "a" * 200_000 + "needle\nneedle\n")
    answer = room.search("needle")
    assert found(answer) == [("x", 1), ("x", 2)]
    assert re.search(r": 1$", *answer.value["notices"])


def test_line_ends_of_windows_do_not_hide_the_end_of_a_line(room) -> None:
    (room.path / "x").write_bytes(b"one\r\ntwo\r\n")
    assert found(room.grep("one$")) == [("docs/a.txt", 1), ("x", 1)] or found(room.grep("one$", "x")) == [("x", 1)]
    assert room.grep("two$", "x").text == "2:two"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides_the_encoding(room, encoding: str) -> None:
    (room.path / "x").write_bytes("grün\n".encode(encoding))
    assert room.grep("^gr.n$", "x").text == "1:grün"


def test_bytes_that_do_not_fit_hide_nothing(room) -> None:
    (room.path / "x").write_bytes(b"caf\xe9 needle\n")
    assert room.grep("need[l]e", "x").text == "1:caf\ufffd needle"
    assert room.search("needle", path="x").text == "1:caf\ufffd needle"


def test_lines_are_numbered_on_across_batches(room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lookup, "BATCH_LINES", 3)
    (room.path / "x").write_text("".join(f"line {number}\n" for number in range(1, 21)))
    assert [line for _, line in found(room.grep("line .*[05]$", "x"))] == [5, 10, 15, 20]
    assert room.grep("line 1[0]", "x", context_lines=2).text.splitlines() == [
        *("8-line 8", "9-line 9", "10:line 10", "11-line 11", "12-line 12")
    ]


def test_names_cannot_smuggle_control_characters(room) -> None:
    (room.path / "a\x1b[31m\nb").write_text("needle")
    assert room.search("needle").text == "a\\x1b[31m\\nb:1:needle"


def test_a_deadline_and_a_cancelled_call_end_the_search(tree) -> None:
    tree.extra = {"deadline": time.monotonic() - 1}
    assert tree.grep("T.DO").error == ("timeout", "deadline")
    cancelled = threading.Event()
    cancelled.set()
    tree.extra = {"cancel": cancelled}
    assert tree.grep("T.DO").error == ("cancelled", "cancelled")
    assert tree.search("TODO").error == ("cancelled", "cancelled")


def test_where_no_process_can_be_started_plain_text_is_still_found(tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_match.sys, "executable", "/nowhere/python")
    assert tree.grep("T.DO").error == ("unavailable", "process")
    assert len(found(tree.grep("TODO"))) == 2


def test_a_missing_place_names_what_comes_close(tree) -> None:
    answer = tree.search("x", path="sorce")
    assert answer.error == ("invalid_input", "not-found")
    assert "src?" in tree.search("x", path="srcs").value["error"]["message"]


def test_a_wide_tree_needs_few_descriptors(room) -> None:
    resource = pytest.importorskip("resource")
    for number in range(100):
        (room.path / f"d{number}").mkdir()
        (room.path / f"d{number}" / "f").write_text("needle")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(map(int, os.listdir("/proc/self/fd")))  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, before[1]))
    try:
        assert len(found(room.search("needle"))) == 100
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@settings(max_examples=40, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    lines=st.lists(st.text(st.sampled_from("aAbü "), max_size=6), max_size=12),
    query=st.text(st.sampled_from("aAbü"), min_size=1, max_size=2),
    ignore_case=st.booleans(),
)
def test_both_ways_to_match_agree(room, lines: list[str], query: str, ignore_case: bool) -> None:
    (room.path / "x").write_text("\n".join(lines))
    plain = room.search(query, path="x", ignore_case=ignore_case)
    pattern = room.search(f"(?:{query})", path="x", is_regex=True, ignore_case=ignore_case)
    assert plain.value == pattern.value
