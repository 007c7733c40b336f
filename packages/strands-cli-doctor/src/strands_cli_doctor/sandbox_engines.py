"""Test the engines of installed tools: run each tool's own self-test in a child process."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from strands_cli.api import Check, ToolRecord, run_within

SECONDS = 30.0
MAX_ANSWER = 64 * 1024
STRENGTHS = ("enforced", "best effort", "not available")
_REFERENCE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")
# The plugin's output is discarded; only the answer reaches the file. The plugin's threads end with the process.
_PROGRAM = """
import json, os, sys
answer = os.dup(1)
os.dup2(2, 1)
sys.path[:] = json.loads(sys.argv[1])
import importlib
text = json.dumps(getattr(importlib.import_module(sys.argv[2]), sys.argv[3])(), allow_nan=False)
with open(answer, "w", encoding="utf-8") as file:
    file.write(text)
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine of a tool, as its self-test reports it; `reason` is why it is not available."""

    tool: str
    name: str
    available: bool
    reason: str
    layers: tuple[tuple[str, str], ...]


class EngineFault(Exception):
    """A tool's self-test did not answer; the message is one line."""


def find_engines(
    tools: Iterable[ToolRecord], import_path: Sequence[str], denied: Container[tuple[str, str]] = ()
) -> tuple[list[Engine], list[Check]]:
    """Run the self-test of every usable tool that names one in its manifest (`strands_cli.engines`).

    Args:
        tools: The installed tools.
        import_path: The directories that plugins are imported from.
        denied: Tools, as distribution and name, that policy denies; their self-tests do not run.

    Returns:
        The engines, in each tool's order of preference, and a line for each tool.
    """
    engines: list[Engine] = []
    lines: list[Check] = []
    for record in _with_engines(tools):
        name = f"engines of {record.name}"
        if (record.distribution, record.ref_name) in denied:
            lines.append(Check(name, "ok", "not tested: policy denies it"))
            continue
        try:
            engines_of_tool = _ask(record, import_path)
        except EngineFault as fault:
            lines.append(
                Check(name, "failed", f"{record.distribution}: {fault}", "reinstall it, or report it to its author")
            )
            continue
        engines += engines_of_tool
        lines.append(_line(name, engines_of_tool))
    return engines, lines


def _with_engines(tools: Iterable[ToolRecord]) -> Iterator[ToolRecord]:
    seen: set[tuple[str, str]] = set()
    for tool in tools:
        for record in (tool, *(tool.members or ())):
            named = (record.strands_cli or {}).get("engines")
            if isinstance(named, str) and tool.usable and (record.distribution, named) not in seen:
                seen.add((record.distribution, named))
                yield record


def _line(name: str, engines: list[Engine]) -> Check:
    chosen = next((engine for engine in engines if engine.available), None)
    others = [f"{engine.name} not available: {engine.reason}" for engine in engines if not engine.available]
    if chosen is None:
        reasons = "; ".join(others) or "it has no engine"
        return Check(
            name, "warning", f"the tool cannot run code here; {reasons}", "do not use the tool on this machine"
        )
    weak = [f"{layer} {strength}" for layer, strength in chosen.layers if strength != "enforced"]
    results = [f"{chosen.name} passed its self-test" + (f" ({', '.join(weak)})" if weak else ""), *others]
    return Check(name, "ok", "; ".join(results))


def _ask(record: ToolRecord, import_path: Sequence[str]) -> list[Engine]:
    """Return the engines that one tool's self-test reports."""
    reference = _REFERENCE.fullmatch((record.strands_cli or {})["engines"])
    if reference is None:
        raise EngineFault("`engines` is not of the form package.module:function")
    program = [sys.executable, "-I", "-B", "-c", _PROGRAM, json.dumps(list(import_path)), *reference.groups()]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            code = run_within(SECONDS, program, out, err)
        except OSError as error:
            raise EngineFault(f"its self-test cannot be started: {error.strerror}") from error
        if code is None:
            raise EngineFault(f"its self-test took more than {SECONDS:g} seconds")
        if code != 0:
            raise EngineFault(f"its self-test ended with {code}: {_last_line(err)}")
        out.seek(0)
        raw = out.read(MAX_ANSWER + 1)
    try:
        return [_engine(record.name, part) for part in json.loads(raw)]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise EngineFault("its self-test did not return a list of engines") from None


def _engine(tool: str, part: Any) -> Engine:
    name, available, reason, layers = part["engine"], part["available"], part["reason"], part["layers"]
    sound = isinstance(name, str) and isinstance(reason, str) and type(available) is bool
    if not sound or not all(strength in STRENGTHS for strength in layers.values()):
        raise ValueError(part)
    return Engine(tool, name, available, reason, tuple(layers.items()))


def _last_line(err: IO[bytes]) -> str:
    err.seek(0)
    lines = err.read(MAX_ANSWER).decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else "it printed nothing"
