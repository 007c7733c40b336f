"""The line that describes an event of a run, and the activity of a step after it."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from typing import Literal, TextIO

from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import json_text
from strands_cli.errors import ArtifactError
from strands_cli.events import (
    Event,
    ModelCallStarted,
    ModelRetried,
    ModelWaits,
    RunFinished,
    RunStarted,
    RunWarning,
    StepFailed,
    StepFinished,
    StepStarted,
    ToolCallDecided,
    ToolCallFinished,
    ToolProgress,
)
from strands_cli.texts.phrases import counted, duration, shortened, tool_calls, with_fix

# Events as JSON Lines, in a file or on stdout.


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
            # A started run matters more than its event log.
            writable = False
            reason = getattr(error, "strerror", None) or error
            say(f"warning: events can no longer be written to {name}: {reason}; the run continues")

    return [write]


def require_events_file(target: str | None) -> None:
    """Check that events can be written before anything else is stored; an absent file is made.

    Raises:
        ArtifactError: The file cannot be opened.
    """
    if target not in (None, "-"):
        open_events(target, "a").close()


def open_events(target: str, mode: Literal["w", "a"] = "w") -> TextIO:
    """Open the file for events.

    Raises:
        ArtifactError: The file cannot be opened.
    """
    try:
        # The events of a run are for its user only.
        return open(target, mode, encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600))
    except OSError as error:
        reason = error.strerror or error
        raise ArtifactError(f"cannot write events to {target}: {reason}", fix="choose another file") from error


# The most characters of the reason of a failed call; `runs show` has all of it.
_REASON = 600

_STATUS = re.compile(r"\(\d{3}\)\Z")


def line_for(event: Event) -> str | None:
    """Return the line that describes an event, or None for an event without one."""
    match event:
        case RunStarted():
            return f"run {event.run_id}: {event.workflow} ({event.pattern}, {counted(event.steps, 'step')})"
        case StepFinished():
            tokens = f", {event.usage.marked_total}" if event.usage.total_tokens else ""
            how = "from the journal" if event.replayed else f"{duration(event.seconds)}{tokens}"
            return f"  done  {event.key}  {event.who}  ({how})"
        case StepFailed():
            first_line = event.error.partition("\n")[0].removeprefix(f"{event.key}: ")
            return f"  FAILED {event.key}  {event.who}: {first_line}"
        case ToolCallFinished():
            outcome = event.error_code or "ok"
            remark = ", output cut" if event.truncated else ""
            how = "from the journal" if event.replayed else duration(event.seconds)
            line = f"  tool  {event.key.rpartition('/')[0]}  {event.tool}  ({outcome}, {how}{remark})"
            return f"{line}\n  {_reason(event)}" if event.reason else line
        case ModelRetried():
            how = f"now {event.next_model}" if event.next_model else f"in {duration(event.wait_s)}"
            return f"  retry {step_of(event.key)}  {event.agent}, {how}: {_first_part(event.reason)}"
        case ModelWaits():
            until = time.strftime("%H:%M:%S", time.localtime(event.at + event.wait_s))
            return f"  wait  {step_of(event.key)}  {event.agent}: {event.model} takes no more requests until {until}"
        case RunWarning(message=message):
            return f"warning: {message}"
        case RunFinished(status="completed"):
            calls = f"{counted(event.model_calls, 'model call')}, {tool_calls(event.tool_calls, event.failed_calls)}"
            cost = ", cost unknown" if event.cost_usd is None else f", ${event.cost_usd:.4f}" if event.cost_usd else ""
            return f"completed in {duration(event.seconds)}: {calls}, {event.usage.marked_total}{cost}"
        case RunFinished():
            failed = f": {tool_calls(event.tool_calls, event.failed_calls)}" if event.failed_calls else ""
            return f"{event.status} after {duration(event.seconds)}{failed}"
    return None


def _reason(event: ToolCallFinished) -> str:
    """Return why a call failed, with the permission that it needs, as one line."""
    return shortened(" ".join(with_fix(event.reason or "", event.fix).split()), _REASON)


def _first_part(reason: str) -> str:
    """Return a reason without the words of the server, which the failure of a step has once: `HOST failed (503)`."""
    first, _, words = reason.partition("\n")[0].partition(": ")
    if " " not in first:
        return f"{first}: {words}" if words else first
    status = _STATUS.search(words)
    return f"{first} {status[0]}" if status else first


def progress_line(event: ToolProgress) -> str:
    """Return the line of an intermediate value of a tool."""
    return f"  ...   {step_of(event.key)}  {event.tool}: {_shown(event.value)}"


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return shortened(" ".join(text.split()), 200)


def activity_of(event: Event) -> tuple[str, str] | None:
    """Return the key of a step and its activity after an event, or None if the event does not change it."""
    match event:
        case StepStarted():
            return event.key, event.who
        case ModelCallStarted():
            return step_of(event.key), f"{event.agent} asks {event.model}"
        case ModelWaits():
            return step_of(event.key), f"{event.agent} waits for {event.model}"
        case ToolCallDecided(effect="allow"):
            return step_of(event.key), f"calls {event.tool}"
        case ToolProgress():
            return step_of(event.key), f"{event.tool}: {_shown(event.value)}"
    return None


def step_of(key: str) -> str:
    """Return the key of the innermost step that a call belongs to; a call inside another call is not a step."""
    return re.sub(r"(/(tool|model|summary)\.[^/]*)+$", "", key)
