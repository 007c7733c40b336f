"""Import a plugin in a child process, so that it cannot hang, print into or change this process."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strands_cli.api import Manifest, SourceTool, run_within

IMPORT_SECONDS = 60.0
MAX_PRINTED = 2_000
MAX_RESULT = 8_000_000
_MAX_LINE = 4_000
# Variables that a child needs to start Python; everything else of the environment may be a secret.
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class ChildImport:
    """The effects of importing a module, and the tools of it.

    Attributes:
        tools: For each attribute its tool or tools, or the reason why there is none.
        seconds: The duration of the import, without the SDK's own import.
        printed: The start of its output to stdout.
        threads: Names of the threads that it left running.
        is_blocked: Whether one of them keeps the process from ending.
        changed: Changes of the process: `the current directory`, `sys.path`, `the environment variable X`.
    """

    tools: tuple[SourceTool | str, ...]
    seconds: float
    printed: str
    threads: tuple[str, ...]
    is_blocked: bool
    changed: tuple[str, ...]


class ImportFailure(Exception):
    """The module cannot be imported; `timed_out` if it reached the time limit."""

    def __init__(self, message: str, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


def import_in_child(
    path: Sequence[str],
    module: str,
    attributes: Sequence[str | None] = (),
    seconds: float = IMPORT_SECONDS,
    *,
    names: Sequence[str] = (),
    is_limited: bool = False,
) -> ChildImport:
    """Import a module and describe the objects of its attributes.

    Args:
        path: Put first on the child's `sys.path`.
        module: Its dotted name.
        attributes: Names of tools in it; None for the module itself.
        names: Names of other objects that it must have.
        seconds: The time limit for everything.
        is_limited: Whether the child has limits of processor time, memory and file size, an empty home, and none of the
            other environment variables of this process. It can still read files and use the network.

    Raises:
        ImportFailure: It raises, exits or hangs; the message is one line.
    """
    with tempfile.TemporaryDirectory(prefix="strands-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        result, printed, errors = (Path(folder) / name for name in ("described.json", "stdout", "stderr"))
        limit = seconds if is_limited else None
        request = {"path": [*path], "module": module, "attributes": [*attributes], "limit": limit}
        request["names"] = [*names]
        # -P: not from the current directory.
        program = [sys.executable, "-P", "-B", "-m", "strands_cli_dev.child_program", str(result), json.dumps(request)]
        env, cwd = (_environment(home), str(home)) if is_limited else (None, None)
        with printed.open("wb") as out, errors.open("wb") as err:
            code = run_within(seconds, program, out, err, env=env, cwd=cwd)
        if code is None:
            raise ImportFailure(f"importing '{module}' took more than {seconds:g} seconds", timed_out=True)
        document = _read(result, len(attributes))
        if document is None:
            raise ImportFailure(f"'{module}' ended the process (code {code}){_last_line(errors)}")
        if document["error"] is not None:
            raise ImportFailure(f"'{module}' cannot be imported: {document['error']}")
        with printed.open("rb") as out:
            text = out.read(MAX_PRINTED).decode("utf-8", "replace")
    return ChildImport(
        tools=tuple(map(_tool, document["described"])),
        seconds=document["seconds"],
        printed=text,
        threads=tuple(name for name, _ in document["threads"]),
        is_blocked=any(not daemon for _, daemon in document["threads"]),
        changed=tuple(document["changed"]),
    )


def _environment(home: Path) -> dict[str, str]:
    variables = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**variables, "HOME": str(home), "TMPDIR": str(home), "PYTHONNOUSERSITE": "1"}


def _read(result: Path, count: int) -> dict[str, Any] | None:
    """Return the child's answer; text of foreign code in its place has another shape, and counts as none."""
    try:
        if result.stat().st_size > MAX_RESULT:
            return None
        document = json.loads(result.read_text(encoding="utf-8"), parse_constant=_no_json)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("error"), (str, type(None))):
        return None
    if document["error"] is not None:
        return document
    described = document.get("described")
    is_whole = isinstance(described, list) and len(described) == count and all(map(_is_description, described))
    return document if is_whole and _has_effects(document) else None


def _no_json(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _is_description(description: Any) -> bool:
    if not isinstance(description, dict):
        return False
    tools = description.get("tools")
    is_described = isinstance(tools, list) and all(isinstance(spec, dict) for spec in tools)
    return isinstance(description.get("error"), str) or (description.get("kind") in Manifest.KINDS and is_described)


def _has_effects(document: Mapping[str, Any]) -> bool:
    threads, changed = document.get("threads"), document.get("changed")
    pairs = isinstance(threads, list) and all(isinstance(thread, list) and len(thread) == 2 for thread in threads)
    return pairs and isinstance(changed, list) and isinstance(document.get("seconds"), (int, float))


def _tool(described: Mapping[str, Any]) -> SourceTool | str:
    if "error" in described:
        return str(described["error"])
    kind = described["kind"]
    whole = SourceTool(kind=kind)
    members = tuple(SourceTool.from_spec(spec, "function" if whole.holds_many else kind) for spec in described["tools"])
    if not whole.holds_many and len(members) == 1:
        return members[0]
    return SourceTool(kind=kind, members=members)


def _last_line(output: Path) -> str:
    with output.open("rb") as stream:
        stream.seek(max(0, output.stat().st_size - _MAX_LINE))
        lines = stream.read(_MAX_LINE).decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1][:200]}" if lines else ""
