"""Which names a template may use where, as a tree that paths are checked against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from strands_cli.workflow.model import (
    Chain,
    EvaluatorOptimizer,
    Graph,
    OrchestratorWorkers,
    Parallel,
    Pattern,
    Routing,
    Runtime,
    WorkflowPattern,
)
from strands_cli.workflow.templates.template import Path


@dataclass(frozen=True, slots=True)
class Items:
    """A list of alike items; `count` is how many there are at that moment, None when only the run can tell."""

    each: Any
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Unnamed:
    """A value whose inside is not known before the run."""


ANY = Unnamed()
Scope = Mapping[str, Any]

STEP: Scope = dict.fromkeys(("response", "output", "agent", "index", "status"), ANY)
BRANCH: Scope = dict.fromkeys(("response", "output", "status", "steps"), ANY)
NODE: Scope = dict.fromkeys(("response", "output", "agent", "status", "iteration"), ANY)
WORKER: Scope = dict.fromkeys(("response", "output", "agent", "status", "task", "index"), ANY)
ROUTER: Scope = dict.fromkeys(("chosen_route", "response"), ANY)
RUN: Scope = dict.fromkeys(("id", "duration_s", "usage", "cost_usd"), ANY)

# Names the format itself gives a meaning somewhere: elsewhere they are a mistake, not an undeclared input.
RESERVED = frozenset(
    {
        "steps",
        "last_response",
        "hitl_response",
        "tasks",
        "branches",
        "router",
        "draft",
        "iteration",
        "evaluation",
        "iterations",
        "iteration_index",
        "current_draft",
        "current_evaluation",
        "subtasks",
        "orchestrator_response",
        "workers",
        "num_workers",
        "round_count",
        "reduce_response",
        "nodes",
        "TRACE",
        "run",
        "runtime",
        "final_score",
        "execution_context",
    }
)


def chain_scope(before: int | None, has_gate: bool) -> dict[str, Any]:
    """Return the names a step sees after `before` others (None: any number)."""
    scope: dict[str, Any] = {"steps": Items(STEP, before)}
    if before != 0:
        scope["last_response"] = ANY
    if has_gate:
        scope["hitl_response"] = ANY
    return scope


EVALUATION: Scope = dict.fromkeys(("draft", "iteration", "evaluation"), ANY)
REVIEW: Scope = {
    **EVALUATION,
    "iterations": Items(ANY),
    **dict.fromkeys(("iteration_index", "current_draft", "current_evaluation"), ANY),
}
ORCHESTRATION: Scope = {"subtasks": Items(ANY), "orchestrator_response": ANY, "round_count": ANY}
WORK: Scope = {**ORCHESTRATION, "workers": Items(WORKER), "num_workers": ANY, "last_response": ANY}
WRITEUP: Scope = {**WORK, "reduce_response": ANY}


def scope_at_end(pattern: Pattern) -> dict[str, Any]:
    """Return the names artifacts see besides inputs: all of the pattern's, and those of the run."""
    scope: dict[str, Any] = {
        "last_response": ANY,
        "TRACE": ANY,
        "name": ANY,
        "runtime": dict.fromkeys(Runtime.model_fields, ANY),
        "run": RUN,
        "execution_context": ANY,
    }
    if isinstance(pattern, Chain):
        scope |= {"steps": Items(STEP, len(pattern.config.steps)), "hitl_response": ANY}
    elif isinstance(pattern, WorkflowPattern):
        scope |= {"tasks": {task.id: STEP for task in pattern.config.tasks}, "hitl_response": ANY}
    elif isinstance(pattern, Routing):
        scope |= {"router": ROUTER, "steps": Items(STEP), "hitl_response": ANY}
    elif isinstance(pattern, Parallel):
        scope |= {"branches": {branch.id: BRANCH for branch in pattern.config.branches}, "hitl_response": ANY}
    elif isinstance(pattern, EvaluatorOptimizer):
        scope |= {**REVIEW, "final_score": ANY, "hitl_response": ANY}
    elif isinstance(pattern, OrchestratorWorkers):
        scope |= {**WRITEUP, "hitl_response": ANY}
    elif isinstance(pattern, Graph):
        scope |= {"nodes": dict.fromkeys(pattern.config.nodes, NODE), "hitl_response": ANY}
    return scope


@dataclass(frozen=True, slots=True)
class Problem:
    """A path that leads nowhere: what is wrong, the word that is, and the words that would be right."""

    message: str
    word: str
    known: tuple[str, ...]


def problem_of(path: Path, scope: Scope) -> Problem | None:
    """Follow a path whose first name the scope has; return where it leads nowhere, if it does."""
    place: Any = scope
    for position, part in enumerate(path):
        if isinstance(place, Unnamed) or part == "*":
            return None
        if isinstance(place, Items):
            if not isinstance(part, int):
                return Problem(f"`{spoken_path(path[:position])}` is a list, which has no `{part}`", str(part), ())
            if place.count is not None and not -place.count <= part < place.count:
                return Problem(_beyond(path[: position + 1], place.count), str(part), ())
            place = place.each
        elif part in place:
            place = place[part]
        else:
            owner = spoken_path(path[:position])
            return Problem(f"`{owner}` has no `{part}`", str(part), tuple(sorted(place)))
    return None


def _beyond(path: Path, count: int) -> str:
    there = {0: "no step", 1: "only one step"}.get(count, f"only {count} steps")
    return f"`{spoken_path(path)}` cannot be known here: {there} before"


def spoken_path(path: Path) -> str:
    """Return a path in the template's own spelling: `steps[0].response`."""
    return "".join(_spoken(path))


def _spoken(path: Path) -> Iterator[str]:
    for position, part in enumerate(path):
        if isinstance(part, int) or part == "*":
            yield f"[{part}]" if part != "*" else "[...]"
        elif position and not part.isidentifier():
            yield f"[{part!r}]"
        else:
            yield f".{part}" if position else part
