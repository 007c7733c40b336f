"""The commands of the core and of the installed distributions of this project."""

from __future__ import annotations

from copy import copy
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from strands_cli.cli.commands.plugin_commands import COMMANDS_OF_CORE, built_command
from strands_cli.default_parts import COMMANDS, OURS


@cache
def project_commands() -> dict[str, Any]:
    """Return every command of this project that is installed, imported, by name; those of the core are the first.

    A group has the commands that the distributions add to it, too.
    """
    commands: dict[str, Any] = dict(COMMANDS_OF_CORE)
    for name, command in commands_of_distributions().items():
        group, dot, last = name.partition(".")
        if dot:
            whole = copy(commands[group])
            whole.commands = {**whole.commands, last: command}
            commands[group] = whole
        else:
            commands[name] = command
    return commands


def commands_of_distributions() -> dict[str, Any]:
    """Return those of the distributions beside the core, imported, by name; `runs.diff` is `strands runs diff`."""
    owners = OURS.get(COMMANDS, {})
    points = {
        point.name: point
        for point in entry_points(group=COMMANDS)
        if point.dist is not None and point.dist.name == owners.get(point.name)
    }
    return {name: built_command(name.rpartition(".")[2], points[name].load()) for name in owners if name in points}
