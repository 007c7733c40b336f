"""Nothing escapes while another process swaps a directory for a link, and the naive way does escape."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strands_tool_files import _openat2
from strands_tool_files.file_list import file_list
from strands_tool_files.file_read import file_read
from strands_tool_files.file_write import file_write
from strands_tool_files.grep import grep
from strands_tool_files.head import head
from strands_tool_files.search import search
from strands_tool_files.tail import tail

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="exchanging needs renameat2"),
]

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


# -- the ways without walls: each checks where a path leads and then uses the path


def lies_inside(path: Path, root: Path) -> bool:
    return os.path.realpath(path).startswith(f"{os.path.realpath(root)}/")


def naive_read(arena: Path) -> bool:
    path = arena / "inner" / "file.txt"
    return lies_inside(path, arena) and path.read_text() == SECRET


def naive_write(arena: Path) -> bool:
    path = arena / "inner" / "file.txt"
    if lies_inside(path, arena):
        path.write_text("x")
    return (arena.parent / "outside" / "file.txt").read_text() != SECRET


def naive_append(arena: Path) -> bool:
    path = arena / "inner" / "file.txt"
    if lies_inside(path, arena):
        with path.open("a") as stream:
            stream.write("x")
    return (arena.parent / "outside" / "file.txt").read_text() != SECRET


def naive_create(arena: Path) -> bool:
    parent = arena / "inner" / "new"
    if lies_inside(parent, arena):
        parent.mkdir(exist_ok=True)
    return (arena.parent / "outside" / "new").exists()


def naive_walk(arena: Path) -> bool:
    return any(
        (directory / name).read_text() == SECRET
        for entry in arena.iterdir()
        if not entry.is_symlink() and lies_inside(directory := entry, arena)
        for name in os.listdir(directory)  # noqa: PTH208 - as such walks do
    )


def naive_listing(arena: Path) -> bool:
    directory = arena / "inner"
    return lies_inside(directory, arena) and "only-outside.txt" in os.listdir(directory)  # noqa: PTH208


NAIVE = [naive_read, naive_write, naive_append, naive_create, naive_walk, naive_listing]


def escapes_within(rounds: int, escape: Callable[[Path], bool], arena: Path) -> bool:
    for _ in range(rounds):
        # realpath itself may stumble over the exchange.
        with contextlib.suppress(OSError):
            if escape(arena):
                return True
    return False


@pytest.mark.parametrize("escape", NAIVE)
def test_the_naive_way_escapes_so_the_race_is_real(arena: Path, escape: Callable[[Path], bool]) -> None:
    (arena.parent / "outside" / "only-outside.txt").write_text("")
    with swapping(arena):
        assert escapes_within(200_000, escape, arena)


def test_the_naive_way_follows_an_exchanged_file_too(file_arena: Path) -> None:
    def naive(arena: Path) -> bool:
        path = arena / "inner"
        return not path.is_symlink() and path.read_text() == SECRET

    with swapping(file_arena):
        assert escapes_within(200_000, naive, file_arena)


# -- the tools


def seen_within(rounds: int, once: Callable[[], bool]) -> None:
    """Call so often, and on until one call was let through: a machine that is busy may keep one state for long."""
    seen = 0
    for number in range(rounds * 100):
        seen += once()
        if seen and number >= rounds:
            return
    raise AssertionError("the race never let a call through, so it proves nothing")


def test_no_read_escapes(arena: Path, way: str) -> None:
    def once() -> bool:
        content = call(file_read, arena, path="inner/file.txt")["content"]
        assert SECRET not in str(content)
        return content[0].get("text") == "inside"

    with swapping(arena):
        seen_within(ROUNDS, once)


@pytest.mark.parametrize("mode", ["overwrite", "append", "create"])
def test_no_write_escapes(arena: Path, way: str, mode: str) -> None:
    numbers = itertools.count()

    def once() -> bool:
        path = f"inner/new-{next(numbers)}/f.txt" if mode == "create" else "inner/file.txt"
        return call(file_write, arena, path=path, content="x", mode=mode)["status"] == "success"

    with swapping(arena):
        seen_within(ROUNDS // 10, once)
    assert [entry.name for entry in (arena.parent / "outside").iterdir()] == ["file.txt"]
    assert (arena.parent / "outside" / "file.txt").read_text() == SECRET


def test_no_listing_escapes(arena: Path, way: str) -> None:
    (arena.parent / "outside" / "only-outside.txt").write_text("")

    def once() -> bool:
        text = str(call(file_list, arena, depth=5)["content"])
        assert "only-outside" not in text
        return "inner/file.txt" in text

    with swapping(arena):
        seen_within(ROUNDS // 10, once)


@pytest.mark.parametrize("tool", [head, tail])
def test_no_head_or_tail_escapes(arena: Path, way: str, tool) -> None:
    def once() -> bool:
        content = call(tool, arena, path="inner/file.txt")["content"]
        assert SECRET not in str(content)
        return content[0].get("text") == "inside"

    with swapping(arena):
        seen_within(ROUNDS // 8, once)


@pytest.mark.parametrize("path", [".", "inner", "inner/file.txt"])
@pytest.mark.parametrize(("tool", "key"), [(grep, "pattern"), (search, "query")])
def test_no_search_escapes(arena: Path, way: str, tool, key: str, path: str) -> None:
    def once() -> bool:
        text = str(call(tool, arena, **{key: "side", "path": path})["content"])
        assert SECRET not in text
        return "'text': 'inside'" in text

    with swapping(arena):
        seen_within(ROUNDS // 16, once)


@pytest.fixture
def file_arena(tmp_path: Path) -> Path:
    """Make a workspace where a file, not a directory, is exchanged with a link that leads out."""
    (tmp_path / "outside.txt").write_text(SECRET)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "inner").write_text("inside")
    (workspace / "link").symlink_to("../outside.txt")
    return workspace


@pytest.mark.parametrize("tool", [file_read, head, tail, grep, search])
def test_no_file_exchanged_for_a_link_is_followed(file_arena: Path, way: str, tool) -> None:
    given = {grep: {"pattern": "i", "path": "."}, search: {"query": "i", "path": "inner"}}.get(tool, {"path": "inner"})

    def once() -> bool:
        text = str(call(tool, file_arena, **given)["content"])
        assert SECRET not in text
        return "'text': 'inside'" in text

    with swapping(file_arena):
        seen_within(ROUNDS // 8, once)


@pytest.mark.parametrize("mode", ["overwrite", "append", "create"])
def test_no_file_exchanged_for_a_link_is_written_through(file_arena: Path, way: str, mode: str) -> None:
    def once() -> bool:
        return call(file_write, file_arena, path="inner", content="x", mode=mode)["status"] == "success"

    with swapping(file_arena):
        # The path is a file or a link at every moment, so that nothing is ever created; an overwriting that
        # meets the link at its last step puts a file in its place, and the race is over.
        if mode == "create":
            assert not any(once() for _ in range(ROUNDS // 16))
        else:
            seen_within(40 if mode == "overwrite" else ROUNDS // 16, once)
    assert (file_arena.parent / "outside.txt").read_text() == SECRET
    assert sorted(entry.name for entry in file_arena.parent.iterdir()) == ["outside.txt", "workspace"]


@pytest.fixture
def protected_arena(tmp_path: Path) -> Path:
    """Make a workspace where an ordinary directory is exchanged with a link to a protected one."""
    workspace = tmp_path / "workspace"
    for name, content in (("inner", "inside"), (".git", SECRET)):
        (workspace / name).mkdir(parents=True)
        (workspace / name / "file.txt").write_text(content)
    (workspace / "link").symlink_to(".git")
    return workspace


def test_the_naive_way_reaches_what_is_protected_too(protected_arena: Path) -> None:
    def naive(arena: Path) -> bool:
        path = arena / "inner" / "file.txt"
        return ".git" not in os.path.realpath(path) and path.read_text() == SECRET

    with swapping(protected_arena):
        assert escapes_within(200_000, naive, protected_arena)


@pytest.mark.parametrize("tool", [file_read, head, tail, grep, search, file_list])
def test_no_exchange_leads_to_what_is_protected(protected_arena: Path, way: str, tool) -> None:
    (protected_arena / ".git" / "only-protected").write_text(SECRET)
    given = {grep: {"pattern": "side", "path": "inner"}, search: {"query": "side"}, file_list: {"path": "inner"}}

    def once() -> bool:
        result = call(tool, protected_arena, **given.get(tool, {"path": "inner/file.txt"}))
        assert SECRET not in str(result["content"])
        assert "only-protected" not in str(result["content"])
        return result["status"] == "success" and "file.txt" in str(result["content"])

    with swapping(protected_arena):
        seen_within(ROUNDS // 16, once)


@pytest.mark.parametrize("mode", ["overwrite", "append", "create"])
def test_no_exchange_lets_a_write_into_what_is_protected(protected_arena: Path, way: str, mode: str) -> None:
    numbers = itertools.count()

    def once() -> bool:
        name = f"new-{next(numbers)}/x" if mode == "create" else "file.txt"
        return call(file_write, protected_arena, path=f"inner/{name}", content="x", mode=mode)["status"] == "success"

    with swapping(protected_arena):
        seen_within(ROUNDS // 20, once)
    assert [entry.name for entry in (protected_arena / ".git").iterdir()] == ["file.txt"]
    assert (protected_arena / ".git" / "file.txt").read_text() == SECRET
