"""What a call that writes a text file would change in it, for the person who decides."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from strands_cli.policy.matching import Workspace
from strands_cli.policy.rules import Request

# A larger file is not compared; the content of the call is shown whole.
MAX_BYTES = 256 * 1024


def change_of(request: Request) -> str:
    """Return a call's change of an existing text file as a unified diff; empty where it makes no such change.

    A tool does so that declares `file:{ARGUMENT}` as the one thing that it writes, and has the new text in `content`.
    """
    arguments = request.arguments or {}
    name, content = _written(request.claims), arguments.get("content")
    path = arguments.get(name) if name else None
    if not isinstance(content, str) or not isinstance(path, str) or arguments.get("mode") == "create":
        return ""
    before = _text_of(path, request.workspace)
    if before is None:
        return ""
    after = before + content if arguments.get("mode") == "append" else content
    return "\n".join(_changed_lines(before, after))


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


def _text_of(path: str, workspace: Workspace) -> str | None:
    """Return the text of a file of the workspace; None where it is not there, is large or is not text."""
    mount, _, rest = path.partition("/")
    base = workspace.mounts.get(mount[1:]) if mount.startswith("@") else None
    root = os.path.realpath(os.path.join(workspace.root, base or ""))  # noqa: PTH118
    place = os.path.realpath(os.path.join(root, rest if base else path))  # noqa: PTH118
    if not place.startswith(root.rstrip(os.sep) + os.sep):
        return None
    try:
        # Looked at first: a pipe would wait for a writer.
        if not stat.S_ISREG(os.stat(place).st_mode):  # noqa: PTH116
            return None
        with Path(place).open("rb") as file:
            found = file.read(MAX_BYTES + 1)
        return None if len(found) > MAX_BYTES else found.decode()
    except (OSError, ValueError):
        return None
