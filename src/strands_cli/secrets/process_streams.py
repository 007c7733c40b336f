"""What this process shows at its own streams, which belong to no run: texts without the values it has resolved."""

from __future__ import annotations

import logging

from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor

_hidden = HIDE_NOTHING


def hide(redactor: Redactor) -> None:
    """Hide all of this in what the process shows from now on: threads that outlive a run may still print it."""
    global _hidden
    _hidden = _hidden.union(redactor)


def shown(text: str) -> str:
    """Return a text without the values that are hidden."""
    return _hidden.text(text)


class RedactedFormatter(logging.Formatter):
    """Formats log records, stack traces included, without the values that are hidden."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return shown(super().format(record))
