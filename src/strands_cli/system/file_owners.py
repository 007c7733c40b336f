"""Whether other users of this machine can change a file (POSIX only)."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Collection
from pathlib import Path


def who_else_writes(place: Path, trusted: Collection[int]) -> str | None:
    """Return how users beside the trusted ones can change a file or a folder; None if they cannot, or it is missing.

    Args:
        trusted: The numbers of users who may own it.
    """
    if sys.platform == "win32":
        return None
    try:
        found = place.stat()
    except OSError:
        return None
    is_shared = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    if found.st_uid not in trusted:
        return f"it belongs to another user (uid {found.st_uid})"
    if found.st_mode & stat.S_IWOTH and not is_shared:
        return "every user can write to it"
    return None


def own_users() -> tuple[int, ...]:
    """Return the numbers of the users whose files this process trusts: root, and its own."""
    return () if sys.platform == "win32" else (0, os.geteuid())
