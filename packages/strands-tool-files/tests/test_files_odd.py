"""Odd things in a workspace: pipes, sockets, devices, deep trees, loops of links, long lines and hostile names."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.usefixtures("no_leaked_descriptors"),
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX files"),
]

READERS = {"read": {}, "head": {}, "tail": {}, "grep": {"pattern": "."}, "search": {"query": "e"}}
KINDS = ["pipe", "socket", "null", "zero"]


def make(kind: str, path: Path) -> None:
    """Put something there that is not a regular file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    else:
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, {"null": 3, "zero": 5}[kind]))
        except PermissionError:
            pytest.skip("only root makes devices")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", READERS)
def test_what_is_not_a_regular_file_is_not_read_and_nothing_waits(room, every_way: str, verb: str, kind: str) -> None:
    make(kind, room.path / "odd")
    began = time.process_time()
    assert room.call(verb, path="odd", **READERS[verb]).error == ("invalid_input", "not-a-file")
    assert time.process_time() - began < 5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["create", "overwrite", "append"])
def test_what_is_not_a_regular_file_is_not_written_and_stays(room, every_way: str, mode: str, kind: str) -> None:
    make(kind, room.path / "odd")
    before = (room.path / "odd").lstat()
    assert room.write("odd", mode=mode).status == "error"
    after = (room.path / "odd").lstat()
    assert (after.st_ino, after.st_mode, after.st_rdev) == (before.st_ino, before.st_mode, before.st_rdev)


@pytest.mark.parametrize("verb", ["grep", "search", "list"])
def test_a_tree_with_all_of_them_is_gone_through(room, every_way: str, verb: str) -> None:
    for kind in ("pipe", "socket"):
        make(kind, room.path / "docs" / kind)
    given = {"list": {"depth": 3}, "grep": {"pattern": "tw", "path": "."}, "search": {"query": "two"}}[verb]
    began = time.process_time()
    answer = room.call(verb, **given)
    assert (answer.status, "a.txt" in answer.text) == ("success", True)
    assert time.process_time() - began < 5
    if verb == "list":
        assert {entry["type"] for entry in answer.value["entries"]} == {"directory", "file", "other"}


@pytest.fixture
def deep(room):
    """Make a tree of 120 levels, deeper than a path may be long, with a file at its end."""
    here = os.open(room.path, os.O_RDONLY)
    for level in range(120):
        name = f"level-{level:03}-{'x' * 30}"
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("needle.txt", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    yield room
    remove(room.path)


def remove(top: Path) -> None:
    """Remove a tree that is too deep for paths."""
    for entry in top.iterdir():
        if not entry.name.startswith("level-"):
            continue
        steps, here = [], os.open(top, os.O_RDONLY)
        while names := [name for name in os.listdir(here) if name.startswith("level-")]:  # noqa: PTH208
            steps.append((here, names[0]))
            here = os.open(names[0], os.O_RDONLY, dir_fd=here)
        os.unlink("needle.txt", dir_fd=here)
        os.close(here)
        for parent, name in reversed(steps):
            os.rmdir(name, dir_fd=parent)
            os.close(parent)


@pytest.mark.parametrize("verb", ["grep", "search", "list"])
def test_a_tree_deeper_than_a_path_ends_the_walk_and_not_the_call(deep, verb: str) -> None:
    given = {"list": {"depth": 20}, "grep": {"pattern": "tw", "path": "."}, "search": {"query": "two"}}[verb]
    answer = deep.call(verb, **given)
    assert answer.status == "success"
    assert "a.txt" in answer.text


@pytest.mark.parametrize("verb", [*READERS, "list", "write"])
@pytest.mark.parametrize("path", ["/".join(["a"] * 1_500), "a/../" * 700 + "a", "{root}/" + "a/" * 1_500])
def test_a_path_with_more_parts_than_anyone_needs_is_refused_at_once(
    room, every_way: str, verb: str, path: str
) -> None:
    more = {"write": {"content": "x"}, "list": {}}.get(verb) or READERS.get(verb, {})
    began = time.process_time()
    assert room.call(verb, path=path.format(root=room.path), **more).error == ("invalid_input", "path")
    assert time.process_time() - began < 5
    assert sorted(entry.name for entry in room.path.iterdir()) == ["docs", "flow.yaml"]


def test_many_directories_are_made_in_reasonable_time(room, every_way: str) -> None:
    path = "/".join(["a"] * 60)
    began = time.process_time()
    assert room.write(f"{path}/x").status == "success"
    assert room.read(f"{path}/x").text == "new"
    assert time.process_time() - began < 5


@pytest.mark.parametrize("verb", [*READERS, "list", "write"])
def test_loops_and_chains_of_links_end(room, every_way: str, verb: str) -> None:
    (room.path / "ping").symlink_to("pong")
    (room.path / "pong").symlink_to("ping")
    (room.path / "self").symlink_to("self/self/x")
    for number in range(60):
        (room.path / f"hop-{number}").symlink_to(f"hop-{number + 1}")
    more = {"write": {"content": "x"}, "list": {}}.get(verb) or READERS.get(verb, {})
    for path in ("ping", "ping/a.txt", "self", "self/a", "hop-0", "hop-0/a.txt"):
        began = time.process_time()
        assert room.call(verb, path=path, **more).error == ("sandbox_violation", "link")
        assert time.process_time() - began < 5


def test_a_chain_of_links_that_grows_does_not_explode(room, every_way: str) -> None:
    # Each link doubles what is left to resolve: without a limit 2 ** 30 steps.
    (room.path / "l0").symlink_to("docs")
    for number in range(1, 30):
        (room.path / f"l{number}").symlink_to(f"l{number - 1}/../l{number - 1}")
    began = time.process_time()
    assert room.read("l29/a.txt").error == ("sandbox_violation", "link")
    assert time.process_time() - began < 5


NAMES = [
    b"new\nline",
    b"car\rriage",
    b"\x1b[2J\x1b[31mred",
    b"bell\x07",
    b"\xff\xfe",
    b"\xe2\x80\xaertl",
    b"nul\xc2\x9b31m",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_hostile_name_is_shown_escaped_wherever_it_is_shown(room, every_way: str, name: bytes) -> None:
    folder = os.fsencode(room.path) + b"/" + name
    try:
        os.mkdir(folder)  # noqa: PTH102 - bytes
    except OSError:
        pytest.skip("this file system does not take the name")
    with open(folder + b"/" + name, "wb") as stream:  # noqa: PTH123 - bytes
        stream.write(b"needle\n")
    for answer in (room.list(depth=3), room.search("needle"), room.grep("need.e"), room.read("missing")):
        shown = str(answer.text) + "".join(map(str, answer.value.values()))
        assert not set("\x1b\r\x07\u202e\x9b\udcff") & set(shown)
        assert shown.encode()
        assert name.decode("utf-8", "surrogateescape") not in answer.text
    assert room.search("needle").value["matches"][0]["line"] == 1


@pytest.mark.parametrize("verb", READERS)
def test_a_line_without_end_is_cut_and_takes_little(room, verb: str) -> None:
    with (room.path / "long").open("wb") as stream:
        for _ in range(200):
            stream.write(b"e" * 100_000)
    began = time.process_time()
    answer = room.call(verb, path="long", **READERS[verb])
    assert answer.status == "success"
    assert len(answer.text.encode()) < 300_000
    assert len(str(answer.value)) < 10_000
    assert time.process_time() - began < 5


@pytest.mark.parametrize("verb", READERS)
def test_a_file_of_holes_is_binary_at_once(room, verb: str) -> None:
    with (room.path / "holes").open("wb") as stream:
        stream.truncate(50_000_000_000)
    began = time.process_time()
    assert room.call(verb, path="holes", **READERS[verb]).error == ("invalid_input", "binary")
    assert time.process_time() - began < 5


@pytest.mark.parametrize(("verb", "most"), [("read", 1_048_576), ("head", 1_048_576), ("tail", 1_048_576)])
def test_no_reading_is_longer_than_its_limit_says(room, verb: str, most: int) -> None:
    (room.path / "many").write_text("€" * 99 + "\n" + "line €\n" * 400_000)
    given = {"read": {}, "head": {"lines": 10_000, "bytes_limit": most}, "tail": {"lines": 10_000, "bytes_limit": 100}}
    room.config = {"max_read_bytes": most} if verb == "read" else {}
    answer = room.call(verb, path="many", **given[verb])
    assert len(answer.text.encode()) <= most
    assert answer.value["has_more"]


@pytest.mark.parametrize("verb", ["grep", "search"])
def test_no_search_answers_more_than_its_limit_says(room, verb: str) -> None:
    for number in range(20):
        (room.path / f"f{number}").write_text(f"{'€' * 300}\n" * 200)
    answer = room.call(verb, path=".", max_matches=1000, **{"grep": {"pattern": "€+"}, "search": {"query": "€"}}[verb])
    assert answer.value["truncated"]
    assert len(answer.text.encode()) < 140_000
    assert len(answer.value["matches"]) < 1000
