"""Custom Python of a workflow that uses two secrets: it declares which ones, and gets their values with each call."""

from __future__ import annotations

from typing import Any

TOOL_SPEC = {
    "name": "balance",
    "description": "Returns what is left in a year, in euros.",
    "inputSchema": {"json": {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}},
    "annotations": {"readOnlyHint": True},
    "strands_cli": {"capabilities": {"secrets": ["USER", "LEDGER_KEY"]}},
}


def balance(tool: dict[str, Any], strands_cli: dict[str, Any], **given: Any) -> dict[str, Any]:
    """Answer if there is a key; a real tool would ask a service with it."""
    secrets = strands_cli["secrets"]
    if not (secrets["USER"] and secrets["LEDGER_KEY"]):
        return {"status": "error", "content": [{"text": "invalid_input: who are you?"}]}
    return {"status": "success", "content": [{"text": f"120 euros are left of {tool['input']['year']}."}]}
