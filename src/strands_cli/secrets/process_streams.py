"""What this process shows at its own streams, which belong to no run: texts without the values it has resolved."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from strands_cli.secrets.redaction import redact

_hidden: frozenset[str] = frozenset()


def hide(values: Iterable[str]) -> None:
    """Keep values out of what the process shows from now on: threads that outlive a run may still print them."""
    global _hidden
    _hidden |= frozenset(values)


def shown(text: str) -> str:
    """Return a text without the values that are hidden."""
    return redact(text, _hidden)


class RedactedFormatter(logging.Formatter):
    """Formats log records, stack traces included, without the values that are hidden."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return shown(super().format(record))
