"""Nothing escapes while another process swaps a directory for a link, and the naive way does escape."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_tool_files import _openat2
from strands_tool_files.file_list import file_list
from strands_tool_files.file_read import file_read
from strands_tool_files.file_write import file_write

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="exchanging needs renameat2")

ROUNDS = 4_000
SECRET = "the secret outside"

# Exchanges the directory `inner` with a link to the directory outside, as fast as it can, until stdin closes.
SWAPPER = """
import ctypes, os, select, sys
os.chdir(sys.argv[1])
exchange = ctypes.CDLL(None, use_errno=True).renameat2
AT_FDCWD, RENAME_EXCHANGE = -100, 2
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    for _ in range(200):
        if exchange(AT_FDCWD, b"inner", AT_FDCWD, b"link", RENAME_EXCHANGE):
            raise OSError(ctypes.get_errno(), "renameat2")
"""


@pytest.fixture
def arena(tmp_path: Path) -> Path:
    """Make a workspace beside a directory that nothing may reach."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file.txt").write_text(SECRET)
    workspace = tmp_path / "workspace"
    (workspace / "inner").mkdir(parents=True)
    (workspace / "inner" / "file.txt").write_text("inside")
    (workspace / "link").symlink_to("../outside")
    return workspace


@contextlib.contextmanager
def swapping(workspace: Path) -> Iterator[None]:
    command = [sys.executable, "-I", "-S", "-c", SWAPPER, str(workspace)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            process.communicate()
    assert process.returncode == 0


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test once with the kernel's own resolution and once with the component walk."""
    if request.param == "openat2" and not _openat2.is_available():
        pytest.skip("this kernel has no openat2")
    if request.param == "walk":
        monkeypatch.setattr(_openat2, "is_available", lambda: False)
    return str(request.param)


def call(tool, workspace: Path, **given):
    return tool({"toolUseId": "t", "input": given}, strands_cli={"workspace": str(workspace)})


def test_the_naive_way_escapes_so_the_race_is_real(arena: Path) -> None:
    def naive_read() -> str | None:
        try:
            # realpath itself may stumble over the exchange.
            path = os.path.realpath(arena / "inner" / "file.txt")
            if not path.startswith(f"{os.path.realpath(arena)}/"):
                return None
            with open(arena / "inner" / "file.txt") as stream:  # noqa: PTH123 - the naive way
                return stream.read()
        except OSError:
            return None

    with swapping(arena):
        escapes = any(naive_read() == SECRET for _ in range(200_000))
    assert escapes


def test_no_read_escapes(arena: Path, way: str) -> None:
    inside = 0
    with swapping(arena):
        for _ in range(ROUNDS):
            content = call(file_read, arena, path="inner/file.txt")["content"]
            assert SECRET not in str(content)
            inside += content[0].get("text") == "inside"
    assert inside, "the race never let a read through, so it proves nothing"


@pytest.mark.parametrize("mode", ["overwrite", "append", "create"])
def test_no_write_escapes(arena: Path, way: str, mode: str) -> None:
    written = 0
    with swapping(arena):
        for number in range(ROUNDS // 10):
            path = f"inner/new-{number}/f.txt" if mode == "create" else "inner/file.txt"
            written += call(file_write, arena, path=path, content="x", mode=mode)["status"] == "success"
    assert [entry.name for entry in (arena.parent / "outside").iterdir()] == ["file.txt"]
    assert (arena.parent / "outside" / "file.txt").read_text() == SECRET
    assert written, "the race never let a write through, so it proves nothing"


def test_no_listing_escapes(arena: Path, way: str) -> None:
    (arena.parent / "outside" / "only-outside.txt").write_text("")
    listed = 0
    with swapping(arena):
        for _ in range(ROUNDS // 10):
            text = str(call(file_list, arena, depth=5)["content"])
            assert "only-outside" not in text
            listed += "inner/file.txt" in text
    assert listed, "the race never let a listing through, so it proves nothing"
