"""What somebody who is not vouched for says of a tool: it may ask for more care, and never for less."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Said(NamedTuple):
    """What is said of a tool: the MCP hints, and the words under `strands_cli`."""

    annotations: Mapping[str, Any]
    claims: Mapping[str, Any]


NOTHING_SAID = Said({}, {})


def tightened(known: Said, claimed: Said) -> Said:
    """Return what is known of a tool with what is merely claimed of it, where that asks for more care.

    Args:
        known: What somebody vouches for.
        claimed: What anybody says: an MCP server, or code that is known only once it runs.

    Returns:
        What no rule, and no decision without rules, answers less strictly than what is known alone.
    """
    return Said(
        {**known.annotations, **_careful_hints(claimed.annotations)},
        {**known.claims, **_careful_words(known.claims, claimed.claims)},
    )


def _careful_hints(hints: Mapping[str, Any]) -> dict[str, Any]:
    careful = {name: False for name in ("readOnlyHint", "idempotentHint") if hints.get(name) is False}
    # A destructive hint that is neither true nor false is no excuse.
    risky = {name: hints[name] for name in ("destructiveHint", "openWorldHint") if hints.get(name) not in (None, False)}
    return {**careful, **risky}


def _careful_words(known: Mapping[str, Any], claimed: Mapping[str, Any]) -> dict[str, Any]:
    words: dict[str, Any] = {}
    if (confirmation := claimed.get("requires_confirmation")) not in (None, False):
        words["requires_confirmation"] = confirmation
    able, said = claimed.get("capabilities"), known.get("capabilities")
    if isinstance(able, Mapping) and (more := {word: value for word, value in able.items() if value}):
        words["capabilities"] = {**(said if isinstance(said, Mapping) else {}), **more}
    return words
