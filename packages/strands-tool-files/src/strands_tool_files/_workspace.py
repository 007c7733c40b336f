"""The workspace: one root directory and its mounts, and every way to a place inside them."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strands_tool_files._directory import Directory, open_directory
from strands_tool_files._names import fold, printable, protected, require_unprotected, split
from strands_tool_files._walk import OpenLocation, located
from strands_tool_kit import ToolError

_CODES = {
    errno.ENOENT: ("invalid_input", "not-found", "does not exist"),
    errno.ENOTDIR: ("invalid_input", "not-a-directory", "a part of the path is not a directory"),
    errno.EISDIR: ("invalid_input", "is-a-directory", "is a directory"),
    errno.EEXIST: ("invalid_input", "exists", "exists already"),
    errno.ENAMETOOLONG: ("invalid_input", "path", "the path or a name in it is too long"),
    errno.EINVAL: ("invalid_input", "path", "is not a name this file system accepts"),
    errno.ELOOP: ("sandbox_violation", "link", "is a link that is not followed, or a loop of links"),
    errno.EXDEV: ("sandbox_violation", "outside", "leads out of the workspace"),
    errno.EACCES: ("denied", "permission", "the operating system denies access"),
    errno.EPERM: ("denied", "permission", "the operating system denies access"),
    errno.EROFS: ("denied", "permission", "the file system is read-only"),
    errno.ENXIO: ("invalid_input", "not-a-file", "is not a regular file"),
}

_OUTSIDE = "to permit it, name the folder in the workflow, `env: {mounts: {data: FOLDER}}`, and write @data/FILE"


@dataclass(frozen=True, slots=True)
class WorkspacePath:
    """A place in the workspace and the path it is called by (`reports/may.md`, `@data/may.csv`)."""

    place: OpenLocation
    shown: str


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where the file tools may go: `root`, the `mounts` by name, and `protected` paths, which no tool writes.

    All three are configuration and trusted; only paths that come with a call are not.
    """

    root: Path
    mounts: Mapping[str, Path] = field(default_factory=dict)
    protected: tuple[Path, ...] = ()

    @classmethod
    def of(cls, workspace: Any) -> Workspace:
        """Read the `workspace` of the calling contract.

        Args:
            workspace: A path, or `{"root": path, "mounts": {name: path}, "protected": [paths]}` with every key
                optional, or None for the current directory. Protected paths may be relative to the root.
        """
        if not isinstance(workspace, Mapping):
            workspace = {"root": workspace}
        root = os.fspath(workspace.get("root") or ".")
        mounts = workspace.get("mounts") or {}
        # Relative paths mean something else in another directory.
        current = "" if os.path.isabs(root) and not mounts else os.getcwd()  # noqa: PTH109, PTH117 - a Path costs more
        return _workspace(root, tuple(mounts.items()), tuple(workspace.get("protected") or ()), current)

    @contextlib.contextmanager
    def at(self, path: str, *, writing: bool = False) -> Iterator[WorkspacePath]:
        """Locate a path of a call for the length of a block, and turn errors of the system into refusals.

        Raises:
            ToolError: The path is refused, or the block's own work on it fails.
        """
        base, parts, prefix = self._start(path)
        shown_path = _shown(prefix, parts)
        # Twice, as written and as resolved: the answer must not tell whether a protected path exists.
        require_unprotected(parts, shown_path, writing=writing)
        if prefix:
            require_unprotected(_names_of(base), shown_path, writing=writing)
        try:
            root = open_directory(str(base))
        except OSError as error:
            raise ToolError(
                "unavailable", f"the workspace cannot be opened: {error.strerror}", reason="root"
            ) from error
        try:
            with located(root, parts) as location:
                if location.names != parts:
                    require_unprotected(location.names, shown_path, writing=writing)
                if writing:
                    self._require_writable(base, location, shown_path)
                yield WorkspacePath(location, shown_path)
        except OSError as error:
            raise refusal_for(error, shown_path, self.mounts) from error
        finally:
            root.close()

    def make_parents(self, path: str) -> None:
        """Make the missing parent directories of a path of a call, one by one, none of them protected.

        A path with `..` makes none: the folders that it steps back over would be left behind.

        Raises:
            ToolError: As `at`; names protected by themselves are refused before anything is made.
        """
        base, parts, prefix = self._start(path)
        require_unprotected(parts if not prefix else (*_names_of(base), *parts), _shown(prefix, parts), writing=True)
        if ".." in parts:
            return
        start = prefix or str(base)
        for length in range(1, len(parts)):
            step = "/".join([start, *parts[:length]])
            with self.at(step, writing=True) as target:
                if target.place.name and identity_of(target.place.parent, target.place.name) is None:
                    with contextlib.suppress(FileExistsError):
                        target.place.parent.mkdir(target.place.name)

    def _start(self, path: str) -> tuple[Path, tuple[str, ...], str]:
        """Split a path into the directory it starts from, its components, and the prefix it is shown with."""
        if _is_anchored(path):
            return self._relative(path)
        parts = split(path)
        if parts and parts[0].startswith("@") and parts[0][1:] in self.mounts and not path.startswith("./"):
            return self.mounts[parts[0][1:]], parts[1:], parts[0]
        return self.root, parts, ""

    def _relative(self, path: str) -> tuple[Path, tuple[str, ...], str]:
        """Accept an absolute path that lies textually in the root or a mount; its target is checked later."""
        for prefix, base in [("", self.root), *((f"@{name}", mount) for name, mount in self.mounts.items())]:
            for spelling in (base, Path(os.path.realpath(base))):
                with contextlib.suppress(ValueError):
                    return base, split(Path(path).relative_to(spelling).as_posix()), prefix
        raise ToolError(
            "sandbox_violation",
            f"{printable(path)[:200]} lies outside the workspace; give a path relative to it",
            reason="outside",
            fix=_OUTSIDE,
        )

    def _require_writable(self, base: Path, location: OpenLocation, shown_path: str) -> None:
        """Raise when the place is one of the protected paths, beneath one, or another name of one."""
        real_base = Path(os.path.realpath(base))
        folded = tuple(map(fold, location.names))
        identity = identity_of(location.parent, location.name) if location.name else None
        for path in self.protected:
            real = Path(os.path.realpath(path))
            if real.is_relative_to(real_base):
                wall = tuple(map(fold, real.relative_to(real_base).parts))
                if folded[: len(wall)] == wall:
                    raise protected(shown_path, "it belongs to the running workflow and is protected")
            with contextlib.suppress(OSError):
                status = real.stat()
                if identity == (status.st_dev, status.st_ino):
                    raise protected(shown_path, "it is another name of a protected file")


@functools.lru_cache(maxsize=16)
def _workspace(root: str, mounts: tuple[tuple[str, Any], ...], protected: tuple[Any, ...], current: str) -> Workspace:
    """Make the workspace of a host once: to make it takes as long as to open a file in it."""
    base = Path(root).absolute()
    return Workspace(
        base, {name: Path(path).absolute() for name, path in mounts}, tuple(base / path for path in protected)
    )


@functools.lru_cache(maxsize=64)
def _names_of(mount: Path) -> tuple[str, ...]:
    """Return the components of a mount's own path, as configured and as resolved, which protect the files below it."""
    return (*mount.parts, *Path(os.path.realpath(mount)).parts)


def identity_of(directory: Directory, name: str) -> tuple[int, int] | None:
    """Return device and inode of the entry with a name, or None without one."""
    try:
        status = directory.lstat(name)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def refusal_for(error: OSError, shown_path: str, mounts: Mapping[str, Path] | None = None) -> ToolError:
    """Turn an error of the operating system into the shared vocabulary."""
    code, reason, words = _CODES.get(
        error.errno or 0, ("unavailable", "system", error.strerror or "the operating system refuses")
    )
    mount_names = (
        f"; mounts: {', '.join('@' + name for name in mounts)}" if mounts and shown_path.startswith("@") else ""
    )
    details: dict[str, Any] = {"reason": reason, "path": shown_path} | (
        {"fix": _OUTSIDE} if reason == "outside" else {}
    )
    return ToolError(code, f"{shown_path}: {words}{mount_names}", **details)


def _is_anchored(path: str) -> bool:
    """Return whether a path begins at a root or a drive."""
    # A Path is needed on Windows only, and costs as much as the open itself.
    return path.startswith("/") or (os.name == "nt" and bool(Path(path).anchor))


def _shown(prefix: str, parts: tuple[str, ...]) -> str:
    return printable("/".join([*([prefix] if prefix else []), *parts]) or ".")
