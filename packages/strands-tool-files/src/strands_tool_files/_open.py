"""Open a regular file, or refuse another entry with the reason."""

from __future__ import annotations

import contextlib
import os
import stat

from strands_tool_files._names import printable
from strands_tool_files._workspace import WorkspacePath
from strands_tool_kit import ToolError


def open_regular(target: WorkspacePath) -> int:
    """Open the file without blocking, and look at the opened file rather than at its name.

    Returns:
        A descriptor the caller closes.

    Raises:
        ToolError: `invalid_input` when nothing is there, or something else than a regular file.
        OSError: As `open(2)`; `Workspace.at` turns it into a refusal.
    """
    if not target.place.name:
        raise _is_directory(target)
    try:
        descriptor = target.place.parent.open(target.place.name, os.O_RDONLY)
    except FileNotFoundError:
        raise not_found(target) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise _is_directory(target)
    raise ToolError("invalid_input", f"{target.shown} is not a regular file", reason="not-a-file")


def not_found(target: WorkspacePath) -> ToolError:
    """Make the refusal of a missing file, with the names beside it that come close."""
    import difflib  # only a mistake pays for it
    import itertools

    beside: list[str] = []
    with contextlib.suppress(PermissionError):  # A directory that cannot be listed gives no hints.
        beside = [entry.name for entry in itertools.islice(target.place.parent.entries(), 1_000)]
    close = [printable(name) for name in difflib.get_close_matches(target.place.name, sorted(beside), n=3)]
    hint = f"; did you mean {' or '.join(close)}?" if close else "; file_list shows what is there"
    return ToolError("invalid_input", f"{target.shown} does not exist{hint}", reason="not-found", close=close)


def _is_directory(target: WorkspacePath) -> ToolError:
    return ToolError("invalid_input", f"{target.shown} is a directory; use file_list", reason="is-a-directory")
