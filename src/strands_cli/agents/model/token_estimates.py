"""Estimates of tokens without a tokenizer: for limits of a conversation, and where a server reports no tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from strands_cli.events import Usage

# The approximate number of UTF-8 bytes in a token of the common vocabularies; an image's tokens depend on its size.
BYTES_PER_TOKEN = 4
BLOB_TOKENS = 1500
MESSAGE_TOKENS = 4


def tokens_in(value: Any) -> int:
    """Return an estimate of the tokens in messages, or in any part of one, without a tokenizer."""
    if isinstance(value, str):
        size = len(value) if value.isascii() else len(value.encode("utf-8", "replace"))
        return -(-size // BYTES_PER_TOKEN)
    if isinstance(value, (bytes, bytearray)):
        return BLOB_TOKENS
    if isinstance(value, Mapping):
        parts = (part for name, part in value.items() if name not in ("tracking_id", "metadata"))
        return (MESSAGE_TOKENS if "role" in value else 0) + sum(map(tokens_in, parts))
    if isinstance(value, (list, tuple)):
        return sum(map(tokens_in, value))
    return 0 if value is None else 1


def with_estimates(usage: Usage, request: Any, events: Sequence[Any]) -> Usage:
    """Return the tokens of a call, with estimates for those of the request or the answer that were not reported.

    Args:
        request: The sent values: messages, prompt and specs of tools.
        events: The stream events of the answer.
    """
    input_tokens = (
        0 if usage.input_tokens or usage.cache_read_tokens or usage.cache_write_tokens else tokens_in(request)
    )
    output_tokens = 0 if usage.output_tokens else tokens_in("".join(map(_text_of, events)))
    if not (input_tokens or output_tokens):
        return usage
    return replace(
        usage,
        input_tokens=usage.input_tokens + input_tokens,
        output_tokens=usage.output_tokens + output_tokens,
        estimated_tokens=input_tokens + output_tokens,
    )


def _text_of(event: Mapping[str, Any]) -> str:
    delta = (event.get("contentBlockDelta") or {}).get("delta") or {}
    parts = (
        delta.get("text"),
        (delta.get("toolUse") or {}).get("input"),
        (delta.get("reasoningContent") or {}).get("text"),
    )
    return "".join(part for part in parts if isinstance(part, str))
