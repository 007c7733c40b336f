"""Events as JSON Lines, in a file or on stdout."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TextIO

from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import json_text
from strands_cli.errors import ArtifactError
from strands_cli.events import Event


def event_writer(target: str | None, stdout: TextIO) -> list[Callable[[Event], None]]:
    """Return a listener that writes JSON Lines to a file, or to stdout for `-`; no listener without a target."""
    if target is None:
        return []
    stream, name = (stdout, "stdout") if target == "-" else (open_events(target), target)
    writable = True

    def write(event: Event) -> None:
        nonlocal writable
        if not writable:
            return
        try:
            stream.write(json_text(event.as_dict()) + "\n")
            stream.flush()
        except (OSError, ValueError) as error:
            # A run that has started matters more than its event log.
            writable = False
            reason = getattr(error, "strerror", None) or error
            say(f"warning: events can no longer be written to {name}: {reason}; the run continues")

    return [write]


def open_events(target: str) -> TextIO:
    """Open the file for events.

    Raises:
        ArtifactError: The file cannot be opened.
    """
    try:
        # What a run has seen is for its user only.
        return open(target, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600))
    except OSError as error:
        reason = error.strerror or error
        raise ArtifactError(f"cannot write events to {target}: {reason}", fix="choose another file") from error
