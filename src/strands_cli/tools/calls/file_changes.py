"""What a call that writes a text file would change in it, for the person who decides."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strands_cli.policy.matching.file_places import Workspace
from strands_cli.policy.rules.tool_request import Request

# A larger file is not compared; the content of the call is shown whole.
MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Change:
    """What a call changes in a file that exists: a unified diff, or in words what it replaces unseen."""

    diff: str = ""
    unseen: str = ""


def change_of(request: Request) -> Change:
    """Return a call's change of a file that exists; empty where it makes no such change.

    A tool does so that declares `file:{ARGUMENT}` as the one thing that it writes, and has the new text in `content`.
    """
    arguments = request.arguments or {}
    name, content = _written(request.claims), arguments.get("content")
    path = arguments.get(name) if name else None
    if not isinstance(content, str) or not isinstance(path, str) or arguments.get("mode") == "create":
        return Change()
    adds = arguments.get("mode") == "append"
    before = _content_of(path, request.workspace)
    if before is None or isinstance(before, _Unseen):
        return Change(unseen=f"{'adds to' if adds else 'replaces'} {before.words}" if before else "")
    return Change(diff="\n".join(_changed_lines(before, before + content if adds else content)))


def _changed_lines(before: str, after: str) -> Iterator[str]:
    """Yield the lines of a diff, without the names of the files."""
    lines = difflib.unified_diff(_lines(before), _lines(after), lineterm="")
    yield from (line for number, line in enumerate(lines) if number > 1)


def _lines(text: str) -> list[str]:
    """Return the lines of a text; a last line without an end says so."""
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else [*lines[:-1], f"{lines[-1]} (no line end)"]


def _written(claims: Mapping[str, Any]) -> str | None:
    """Return the argument with the path of the one file that a tool writes."""
    resources = claims.get("resources")
    writes = resources.get("writes") if isinstance(resources, Mapping) else None
    if not isinstance(writes, (list, tuple)) or len(writes) != 1 or not str(writes[0]).startswith("file:{"):
        return None
    return str(writes[0]).removeprefix("file:{").removesuffix("}")


@dataclass(frozen=True, slots=True)
class _Unseen:
    words: str


def _content_of(path: str, workspace: Workspace) -> str | _Unseen | None:
    """Return the text of a file of the workspace, or what it is instead; None where it is not there."""
    mount, _, rest = path.partition("/")
    base = workspace.mounts.get(mount[1:]) if mount.startswith("@") else None
    root = os.path.realpath(os.path.join(workspace.root, base or ""))  # noqa: PTH118
    place = os.path.realpath(os.path.join(root, rest if base else path))  # noqa: PTH118
    if not place.startswith(root.rstrip(os.sep) + os.sep):
        return None
    try:
        # Looked at first: a pipe would wait for a writer.
        found = os.stat(place)  # noqa: PTH116
        if not stat.S_ISREG(found.st_mode):
            return None
        if found.st_size > MAX_BYTES:
            return _Unseen(f"a file of {found.st_size} bytes, which is too large to compare")
        content = Path(place).read_bytes()
    except (OSError, ValueError):
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return _Unseen(f"a file of {found.st_size} bytes, which is not text")
