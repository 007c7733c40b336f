"""Secrets: where their values come from, which they are, and text without them and without personal data."""

from __future__ import annotations

from strands_cli.secrets.personal_data import PERSONAL
from strands_cli.secrets.redaction import (
    MARK,
    MIN_LENGTH,
    RedactedStream,
    holds_secret,
    known_secrets,
    redact,
    redact_json,
)

__all__ = ["MARK", "MIN_LENGTH", "PERSONAL", "RedactedStream", "holds_secret", "known_secrets", "redact", "redact_json"]
