"""What a tool declares about its effects, as a phrase for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_cli.catalog.tool_record import ToolRecord


def describe_permissions(record: ToolRecord) -> str:
    """Return a phrase for the hints and capabilities that a tool declares, and for those that it does not declare."""
    hints, claims = record.annotations, record.strands_cli
    phrases = ["only reads"] if hints.get("readOnlyHint") is True else []
    phrases += ["can destroy"] if hints.get("destructiveHint") is True else []
    phrases += ["asks each time"] if claims.get("requires_confirmation") else []
    if hints.get("readOnlyHint") is not True:
        phrases.append("changes something" if "readOnlyHint" in hints else "does not declare whether it only reads")
    declared = claims.get("capabilities")
    if not isinstance(declared, Mapping):
        return "; ".join([*phrases, "does not declare its capabilities"])
    capabilities = [f"{name} {_listed(value)}".strip() for name, value in declared.items() if value]
    return "; ".join([*phrases, *(capabilities or ["no capabilities"])])


def _listed(value: Any) -> str:
    if value is True:
        return ""
    return ", ".join(_item(one) for one in (value if isinstance(value, list) else [value]))


def _item(one: Any) -> str:
    return f"{one.get('path')} ({one.get('mode')})" if isinstance(one, Mapping) else str(one)
