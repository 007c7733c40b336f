"""Secrets that are too short to be searched for in texts, where they would be found by chance: those are named."""

from __future__ import annotations

from strands_cli.errors import Code, Finding, Where

# A shorter text would be found by chance in texts that have nothing to do with it.
MIN_LENGTH = 8
SHORT_SECRET = Code(
    "short-secret",
    "A secret has fewer than 8 characters: it is used, and not hidden where it appears in what a run shows and keeps.",
    "Give it a longer value at its source; see `strands explain secrets`.",
)


def is_short(value: str) -> bool:
    """Return whether a value is too short to be hidden; white space around it, often removed, does not count."""
    return 0 < len(value.strip()) < MIN_LENGTH


def short_secret(named: str, where: Where | None = None) -> Finding:
    """Report a secret that is too short; the message has neither its value nor its length."""
    message = f"{named} has fewer than {MIN_LENGTH} characters, so it is not hidden where it appears"
    return Finding(SHORT_SECRET, message, where, "replace it by a longer one at its source", "warning")
