"""What is stored about a run besides its effects: enough to go on with it without the workflow file."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.engine.ports import Clock, Row

if TYPE_CHECKING:
    from strands_cli.planning.plan import Plan


def new_run_id(clock: Clock) -> str:
    """Return an id that sorts by time: `20261121-033012-a1b2c3` (UTC)."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(clock.now())) + "-" + secrets.token_hex(3)


def run_facts(plan: Plan, run_id: str, clock: Clock) -> dict[str, Any]:
    """Return the facts that a new run's journal begins with."""
    return {
        "id": run_id,
        "workflow": plan.spec.name,
        "pattern": plan.spec.pattern.type,
        "file": plan.file,
        "base_dir": str(plan.base_dir),
        "text": plan.text,
        "inputs": dict(plan.inputs),
        "plan_digest": plan.digest,
        "started_at": clock.now(),
        "status": "running",
    }


def recorded_calls(rows: Iterable[Row]) -> list[tuple[str, Mapping[str, Any], str]]:
    """Return what a recording is made of: key, output and end of the request of each model call that was answered."""
    return [(row.key, row.output, row.detail["request"]) for row in rows if row.status == "done"]
