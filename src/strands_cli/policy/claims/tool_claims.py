"""Combine what is known of a tool with claims from an untrusted source, which can only tighten it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from strands_cli.texts.canonical_json import json_object


class Claims(NamedTuple):
    """The claims about a tool: the MCP hints, and the fields under `strands_cli`."""

    annotations: Mapping[str, Any]
    claims: Mapping[str, Any]


NO_CLAIMS = Claims({}, {})


def tightened(known: Claims, claimed: Claims) -> Claims:
    """Return the known claims with those untrusted claims that make decisions stricter.

    Args:
        known: Claims from a trusted source.
        claimed: Claims from an untrusted source: an MCP server, or code that is known only after loading.

    Returns:
        Claims that no rule, and no decision without rules, treats less strictly than `known`.
    """
    return Claims(
        {**known.annotations, **_careful_hints(claimed.annotations), **_contradiction_in(known.annotations)},
        {**known.claims, **_careful_claims(known.claims, claimed.claims)},
    )


def _careful_hints(hints: Mapping[str, Any]) -> dict[str, Any]:
    careful = {name: False for name in ("readOnlyHint", "idempotentHint") if hints.get(name) is False}
    # A destructive hint that is neither true nor false counts as true.
    risky = {name: hints[name] for name in ("destructiveHint", "openWorldHint") if hints.get(name) not in (None, False)}
    return {**careful, **risky}


def _contradiction_in(hints: Mapping[str, Any]) -> dict[str, Any]:
    """Return what keeps hints contradictory that are: every call of such a tool asks, and of a writing one not each."""
    is_contradictory = hints.get("readOnlyHint") is True and hints.get("destructiveHint") not in (None, False)
    return {"readOnlyHint": True} if is_contradictory else {}


def _careful_claims(known: Mapping[str, Any], claimed: Mapping[str, Any]) -> dict[str, Any]:
    careful: dict[str, Any] = {}
    if (confirmation := claimed.get("requires_confirmation")) not in (None, False):
        careful["requires_confirmation"] = confirmation
    added, declared = claimed.get("capabilities"), known.get("capabilities")
    if isinstance(added, Mapping) and (more := {name: value for name, value in added.items() if value}):
        careful["capabilities"] = {**json_object(declared), **more}
    return careful
