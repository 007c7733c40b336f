"""Find a place beneath a directory, expanding links that stay beneath it, one component at a time."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import PurePath

from strands_tool_files._directory import Directory

_MAX_LINKS = 40  # as in Linux's path lookup
_MAX_COMPONENTS = 1_000
# O_NOFOLLOW on a link: ELOOP by POSIX, EMLINK on FreeBSD, ENOTDIR together with O_DIRECTORY.
_MAYBE_LINK = (errno.ELOOP, errno.EMLINK, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class OpenLocation:
    """A name in an open directory; `name` is empty where the place is that directory itself.

    `names` are the components from the root once every link is expanded.
    """

    parent: Directory
    name: str
    names: tuple[str, ...]


class located:  # noqa: N801 - used like a function; a class costs a third of a generator's context manager
    """Locate a path beneath a root; descriptors opened on the way are closed at the end of the block.

    The last component need not exist, and is not a link (unless another process makes it one: open it without
    following). Two ways lead there and agree: `openat2` where nothing on the way is a link, else a walk that
    opens each component without following and puts a link's target in its place, so that at no moment a path
    is resolved by name from above the root.

    Raises:
        OSError: EXDEV when the path leads out of the root, else as `open(2)`.
    """

    __slots__ = ("_opened", "_parts", "_root")

    def __init__(self, root: Directory, parts: tuple[str, ...]) -> None:
        self._root = root
        self._parts = parts
        self._opened: list[Directory] = []

    def __enter__(self) -> OpenLocation:
        try:
            location = _direct(self._root, self._parts, self._opened)
            return location or _walked(self._root, self._parts, self._opened)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *failure: object) -> None:
        for directory in reversed(self._opened):
            directory.close()


def _direct(root: Directory, parts: tuple[str, ...], directories: list[Directory]) -> OpenLocation | None:
    """Locate in one step, or return None when the walk has to look."""
    parent = root.enter_all(parts[:-1]) if parts and parts[-1] != ".." else None
    if parent is None:
        return None
    directories.append(parent)
    return None if _link_target(parent, parts[-1]) is not None else OpenLocation(parent, parts[-1], parts)


def _walked(root: Directory, parts: tuple[str, ...], directories: list[Directory]) -> OpenLocation:
    trail: list[tuple[str, Directory]] = [("", root)]
    pending = list(reversed(parts))
    links = components = 0
    while pending:
        components += 1
        if components > _MAX_COMPONENTS:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        part = pending.pop()
        here = trail[-1][1]
        if part in ("", "."):
            continue
        if part == "..":
            # Going up takes the descriptor we came by; `..` itself may lead elsewhere after a rename.
            _require_inside(len(trail) > 1)
            trail.pop()
            continue
        step = _step(here, part, is_last=not pending)
        if step is None:
            return OpenLocation(here, part, (*_names(trail), part))
        if isinstance(step, str):
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            pending.extend(_target_parts(step))
            continue
        directories.append(step)
        trail.append((part, step))
    return OpenLocation(trail[-1][1], "", _names(trail))


def _step(here: Directory, part: str, *, is_last: bool) -> Directory | str | None:
    """Return a link's target, or the child directory entered, or None at the end of the path."""
    target = _link_target(here, part)
    if target is not None or is_last:
        return target
    try:
        return here.enter(part)
    except OSError as error:
        if error.errno in _MAYBE_LINK and (target := _link_target(here, part)) is not None:
            return target  # It has just become one.
        raise


def _link_target(here: Directory, name: str) -> str | None:
    try:
        return here.readlink(name)
    except OSError as error:
        # EINVAL: no link. The next use of the name reports anything else.
        if error.errno in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR, errno.EACCES):
            return None
        raise


def _target_parts(target: str) -> list[str]:
    """Split a link's target, last component first; an absolute one leads out by definition."""
    _require_inside(not PurePath(target).anchor)
    portable = target.replace("\\", "/") if os.sep == "\\" else target
    return portable.split("/")[::-1]


def _names(trail: list[tuple[str, Directory]]) -> tuple[str, ...]:
    return tuple(name for name, _ in trail[1:])


def _require_inside(condition: bool) -> None:
    if not condition:
        # The error of openat2 for such a path.
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
