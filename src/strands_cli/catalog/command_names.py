"""The commands that installed distributions declare, each with one line of help, found without an import."""

# os.path: a help page does without pathlib.
# ruff: noqa: PTH118
from __future__ import annotations

import json
import os
from typing import NamedTuple

from strands_cli.catalog.distributions.entry_points import (
    Scan,
    find_package,
    read_entry_points,
    read_header,
    read_start,
)
from strands_cli.catalog.distributions.scan import scan_installed
from strands_cli.default_parts import COMMANDS, is_part_name, owner_by_name
from strands_cli.texts.unicode_safety import printable

# A distribution with several commands has a line for each in this file of its package: `{"name": "One line."}`. It may
# also have advice there for an option that no command has: `{"--option": "One line."}`.
FILE_NAME = "strands_commands.json"
MAX_BYTES = 65_536
MOST_CHARACTERS = 160


class CommandName(NamedTuple):
    """One command of an installed distribution, and its line of help."""

    name: str
    distribution: str
    help: str


def installed_commands(prefix: str = "") -> list[CommandName]:
    """Return the commands of installed distributions, sorted by name.

    Args:
        prefix: The group of the core that they are in, with a dot: `runs.`; the program's own commands without one.

    A command of the core or of another distribution of this project is not in it for a distribution that claims its
    name; a name that two others claim is there for each.
    """
    scan = scan_installed()
    names = []
    for distribution, copies in scan.records.items():
        directory, record = copies[0]
        points = read_entry_points(record, distribution, scan, COMMANDS)
        named = {point.name: point.value for point in points if _is_listed(point.name, distribution, prefix)}
        lines = _lines(next(iter(named.values())), directory, scan) if named else {}
        for name in named:
            about = lines.get(name) or read_header(record, "Summary") or ""
            names.append(CommandName(name, distribution, _one_line(about)))
    return sorted(names)


def advice_on_option(option: str) -> str | None:
    """Return the advice of an installed distribution with commands on an option; None if none knows it."""
    scan = scan_installed()
    for distribution, copies in sorted(scan.records.items()):
        directory, record = copies[0]
        points = read_entry_points(record, distribution, scan, COMMANDS)
        value = next((point.value for point in points if is_part_name(COMMANDS, point.name)), None)
        if value is not None and option.startswith("-") and (line := _lines(value, directory, scan).get(option)):
            return printable(" ".join(line.split()))
    return None


def _is_listed(name: str, distribution: str, prefix: str) -> bool:
    is_of_group = name.startswith(prefix) and "." not in name[len(prefix) :]
    return is_of_group and is_part_name(COMMANDS, name) and owner_by_name(COMMANDS, name) in (None, distribution)


def _lines(value: str, directory: str, scan: Scan) -> dict[str, str]:
    """Return the lines of help that a distribution's package has for its commands; nothing for a faulty file."""
    package = find_package(value.strip().partition(":")[0].partition(".")[0], scan.listings, directory)
    if package is None or package.directory is None:
        return {}
    try:
        document = json.loads(read_start(os.path.join(package.directory, FILE_NAME), MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {name: line for name, line in document.items() if isinstance(line, str)}


def _one_line(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"
