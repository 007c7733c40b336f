"""Load a plugin in a child process, so that it cannot hang, print into or change this process."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strands_cli.catalog.source.source_tool import SourceTool, from_tool_spec
from strands_cli.system.subprocesses import run_within

IMPORT_SECONDS = 60.0
MAX_PRINTED = 2_000


@dataclass(frozen=True, slots=True)
class LoadedApart:
    """The tools of a plugin and the effects of its import.

    Attributes:
        tool: Its kind and its tools, in the form of `source_reader`.
        seconds: The duration of the import, without the SDK's own import.
        printed: The start of its output to stdout.
        threads: Names of the threads that it left running; `blocking` if one of them keeps the process from ending.
        changed: Changes of the process: `the current directory`, `sys.path`, `the environment variable X`.
    """

    tool: SourceTool
    seconds: float
    printed: str
    threads: tuple[str, ...]
    blocking: bool
    changed: tuple[str, ...]


class LoadFailure(Exception):
    """The plugin cannot be loaded; `timed_out` if it reached the time limit."""

    def __init__(self, message: str, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


def load_apart(source: Path, module: str, attribute: str | None, seconds: float = IMPORT_SECONDS) -> LoadedApart:
    """Load one object reference and describe its tools.

    Args:
        source: Put first on the child's `sys.path`.
        attribute: As in the entry point; None for the whole module.
        seconds: The time limit for everything.

    Raises:
        LoadFailure: It raises, exits, hangs, or defines no tool; the message is one line.
    """
    with tempfile.TemporaryDirectory() as folder:
        result, printed, errors = (Path(folder) / name for name in ("described.json", "stdout", "stderr"))
        # -P: not from the current directory.
        program = [sys.executable, "-P", "-B", "-m", "strands_cli.tools.describe_plugin"]
        arguments = [str(result), str(source.resolve()), module, attribute or ""]
        with printed.open("wb") as out, errors.open("wb") as err:
            code = run_within(seconds, [*program, *arguments], out, err)
        if code is None:
            raise LoadFailure(f"importing '{module}' took more than {seconds:g} seconds", timed_out=True)
        if not result.is_file():
            raise LoadFailure(f"'{module}' cannot be loaded: {_last_line(errors, code)}")
        document = json.loads(result.read_text(encoding="utf-8"))
        with printed.open("rb") as out:
            text = out.read(MAX_PRINTED).decode("utf-8", "replace")
    return _loaded(document, text)


def _last_line(errors: Path, code: int) -> str:
    lines = errors.read_bytes().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"it ended the process with code {code}"


def _loaded(document: Mapping[str, Any], printed: str) -> LoadedApart:
    tools = tuple(from_tool_spec(spec, document["kind"]) for spec in document["tools"])
    single = document["kind"] in ("module", "function", "agent_tool") and len(tools) == 1
    return LoadedApart(
        tool=tools[0] if single else SourceTool(kind=document["kind"], members=tools),
        seconds=document["seconds"],
        printed=printed,
        threads=tuple(name for name, _ in document["threads"]),
        blocking=any(not daemon for _, daemon in document["threads"]),
        changed=tuple(document["changed"]),
    )
