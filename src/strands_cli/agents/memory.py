"""The messages that an agent with `memory: run` carries from step to step, in the journal's form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strands_cli.agents.model import TOOL
from strands_cli.tools.messages import decode, encode


def restored(history: Sequence[Any]) -> list[Any]:
    """Return the SDK's messages for a conversation from the journal."""
    return [decode(message) for message in history]


def journal_messages(messages: Sequence[Any], answer: str, *, structured: bool) -> tuple[Any, ...]:
    """Return messages as JSON: role and content only, without the SDK's random ids and latencies.

    A structured answer ends with a call of the answer tool and its result. They are replaced by the answer as text: the
    next step may not have that tool, and some providers refuse two user messages in a row.
    """
    plain = [{"role": message["role"], "content": encode(message["content"])} for message in messages]
    if structured:
        while plain and any(block.get("toolUse", {}).get("name") == TOOL for block in _last_call(plain)):
            del plain[-2:]
        plain.append({"role": "assistant", "content": [{"text": answer}]})
    return tuple(plain)


def _last_call(messages: Sequence[Any]) -> list[Any]:
    """Return the blocks of the assistant's message before the last user message."""
    return list(messages[-2]["content"]) if len(messages) > 1 and messages[-1]["role"] == "user" else []
