"""Ages as people type them: `12h`, `30d`."""

from __future__ import annotations

import re

from strands_cli.errors import UsageError
from strands_cli.texts.phrases import SECONDS_OF_UNIT


def age_in_seconds(text: str, option: str) -> float:
    """Read an age such as `30d`; without a letter it is days.

    Args:
        option: Where it was typed.

    Raises:
        UsageError: The text is not an age.
    """
    match = re.fullmatch(r"([0-9]{1,9})([smhdw]?)", text)
    if match is None:
        raise UsageError(f"{option} {text!r} is not an age", fix="write a number with s, m, h, d or w: 30d")
    return int(match[1]) * SECONDS_OF_UNIT[match[2] or "d"]
