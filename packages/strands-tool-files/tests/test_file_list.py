"""What file_list shows, and where it stops."""

from __future__ import annotations

import os
import re
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_tool_files import _tree
from strands_tool_files import file_list as file_list_module
from strands_tool_files._glob import matches

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


def paths(answer) -> list[str]:
    return [entry["path"] for entry in answer.value["entries"]]


@pytest.fixture
def tree(room):
    """Fill the workspace with two levels, hidden names, and links in and out."""
    for path in ("src/pkg/deep", ".hidden", ".git"):
        (room.path / path).mkdir(parents=True)
    for path in ("src/main.py", "src/pkg/a.py", "src/pkg/deep/b.py", "src/readme.md", ".hidden/h.py", ".git/config"):
        (room.path / path).write_text("12345")
    (room.path / "inlink").symlink_to("src")
    (room.path / "outlink").symlink_to("..")
    return room


def test_one_level_is_listed_by_name_with_its_kinds(tree, every_way: str) -> None:
    answer = tree.list()
    assert paths(answer) == ["docs", "flow.yaml", "inlink", "outlink", "src"]
    assert [entry["type"] for entry in answer.value["entries"]] == ["directory", "file", "link", "link", "directory"]
    assert answer.value["entries"][1]["size"] == 11
    assert answer.text.splitlines() == [
        "docs/",
        time.strftime("flow.yaml  (11 bytes, %Y-%m-%d %H:%M UTC)", time.gmtime(answer.value["entries"][1]["modified"])),
        "inlink@",
        "outlink@",
        "src/",
        "[mounts: @data]",
    ]


def test_deeper_levels_come_after_and_links_are_not_followed(tree, every_way: str) -> None:
    answer = tree.list(depth=20)
    assert paths(answer)[5:] == [
        *("docs/a.txt", "src/main.py", "src/pkg", "src/readme.md"),
        *("src/pkg/a.py", "src/pkg/deep", "src/pkg/deep/b.py"),
    ]
    assert not answer.value["truncated"]


def test_hidden_names_are_shown_on_demand_but_git_is_not_entered(tree) -> None:
    shown = paths(tree.list(depth=5, include_hidden=True))
    assert {".git", ".hidden", ".hidden/h.py"} <= set(shown)
    assert ".git/config" not in shown
    assert tree.list(path=".git").error == ("sandbox_violation", "protected")


def test_a_directory_that_becomes_a_link_while_listing_is_not_followed(tree, monkeypatch) -> None:
    located = _tree.located

    def exchanged(top, names):
        if names == ("src",):
            (tree.path / "src").rename(tree.path / "former")
            (tree.path / "src").symlink_to("former")
        return located(top, names)

    monkeypatch.setattr(_tree, "located", exchanged)
    answer = tree.list(depth=5)
    assert "src" in paths(answer)
    assert not [path for path in paths(answer) if path.startswith("src/")]
    assert re.match(r"1\b", answer.value["notices"][0])


def test_a_pattern_filters_but_still_looks_below(tree) -> None:
    assert paths(tree.list(depth=5, pattern="*.py")) == ["src/main.py", "src/pkg/a.py", "src/pkg/deep/b.py"]
    assert paths(tree.list(depth=5, pattern="src/*.py")) == ["src/main.py"]
    assert paths(tree.list(depth=5, pattern="src/**/b.py")) == ["src/pkg/deep/b.py"]
    nothing = tree.list(pattern="*.zip")
    assert (nothing.status, paths(nothing)) == ("success", [])
    assert nothing.text


def test_a_subdirectory_a_link_to_one_and_a_mount_can_be_listed(tree, every_way: str) -> None:
    assert paths(tree.list(path="src")) == ["main.py", "pkg", "readme.md"]
    assert paths(tree.list(path="inlink")) == ["main.py", "pkg", "readme.md"]
    assert paths(tree.list(path="@data")) == ["m.txt"]
    assert tree.list(path="outlink").error == ("sandbox_violation", "outside")
    assert tree.list(path="..").error == ("sandbox_violation", "outside")
    assert tree.list(path="src/main.py").error == ("invalid_input", "not-a-directory")
    assert tree.list(path="nope").error == ("invalid_input", "not-found")


def test_the_nearest_entries_come_first_when_the_list_is_cut(tree) -> None:
    answer = tree.list(depth=5, max_entries=6)
    assert paths(answer) == ["docs", "flow.yaml", "inlink", "outlink", "src", "docs/a.txt"]
    assert answer.value["truncated"]
    assert all(notice in answer.text for notice in answer.value["notices"])
    assert re.search(r"\b6\b", answer.value["notices"][0])


def test_exactly_as_many_entries_as_allowed_is_not_a_cut(tree) -> None:
    assert not tree.list(max_entries=5).value["truncated"]


@pytest.mark.parametrize(("limit", "value"), [("MAX_LOOKED_AT", 3), ("MAX_OUTPUT", 150), ("MAX_SECONDS", 0.0)])
def test_every_limit_ends_the_list_and_says_so(tree, monkeypatch: pytest.MonkeyPatch, limit: str, value: float) -> None:
    monkeypatch.setattr(file_list_module, limit, value)
    answer = tree.list(depth=5)
    assert answer.value["truncated"]
    assert len(answer.value["entries"]) <= 3
    assert len(answer.value["notices"]) == 2


def test_a_deadline_and_a_cancelled_call_end_the_listing(tree) -> None:
    tree.extra = {"deadline": time.monotonic() - 1}
    assert tree.list().error == ("timeout", "deadline")
    cancelled = threading.Event()
    cancelled.set()
    tree.extra = {"cancel": cancelled}
    assert tree.list(depth=3).error == ("cancelled", "cancelled")


def test_names_cannot_smuggle_control_characters(room) -> None:
    for name in ("a\x1b[31m", "b\nc", "d\u202ee"):
        (room.path / name).touch()
    try:
        os.close(os.open(os.fsencode(room.path) + b"/z\xff", os.O_CREAT))
    except OSError:
        pytest.skip("this file system wants UTF-8 names")
    assert paths(room.list()) == ["a\\x1b[31m", "b\\nc", "docs", "d\\u202ee", "flow.yaml", "z\\udcff"]


def test_a_directory_that_cannot_be_read_is_counted_and_the_others_are_listed(tree, monkeypatch) -> None:
    located = _tree.located

    def refuse(top, names):
        if names == ("src", "pkg"):
            raise PermissionError(13, "Permission denied")
        return located(top, names)

    monkeypatch.setattr(_tree, "located", refuse)
    answer = tree.list(depth=5)
    assert "src/pkg" in paths(answer)
    assert "src/readme.md" in paths(answer)
    assert not [path for path in paths(answer) if path.startswith("src/pkg/")]
    assert re.match(r"1\b", answer.value["notices"][0])


def test_a_wide_tree_needs_few_descriptors(room) -> None:
    resource = pytest.importorskip("resource")
    for number in range(300):
        (room.path / f"d{number}").mkdir()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(map(int, os.listdir("/proc/self/fd")))  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, before[1]))
    try:
        answer = room.list(depth=3, max_entries=2000)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert len(answer.value["entries"]) == 303


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a/b.py", True),
        ("*.py", "a/b.pyc", False),
        ("**", "a", True),
        ("**/b.py", "b.py", True),
        ("**/b.py", "x/y/b.py", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "x/b", False),
        ("a/*/b", "a/x/y/b", False),
        ("a/**", "a/x/y", True),
        ("[ab]?", "bx", True),
        ("[", "[", True),
    ],
)
def test_patterns_mean_what_people_expect(pattern: str, path: str, fits: bool) -> None:
    assert matches(pattern, path.split("/")) is fits


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(st.text(st.sampled_from("a*?[]!/-"), min_size=1, max_size=256))
def test_no_pattern_raises(pattern: str) -> None:
    matches(pattern, ["a" * 50, "a" * 200])


def test_no_pattern_takes_long() -> None:
    began = time.process_time()
    for pattern in ("*a" * 120, "**/" * 85 + "b", "**/*a*/" * 30 + "b", "[a-" * 80):
        matches(pattern, ["a" * 100] * 60)
        matches(pattern, ["a" * 255 + "b"])
    assert time.process_time() - began < 5
