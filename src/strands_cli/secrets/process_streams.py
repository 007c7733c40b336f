"""Redaction of what the process prints and logs: its streams are shared by all runs of the process."""

from __future__ import annotations

import logging

from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.texts.unicode_safety import printable

_hidden = HIDE_NOTHING


def hide_in_output(redactor: Redactor) -> None:
    """Hide secrets in the output of the process until it ends; threads that outlive a run may still print them."""
    global _hidden
    _hidden = _hidden.union(redactor)


def redact_output(text: str) -> str:
    """Return a text without all that `hide_in_output` has received."""
    return _hidden.text(text)


class RedactedFormatter(logging.Formatter):
    """Formats log records, with their stack traces, without secrets and without what a terminal would act on."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted and escaped text."""
        return printable(redact_output(super().format(record)))
