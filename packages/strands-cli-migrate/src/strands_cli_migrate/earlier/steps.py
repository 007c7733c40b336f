"""The steps of a pattern where a document has them, with the names that the prompt of their agent could use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from strands_cli_migrate.earlier.values import items, mapping, token

# The names of a step: for each name its keys, a number of items, or None where anything is known.
Names = Mapping[str, "set[str] | int | None"]
CONFIG = "/pattern/config"
# Names of the message to the agent of an orchestrator, of its workers, and of the later steps.
_OF_WORK = ("workers", "subtasks", "num_workers", "worker_count", "round_count", "task_count", "reduce_response")
_WORK = dict.fromkeys((*_OF_WORK, "orchestrator_response", "last_response", "hitl_response"))
_JUDGED = dict.fromkeys(("draft", "iteration", "evaluation"))


class Step(NamedTuple):
    """A step: its mapping, the pointer of that, and the names that its templates could use besides inputs."""

    value: dict[str, Any]
    pointer: str
    names: Names


def steps_in(pattern: Mapping[str, Any]) -> Iterator[Step]:
    """Yield the steps of a pattern; a gate of a step is one of its own."""
    config, kind = mapping(pattern.get("config")), pattern.get("type")
    if kind == "chain":
        yield from _in_order(config.get("steps"), f"{CONFIG}/steps", {})
    elif kind == "workflow":
        yield from _tasks(config)
    elif kind == "parallel":
        branches = [mapping(branch_value) for branch_value in items(config.get("branches"))]
        for number, branch in enumerate(branches):
            yield from _in_order(branch.get("steps"), f"{CONFIG}/branches/{number}/steps", {})
        ids = {str(branch.get("id")) for branch in branches}
        yield from _at(config, "reduce", {"branches": ids, "last_response": None})
    elif kind == "routing":
        yield from _at(config, "router", {})
        chosen: Names = dict.fromkeys(("router", "chosen_route", "hitl_response"))
        yield from _at(mapping(config.get("router")), "review_router", chosen, f"{CONFIG}/router")
        for name, route in mapping(config.get("routes")).items():
            yield from _in_order(mapping(route).get("then"), f"{CONFIG}/routes/{token(name)}/then", chosen)
    elif kind == "evaluator_optimizer":
        producer = {"agent": config.get("producer"), "input": config.get("producer_input")}
        yield Step(producer, f"{CONFIG}/producer", {})
        yield from _at(config, "evaluator", _JUDGED)
        yield from _at(config, "review_gate", _JUDGED)
    elif kind == "orchestrator_workers":
        yield from _at(config, "orchestrator", {})
        yield from _at(config, "worker_template", {})
        for name in ("decomposition_review", "reduce_review", "reduce", "writeup"):
            yield from _at(config, name, _WORK)
    elif kind == "graph":
        nodes = mapping(config.get("nodes"))
        names: Names = {"nodes": {*nodes}, "last_response": None, "hitl_response": None}
        for name, node in nodes.items():
            yield Step(mapping(node), f"{CONFIG}/nodes/{token(name)}", names)


def _at(config: Mapping[str, Any], name: str, names: Names, pointer: str = CONFIG) -> Iterator[Step]:
    if isinstance(value := config.get(name), dict):
        yield Step(value, f"{pointer}/{name}", names)


def _in_order(steps: Any, pointer: str, names: Names) -> Iterator[Step]:
    scope: dict[str, set[str] | int | None] = dict(names)
    for number, step in enumerate(items(steps)):
        before = {"last_response": None} if number else {}
        yield Step(mapping(step), f"{pointer}/{number}", {**scope, "steps": number, **before})
        scope |= {"hitl_response": None} if mapping(step).get("type") == "hitl" else {}


def _tasks(config: Mapping[str, Any]) -> Iterator[Step]:
    tasks = [mapping(entry) for entry in items(config.get("tasks"))]
    deps = {str(task.get("id")): [str(dependency) for dependency in items(task.get("deps"))] for task in tasks}
    for number, task in enumerate(tasks):
        before = set[str]()
        waiting = [str(task.get("id"))]
        while waiting:
            new = {*deps.get(waiting.pop(), ())} - before
            before |= new
            waiting += new
        gates = any(str(task.get("id")) in before and task.get("type") == "hitl" for task in tasks)
        names: Names = {"tasks": before, **({"hitl_response": None} if gates else {})}
        yield Step(task, f"{CONFIG}/tasks/{number}", names)
