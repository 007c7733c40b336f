"""The directories beneath a place, nearest first, each opened again beneath the top and no link followed."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TypeVar

from strands_tool_files._directory import Directory
from strands_tool_files._names import fold, is_secret
from strands_tool_files._walk import OpenLocation, located
from strands_tool_kit import ToolError

_MAX_DEPTH = 40
Names = tuple[str, ...]
Child = TypeVar("Child")


@contextlib.contextmanager
def opened(location: OpenLocation) -> Iterator[Directory]:
    """Open the directory at a place."""
    if not location.name:
        yield location.parent
        return
    with contextlib.closing(location.parent.enter(location.name)) as here:
        yield here


def levels(
    top: Directory,
    children_of: Callable[[Directory], Iterable[tuple[str, Child]]],
    is_entered: Callable[[Names, Child], bool],
    skip: Callable[[Names], object],
) -> Generator[tuple[Directory, list[tuple[Names, Child]]], None, None]:
    """Yield each directory while it is open, with its children sorted by name. Close the iterator to close it.

    Args:
        top: The directory the tree begins with.
        children_of: Returns the names in a directory, each with the known facts about it.
        is_entered: Whether a child is a directory of the tree.
        skip: Takes each directory that cannot be read.

    Raises:
        OSError: The top cannot be read.
        ToolError: The top is a link, or the call is over.
    """
    pending: collections.deque[Names] = collections.deque([()])
    while pending:
        names = pending.popleft()
        try:
            with _opened_again(top, names) as here:
                entries = sorted(children_of(here), key=lambda child: child[0])
                children = [((*names, name), child) for name, child in entries]
                yield here, children
        except (OSError, ToolError) as error:
            if not names or (isinstance(error, ToolError) and error.code != "sandbox_violation"):
                raise
            skip(names)
            continue
        pending.extend(name for name, child in children if is_entered(name, child))


def files_beneath(
    top: Directory, look: Callable[[], bool], skip: Callable[[Names], object]
) -> Generator[tuple[Directory, Names], None, None]:
    """Yield the regular files of a tree with the open directory they are in, sorted by level and name.

    Hidden names and those that may hold credentials are left out. Close the iterator to close the open directory.

    Args:
        top: The directory the tree begins with.
        look: Called for each entry; False ends the walk.
        skip: Takes each directory that cannot be read.
    """

    def is_entered(names: Names, is_directory: bool) -> bool:
        return is_directory and len(names) <= _MAX_DEPTH

    with contextlib.closing(levels(top, lambda here: _kinds(here, look), is_entered, skip)) as directories:
        for here, children in directories:
            yield from ((here, names) for names, is_directory in children if not is_directory)


@contextlib.contextmanager
def _opened_again(top: Directory, names: Names) -> Iterator[Directory]:
    """Open a directory of the tree, which must not have become a link since its parent was read."""
    with located(top, names) as location:
        if location.names != names:
            raise ToolError("sandbox_violation", "links are not followed", reason="link")
        with opened(location) if location.name else contextlib.nullcontext(top) as here:
            yield here


def _kinds(here: Directory, look: Callable[[], bool]) -> Iterator[tuple[str, bool]]:
    """Yield the names to go through, each with whether it is a directory."""
    for entry in here.entries():
        if not look():
            return
        if entry.name.startswith(".") or is_secret(fold(entry.name)):
            continue
        with contextlib.suppress(OSError):  # Removed since it was read.
            if entry.is_dir(follow_symlinks=False):
                yield entry.name, True
            elif entry.is_file(follow_symlinks=False):
                yield entry.name, False
