"""What one row of a journal is for a person: a step or a gate, done or stopped, and who acts in it."""

from __future__ import annotations

from typing import Literal, cast

from strands_cli.engine.stored_runs.effect_summary import EffectSummary
from strands_cli.events import RunStatus

BranchKind = Literal["step", "model", "tool", "gate", "question", "notes", "artifacts", "row", "group"]
BranchStatus = Literal["done", "reused", "failed", "running", "waiting", "stopped"]

# What an effect does that has begun and is not done, by the status of its run; in other runs no process works on it.
_UNFINISHED: dict[RunStatus, BranchStatus] = {"running": "running", "waiting": "waiting"}


def kind_of(effect: EffectSummary) -> BranchKind:
    """Return the kind; a `human` row is a gate or a question."""
    if effect.row.kind == "human":
        return "gate" if effect.row.is_step else "question"
    return effect.row.kind


def status_of(effect: EffectSummary, status: RunStatus) -> BranchStatus:
    """Return what an effect does or did in a run of this status."""
    if effect.status == "started" or (effect.status == "waiting" and status not in ("running", "waiting")):
        return _UNFINISHED.get(status, "stopped")
    if effect.tool_error is not None or effect.damage:
        return "failed"
    return cast(BranchStatus, effect.status)


def who_of(effect: EffectSummary) -> str:
    """Return the agent of a step or a model turn, the name of a tool, or `person`; empty for others."""
    row = effect.row
    if row.kind == "human":
        return "person"
    if row.kind == "tool":
        return row.key.rpartition("/tool.")[2].partition(".")[2] or row.key.rpartition("/")[2]
    agent = row.detail.get("agent") or effect.agent
    return agent if isinstance(agent, str) else ""
