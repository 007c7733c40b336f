"""The value `-` of an option: its text comes from standard input, where no other program sees it."""

from __future__ import annotations

import sys

from strands_cli.errors import UsageError

FROM_STDIN = "-"


def given_text(option: str, value: str) -> str:
    """Return the text of an option; `-` reads all of standard input, without the line end after its last line.

    Raises:
        UsageError: Standard input is closed, or is not UTF-8.
    """
    if value != FROM_STDIN:
        return value
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except (AttributeError, OSError, ValueError) as error:
        fix = f"pass the text to stdin as UTF-8: printf %s TEXT | strands ... {option} -"
        raise UsageError(f"{option} - reads standard input, which cannot be read as text: {error}", fix=fix) from error
    text = text.replace("\r\n", "\n")
    return text.removesuffix("\n")
