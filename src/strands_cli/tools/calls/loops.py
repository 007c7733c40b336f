"""Loops of an agent: turns with calls that it has made before, each with the result that it had then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.errors import AgentLoop, Code
from strands_cli.events import RunWarning
from strands_cli.texts.canonical_json import digest_of
from strands_cli.texts.phrases import joined

if TYPE_CHECKING:
    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.workflow.sections import Loops

AGENT_LOOP = Code(
    "agent-loop",
    "An agent repeats calls that give the same results again.",
    "Tell it in its prompt when it is done; where it waits for something, write `loops: off` at the agent.",
    22,
)
# In the detail of a row: how many turns in a row had the call with this result when the model got the hint.
LOOP = "loop"


class LoopWatch:
    """Counts the repeated calls of one step's agent, from the results in the rows of its calls.

    A loop is over with a turn in which a call is new or has another result than the last time. Calls of tools that
    poll are left out. It gets each turn again in a resumed run, so that the counts need no place in the journal.

    Args:
        polling: The names of tools that are called again to wait for something.
    """

    def __init__(self, limits: Loops, scope: StepScope, polling: Container[str] = ()) -> None:
        self._hint_after, self._stop_after = limits.hint_after, limits.stop_after
        self._scope = scope
        self._polling = polling
        self._message: Any = None
        self._calls: dict[str, str] = {}
        self._results: dict[str, str] = {}
        self._last: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._due: str | None = None
        self._is_hinted = False

    def begin_turn(self, message: Mapping[str, Any]) -> None:
        """Take up the calls of a message of the model before one of them is made; stop the step at a loop's end."""
        if message is self._message:
            return
        self._end_turn()
        self._message = message
        uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        uses = [use for use in uses if use["name"] not in self._polling]
        self._calls = {use["toolUseId"]: f"{use['name']} {digest_of(use['input'])}" for use in uses}
        counts = {call: self._counts[call] for call in self._calls.values()}
        if not counts or not all(counts.values()):
            return
        if self._stop_after != "off" and min(counts.values()) >= self._stop_after:
            self._stop(min(counts.values()))
        elif self._hint_after != "off" and not self._is_hinted:
            least = self._hint_after - 1
            self._due = next((call for call, count in counts.items() if count >= least), None)

    def _end_turn(self) -> None:
        """Count the calls of the turn before; something new begins the counts again."""
        calls = set(self._calls.values())
        if not calls:
            return
        results = {call: self._results.get(identity, "") for identity, call in self._calls.items()}
        if any(not result or self._last.get(call) != result for call, result in results.items()):
            self._counts.clear()
            self._is_hinted = False
        self._counts.update(calls)
        self._last |= results
        self._results, self._calls, self._due = {}, {}, None

    def ended(self, tool_use_id: str, output: Mapping[str, Any], *, hinted: bool = False) -> tuple[str, int] | None:
        """Take the result of a call of the turn.

        Args:
            output: The status and the content of the result, as in the row; its last block is the hint if `hinted`.

        Returns:
            The hint to the model and the number of turns; None where none is due.
        """
        call = self._calls.get(tool_use_id)
        if call is None:
            return None
        content = output["content"][:-1] if hinted else output["content"]
        self._results[tool_use_id] = result = digest_of([output["status"], content])
        self._is_hinted |= hinted
        if hinted or self._is_hinted or call != self._due or self._last.get(call) != result:
            return None
        self._is_hinted = True
        turns = self._counts[call] + 1
        message = f"the agent '{self._scope.who}' has made {self._words} {turns} times with the same results"
        self._scope.emit(RunWarning(self._scope.now(), message, AGENT_LOOP, AGENT_LOOP.remedy))
        hint = f"[strands: you have made {self._words} {turns} times with the same results; "
        return f"{hint}do something else, or answer with what you have]", turns

    @property
    def _words(self) -> str:
        """The calls of the loop for a reader."""
        names = joined(sorted({call.partition(" ")[0] for call in self._counts}))
        number = len(self._counts)
        return f"the same call of {names}" if number == 1 else f"the same {number} calls of {names}"

    def _stop(self, turns: int) -> None:
        who = self._scope.who
        self._scope.stop(
            AgentLoop(
                f"agent loop: the agent '{who}' has made {self._words} {turns} times with the same results,"
                " and asks for them again",
                fix=f"tell it in its prompt when it is done; where it waits for something, write `loops: off` at the"
                f" agent '{who}', or `polls: true` in the manifest of the tool",
            )
        )
