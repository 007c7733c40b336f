"""One effect of a stored run with its answer, as far as its row can be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar, cast

from strands_cli.engine.denials import may_have_failed
from strands_cli.engine.effects.budget import REUSED
from strands_cli.engine.journal.artifact_rows import keeps_texts, written_of
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.recording_writer import turn_of
from strands_cli.engine.step_results import CallFailure, failure_of, json_of, text_of
from strands_cli.events import RunStatus

EffectKind = Literal["step", "model", "tool", "gate", "question", "notes", "artifacts", "row", "group"]
EffectStatus = Literal["done", "reused", "failed", "running", "waiting", "stopped"]

Value = TypeVar("Value")
# The status of an effect that has begun and is not done, by that of its run; in other runs no process works on it.
_UNFINISHED: Mapping[RunStatus, EffectStatus] = {"running": "running", "waiting": "waiting"}


@dataclass(frozen=True)
class EffectSummary:
    """One effect of a run; its answer is decoded when it is first asked for, since a run may have thousands.

    Parts of a damaged row that have an odd form are left out.

    Attributes:
        row: Its row in the journal.
    """

    row: Row

    @property
    def kind(self) -> EffectKind:
        """The kind of its row; a `human` row is a `gate`, which is a step, or a `question`."""
        if self.row.kind == "human":
            return "gate" if self.row.is_step else "question"
        return self.row.kind

    @property
    def who(self) -> str:
        """The agent of a step or a model turn, the name of a tool, or `person`; empty for others."""
        row = self.row
        if row.kind == "human":
            return "person"
        if row.kind == "tool":
            return row.key.rpartition("/tool.")[2].partition(".")[2] or row.key.rpartition("/")[2]
        agent = row.detail.get("agent") or self.agent
        return agent if isinstance(agent, str) else ""

    def status_in(self, run: RunStatus) -> EffectStatus:
        """Return the status of the effect in a run of this status."""
        if self.status == "started" or (self.status == "waiting" and run not in ("running", "waiting")):
            return _UNFINISHED.get(run, "stopped")
        if self.tool_error is not None or self.damage:
            return "failed"
        return cast(EffectStatus, self.status)

    @property
    def damage(self) -> str | None:
        """The parts of its row that cannot be read, as far as they were asked for; None where nothing is wrong."""
        damage: str | None = getattr(self.row, "damage", None) or self.__dict__.get("_odd_output")
        return damage

    @property
    def status(self) -> str:
        """The status; `reused` is done in the run that this one continues from, and counted there."""
        return "reused" if self.row.detail.get(REUSED) else self.row.status

    @property
    def error(self) -> str | None:
        """Why it failed, or why its row cannot be read."""
        if self.damage:
            return f"its row in the journal is damaged: {self.damage}"
        return self.row.detail.get("error") if self.row.status == "failed" else None

    @cached_property
    def tool_error(self) -> CallFailure | None:
        """Why a tool call failed; the result of one that succeeded is not decoded for it."""
        if not (may_have_failed(self.row) and self._output):
            return None
        return self._read(lambda: failure_of(self._output))

    @property
    def asked(self) -> str | None:
        """The end of a model's request."""
        return self.row.detail.get("request") if self.row.kind == "model" else None

    @cached_property
    def text(self) -> str | None:
        """Its text: the response of a step, the text of a model or a tool, the answer of a person."""
        if self.row.kind == "model":
            return self._turn.text if self._turn else None
        if self.row.kind == "tool":
            return self._read(lambda: text_of(self._output)) if self._output else None
        return self._read(lambda: _text(self._output.get("response", self._output.get("text"))))

    @cached_property
    def value(self) -> Any:
        """Its value as JSON: the output of a step, the JSON of a tool."""
        if self.row.kind == "tool":
            return self._read(lambda: json_of(self._output)) if self._output else None
        return None if self.row.kind == "model" else self._output.get("output")

    @property
    def whole(self) -> Any:
        """Its whole output; of artifacts their paths and digests, without the texts that the journal may keep."""
        return written_of(self.row) if keeps_texts(self.row) else self.row.output

    @property
    def agent(self) -> str | None:
        """The agent of a step that is done."""
        found = self._output.get("agent") if self.row.kind == "step" else None
        return found if isinstance(found, str) else None

    @property
    def calls(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The tools that a model called, each with its arguments."""
        return tuple((str(call.tool), call.input) for call in self._turn.calls) if self._turn else ()

    @cached_property
    def _turn(self) -> Any:
        if self.row.kind != "model" or not self._output:
            return None
        return self._read(lambda: turn_of(self._output.get("events", ()), ""))

    def _read(self, read: Callable[[], Value]) -> Value | None:
        """Return a part of its output; note where the output has a form that nothing here writes."""
        try:
            return read()
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            self.__dict__["_odd_output"] = f"output: {type(error).__name__}: {error}"
            return None

    @property
    def _output(self) -> Mapping[str, Any]:
        """Its output; empty where it is not done."""
        return self.row.output if self.row.status == "done" and isinstance(self.row.output, Mapping) else {}


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"a text is {type(value).__name__}")
