"""The program's help page, fitted to the terminal: the same whether Typer made it or the stored text is printed."""

from __future__ import annotations

import os
from itertools import groupby
from operator import attrgetter
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from strands_cli.default_parts import COMMANDS, DEFAULTS, OURS, install_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# Longer lines are hard to read.
MOST_COLUMNS = 100
UNLIMITED = 10_000
# A description with fewer columns is below its name, indented by `BELOW`.
FEWEST_COLUMNS, BELOW = 26, 6
PLUGIN_HEADING = "Of installed plugins:"
# The width of the names of the core's commands, and the text after its list.
_NAMES = 10
# The widest column of the names of plugins' commands: the line of a longer name has its description after it.
_MOST_NAMES = 24
_AFTER_COMMANDS = "\n  Exit codes:"


def stored_page() -> str:
    """Return the page that `scripts/make_reference.py` has stored, with the commands of plugins, fitted."""
    with open(os.path.join(os.path.dirname(__file__), "help.txt"), encoding="utf-8") as file:  # noqa: PTH118, PTH120, PTH123 - pathlib is not needed yet
        page = file.read()
    commands, mark, codes = page.partition(_AFTER_COMMANDS)
    return fitted(f"{commands}{plugin_section()}{mark}{codes}")


def plugin_section(prefix: str = "") -> str:
    """Return the part of the page with the commands of installed distributions; nothing without any.

    Args:
        prefix: The group whose commands are listed, with a dot: `runs.`; the program's own without one.
    """
    from strands_cli.catalog.command_names import installed_commands

    rows = [row._replace(name=row.name.removeprefix(prefix)) for row in installed_commands(prefix)]
    width = max([_NAMES, *(len(row.name) for row in rows if len(row.name) <= _MOST_NAMES)])
    lines = []
    for name, same in groupby(rows, key=attrgetter("name")):
        row, *others = same
        owners = " and ".join([row.distribution, *(other.distribution for other in others)])
        about = f"refused: claimed by {owners}" if others else f"{row.help} ({owners})"
        lines.append(f"  {name.ljust(width)}  {about}")
    parts = [[PLUGIN_HEADING, *lines]] * bool(lines) + [[line] for line in _more(prefix, {row.name for row in rows})]
    return "\n".join(line for part in parts for line in ("", *part)) + "\n" * bool(parts)


def _more(prefix: str, installed: set[str]) -> Iterator[str]:
    """Yield what no list of commands has: the shell's completion, and distributions of this project."""
    ours = {name.removeprefix(prefix): owner for name, owner in OURS[COMMANDS].items() if name.startswith(prefix)}
    absent = {name: owner for name, owner in ours.items() if "." not in name and name not in installed}
    absent = {name: owner for name, owner in absent.items() if prefix + name not in DEFAULTS[COMMANDS]}
    if not prefix:
        yield "  To complete command lines in your shell: strands completion bash (or zsh, fish)"
    if absent:
        owners = set(absent.values())
        install = install_of(owners.pop()) if len(owners) == 1 else "pip install 'strands-cli[all]'"
        yield f"  More commands with {install}: {', '.join(sorted(absent))}"


def fitted(page: str) -> str:
    """Return a page whose lines fit the terminal; the rest of a description is below its beginning."""
    columns = min(get_terminal_size().columns, MOST_COLUMNS)
    return "".join(f"{part}\n" for line in page.splitlines() for part in _folded(line, columns))


def _folded(line: str, columns: int) -> list[str]:
    """Return a line in parts; a word longer than a line is not cut.

    A description stays beside its name, or begins below it where that would leave it too few columns.
    """
    text = _start_of_text(line)
    part, indent, words = line[:text], text or 2, line[text:].split()
    parts = []
    if text > BELOW and columns - text < FEWEST_COLUMNS:
        parts, part, indent = [part.rstrip()] if part.strip() else [], " " * BELOW, BELOW
    for word in words:
        if len(part) + len(word) >= columns and part.strip():
            parts.append(part.rstrip())
            part = " " * indent
        part += f"{word} "
    return [*parts, part.rstrip()]


def _start_of_text(line: str) -> int:
    """Return where the text of a line begins: after the name that two spaces separate from it, if there is one.

    A line indented more than names has no name: it describes the line above it.
    """
    start = len(line) - len(line.lstrip())
    gap = line.find("  ", start) if 0 < start < BELOW else -1
    return len(line) - len(line[gap:].lstrip()) if gap > 0 else start
