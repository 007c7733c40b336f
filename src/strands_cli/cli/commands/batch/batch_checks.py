"""What is checked of the plan of a batch before any row begins."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strands_cli.errors import Finding
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest


def for_workers(planned: Plan, request: RunRequest) -> Plan:
    """Return the plan of rows that workers run, which have keys of their own.

    Raises:
        StrandsCliError: It cannot run anywhere, or its store has no queues.
    """
    from strands_cli.queues.engine_choice import queue_at
    from strands_cli.workers.submitted.submission import submittable

    queue_at(planned.store).close()
    return submittable(planned, request)


def require_runnable_choices(planned: Plan, findings: Sequence[Finding]) -> None:
    """Check the plan of a batch and its limits before anything begins.

    Raises:
        StrandsCliError: There are errors among the findings.
    """
    from strands_cli.planning.plan_builder import require_runnable

    require_runnable(dataclasses.replace(planned, findings=tuple(findings)))
