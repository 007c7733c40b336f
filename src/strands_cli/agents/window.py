"""Keeps a conversation to its latest messages: what is older than the window is left out of every request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import ConversationManager
from strands.hooks import BeforeModelCallEvent, HookRegistry

from strands_cli.errors import RunFailed
from strands_cli.workflow import Window

if TYPE_CHECKING:
    from strands.agent import Agent

# The words of the step, the latest call of a tool and its result.
LEAST = 3


def holds(message: Mapping[str, Any], kind: str) -> bool:
    """Tell whether a message has a block of this kind."""
    return any(kind in block for block in message["content"])


def windowed(messages: Sequence[Any], step: int, most: int) -> tuple[list[Any], int]:
    """Return the latest messages, and where the words of the step are among them.

    What the step was asked always stays, and so does the latest message. A tool's result is never parted from its
    call. The user begins and roles alternate: an answer whose question was cut off stands behind that question.

    Args:
        messages: The conversation, in which roles alternate.
        step: The place of what the step was asked.
        most: How many messages there may be, at least `LEAST`.
    """
    if len(messages) <= most:
        return list(messages), step
    for point in range(len(messages) - most, len(messages)):
        if holds(messages[point], "toolResult") or (point > step and messages[point]["role"] == "user"):
            continue
        asked = _question(messages, point, step)
        if asked is None:
            continue
        head = [] if asked == point else [messages[asked]]
        kept = [*head, *messages[point:]]
        if len(kept) <= most:
            return kept, 0 if asked == step else step - point + len(head)
    return list(messages), step


def _question(messages: Sequence[Any], point: int, step: int) -> int | None:
    """Return the place of the user's words that the message at `point` belongs to, or None where they are gone."""
    if point > step:
        return step
    words = (place for place in range(point, -1, -1) if messages[place]["role"] == "user")
    return next((place for place in words if not holds(messages[place], "toolResult")), None)


class WindowedHistory(ConversationManager):
    """Leaves out the oldest messages before a request that has too many, and more of them if that was too long.

    Attributes:
        changed: Whether messages have been left out.
    """

    def __init__(self, window: Window, earlier: int) -> None:
        """Keep `earlier` messages of former steps apart from what this step is asked, which comes next."""
        super().__init__()
        self._most = window.max_messages
        self._step = earlier
        self.changed = False

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Look at the conversation before each model call."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeModelCallEvent, self._before_call)

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Leave the conversation as it is: it is looked at before the next request."""

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:
        """Halve the window for the rest of the step, until nothing more can be left out."""
        before = len(agent.messages)
        self._most = max(LEAST, min(self._most, before) // 2)
        self._cut(agent.messages)
        if len(agent.messages) == before:
            raise e or RunFailed("the conversation is too long, and nothing more of it may be left out")

    def _before_call(self, event: BeforeModelCallEvent) -> None:
        self._cut(event.agent.messages)

    def _cut(self, messages: list[Any]) -> None:
        kept, step = windowed(messages, self._step, self._most)
        if len(kept) < len(messages):
            # In place: the list is the agent's own.
            messages[:], self._step, self.changed = kept, step, True
