"""One open directory, and the operations on the names in it: by descriptor where the system can, else by path."""

from __future__ import annotations

import errno
import functools
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from strands_tool_files import _openat2

# Names that some systems lack are 0 there: the flag then says nothing.
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
# A descriptor that only names the directory needs no read permission on it.
_PLACE = getattr(os, "O_PATH", os.O_RDONLY)

_UNNAMED = getattr(os, "O_TMPFILE", 0)

HAS_DESCRIPTORS = {os.open, os.mkdir, os.stat, os.rename, os.unlink, os.readlink, os.link} <= os.supports_dir_fd


@functools.cache
def _has_descriptor_files() -> bool:
    """Return whether a descriptor has a path, by which its file gets a name."""
    return Path("/proc/self/fd").is_dir()


class Directory(Protocol):
    """An open directory. A `name` is always one component; no operation follows a link of that name."""

    def enter(self, name: str) -> Directory:
        """Open a child directory; ELOOP or ENOTDIR when it is a link or no directory."""

    def enter_all(self, names: tuple[str, ...]) -> Directory | None:
        """Open a descendant in one step if the system can and no link is on the way; None means walk instead."""

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Open a child file without blocking and return its descriptor."""

    def open_unnamed(self) -> int | None:
        """Open a file without a name, which no end of the process leaves behind; None where there is none."""

    def name(self, descriptor: int, name: str) -> None:
        """Give a file of `open_unnamed` its name; EEXIST when something has that name."""

    def lstat(self, name: str) -> os.stat_result:
        """Return the status of the entry with the name."""

    def readlink(self, name: str) -> str:
        """Return the target of a link; EINVAL when it is none."""

    def mkdir(self, name: str) -> None:
        """Make a child directory."""

    def unlink(self, name: str) -> None:
        """Remove a child file."""

    def publish(self, temporary: str, name: str, *, replace: bool) -> None:
        """Give a finished file its name at once; EEXIST when something has that name and `replace` is false."""

    def entries(self) -> Iterator[os.DirEntry[str]]:
        """Yield the entries in the order of the file system."""

    def sync(self) -> None:
        """Make the names durable, as far as the system can."""

    def close(self) -> None:
        """Give the descriptor back."""


class DescriptorDirectory:
    """A directory held by descriptor: nothing that happens to paths can move it elsewhere."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def at(cls, path: str) -> DescriptorDirectory:
        """Open a trusted path, links included."""
        return cls(os.open(path, _PLACE | _DIRECTORY | _CLOEXEC))

    def enter(self, name: str) -> DescriptorDirectory:
        flags = _PLACE | _DIRECTORY | _NOFOLLOW | _CLOEXEC
        return DescriptorDirectory(os.open(name, flags, dir_fd=self._descriptor))

    def enter_all(self, names: tuple[str, ...]) -> DescriptorDirectory | None:
        if not _openat2.is_available() or ".." in names:
            return None
        try:
            path = "/".join(names) or "."
            return DescriptorDirectory(_openat2.open_beneath(self._descriptor, path, _PLACE | _DIRECTORY))
        except OSError:
            # The walk finds the fault, and expands links.
            return None

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        return os.open(name, flags | _NOFOLLOW | _NONBLOCK | _CLOEXEC, mode, dir_fd=self._descriptor)

    def open_unnamed(self) -> int | None:
        if not _UNNAMED or not _has_descriptor_files():
            return None
        try:
            return os.open(".", os.O_WRONLY | _UNNAMED | _CLOEXEC, 0o666, dir_fd=self._descriptor)
        except OSError:
            # Not every file system has them; the caller's next attempt finds other faults.
            return None

    def name(self, descriptor: int, name: str) -> None:
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=self._descriptor, follow_symlinks=True)

    def lstat(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)

    def readlink(self, name: str) -> str:
        return os.readlink(name, dir_fd=self._descriptor)

    def mkdir(self, name: str) -> None:
        os.mkdir(name, dir_fd=self._descriptor)

    def unlink(self, name: str) -> None:
        os.unlink(name, dir_fd=self._descriptor)

    def publish(self, temporary: str, name: str, *, replace: bool) -> None:
        here = self._descriptor
        if replace:
            os.rename(temporary, name, src_dir_fd=here, dst_dir_fd=here)
            return
        try:
            # link() is the portable rename that refuses an existing name.
            os.link(temporary, name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
                raise
            # No hard links here (FAT, some network file systems): reserve the name, then take it.
            os.close(self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            os.rename(temporary, name, src_dir_fd=here, dst_dir_fd=here)
            return
        os.unlink(temporary, dir_fd=here)

    def entries(self) -> Iterator[os.DirEntry[str]]:
        descriptor = self._readable()
        try:
            with os.scandir(descriptor) as scandir_iterator:
                yield from scandir_iterator
        finally:
            os.close(descriptor)

    def sync(self) -> None:
        try:
            descriptor = self._readable()
        except PermissionError:
            return  # One may write in a directory one may not list; the file itself is flushed.
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # Some network file systems cannot.
                raise
        finally:
            os.close(descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def _readable(self) -> int:
        return os.open(".", os.O_RDONLY | _DIRECTORY | _CLOEXEC, dir_fd=self._descriptor)


class PathDirectory:
    """A directory held by its resolved path, for systems without `dir_fd` (Windows): resolve, then verify.

    Best effort: between the check and the use another process may exchange a directory for a link or junction.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def at(cls, path: str) -> PathDirectory:
        """Resolve a trusted path, links included."""
        resolved = Path(path).resolve(strict=True)
        if not resolved.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return cls(resolved)

    def enter(self, name: str) -> PathDirectory:
        child = self._verified(name)
        if not stat.S_ISDIR(child.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
        return PathDirectory(child)

    def enter_all(self, names: tuple[str, ...]) -> PathDirectory | None:
        return None

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        path = self._verified(name)
        descriptor = os.open(path, flags | _NOFOLLOW | _NONBLOCK | _BINARY, mode)
        try:
            self._verified(name)
            if not os.path.samestat(os.fstat(descriptor), path.lstat()):
                raise OSError(errno.ELOOP, "the file was exchanged while it was opened", name)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def open_unnamed(self) -> int | None:
        return None

    def name(self, descriptor: int, name: str) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), name)

    def lstat(self, name: str) -> os.stat_result:
        return (self._path / name).lstat()

    def readlink(self, name: str) -> str:
        return str((self._path / name).readlink())

    def mkdir(self, name: str) -> None:
        self._verified(name).mkdir()

    def unlink(self, name: str) -> None:
        (self._path / name).unlink()

    def publish(self, temporary: str, name: str, *, replace: bool) -> None:
        target = self._verified(name)
        if not replace and target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
        # Where this class is used, on Windows, rename() itself refuses an existing name.
        publish = os.replace if replace else os.rename
        publish(self._path / temporary, target)

    def entries(self) -> Iterator[os.DirEntry[str]]:
        with os.scandir(self._path) as scandir_iterator:
            yield from scandir_iterator

    def sync(self) -> None:
        """Do nothing: a directory has no descriptor to flush here."""

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _verified(self, name: str) -> Path:
        """Return the child's path, or raise ELOOP when it is a link, a junction or another name of something else."""
        child = self._path / name
        try:
            status = child.lstat()
        except FileNotFoundError:
            return child
        is_elsewhere = os.path.normcase(child.resolve()) != os.path.normcase(child)
        if stat.S_ISLNK(status.st_mode) or is_elsewhere:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        return child


def open_directory(path: str) -> Directory:
    """Open a trusted directory the best way this system has."""
    return DescriptorDirectory.at(path) if HAS_DESCRIPTORS else PathDirectory.at(path)
