"""The hooks that plugins may implement, and the one place that loads and calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.hooks.hook_values import (
    Check,
    HookContext,
    PlanFacts,
    PlannedAgentFacts,
    PlanProblem,
    Proceed,
    RunEnded,
    RunStarted,
    ToolCall,
    WaitingQuestion,
    Wrapper,
)
from strands_cli.policy.decision import Decision

if TYPE_CHECKING:
    from strands_cli.hooks.hookspecs import hookimpl

__all__ = [
    "Check",
    "Decision",
    "HookContext",
    "PlanFacts",
    "PlanProblem",
    "PlannedAgentFacts",
    "Proceed",
    "RunEnded",
    "RunStarted",
    "ToolCall",
    "ToolRecord",
    "WaitingQuestion",
    "Wrapper",
    "hookimpl",
]


def __getattr__(name: str) -> Any:
    """Import pluggy for those who implement hooks, and for no command that only checks a workflow."""
    if name != "hookimpl":
        raise AttributeError(f"module 'strands_cli.hooks' has no attribute {name!r}")
    from strands_cli.hooks.hookspecs import hookimpl

    return hookimpl
