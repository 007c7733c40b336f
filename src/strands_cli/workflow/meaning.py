"""What the `version` of a file means: the format of an earlier strands-cli, or the present one."""

from __future__ import annotations

import re

# What `version: 1` means is settled later; until then it has the present meaning too.
PRESENT = frozenset({1, 2})
_NUMBERS = re.compile(r"\s*[vV]?(\d+)(?:\.\d+){0,3}\s*")
_WHOLE = re.compile(r"\s*(\d{1,9})(\.0)?\s*")


def format_number(version: object) -> int | None:
    """Return the number of the format that a version names: 1 for `1`, `"1"`, `1.0` and `"1.0"`; None for others."""
    if isinstance(version, float):
        return int(version) if version.is_integer() else None
    if isinstance(version, str):
        found = _WHOLE.fullmatch(version)
        return int(found[1]) if found else None
    return version if isinstance(version, int) else None


def is_earlier(version: object) -> bool:
    """Return whether a file means what an earlier strands-cli did: with every version but 1 and 2."""
    return format_number(version) not in PRESENT


def is_unknown(version: object) -> bool:
    """Return whether a version looks like that of the present format or one to come, and is none.

    An earlier strands-cli, whose files had small numbers, took any number and text.
    """
    found = _NUMBERS.fullmatch(str(version))
    return found is not None and int(found[1]) >= max(PRESENT) and format_number(version) not in PRESENT
