"""Texts of authors and servers, as one line that cannot look like a line of the program."""

from __future__ import annotations

from strands_cli.api import printable


def one_line(text: str, width: int) -> str:
    """Return a text in one line of at most so many characters, those escaped on which a terminal could act."""
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"
