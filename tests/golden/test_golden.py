"""What scripts and completions rely on is pinned: commands with their options, and the shape of `list-tools --json`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from scripts.project_commands import commands_of_distributions, project_commands
from strands_cli.cli.program import program
from tests.golden import check_golden


def commands(path: str, command: Any) -> Iterator[str]:
    """Yield one line for each command: the words that call it, its arguments and its options."""
    children = getattr(command, "commands", {})
    if not children:
        names = [
            "|".join([*parameter.opts, *parameter.secondary_opts])
            for parameter in command.params
            if parameter.opts != ["--help"]
        ]
        yield f"{path}: {' '.join(names)}\n"
    for name in sorted(children):
        yield from commands(f"{path} {name}", children[name])


def test_commands_and_options_are_pinned() -> None:
    known = sorted(project_commands().items())
    check_golden("commands.txt", "".join(line for name, found in known for line in commands(f"strands {name}", found)))


def test_every_command_and_option_says_what_it_is_for() -> None:
    silent = []

    def look(path: str, command: Any) -> None:
        if not (command.help or "").strip():
            silent.append(path)
        silent.extend(f"{path} {p.opts[0]}" for p in command.params if not getattr(p, "help", None))
        for name, child in getattr(command, "commands", {}).items():
            look(f"{path} {name}", child)

    look("strands", get_command(program))
    for name, found in commands_of_distributions().items():
        look(f"strands {name.replace('.', ' ')}", found)
    assert silent == []


def test_the_shape_of_the_listing_is_pinned() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "strands_cli", "list-tools", "--json"], capture_output=True, text=True, check=True
    )
    listed = json.loads(ran.stdout)
    ours = [tool for tool in listed["tools"] if str(tool["distribution"]).startswith("strands-tool-")]
    lines = [f"{', '.join(listed)}\n"]
    lines += [f"{tool['name']} ({tool['status']}) of {tool['distribution']}: {', '.join(tool)}\n" for tool in ours]
    check_golden("list-tools.txt", "".join(lines))
