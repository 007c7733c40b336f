"""The program's help page, fitted to the terminal: the same whether Typer made it or the stored text is printed."""

from __future__ import annotations

import os
from shutil import get_terminal_size

# Lines that are longer are hard to read.
MOST_COLUMNS = 100
UNLIMITED = 10_000


def stored_page() -> str:
    """Return the page that `scripts/make_reference.py` has stored, fitted to the terminal."""
    with open(os.path.join(os.path.dirname(__file__), "help.txt"), encoding="utf-8") as file:  # noqa: PTH118, PTH120, PTH123 - pathlib is not needed yet
        return fitted(file.read())


def fitted(page: str) -> str:
    """Return a page whose lines are not longer than the terminal; what continues a description is below it."""
    columns = min(get_terminal_size().columns, MOST_COLUMNS)
    return "".join(f"{part}\n" for line in page.splitlines() for part in _folded(line, columns))


def _folded(line: str, columns: int) -> list[str]:
    """Return a line in parts; names stay where they are, and words longer than a line are not cut."""
    indent = _indent_of(line)
    parts, part = [], line[:indent]
    for word in line[indent:].split():
        if len(part) + len(word) >= columns and part.strip():
            parts.append(part.rstrip())
            part = " " * indent
        part += f"{word} "
    return [*parts, part.rstrip()]


def _indent_of(line: str) -> int:
    """Return where the text of a line begins: after the name that two spaces separate from it, if there is one."""
    start = len(line) - len(line.lstrip())
    gap = line.find("  ", start)
    return len(line) - len(line[gap:].lstrip()) if gap > 0 and start else start
