"""The provider `replay`: a model that plays the turns of a recording while tools run for real."""

from __future__ import annotations

import difflib
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from strands.models import Model

from strands_cli.errors import RunFailed, did_you_mean
from strands_cli.tools import request_text
from strands_cli.workflow import RecordedTurn, same_request


class ReplayModel(Model):
    """Plays the turns of one step key in order; a turn that does not fit its request is an error with the difference.

    Args:
        turns: What the model said at this step, in order.
        key: The step's key, for messages.
    """

    def __init__(self, turns: Sequence[RecordedTurn], key: str) -> None:
        self._turns = tuple(turns)
        self._key = key
        self._played = 0

    def update_config(self, **model_config: Any) -> None:
        """Accept nothing: a recording has no settings."""
        raise RunFailed(f"the replay model has no settings to change: {sorted(model_config)}")

    def get_config(self) -> dict[str, Any]:
        """Return an empty configuration."""
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: agents ask for structured output through `stream`."""
        raise NotImplementedError("structured output goes through stream()")

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Play the next turn."""
        turn = self._next_turn(request_text(messages), failures_told(messages))
        self._require_offered(turn, [spec["name"] for spec in tool_specs or []])
        for event in stream_events(turn, f"{self._key}.{self._played}"):
            yield event

    def skip(self) -> None:
        """Pass over one turn: the journal has the answer that this model gave in an earlier process."""
        self._played += 1

    def require_played(self) -> None:
        """Check that the step used every turn.

        Raises:
            RunFailed: turns are left over, so the run took another way than the recorded one.
        """
        left = len(self._turns) - self._played
        if left:
            raise RunFailed(
                f"the recording has {len(self._turns)} turns for {self._key}, and the run needed {self._played}",
                fix="remove the turns that are left over, or record again with --record",
            )

    def _next_turn(self, request: str, failures: str) -> RecordedTurn:
        if self._played >= len(self._turns):
            raise RunFailed(
                f"the recording has {len(self._turns)} turns for {self._key}, and the run asks for one more, with: "
                f"{_shorten(request)}",
                fix=f"add a turn for {self._key} to the recording, or record again with --record",
            )
        turn = self._turns[self._played]
        self._played += 1
        if turn.when is not None and not same_request(turn.when, request):
            raise RunFailed(
                f"turn {self._played} of {self._key} was recorded for another request:\n"
                f"{_difference(turn.when, request)}{failures}",
                fix="correct `when` in the recording, or record again with --record",
            )
        return turn

    def _require_offered(self, turn: RecordedTurn, offered: list[str]) -> None:
        for call in turn.calls:
            if call.tool not in offered:
                guess = did_you_mean(call.tool, offered)
                raise RunFailed(
                    f"turn {self._played} of {self._key} calls '{call.tool}', which the request does not offer; "
                    f"it offers: {', '.join(offered) or 'no tools'}",
                    fix=f"did you mean '{guess}'?" if guess else "give the agent the tool, or record again",
                )


def stream_events(turn: RecordedTurn, identity: str) -> list[dict[str, Any]]:
    """Return the SDK's stream events of one turn; its tool-use ids follow from `identity`."""
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    if turn.text is not None:
        events.append({"contentBlockStart": {"start": {}}})
        events.append({"contentBlockDelta": {"delta": {"text": turn.text}}})
        events.append({"contentBlockStop": {}})
    for index, call in enumerate(turn.calls):
        start = {"toolUse": {"name": call.tool, "toolUseId": f"{identity}.{index}"}}
        events.append({"contentBlockStart": {"start": start}})
        events.append({"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(dict(call.input))}}}})
        events.append({"contentBlockStop": {}})
    stop_reason = turn.stop_reason or ("tool_use" if turn.calls else "end_turn")
    events.append({"messageStop": {"stopReason": stop_reason}})
    sent, answered = turn.usage
    usage = {"inputTokens": sent, "outputTokens": answered, "totalTokens": sent + answered}
    events.append({"metadata": {"usage": usage, "metrics": {"latencyMs": 0}}})
    return events


def failures_told(messages: Any) -> str:
    """Return what the failed tool results of a request say, a line each: `tool: status` alone tells no reason."""
    results = [block["toolResult"] for block in (messages[-1]["content"] if messages else ()) if "toolResult" in block]
    said = [
        next((part["text"] for part in result["content"] if "text" in part), "")
        for result in results
        if result["status"] == "error"
    ]
    return "".join(f"\n    a tool said: {_shorten(text)}" for text in said)


def _difference(recorded: str, actual: str) -> str:
    lines = difflib.unified_diff(
        recorded.splitlines(), actual.splitlines(), "recorded request", "request now", lineterm="", n=1
    )
    return "\n".join(f"    {line}" for line in list(lines)[:40])


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 200 else line[:200] + "...")
