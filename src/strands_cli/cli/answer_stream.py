"""The answer of a run on stdout while its model writes it, where stdout is a terminal."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, TextIO

from strands_cli.cli.output.results import print_response
from strands_cli.events import Event, ModelCallFinished, ModelCallStarted, ModelRetried, ModelText, StepFailed
from strands_cli.workflow.steps import AgentStep

if TYPE_CHECKING:
    from strands_cli.cli.terminal.live_view import View
    from strands_cli.planning.plan_values import Plan

_MODEL_CALL = re.compile(r"/model\.\d+$")


class AnswerStream:
    """Passes events on to the view, and writes the text of the last step itself; the view waits meanwhile.

    Args:
        steps: The keys of the steps whose text is the run's answer.
        view: Writes to the same terminal.
        stdout: The real stdout.
    """

    def __init__(self, steps: Collection[str], view: View, stdout: TextIO) -> None:
        self._steps = steps
        self._view = view
        self._stdout = stdout
        self._text: str | None = None  # of the call that goes on, or of the last one
        self._is_open = False

    def __call__(self, event: Event) -> None:
        """Handle one event."""
        match event:
            case ModelCallStarted() if self._is_answer(event.key):
                self.end()
                self._text = None
            case ModelText() if self._is_answer(event.key):
                self._write(event.text)
                return
            case ModelCallFinished() | ModelRetried() | StepFailed():
                self.end()
        self._view(event)

    def _is_answer(self, key: str) -> bool:
        step = _MODEL_CALL.sub("", key)
        return step != key and step.partition("#")[0] in self._steps

    def _write(self, piece: str) -> None:
        if not self._is_open:
            self._view.pause()
            self._is_open = True
        self._text = (self._text or "") + piece
        print_response(piece, self._stdout)

    def end(self) -> View:
        """End the line of an incomplete text, let the view continue, and return it."""
        if self._is_open:
            if not (self._text or "").endswith("\n"):
                print_response("\n", self._stdout)
            self._is_open = False
            self._view.unpause()
        return self._view

    def has_shown(self, response: str) -> bool:
        """Return whether the answer is the last text that was written."""
        return self._text is not None and self._text.strip() == response.strip()


def answering_steps(plan: Plan) -> frozenset[str]:
    """Return the keys of the steps of which one gives the run's answer as its agent writes it; empty if none is sure.

    It is the one step that no other follows; of a routing the last step of each route, since one route is taken.
    """
    pattern = plan.spec.pattern
    followed = {edge.before for edge in pattern.edges()}
    last = [placed for placed in pattern.placed if placed.key not in followed]
    if pattern.type != "routing" and len(last) != 1:
        return frozenset()
    agents = [(step.key.removesuffix("#N"), step.step.agent) for step in last if isinstance(step.step, AgentStep)]
    return frozenset(key for key, agent in agents if plan.agents[agent].output_schema is None)
