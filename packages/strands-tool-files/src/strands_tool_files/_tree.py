"""The files beneath a directory, nearest first, each directory opened again beneath the top and no link followed."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Generator, Iterator

from strands_tool_files._directory import Directory
from strands_tool_files._names import fold, is_secret
from strands_tool_files._walk import located
from strands_tool_kit import ToolError

_MAX_DEPTH = 40


def files_beneath(
    top: Directory, look: Callable[[], bool], skip: Callable[[], None]
) -> Generator[tuple[Directory, tuple[str, ...]], None, None]:
    """Yield the regular files of a tree with the open directory they stand in, sorted by level and name.

    Hidden names and those that may hold credentials are left out, links are not followed. Close the iterator to
    give the open directory back.

    Args:
        top: The directory the tree begins with.
        look: Called for each entry; False ends the walk.
        skip: Called for each directory that cannot be read.
    """
    pending: collections.deque[tuple[str, ...]] = collections.deque([()])
    while pending:
        names = pending.popleft()
        try:
            with _opened(top, names) as here:
                kinds = sorted(_kinds(here, look))
                yield from ((here, (*names, name)) for name, is_directory in kinds if not is_directory)
        except (OSError, ToolError) as error:
            if not names or (isinstance(error, ToolError) and error.code != "sandbox_violation"):
                raise
            skip()
            continue
        if len(names) < _MAX_DEPTH:
            pending.extend((*names, name) for name, is_directory in kinds if is_directory)


@contextlib.contextmanager
def _opened(top: Directory, names: tuple[str, ...]) -> Iterator[Directory]:
    """Open a directory of the tree, which must not have become a link since its parent was read."""
    with located(top, names) as place:
        if place.names != names:
            raise ToolError("sandbox_violation", "links are not followed", reason="link")
        with contextlib.closing(place.parent.enter(place.name)) if place.name else contextlib.nullcontext(top) as here:
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
