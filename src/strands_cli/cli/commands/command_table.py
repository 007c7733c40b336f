"""The program's commands by name; the module of a command is imported when the command is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from typer.main import get_group

from strands_cli.cli.commands.help_group import App

# The commands by the headings of the help, each with the module in this package that registers it.
HEADINGS = {
    "Workflows": {
        "run": "run_command",
        "new": "new_command",
        "validate": "validate_command",
        "plan": "plan_command",
        "explain": "explain_command",
        "atomic": "atomic_commands",
        "trust": "trust_command",
        "schema": "validate_command",
    },
    "Stored runs": {
        "runs": "runs_commands",
        "resume": "resume_command",
        "approve": "resume_command",
        "reject": "resume_command",
        "rerun": "resume_command",
        "sessions": "runs_commands",
    },
    "Tools": {
        "list-tools": "tools_commands",
        "tools": "tools_commands",
        "plugin": "plugin_group",
        "lock": "lock_command",
    },
    "This machine": {
        "doctor": "doctor_command",
        "list-supported": "list_supported",
        "completion": "completion",
    },
}
MODULES = {name: module for commands in HEADINGS.values() for name, module in commands.items()}

# Words of other programs, with the command that does here what they do there.
SYNONYMS = {
    "help": "--help",
    "init": "new",
    "create": "new",
    "chat": "atomic run",
    "ask": "atomic run",
    "start": "run",
    "exec": "run",
    "check": "validate",
    "lint": "validate",
    "logs": "runs show",
    "log": "runs show",
    "show": "runs show",
    "history": "runs list",
    "ps": "runs list",
    "list": "list-tools",
    "install": "plugin install",
    "search": "list-tools",
    "providers": "list-supported",
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
    app = App()
    import_module(f"strands_cli.cli.commands.{module}").register(app)
    return get_group(app).commands


COMMANDS = CommandTable()
