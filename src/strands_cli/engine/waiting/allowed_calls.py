"""What a run may do from now on, chosen when it continues and stored with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_cli.engine.journal.journal_rows import Journal
from strands_cli.planning.run_request import RunRequest

# What a person may allow each time a run continues, with what a run has that began without it.
_PERMISSIONS: Mapping[str, Any] = {"allow": [], "yes": False, "deny": False}


def store_permissions(journal: Journal, request: RunRequest) -> bool:
    """Store what is allowed from now on, so that the run has it again when it continues; its plan is its own then.

    Returns:
        Whether it differs from what was allowed before.
    """
    options = journal.get("options") or {}
    now = {name: value for name, value in request.to_stored().items() if name in _PERMISSIONS}
    differs = any(options.get(name, default) != now[name] for name, default in _PERMISSIONS.items())
    if differs:
        journal.put(options={**options, **now}, **({"plan_key": ""} if journal.get("plan_key") else {}))
    return differs
