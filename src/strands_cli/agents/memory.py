"""What an agent with `memory: run` keeps from step to step: its messages, as the journal holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from strands_cli.agents.model import TOOL
from strands_cli.tools import decode, encode


def restored(history: Sequence[Any]) -> list[Any]:
    """Return the SDK's messages for a conversation that was kept."""
    return [decode(message) for message in history]


def kept(messages: Sequence[Any], answer: str, *, structured: bool) -> tuple[Any, ...]:
    """Return messages as JSON: role and content only, without the SDK's random ids and latencies.

    A structured answer ends with a call of the tool that takes it and its result; the next step need not have that
    tool, and two messages of the user in a row are refused by some providers. So the answer stands there as text.
    """
    plain = [{"role": message["role"], "content": encode(message["content"])} for message in messages]
    if structured:
        while plain and any(_takes_the_answer(block) for block in _last_call(plain)):
            del plain[-2:]
        plain.append({"role": "assistant", "content": [{"text": answer}]})
    return tuple(plain)


def _last_call(messages: Sequence[Any]) -> list[Any]:
    """Return the blocks of the assistant's message that the last message answers."""
    return list(messages[-2]["content"]) if len(messages) > 1 and messages[-1]["role"] == "user" else []


def _takes_the_answer(block: Mapping[str, Any]) -> bool:
    return bool(block.get("toolUse", {}).get("name") == TOOL)
