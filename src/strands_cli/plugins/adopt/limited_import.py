"""Load tools whose definition only running code shows, in a child process with limits and without secrets."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from strands_cli.catalog.definitions.definition_check import KINDS
from strands_cli.catalog.source.source_tool import SourceTool, from_tool_spec
from strands_cli.system.subprocesses import run_within
from strands_cli.texts.canonical_json import strict_json

IMPORT_SECONDS = 30.0
MAX_RESULT = 8_000_000
MAX_OUTPUT = 4_000
# What a child needs to start Python; everything else of the environment may be a secret.
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH")


def load_limited(
    site: str, module: str, attributes: Sequence[str | None], seconds: float = IMPORT_SECONDS
) -> list[SourceTool | str]:
    """Import a module in a child process and describe what its attributes load to.

    The child has limits of time, memory and file size, an empty home, and none of this process's other environment
    variables. It is the package's own code that runs there: it can still read files and use the network.

    Args:
        site: The directory of `sys.path` with the module.
        module: Its dotted name.
        attributes: Names in it; None for the module itself.
        seconds: The time limit for everything.

    Returns:
        For each attribute its tool, or a phrase with the reason why there is none.
    """
    with tempfile.TemporaryDirectory(prefix="strands-") as folder:
        result, output = Path(folder) / "described.json", Path(folder) / "output"
        home = Path(folder) / "home"
        home.mkdir()
        program = [sys.executable, "-P", "-B", "-m", "strands_cli.tools.describe_limited"]
        command = [*program, str(result), site, str(seconds), module, json.dumps(list(attributes))]
        with output.open("wb") as out:
            code = run_within(seconds, command, out, out, env=_environment(home), cwd=str(home))
        if code is None:
            return [f"importing '{module}' took more than {seconds:g} seconds"] * len(attributes)
        try:
            described = _read(result, len(attributes))
        except (OSError, ValueError, RecursionError):
            reason = f"'{module}' ended the process (code {code}){_last_line(output)}"
            return [reason] * len(attributes)
    return [_tool(one) for one in described]


def _environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "HOME": str(home), "TMPDIR": str(home), "PYTHONNOUSERSITE": "1"}


def _read(result: Path, count: int) -> list[Mapping[str, Any]]:
    """Return the child's answer; what foreign code wrote in its place has another shape, and counts as none."""
    if result.stat().st_size > MAX_RESULT:
        raise ValueError("the answer is too large")
    described = strict_json(result.read_text(encoding="utf-8"))
    if not isinstance(described, list) or len(described) != count:
        raise ValueError("the answer has another shape")
    for one in described:
        if not isinstance(one, dict) or not (isinstance(one.get("error"), str) or _is_description(one)):
            raise ValueError("the answer has another shape")
    return described


def _is_description(one: Mapping[str, Any]) -> bool:
    tools = one.get("tools")
    return one.get("kind") in KINDS and isinstance(tools, list) and all(isinstance(spec, dict) for spec in tools)


def _tool(described: Mapping[str, Any]) -> SourceTool | str:
    if "error" in described:
        return str(described["error"])
    kind = described["kind"]
    tools = tuple(
        from_tool_spec(spec, "function" if kind in ("class", "suite", "provider") else kind)
        for spec in described["tools"]
    )
    if kind in ("module", "function", "agent_tool") and len(tools) == 1:
        return tools[0]
    return SourceTool(kind=kind, members=tools)


def _last_line(output: Path) -> str:
    with output.open("rb") as stream:
        stream.seek(max(0, output.stat().st_size - MAX_OUTPUT))
        lines = stream.read(MAX_OUTPUT).decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1][:200]}" if lines else ""
