"""The command `doctor`: whether everything that a run needs is in order here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strands_cli.cli.output import print_json, print_result
from strands_cli.errors import ExitCode


def register(program: typer.Typer) -> None:
    """Add `doctor` to the program."""
    program.command(name="doctor")(doctor)


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print every line as JSON.")] = False) -> int:
    """Look at Python, the SDK, providers, tools, policy, lock and disk; exit 18 if something will not work.

    No tool is imported, nothing is sent, and no key is shown.

    Example: strands doctor --json
    """
    from strands_cli.config import load_settings
    from strands_cli.upkeep.doctor import CORE, examine

    lines = examine(load_settings(), Path.cwd())
    ok = not any(check.status == "failed" for _, check in lines)
    if as_json:
        checks = [
            {"plugin": None if plugin == CORE else plugin, "name": check.name, "status": check.status,
             "message": check.message, "fix": check.fix}
            for plugin, check in lines
        ]  # fmt: skip
        print_json({"ok": ok, "checks": checks})
    else:
        width = max(len(check.name) for _, check in lines)
        for plugin, check in lines:
            said = " ".join(check.message.split()) + (f"  [{plugin}]" if plugin != CORE else "")
            print_result(f"{check.status:8} {check.name:{width}}  {said}")
            if check.fix and check.status != "ok":
                print_result(f"{'':8} {'':{width}}  fix: {' '.join(check.fix.split())}")
    return ExitCode.OK if ok else ExitCode.NOT_EQUIPPED
