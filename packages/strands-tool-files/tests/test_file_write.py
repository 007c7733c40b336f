"""What file_write leaves behind, also when it fails."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from strands_tool_files import _directory

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


def names(room) -> list[str]:
    return sorted(os.listdir(room.path))  # noqa: PTH208 - names are what is compared


@pytest.mark.parametrize("mode", ["create", "overwrite", "append"])
def test_a_new_file_is_written_exactly(room, every_way: str, mode: str) -> None:
    answer = room.write("reports/2026/may.md", "größer\r\n", mode=mode)
    assert (room.path / "reports" / "2026" / "may.md").read_bytes() == "größer\r\n".encode()
    assert answer.value == {
        "path": "reports/2026/may.md",
        "bytes_written": 10,
        "size": 10,
        "mode": mode,
        "created": True,
    }
    assert names(room) == ["docs", "flow.yaml", "reports"]


def test_overwriting_replaces_and_appending_adds(room, every_way: str) -> None:
    assert room.write("docs/a.txt", "x").value["created"] is False
    assert room.write("docs/a.txt", "y", mode="append").value["size"] == 2
    assert (room.path / "docs" / "a.txt").read_text() == "xy"
    assert os.listdir(room.path / "docs") == ["a.txt"]  # noqa: PTH208


def test_create_refuses_an_existing_file_and_leaves_it(room, every_way: str) -> None:
    assert room.write("docs/a.txt", mode="create").error == ("invalid_input", "exists")
    assert (room.path / "docs" / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert os.listdir(room.path / "docs") == ["a.txt"]  # noqa: PTH208


@pytest.mark.skipif(not _directory.HAS_DESCRIPTORS, reason="needs dir_fd")
def test_create_refuses_a_file_that_appears_meanwhile(room, monkeypatch: pytest.MonkeyPatch, has_unnamed: bool) -> None:
    publish, name_it = _directory.DescriptorDirectory.publish, _directory.DescriptorDirectory.name

    def late(self, temporary: str, name: str, *, replace: bool) -> None:
        (room.path / name).write_text("the other was first")
        publish(self, temporary, name, replace=replace)

    def late_name(self, descriptor: int, name: str) -> None:
        (room.path / name).write_text("the other was first")
        name_it(self, descriptor, name)

    monkeypatch.setattr(_directory.DescriptorDirectory, "publish", late)
    monkeypatch.setattr(_directory.DescriptorDirectory, "name", late_name)
    assert room.write("x.txt", mode="create").error == ("invalid_input", "exists")
    assert (room.path / "x.txt").read_text() == "the other was first"
    assert names(room) == ["docs", "flow.yaml", "x.txt"]


@pytest.mark.skipif(not _directory.HAS_DESCRIPTORS, reason="needs dir_fd")
def test_create_works_where_there_are_no_hard_links(room, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EPERM, "no hard links on this file system")

    monkeypatch.setattr(os, "link", no_links)
    assert room.write("x.txt", mode="create").value["created"] is True
    assert (room.path / "x.txt").read_text() == "new"
    assert room.write("x.txt", "again", mode="create").error == ("invalid_input", "exists")
    assert names(room) == ["docs", "flow.yaml", "x.txt"]


@pytest.fixture(params=[True, False], ids=["unnamed", "named"])
def has_unnamed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Write with files that have no name at first, and without."""
    if not request.param:
        monkeypatch.setattr(_directory.DescriptorDirectory, "open_unnamed", lambda self: None)
    return bool(request.param)


KILLED = """
import os, sys
from strands_tool_files import file_write
step, number = sys.argv[1], 0
real = getattr(os, step)
def killed(*given, **named):
    made = real(*given, **named)
    os.kill(os.getpid(), 9)
setattr(os, step, killed)
use = {"toolUseId": "1", "input": {"path": "x.txt", "content": "new" * 9999, "mode": sys.argv[2]}}
print(file_write.file_write(use, strands_cli={"workspace": os.getcwd(), "config": {}}))
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without a name")
@pytest.mark.parametrize("step", ["write", "fsync", "link"])
@pytest.mark.parametrize("mode", ["create", "overwrite"])
def test_a_kill_in_the_middle_leaves_no_temporary_file(tmp_path: Path, step: str, mode: str) -> None:
    run = subprocess.run([sys.executable, "-c", KILLED, step, mode], cwd=tmp_path, capture_output=True, check=False)
    assert run.returncode == -9, run
    left = [path.name for path in tmp_path.iterdir()]
    assert left == (["x.txt"] if step == "link" else [])
    if left:
        assert (tmp_path / "x.txt").read_text() == "new" * 9999


def test_old_temporary_files_of_the_same_user_are_removed(room, every_way: str) -> None:
    named = {
        "old": ".strands-0123456789abcdef.tmp",
        "young": ".strands-fedcba9876543210.tmp",
        "other": ".strands-x.tmp",
    }
    for name in named.values():
        (room.path / name).write_text("left")
    for which in ("old", "other"):
        os.utime(room.path / named[which], (0, 0))
    assert room.write("x.txt").status == "success"
    assert names(room) == sorted([named["young"], named["other"], "docs", "flow.yaml", "x.txt"])


def test_missing_directories_can_be_an_error(room, every_way: str) -> None:
    assert room.write("a/b/c.txt", create_dirs=False).error == ("invalid_input", "not-found")
    assert names(room) == ["docs", "flow.yaml"]


def test_a_refused_path_leaves_no_directories_behind(room) -> None:
    for path in ("new/.git/x", "new/deeper/conftest.py", "new/../../x"):
        assert room.write(path).status == "error"
    assert names(room) == ["docs", "flow.yaml"]


def test_a_link_inside_is_written_through_and_stays_a_link(room, every_way: str) -> None:
    (room.path / "link").symlink_to("docs/a.txt")
    (room.path / "dangling").symlink_to("docs/new.txt")
    for mode in ("overwrite", "append"):
        assert room.write("link", "x", mode=mode).status == "success"
        assert room.write("dangling", "x", mode=mode).status == "success"
    assert (room.path / "link").is_symlink()
    assert (room.path / "docs" / "a.txt").read_text() == "xx"
    assert (room.path / "docs" / "new.txt").read_text() == "xx"


def test_a_link_that_leads_out_is_never_written_through(room, tmp_path, every_way: str) -> None:
    (room.path / "out").symlink_to("../secret.txt")
    (room.path / "outdir").symlink_to("..")
    for mode in ("create", "overwrite", "append"):
        assert room.write("out", mode=mode).error == ("sandbox_violation", "outside")
        assert room.write("outdir/x", mode=mode).error == ("sandbox_violation", "outside")
        assert room.write("outdir/made/x", mode=mode).error == ("sandbox_violation", "outside")
    assert (tmp_path / "secret.txt").read_text() == "the secret outside"
    assert sorted(os.listdir(tmp_path)) == ["mount", "secret.txt", "workspace"]  # noqa: PTH208


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="needs POSIX modes")
def test_overwriting_keeps_the_mode_and_a_new_file_obeys_the_umask(room, every_way: str) -> None:
    target = room.path / "docs" / "a.txt"
    target.chmod(0o640)
    room.write("docs/a.txt")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    before = os.umask(0o077)
    try:
        room.write("fresh.txt")
    finally:
        os.umask(before)
    assert stat.S_IMODE((room.path / "fresh.txt").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_a_file_marked_read_only_is_denied_even_to_root(room, mode: str) -> None:
    (room.path / "docs" / "a.txt").chmod(0o444)
    assert room.write("docs/a.txt", mode=mode).error == ("denied", "permission")


def test_overwriting_a_hard_link_leaves_the_other_name_alone(room, tmp_path, every_way: str) -> None:
    (tmp_path / "elsewhere").write_text("old")
    os.link(tmp_path / "elsewhere", room.path / "x.txt")
    assert room.write("x.txt", mode="append").error == ("sandbox_violation", "hard-link")
    assert room.write("x.txt").status == "success"
    assert (tmp_path / "elsewhere").read_text() == "old"


@pytest.mark.skipif(not _directory.HAS_DESCRIPTORS, reason="needs dir_fd")
def test_a_failing_write_leaves_the_file_and_no_rubbish(room, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert room.write("docs/a.txt").error == ("unavailable", "system")
    assert (room.path / "docs" / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert os.listdir(room.path / "docs") == ["a.txt"]  # noqa: PTH208


@pytest.mark.skipif(not _directory.HAS_DESCRIPTORS, reason="needs dir_fd")
def test_a_directory_that_may_be_written_but_not_listed_is_enough(room, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open
    refused: list[str] = []

    def denied(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if path == ".":
            refused.append(path)
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", denied)
    assert room.write("docs/b.txt").status == "success"
    assert refused
    assert room.read("docs/b.txt").text == "new"
    assert room.read("docs/c.txt").error == ("invalid_input", "not-found")


def test_a_reader_never_sees_a_part(room, every_way: str) -> None:
    target = room.path / "x.txt"
    whole = {"a" * 200_000, "b" * 200_000}
    target.write_text("a" * 200_000)
    done = threading.Event()
    seen: set[str] = set()

    def watch() -> None:
        while not done.is_set():
            seen.add(target.read_text())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for letter in "ba" * 15:
            assert room.write("x.txt", letter * 200_000).status == "success"
    finally:
        done.set()
        watcher.join()
    assert seen
    assert seen <= whole


def test_two_appenders_at_once_lose_nothing(room) -> None:
    def append(letter: str) -> None:
        for _ in range(50):
            assert room.write("log.txt", f"{letter}\n", mode="append").status == "success"

    threads = [threading.Thread(target=append, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((room.path / "log.txt").read_text().split()) == sorted("abcd" * 50)


def test_content_is_encoded_as_asked(room) -> None:
    room.write("x", "grün", encoding="latin-1")
    assert (room.path / "x").read_bytes() == "grün".encode("latin-1")
    assert room.write("x", "€", encoding="latin-1").error == ("invalid_input", "encoding")
    assert room.write("x", "a", encoding="base64").error == ("invalid_input", "encoding")
    assert room.write("x", "\ud800").error == ("invalid_input", "encoding")
    assert (room.path / "x").read_bytes() == "grün".encode("latin-1")


def test_appending_never_puts_a_byte_order_mark_in_the_middle(room) -> None:
    assert room.write("x", "a", encoding="utf-16", mode="append").status == "success"
    assert room.write("x", "b", encoding="utf-16", mode="append").error == ("invalid_input", "encoding")
    assert (room.path / "x").read_text(encoding="utf-16") == "a"


def test_content_over_the_limit_is_refused_before_anything_is_made(room) -> None:
    room.config = {"max_write_bytes": 3}
    assert room.write("new/x", "üü").error == ("invalid_input", "too-large")
    assert names(room) == ["docs", "flow.yaml"]
    assert room.write("x", "üa").status == "success"


@pytest.mark.parametrize("mode", ["create", "overwrite", "append"])
def test_only_regular_files_are_written(room, every_way: str, mode: str) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(room.path / "pipe")
    assert room.write("docs", mode=mode).status == "error"
    assert room.write("pipe", mode=mode).status == "error"
    assert room.write(".", mode=mode).error == ("invalid_input", "is-a-directory")
    assert stat.S_ISFIFO((room.path / "pipe").stat().st_mode)
