"""The program's commands by name; the module of a command is imported when the command is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.main import get_group

# The module in this package that registers each command, in the order of the help.
MODULES = {
    "run": "run_command",
    "plan": "plan_command",
    "validate": "validate_command",
    "schema": "validate_command",
    "new": "new_command",
    "resume": "resume_command",
    "approve": "resume_command",
    "reject": "resume_command",
    "rerun": "resume_command",
    "list-tools": "tools_commands",
    "lock": "lock_command",
    "explain": "explain_command",
    "list-supported": "list_supported",
    "doctor": "doctor_command",
    "completion": "completion",
    "runs": "runs_commands",
    "sessions": "runs_commands",
    "tools": "tools_commands",
    "plugin": "plugin_group",
    "atomic": "atomic_commands",
}


class CommandTable(Mapping[str, Any]):
    """Every command of the program by name; a command is built when it is looked up."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built |= commands_of(MODULES[name])
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


def commands_of(module: str) -> Mapping[str, Any]:
    """Import one module of this package and return the commands and groups that it registers."""
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    import_module(f"strands_cli.cli.commands.{module}").register(app)
    return get_group(app).commands


COMMANDS = CommandTable()
