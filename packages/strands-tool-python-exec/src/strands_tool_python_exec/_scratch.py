"""The parent's look into a sandbox's scratch: how much is in it, what is to be kept, and its removal."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_MAX_ENTRIES = 4096
_MAX_DEPTH = 16
# Windows, where the tool is imported and says that it cannot run, has none of these flags.
_OPEN = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))
_OPEN_DIRECTORY = _OPEN | getattr(os, "O_DIRECTORY", 0)


def is_within(directory: int, budget: int) -> bool:
    """Return whether the tree holds at most `budget` bytes, and neither too many entries nor too deep ones."""
    left = [budget, _MAX_ENTRIES]
    _count(directory, left, _MAX_DEPTH)
    return min(left) >= 0


def _count(directory: int, left: list[int], depth: int) -> None:
    """Take what lies beneath a directory off what is left; the tree may be changing meanwhile."""
    if depth == 0:
        left[0] = -1
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            left[1] -= 1
            if min(left) < 0:
                return
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    left[0] -= entry.stat(follow_symlinks=False).st_blocks * 512
                    continue
                inside = os.open(entry.name, _OPEN_DIRECTORY, dir_fd=directory)
                try:
                    _count(inside, left, depth - 1)
                finally:
                    os.close(inside)


def read_files(directory: int, budget: int) -> Iterator[tuple[str, bytes | None]]:
    """Yield the regular files at the top, None for the content of one that does not fit; no link is followed."""
    for name in sorted(os.listdir(directory))[:_MAX_ENTRIES]:
        try:
            descriptor = os.open(name, _OPEN, dir_fd=directory)
        except OSError:
            continue
        try:
            data = _content(descriptor, budget)
        finally:
            os.close(descriptor)
        if data is not None:
            fits = len(data) <= budget
            budget -= len(data) if fits else 0
            yield name, data if fits else None


def _content(descriptor: int, budget: int) -> bytes | None:
    """Return a regular file's content, or one byte more than the budget of a longer one; None for anything else."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return None
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(budget + 1)


def remove(scratch: Path) -> None:
    """Remove a tree of any depth and any modes, its process being dead: nested directories are first moved up."""
    number = 0
    pending = [scratch]
    while pending:
        directory = pending.pop()
        with contextlib.suppress(OSError):
            directory.chmod(0o700)
            for entry in list(os.scandir(directory)):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)  # noqa: PTH108 - `entry` is no Path
                    continue
                number += 1
                # Moving a directory needs the right to write to it.
                os.chmod(entry.path, 0o700)  # noqa: PTH101 - as above
                pending.append(Path(entry.path).rename(scratch.with_name(f"{scratch.name}-{number}")))
            directory.rmdir()
