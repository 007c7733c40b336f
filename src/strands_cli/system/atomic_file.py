"""Write a file so that no reader sees a part of it, and no end of the process leaves one."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import IO

# Whether other users of this machine can change a file (POSIX only).


def who_else_writes(path: Path, trusted: Collection[int]) -> str | None:
    """Return how users beside the trusted ones can change a file or a folder; None if they cannot, or it is missing.

    Args:
        trusted: The numbers of users who may own it.
    """
    if sys.platform == "win32":
        return None
    try:
        path_stat = path.stat()
    except OSError:
        return None
    is_shared = stat.S_ISDIR(path_stat.st_mode) and path_stat.st_mode & stat.S_ISVTX
    if path_stat.st_uid not in trusted:
        return f"it belongs to another user (uid {path_stat.st_uid})"
    if path_stat.st_mode & stat.S_IWOTH and not is_shared:
        return "every user can write to it"
    return None


def own_users() -> tuple[int, ...]:
    """Return the numbers of the users whose files this process trusts: root, and its own."""
    return () if sys.platform == "win32" else (0, os.geteuid())


def user_name() -> str:
    """Return the name of the user of this process, as the system has it and not a variable; a number without one."""
    try:
        import pwd

        return pwd.getpwuid(os.geteuid()).pw_name
    except ImportError:  # Windows
        return os.environ.get("USERNAME", "")
    except KeyError:  # in a container
        return str(os.geteuid())


_UNNAMED = getattr(os, "O_TMPFILE", 0)
_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.partial")
# Far longer than a write takes.
_MAX_AGE_S, _MAX_ENTRIES = 3600, 10_000


def write_atomically(target: Path, content: bytes, *, force: bool, mode: int) -> None:
    """Write a file without a name and give it the target's, or write a temporary file and rename it.

    Args:
        target: The file.
        content: Its content.
        force: Whether to overwrite an existing file; without it, one that appears in the meantime is an error too.
        mode: Its permissions, before the umask.

    Raises:
        FileExistsError: The target exists, and `force` is off.
        OSError: It cannot be written.
    """
    _remove_old(target.parent)
    # The name does not contain the target's, which may have the greatest length that the file system allows.
    partial = target.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        if not _written_unnamed(target, partial, content, force=force, mode=mode):
            # O_EXCL does not follow links.
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
                _fill(stream, content)
            _put_in_place(partial, target, force=force, mode=mode)
    finally:
        partial.unlink(missing_ok=True)


def _written_unnamed(target: Path, partial: Path, content: bytes, *, force: bool, mode: int) -> bool:
    """Write a file without a name until it is complete; return False where there is none, or it can get no name."""
    if not _UNNAMED or not Path("/proc/self/fd").is_dir():
        return False
    folder = os.open(target.parent, getattr(os, "O_PATH", os.O_RDONLY))
    try:
        try:
            handle = os.open(".", os.O_WRONLY | _UNNAMED, mode, dir_fd=folder)
        except OSError:  # not every file system has them; the next attempt finds other faults
            return False
        with os.fdopen(handle, "wb") as stream:
            _fill(stream, content)
            return _is_named(stream, folder, target, partial, force=force)
    finally:
        os.close(folder)


def _is_named(stream: IO[bytes], folder: int, target: Path, partial: Path, *, force: bool) -> bool:
    """Give a complete file the target's name; for the moment of a replacement it has that of a temporary file."""
    path = f"/proc/self/fd/{stream.fileno()}"
    try:
        with contextlib.suppress(*([FileExistsError] if force else [])):
            os.link(path, target.name, dst_dir_fd=folder, follow_symlinks=True)
            return True
        os.link(path, partial.name, dst_dir_fd=folder, follow_symlinks=True)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):  # no hard links here
        return False
    partial.replace(target)
    return True


def _fill(stream: IO[bytes], content: bytes) -> None:
    stream.write(content)
    stream.flush()
    os.fsync(stream.fileno())


def _put_in_place(partial: Path, target: Path, *, force: bool, mode: int) -> None:
    if not force:
        try:
            # A hard link fails if the name exists; a check before a rename would not be atomic.
            os.link(partial, target)
        except FileExistsError:
            raise
        except (OSError, AttributeError, NotImplementedError):
            # A file system without hard links (exFAT, many network shares): create the file, then replace it.
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        else:
            return
    partial.replace(target)


def _remove_old(folder: Path) -> None:
    """Remove temporary files that killed processes of the same user have left."""
    if not hasattr(os, "geteuid"):
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in itertools.islice(entries, _MAX_ENTRIES):
            if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _MAX_AGE_S:
                    Path(entry.path).unlink()
