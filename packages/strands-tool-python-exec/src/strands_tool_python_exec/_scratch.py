"""A sandbox's scratch, from the parent's side: creation, size, files for the answer, and removal."""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import os
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "python-exec-"
# A folder has this name until it is locked.
_NEW = ".python-exec-"
# A new folder this young may belong to someone who is about to lock it.
_MIN_AGE = 60.0
_MAX_ENTRIES = 4096
_MAX_DEPTH = 16
# Windows, where the tool is imported and says that it cannot run, has none of these flags.
_OPEN = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))
_OPEN_DIRECTORY = _OPEN | getattr(os, "O_DIRECTORY", 0)


# The remaining folders of this process; all change them under the lock.
_mine: set[Path] = set()
_changing = threading.Lock()
_ending = threading.Event()


def make() -> tuple[Path, int]:
    """Make an empty folder and lock it, so that no other process takes it for one that was left behind.

    Returns:
        The folder, and the descriptor that holds the lock, for `unlock` after the removal; -1 where there is none.

    Raises:
        OSError: There can be none, or this process is ending.
    """
    _sweep(tempfile.gettempdir())
    with _changing:
        if _ending.is_set():
            raise OSError(errno.ECANCELED, "the program is ending")
        new = Path(tempfile.mkdtemp(prefix=_NEW))
        lock = _lock(new)
        # Only now it has the name by which others find it: one of that name without a lock has no owner.
        folder = new.rename(new.with_name(_PREFIX + new.name.removeprefix(_NEW)))
        _mine.add(folder)
    return folder, lock


@contextlib.contextmanager
def folder_for_a_while() -> Iterator[Path]:
    """Make a folder, removed after the block."""
    folder, lock = make()
    try:
        yield folder
    finally:
        remove(folder)
        unlock(lock)


def _remove_rest() -> None:
    """At the end of the process, remove the folders of calls whose threads it leaves behind."""
    _ending.set()
    with _changing:
        rest = list(_mine)
    for folder in rest:
        # A thread that still uses the folder finds it no longer, so that it cannot fill it during the removal.
        with contextlib.suppress(OSError):
            remove(folder.rename(folder.with_name(f"{folder.name}-0")))


atexit.register(_remove_rest)
if hasattr(os, "register_at_fork"):
    # The folders are the parent's.
    os.register_at_fork(before=_changing.acquire, after_in_parent=_changing.release, after_in_child=_changing.release)
    os.register_at_fork(after_in_child=_mine.clear)


def _lock(folder: Path) -> int:
    """Return a descriptor that locks a folder until this process is gone; -1 where someone else has it."""
    try:
        import fcntl

        descriptor = os.open(folder, _OPEN_DIRECTORY)
    except (ImportError, OSError):
        return -1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def unlock(descriptor: int) -> None:
    """Release the lock of `make`."""
    if descriptor >= 0:
        os.close(descriptor)


@functools.cache
def _sweep(parent: str) -> None:
    """Remove, once per process, the folders of killed processes."""
    if not hasattr(os, "geteuid"):
        return
    for folder in [*Path(parent).glob(f"{_PREFIX}*"), *Path(parent).glob(f"{_NEW}*")]:
        with contextlib.suppress(OSError):
            folder_stat = folder.lstat()
            is_left = folder.name.startswith(_PREFIX) or time.time() - folder_stat.st_mtime > _MIN_AGE
            if is_left and stat.S_ISDIR(folder_stat.st_mode) and folder_stat.st_uid == os.geteuid():
                descriptor = _lock(folder)
                if descriptor >= 0:
                    remove(folder)
                    os.close(descriptor)


def is_within(directory: int, budget: int) -> bool:
    """Return whether the tree holds at most `budget` bytes, and neither too many entries nor too deep ones."""
    left = [budget, _MAX_ENTRIES]
    _count(directory, left, _MAX_DEPTH)
    return min(left) >= 0


def _count(directory: int, left: list[int], depth: int) -> None:
    """Take the files beneath a directory off the rest; the tree may be changing meanwhile."""
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
                    os.unlink(entry.path)  # noqa: PTH108 - `entry` is not a Path
                    continue
                number += 1
                # Moving a directory needs the right to write to it.
                os.chmod(entry.path, 0o700)  # noqa: PTH101 - as above
                pending.append(Path(entry.path).rename(scratch.with_name(f"{scratch.name}-{number}")))
            directory.rmdir()
    with _changing:
        _mine.discard(scratch)
