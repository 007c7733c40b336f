"""`--log json`: stderr holds one JSON object per line and nothing else, for log collectors."""

from __future__ import annotations

from contextlib import AbstractContextManager

from strands_cli.cli.foreign_output import reserved_stderr
from strands_cli.cli.output.messages import write_log
from strands_cli.cli.terminal.event_lines import line_for
from strands_cli.cli.terminal.live_view import View
from strands_cli.events import (
    Event,
    HumanAsked,
    ModelText,
    RunFinished,
    RunStarted,
    RunWarning,
    StepFailed,
    StepFinished,
)


class LogView(View):
    """Writes each event as one JSON line instead of the lines for a person."""

    def _show(self, event: Event) -> None:
        if isinstance(event, ModelText) and not self._verbose:
            return
        fields = event.as_dict()
        if isinstance(event, StepFinished) and not self._verbose:
            del fields["text"]
        write_log(_message(event), level=_level(event), event=fields)

    def loading(self, begins: RunStarted) -> None:
        """Show nothing: a line of the log is about what has happened."""

    def brief(self, reason: str) -> str | None:
        """Return None: a line of a log is read by itself."""
        return None

    def tool_line(self, text: str) -> None:
        """Show a line that a tool has printed."""
        if not self._quiet:
            write_log(text, level="info", source="stdout")

    def error_line(self, text: str) -> None:
        """Show a record of a tool's log."""
        write_log(text, level="warning", source="stderr")


def _message(event: Event) -> str:
    """Return the event's text for a person, as one line."""
    if isinstance(event, HumanAsked):
        return f"asks {event.key}: {event.prompt}"
    return " ".join((line_for(event) or type(event).__name__).split())


def _level(event: Event) -> str:
    if isinstance(event, StepFailed) or (isinstance(event, RunFinished) and event.status == "failed"):
        return "error"
    return "warning" if isinstance(event, RunWarning) else "info"


def json_stderr() -> AbstractContextManager[None]:
    """Write everything that goes to stderr as JSON from now on, until the process ends.

    What others write there is one object per line too. So stderr is not a terminal, and no question is asked.
    """
    return reserved_stderr(lambda line: write_log(line, level="info", source="stderr"), as_json=True)
