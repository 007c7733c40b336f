"""The program's commands by name; the module of a command is imported when the command is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from typer.main import get_group

from strands_cli.cli.commands.help_group import App

# The commands by the headings of the help, each with its function or group in a module of this package.
HEADINGS = {
    "Workflows": {
        "run": "running.run_command:run",
        "batch": "batch.batch_group:batch_app",
        "new": "new_command:new",
        "validate": "validate_command:validate",
        "plan": "plan_command:plan",
        "explain": "explain.explain_command:explain",
        "atomic": "atomic.atomic_commands:atomic_app",
        "trust": "running.trust_command:trust",
        "schema": "validate_command:schema",
    },
    "Stored runs": {
        "runs": "stored.runs_commands:runs_app",
        "resume": "running.resume_command:resume",
        "approve": "running.resume_command:approve",
        "reject": "running.resume_command:reject",
        "rerun": "running.resume_command:rerun",
        "sessions": "stored.sessions_commands:sessions_app",
        "store": "stored.store_commands:store_app",
        "ui": "ui_command:ui",
    },
    "Beyond one process": {
        "submit": "queued.submit_command:submit",
        "worker": "queued.worker_command:worker",
        "workers": "queued.worker_command:workers",
        "queue": "queued.queue_commands:queue_app",
    },
    "Tools": {
        "list-workflows": "list_workflows:list_workflows",
        "list-tools": "tools.tools_commands:list_tools",
        "tools": "tools.tools_commands:tools_app",
        "plugin": "plugin.plugin_group:plugin_app",
        "lock": "lock_command:lock",
    },
    "This machine": {
        "doctor": "doctor_command:doctor",
        "list-supported": "list_supported:list_supported",
        "completion": "completion:completion",
    },
}
PLACES = {name: place for commands in HEADINGS.values() for name, place in commands.items()}

# Words of other programs, with the command that does here what they do there.
SYNONYMS = {
    "help": "--help",
    "init": "new",
    "create": "new",
    "start": "run",
    "exec": "run",
    "check": "validate",
    "lint": "validate",
    "logs": "runs show",
    "log": "runs show",
    "show": "runs show",
    "history": "runs list",
    "ps": "runs list",
    "diff": "runs diff",
    "compare": "runs diff",
    "stats": "runs stats",
    "grep": "runs search",
    "list": "list-tools",
    "install": "plugin install",
    "search": "list-tools",
    "providers": "list-supported",
    "agent": "atomic",
    "test": "atomic test",
    "policy": "explain policy",
    "status": "runs list",
    "cancel": "runs cancel",
    "delete": "runs delete",
    "uninstall": "plugin uninstall",
    "watch": "run --watch",
    "version": "--version",
    # Nothing here does what they do there, and no name that looks like them either.
    "chat": "",
    "ask": "",
    "login": "",
}


class CommandTable(Mapping[str, Any]):
    """Every command of the program by name; a command is built when it is looked up."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _command(name, PLACES[name])
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


def _command(name: str, place: str) -> Any:
    """Import the module of a command, and return the command or the group."""
    module, _, attribute = place.partition(":")
    found = getattr(import_module(f"strands_cli.cli.commands.{module}"), attribute)
    around = App()
    if isinstance(found, App):
        around.add_typer(found, name=name)
    else:
        around.command(name)(found)
    return get_group(around).commands[name]


COMMANDS = CommandTable()
