"""The tool `file_list`: list a directory of the workspace, never following a link."""

from __future__ import annotations

import collections
import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from strands_tool_files._directory import Directory
from strands_tool_files._glob import matches
from strands_tool_files._names import fold, is_secret, printable
from strands_tool_files._walk import located
from strands_tool_files._workspace import Found, Workspace
from strands_tool_kit import CallContext, ToolError, answer, read_input

TOOL_SPEC = {
    "name": "file_list",
    "description": (
        "List files and directories inside the workspace, the nearest first. Directories end with '/', links with "
        "'@' and are not followed. Use 'depth' for subdirectories and 'pattern' to filter, for example '*.csv' or "
        "'src/**/*.py'."
    ),
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 4096,
                    "default": ".",
                    "description": "Directory relative to the workspace, or '@mount/path'.",
                },
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 256,
                    "description": "Only entries that fit; without '/' it is compared with the name alone.",
                },
                "depth": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 20,
                    "default": 1,
                    "description": "How many levels to list; 1 is the directory itself.",
                },
                "include_hidden": {
                    "type": "boolean",
                    "default": False,
                    "description": "Also names that begin with a dot.",
                },
                "max_entries": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 2000,
                    "default": 200,
                    "description": "Stop after so many entries.",
                },
            },
            "required": [],
            "additionalProperties": False,
        }
    },
    "outputSchema": {
        "json": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "entries": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "path": {"type": "string", "description": "Relative to the directory listed."},
                            "type": {"type": "string", "enum": ["file", "directory", "link", "other"]},
                            "size": {"type": "integer", "description": "Bytes, of files."},
                            "modified": {"type": "integer", "description": "Seconds since 1970-01-01 UTC, of files."},
                        },
                        "required": ["path", "type"],
                    },
                },
                "truncated": {"type": "boolean", "description": "Whether a limit ended the list."},
                "notices": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["path", "entries", "truncated", "notices"],
        }
    },
    "annotations": {
        "title": "List files",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
    "strands_cli": {
        "requires_confirmation": False,
        "capabilities": {
            "network": [],
            "filesystem": [{"path": ".", "mode": "read"}],
            "subprocess": False,
            "env": [],
            "secrets": [],
        },
        "resources": {"reads": ["file:{path}"], "writes": []},
        "timeout_s": 30,
        "max_output_bytes": 524288,
    },
}

MAX_LOOKED_AT = 50_000
MAX_OUTPUT = 131_072
MAX_SECONDS = 15.0


@dataclass(slots=True)
class _Listing:
    """What has been found so far, and why it is not everything."""

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
        given = read_input(tool, TOOL_SPEC)
        workspace = Workspace.of(context.workspace)
        with workspace.at(given["path"]) as found:
            listing = _list(found, given, context)
        if workspace.mounts and found.shown == ".":
            listing.notices.append(f"mounts: {', '.join('@' + name for name in workspace.mounts)}")
        return _text(listing), {
            "path": found.shown,
            "entries": listing.entries,
            "truncated": listing.is_truncated,
            "notices": listing.notices,
        }

    return answer(tool, work)


def _list(found: Found, given: dict[str, Any], context: CallContext) -> _Listing:
    """Go through the tree level by level, opening each directory again beneath the one listed."""
    listing = _Listing(given["max_entries"])
    place = found.place
    top = place.parent.enter(place.name) if place.name else place.parent
    pending: collections.deque[tuple[str, ...]] = collections.deque([()])
    unreadable = 0
    try:
        while pending and not listing.is_truncated:
            names = pending.popleft()
            try:
                children = _children(top, names, listing, context)
            except (OSError, ToolError) as error:
                if not names or (isinstance(error, ToolError) and error.code != "sandbox_violation"):
                    raise
                unreadable += 1
                continue
            for name, status in children:
                _take(listing, (*names, name), status, given)
                if stat.S_ISDIR(status.st_mode) and len(names) + 1 < given["depth"] and _is_wanted(name, given):
                    pending.append((*names, name))
    finally:
        if top is not place.parent:
            top.close()
    if unreadable:
        listing.notices.append(f"{unreadable} director{'y' if unreadable == 1 else 'ies'} could not be read")
    return listing


def _is_wanted(name: str, given: dict[str, Any]) -> bool:
    return not is_secret(fold(name)) and (given["include_hidden"] or not name.startswith("."))


def _children(
    top: Directory, names: tuple[str, ...], listing: _Listing, context: CallContext
) -> list[tuple[str, os.stat_result]]:
    """Return the entries of one directory of the tree, sorted by name, with their status."""
    with located(top, names) as place:
        if place.names != names:
            # It has become a link since its parent was read.
            raise ToolError("sandbox_violation", "links are not followed", reason="link")
        with contextlib.closing(place.parent.enter(place.name)) if place.name else contextlib.nullcontext(top) as here:
            return sorted(_statuses(here, listing, context), key=lambda child: child[0])


def _statuses(here: Directory, listing: _Listing, context: CallContext) -> Iterator[tuple[str, os.stat_result]]:
    for entry in here.entries():
        context.require_time()
        listing.look()
        if listing.is_truncated:
            return
        with contextlib.suppress(FileNotFoundError):  # Removed since it was read.
            yield entry.name, entry.stat(follow_symlinks=False)


def _take(listing: _Listing, names: tuple[str, ...], status: os.stat_result, given: dict[str, Any]) -> None:
    """Add an entry if it is visible and fits the pattern."""
    if names[-1].startswith(".") and not given["include_hidden"]:
        return
    if given["pattern"] and not matches(given["pattern"], names):
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
    """Return one line an entry, as `ls -F` marks them, then what must be known about the list."""
    marks = {"directory": "/", "link": "@", "other": "?"}
    lines = [
        f"{entry['path']}  ({entry['size']} bytes)" if entry["type"] == "file" else entry["path"] + marks[entry["type"]]
        for entry in listing.entries
    ]
    return "\n".join([*(lines or ["(nothing to list)"]), *(f"[{notice}]" for notice in listing.notices)])
