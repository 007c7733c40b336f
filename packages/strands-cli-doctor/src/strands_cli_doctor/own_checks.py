"""The checks that need nothing of the core: Python, the program on PATH, the terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from strands_cli.api import Check

PROGRAM = "strands"
CORE = "strands-cli"


def check_python() -> Iterator[Check]:
    """Report the Python version and the platform."""
    import platform

    where = f"{platform.python_implementation()} {platform.python_version()} on {platform.platform()}"
    yield Check("python", "ok", f"{where}, {sys.executable}")


def check_path(environ: Mapping[str, str]) -> Iterator[Check]:
    """Report whether another program of this name comes first on PATH, or has replaced this one."""
    mine = Path(sys.executable).parent
    paths = [path for entry in environ.get("PATH", "").split(os.pathsep) if entry and (path := _program_in(entry))]
    others = [fromkey for fromkey in dict.fromkeys(paths) if fromkey.parent.resolve() != mine.resolve()]
    if not paths:
        yield Check("PATH", "warning", f"no '{PROGRAM}' is on PATH; this one is in {mine}", f"add {mine} to PATH")
    elif paths[0] in others:
        message = f"'{PROGRAM}' is {paths[0]}{_origin(paths[0])}, not this one, which is in {mine}"
        yield Check("PATH", "warning", message, f"put {mine} first on PATH, or remove the other")
    elif origin := _origin(paths[0]):
        message = f"'{PROGRAM}' is {paths[0]}{origin}: it has replaced this one"
        yield Check("PATH", "warning", message, f"uninstall the other and reinstall {CORE}, or: python -m strands_cli")
    elif others:
        message = f"this '{PROGRAM}' is found first; there is another: {others[0]}{_origin(others[0])}"
        yield Check("PATH", "ok", message)
    else:
        yield Check("PATH", "ok", f"'{PROGRAM}' is {paths[0]}")


def _program_in(entry: str) -> Path | None:
    program = shutil.which(PROGRAM, path=entry)
    return Path(program).absolute() if program else None


def _origin(program: Path) -> str:
    """Return the package of another program named `strands`, as ` (...)`, or empty if its path and text do not show it.

    npm's @strands-agents/cli has such a program, and strands-agents-builder, which overwrites this one.
    """
    parts = program.resolve().parts
    if "node_modules" in parts:
        inner = parts[len(parts) - parts[::-1].index("node_modules") :]
        name = "/".join(inner[:2]) if inner[0].startswith("@") else inner[0]
        return f" (of the npm package {name})"
    try:
        with program.open("rb") as file:
            start = file.read(4096).decode("utf-8", "replace")
    except OSError:
        return ""
    imported = re.search(r"^from (\w+)\S* import ", start, re.MULTILINE)
    return f" (of the Python package {imported[1]})" if imported and imported[1] != "strands_cli" else ""


def check_terminal(environ: Mapping[str, str]) -> Iterator[Check]:
    """Check that the terminal shows text of every language, and report whether it can ask questions."""
    encoding = (getattr(sys.stdout, "encoding", None) or "none").lower()
    is_interactive = sys.stdin.isatty() and sys.stderr.isatty()
    mode = "interactive" if is_interactive else "not interactive"
    message = f"{encoding}, {mode}, TERM={environ.get('TERM', '')}"
    if encoding.replace("-", "") == "utf8":
        yield Check("terminal", "ok", message)
    else:
        yield Check("terminal", "warning", f"{message}: other letters appear escaped", "export LANG=C.UTF-8")
