"""The core's commands by name; the module of a command is imported when the command is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from strands_cli.cli.commands.help_group import App, HelpCommand, HelpGroup
from strands_cli.default_parts import COMMANDS, DEFAULTS

# The names of `default_parts.DEFAULTS` by the headings of the help.
HEADINGS = {
    "Workflows": ("run", "new", "validate", "plan", "explain", "trust", "schema"),
    "Stored runs": ("runs", "resume", "approve", "reject", "rerun", "store"),
    "Tools": ("list-workflows", "list-tools", "tools", "plugin", "lock"),
    "This machine": ("list-supported", "completion"),
}

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
    "version": "--version",
    # Nothing here does what they do there, and no name that looks like them either.
    "chat": "",
    "ask": "",
    "login": "",
}


OWN = DEFAULTS[COMMANDS]


class CommandTable(Mapping[str, Any]):
    """Every command of the core by name; a command is built when it is looked up."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            module, _, attribute = OWN[name].partition(":")
            self._built[name] = built_command(name, getattr(import_module(module), attribute))
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(OWN)

    def __len__(self) -> int:
        return len(OWN)


def built_command(name: str, value: Any) -> Any:
    """Return the command or the group that an entry point of the group `strands_cli.commands` names.

    Args:
        value: A Typer application, whose only command without a callback is the command itself, or a function.

    Raises:
        TypeError: It is neither.
    """
    around = App()
    if isinstance(value, typer.Typer):
        _fit(value)
        only = value.registered_commands
        if not (only or value.registered_groups or value.registered_callback or callable(value.info.callback)):
            raise TypeError("it is a Typer application without a command")
        if len(only) == 1 and not value.registered_groups and value.registered_callback is None:
            command = copy(only[0])
            command.name = name
            around.registered_commands.append(command)
        else:
            around.add_typer(value, name=name)
    elif callable(value) and not isinstance(value, type) and not hasattr(value, "make_context"):
        around.command(name)(value)
    else:
        raise TypeError(f"it is {type(value).__name__}, not a Typer application or a function")
    return get_group(around).commands[name]


def _fit(app: typer.Typer) -> None:
    """Give the groups and commands of an application the help of the program's own, unless they have classes."""
    if isinstance(app, App):
        return
    app.rich_markup_mode = None
    kind = app.info.cls
    if not isinstance(kind, type) or kind is TyperGroup:
        app.info.cls = HelpGroup
    elif issubclass(kind, TyperGroup) and not issubclass(kind, HelpGroup):
        app.info.cls = type(kind.__name__, (kind, HelpGroup), {})
    if app.registered_callback is None and not app.info.invoke_without_command:
        app.info.no_args_is_help = True
    for command in app.registered_commands:
        # Typer gives its own class to a command that names none.
        command.cls = HelpCommand if command.cls in (None, TyperCommand) else command.cls
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _fit(group.typer_instance)


COMMANDS_OF_CORE = CommandTable()
