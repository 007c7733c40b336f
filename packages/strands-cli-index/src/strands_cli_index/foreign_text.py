"""Texts of authors and servers, as one line that cannot look like a line of the program."""

from __future__ import annotations


def one_line(text: str, width: int) -> str:
    """Return a text in one line of at most so many characters, those escaped on which a terminal could act."""
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"


def printable(text: str) -> str:
    """Return a text with its control, bidi and invisible characters escaped; lines and tabs stay."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode() for char in text
    )


def closest(word: str, known: list[str], otherwise: str) -> str:
    """Return a fix that names the closest of these words; `otherwise` where nothing is close."""
    import difflib

    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean '{near[0]}'?" if near else otherwise
