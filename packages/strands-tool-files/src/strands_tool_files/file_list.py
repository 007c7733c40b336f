"""The tool `file_list`: list a directory of the workspace, never following a link."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from strands_tool_files._directory import Directory
from strands_tool_files._glob import matches
from strands_tool_files._names import fold, is_secret, printable
from strands_tool_files._spec import NOTICES, path, reads_files
from strands_tool_files._tree import levels, opened
from strands_tool_files._workspace import Workspace, WorkspacePath
from strands_tool_kit import CallContext, answer, read_input
from strands_tool_kit.spec import array, boolean, choice, for_programs, hints, inputs, integer, outputs, record, string

TOOL_SPEC: dict[str, Any] = {
    "name": "file_list",
    "description": (
        "List files and directories inside the workspace, the nearest first. Directories end with '/', links with "
        "'@' and are not followed. Use 'depth' for subdirectories and 'pattern' to filter, for example '*.csv' or "
        "'src/**/*.py'."
    ),
    "inputSchema": inputs(
        {
            "path": path("Directory relative to the workspace, or '@mount/path'.", default="."),
            "pattern": string(
                "Only entries that fit; without '/' it is compared with the name alone.", length=(1, 256)
            ),
            "depth": integer("How many levels to list; 1 is the directory itself.", between=(1, 20), default=1),
            "include_hidden": boolean("Also names that begin with a dot.", default=False),
            "max_entries": integer("Stop after so many entries.", between=(1, 2000), default=200),
        }
    ),
    "outputSchema": outputs(
        {
            "path": string(),
            **for_programs(
                entries=array(
                    record(
                        {
                            "path": string("Relative to the directory listed."),
                            "type": choice(["file", "directory", "link", "other"]),
                            "size": integer("Bytes, of files."),
                            "modified": integer("Seconds since 1970-01-01 UTC, of files."),
                        },
                        optional=["size", "modified"],
                    )
                )
            ),
            "truncated": boolean("Whether a limit ended the list."),
            **for_programs(notices=NOTICES),
        }
    ),
    "annotations": hints("List files", reads_only=True),
    "strands_cli": reads_files(524288),
}

MAX_LOOKED_AT = 50_000
MAX_OUTPUT = 131_072
MAX_SECONDS = 15.0


@dataclass(slots=True)
class _Listing:
    """The entries so far, and why the list is incomplete."""

    max_entries: int
    entries: list[dict[str, Any]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    is_truncated: bool = False
    looked_at: int = 0
    size: int = 0
    until: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)

    def add(self, entry: dict[str, Any]) -> None:
        """Take an entry unless a limit is reached."""
        size = len(entry["path"].encode()) + 60
        if len(self.entries) >= self.max_entries:
            self.stop(f"only the first {self.max_entries} entries are listed")
        elif self.size + size > MAX_OUTPUT:
            self.stop(f"the list is limited to {MAX_OUTPUT} bytes")
        else:
            self.entries.append(entry)
            self.size += size

    def look(self) -> None:
        """Count one entry looked at."""
        self.looked_at += 1
        if self.looked_at > MAX_LOOKED_AT:
            self.stop(f"only {MAX_LOOKED_AT} entries were looked at")
        elif time.monotonic() > self.until:
            self.stop(f"the search is limited to {MAX_SECONDS:.0f} seconds")

    def stop(self, notice: str) -> None:
        """End the list."""
        if not self.is_truncated:
            self.notices.append(notice)
        self.is_truncated = True


def file_list(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """List the directory of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli` may carry `workspace` (a path, or root, mounts and protected
            paths; the current directory by default).

    Returns:
        A Strands tool result: one line an entry, sorted by level and name, and a JSON block with the same entries.
    """
    context = CallContext.of(kwargs)

    def work() -> tuple[str, dict[str, Any]]:
        values = read_input(tool, TOOL_SPEC)
        workspace = Workspace.of(context.workspace)
        with workspace.at(values["path"]) as target:
            listing = _list(target, values, context)
        if workspace.mounts and target.shown == ".":
            listing.notices.append(f"mounts: {', '.join('@' + name for name in workspace.mounts)}")
        return _text(listing), {
            "path": target.shown,
            "entries": listing.entries,
            "truncated": listing.is_truncated,
            "notices": listing.notices,
        }

    return answer(tool, work)


def _list(target: WorkspacePath, values: dict[str, Any], context: CallContext) -> _Listing:
    """Go through the tree level by level, opening each directory again beneath the one listed."""
    listing = _Listing(values["max_entries"])
    unreadable: list[tuple[str, ...]] = []

    def is_entered(names: tuple[str, ...], status: os.stat_result) -> bool:
        return stat.S_ISDIR(status.st_mode) and len(names) < values["depth"] and _is_wanted(names[-1], values)

    statuses = functools.partial(_statuses, listing=listing, context=context)
    with opened(target.place) as top, contextlib.closing(levels(top, statuses, is_entered, unreadable.append)) as tree:
        for _, children in tree:
            for names, status in children:
                _take(listing, names, status, values)
            if listing.is_truncated:
                break
    if unreadable:
        listing.notices.append(f"{len(unreadable)} director{'y' if len(unreadable) == 1 else 'ies'} could not be read")
    return listing


def _is_wanted(name: str, values: dict[str, Any]) -> bool:
    return not is_secret(fold(name)) and (values["include_hidden"] or not name.startswith("."))


def _statuses(here: Directory, listing: _Listing, context: CallContext) -> Iterator[tuple[str, os.stat_result]]:
    for entry in here.entries():
        context.require_time()
        listing.look()
        if listing.is_truncated:
            return
        with contextlib.suppress(FileNotFoundError):  # Removed since it was read.
            yield entry.name, entry.stat(follow_symlinks=False)


def _take(listing: _Listing, names: tuple[str, ...], status: os.stat_result, values: dict[str, Any]) -> None:
    """Add an entry if it is visible and fits the pattern."""
    if names[-1].startswith(".") and not values["include_hidden"]:
        return
    if values["pattern"] and not matches(values["pattern"], names):
        return
    entry: dict[str, Any] = {"path": printable("/".join(names)), "type": _type(status.st_mode)}
    if entry["type"] == "file":
        entry |= {"size": status.st_size, "modified": int(status.st_mtime)}
    listing.add(entry)


def _type(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def _text(listing: _Listing) -> str:
    """Return one line an entry, as `ls -F` marks them, then the notices about the list."""
    marks = {"directory": "/", "link": "@", "other": "?"}
    lines = [
        f"{entry['path']}  ({entry['size']} bytes, {_moment(entry['modified'])})"
        if entry["type"] == "file"
        else entry["path"] + marks[entry["type"]]
        for entry in listing.entries
    ]
    return "\n".join([*(lines or ["(nothing to list)"]), *(f"[{notice}]" for notice in listing.notices)])


def _moment(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(max(seconds, 0)))
