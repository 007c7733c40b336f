"""Limit a conversation to its latest messages: requests leave out messages before the window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import ConversationManager
from strands.hooks import BeforeModelCallEvent, HookRegistry

from strands_cli.errors import RunFailed
from strands_cli.workflow.agent_sections import Window

if TYPE_CHECKING:
    from strands.agent import Agent

# The input of the step, the latest call of a tool and its result.
LEAST = 3
TOO_LONG = "shorten the step's input or the tools' outputs, or choose a model with a larger context"


def holds(message: Mapping[str, Any], kind: str) -> bool:
    """Return whether a message has a block of this kind."""
    return any(kind in block for block in message["content"])


def windowed(messages: Sequence[Any], step: int, most: int) -> tuple[list[Any], int]:
    """Return the latest messages, and the index of the step's input among them.

    The step's input and the latest message always remain. A tool's result is never separated from its call. The result
    begins with a user message and its roles alternate, so an answer is preceded by its question.

    Args:
        messages: The conversation, in which roles alternate.
        step: The index of the step's input.
        most: The maximum number of messages, at least `LEAST`.
    """
    if len(messages) <= most:
        return list(messages), step
    for point in range(len(messages) - most, len(messages)):
        if holds(messages[point], "toolResult") or (point > step and messages[point]["role"] == "user"):
            continue
        question = _question(messages, point, step)
        if question is None:
            continue
        head = [] if question == point else [messages[question]]
        latest = [*head, *messages[point:]]
        if len(latest) <= most:
            return latest, 0 if question == step else step - point + len(head)
    return list(messages), step


def _question(messages: Sequence[Any], point: int, step: int) -> int | None:
    """Return the index of the user message that the message at `point` answers, or None if it is missing."""
    if point > step:
        return step
    users = (place for place in range(point, -1, -1) if messages[place]["role"] == "user")
    return next((place for place in users if not holds(messages[place], "toolResult")), None)


class WindowedHistory(ConversationManager):
    """Removes the oldest messages before a request with too many, and more of them after one that was too long.

    Attributes:
        changed: Whether messages have been left out.
    """

    def __init__(self, window: Window, earlier: int) -> None:
        """Create a manager for a conversation that begins with `earlier` messages, followed by the step's input."""
        super().__init__()
        self._most = window.max_messages
        self._step = earlier
        self.changed = False

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Check the conversation before each model call."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeModelCallEvent, self._before_call)

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Do nothing: the conversation is checked before the next request."""

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:
        """Halve the window for the rest of the step; raise if no message can be left out."""
        before = len(agent.messages)
        self._most = max(LEAST, min(self._most, before) // 2)
        self._cut(agent.messages)
        if len(agent.messages) == before:
            raise e or RunFailed("the conversation is too long, and no more messages may be left out", fix=TOO_LONG)

    def _before_call(self, event: BeforeModelCallEvent) -> None:
        self._cut(event.agent.messages)

    def _cut(self, messages: list[Any]) -> None:
        latest, step = windowed(messages, self._step, self._most)
        if len(latest) < len(messages):
            # In place, because the list belongs to the agent.
            messages[:], self._step, self.changed = latest, step, True
