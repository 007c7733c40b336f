"""Recordings of a run's model calls, for the provider `replay`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from strands_cli.outputs.artifacts import PRIVATE, write_artifact
from strands_cli.workflow.recording_file import RecordedCall, RecordedTurn, dump_recording


def write_recording(path: Path, calls: Iterable[tuple[str, Mapping[str, Any], str]], *, force: bool) -> None:
    """Write a recording.

    Args:
        calls: Key (`steps.0/model.1`), output (`events`) and end of the request of each model call, in order.
        force: Whether to overwrite an existing file.

    Raises:
        ArtifactError: The file exists or cannot be written.
    """
    steps: dict[str, list[RecordedTurn]] = {}
    for key, output, request in calls:
        steps.setdefault(key.rpartition("/")[0], []).append(turn_of(output["events"], request))
    write_artifact(path, dump_recording(steps), force=force, mode=PRIVATE)


def turn_of(events: Iterable[Mapping[str, Any]], request: str) -> RecordedTurn:
    """Return the turn of these stream events, without reasoning."""
    text: str | None = None
    calls: list[tuple[str, list[str]]] = []
    usage = (0, 0)
    stop_reason: str | None = None
    for event in events:
        if tool_use := event.get("contentBlockStart", {}).get("start", {}).get("toolUse"):
            calls.append((tool_use["name"], []))
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        if "text" in delta:
            text = (text or "") + delta["text"]
        elif "toolUse" in delta and calls:
            calls[-1][1].append(delta["toolUse"]["input"])
        if reported := event.get("metadata", {}).get("usage"):
            usage = (int(reported.get("inputTokens") or 0), int(reported.get("outputTokens") or 0))
        stop_reason = event.get("messageStop", {}).get("stopReason", stop_reason)
    expected = "tool_use" if calls else "end_turn"
    return RecordedTurn(
        text=text,
        calls=tuple(RecordedCall(name, _arguments("".join(pieces))) for name, pieces in calls),
        when=request,
        usage=usage,
        stop_reason=None if stop_reason == expected else stop_reason,
    )


def _arguments(text: str) -> Mapping[str, Any]:
    """Return a call's input; malformed JSON is an empty input, as in the SDK."""
    try:
        arguments = json.loads(text or "{}")
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}
