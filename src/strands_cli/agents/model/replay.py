"""The provider `replay`: a model that replays the turns of a recording while the tools run normally."""

from __future__ import annotations

import difflib
import json
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from strands.models import Model

from strands_cli.errors import FileAtFault, RunFailed, suggest
from strands_cli.texts.phrases import shortened
from strands_cli.tools.messages.message_json import request_text
from strands_cli.workflow.recording_file import RecordedTurn, same_request

if TYPE_CHECKING:
    from strands.models import Model


_AGAIN = "record it again: strands run SPEC --provider NAME --model NAME --record FILE"


class ReplayModel(Model):
    """Replays the turns of one step key in order; a turn for another request raises with the difference.

    Args:
        turns: The model's recorded turns for this step, in order.
        key: The step's key, for messages.
    """

    def __init__(self, turns: Sequence[RecordedTurn], key: str) -> None:
        self._turns = tuple(turns)
        self._key = key
        self._played = 0

    def update_config(self, **model_config: Any) -> None:
        """Raise: a recording has no settings."""
        raise RunFailed(f"the replay model has no settings to change: {sorted(model_config)}")

    def get_config(self) -> dict[str, Any]:
        """Return an empty configuration."""
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: agents get structured output through `stream`."""
        raise NotImplementedError("structured output goes through stream()")

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Yield the events of the next turn."""
        turn = self._next_turn(request_text(messages), tool_failures(messages))
        self._require_offered(turn, [spec["name"] for spec in tool_specs or []])
        for event in stream_events(turn, f"{self._key}.{self._played}"):
            yield event

    def skip(self) -> None:
        """Skip one turn, whose answer the journal has from an earlier process."""
        self._played += 1

    def require_played(self) -> None:
        """Check that the step used every turn.

        Raises:
            FileAtFault: Turns remain, so the run differs from the recorded one.
        """
        left = len(self._turns) - self._played
        if left:
            raise self._fault(
                f"the recording has {len(self._turns)} turns for {self._key}, and the run needed {self._played}",
                f"remove the remaining turns, or {_AGAIN}",
            )

    def _fault(self, message: str, fix: str | None) -> FileAtFault:
        error = FileAtFault(message, fix=fix)
        error.step = self._key.partition("/")[0]
        return error

    def _next_turn(self, request: str, failures: str) -> RecordedTurn:
        if self._played >= len(self._turns):
            raise self._fault(
                f"the recording has {len(self._turns)} turns for {self._key}, and the run asks for one more, with: "
                f"{_shorten(request)}",
                f"add a turn for {self._key} to the recording, or {_AGAIN}",
            )
        turn = self._turns[self._played]
        self._played += 1
        if turn.when is not None and not same_request(turn.when, request):
            raise self._fault(
                f"turn {self._played} of {self._key} was recorded for another request:\n"
                f"{_difference(turn.when, request)}{failures}",
                f"correct `when` in the recording, or {_AGAIN}",
            )
        return turn

    def _require_offered(self, turn: RecordedTurn, offered: list[str]) -> None:
        for call in turn.calls:
            if call.tool not in offered:
                raise self._fault(
                    f"turn {self._played} of {self._key} calls '{call.tool}', which the request does not offer; "
                    f"it offers: {', '.join(offered) or 'no tools'}",
                    suggest(call.tool, offered, f"give the agent the tool, or {_AGAIN}"),
                )


def stream_events(turn: RecordedTurn, identity: str) -> list[dict[str, Any]]:
    """Return the SDK's stream events of one turn; its tool-use ids begin with `identity`."""
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
    input_tokens, output_tokens = turn.usage
    usage = {"inputTokens": input_tokens, "outputTokens": output_tokens, "totalTokens": input_tokens + output_tokens}
    events.append({"metadata": {"usage": usage, "metrics": {"latencyMs": 0}}})
    return events


def tool_failures(messages: Any) -> str:
    """Return the messages of a request's failed tool results, one line each."""
    results = [block["toolResult"] for block in (messages[-1]["content"] if messages else ()) if "toolResult" in block]
    texts = [
        next((part["text"] for part in result["content"] if "text" in part), "")
        for result in results
        if result["status"] == "error"
    ]
    return "".join(f"\n    a tool failed: {_shorten(text)}" for text in texts)


def _difference(recorded: str, actual: str) -> str:
    lines = difflib.unified_diff(
        recorded.splitlines(), actual.splitlines(), "recorded request", "request now", lineterm="", n=1
    )
    return "\n".join(f"    {line}" for line in list(lines)[:40])


def _shorten(text: str) -> str:
    return repr(shortened(" ".join(text.split()), 200))
