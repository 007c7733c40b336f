"""What a run takes from the machine by names in its workflow, compared when it continues."""

from __future__ import annotations

from typing import Any

from strands_cli.canonical_json import digest_of
from strands_cli.engine.journal import Journal
from strands_cli.planning.plan import Plan
from strands_cli.planning.workflow_tools import all_workflows_in


def surroundings_of(plan: Plan) -> dict[str, Any]:
    """Return the facts of a new run: where its paths lead, and digests of the variables that its models take."""
    facts = {"places": _places(plan), "variables": _variables(plan)}
    return {name: found for name, found in facts.items() if found}


def surroundings_changed(plan: Plan, journal: Journal) -> list[str]:
    """Return what is not as it was when the run began, which is what a person has allowed; in words."""
    before, now = journal.get("places") or {}, _places(plan)
    moved = [f"{path} led to {before[path]} and leads to {now[path]}" for path in now if _differs(path, before, now)]
    known, values = journal.get("variables") or {}, _variables(plan)
    return moved + [
        f"the environment variable {name} has another value" for name in known if known[name] != values.get(name)
    ]


def _differs(name: str, before: dict[str, str], now: dict[str, str]) -> bool:
    return name in before and before[name] != now[name]


def _parts(plan: Plan) -> list[Plan]:
    return list({part.file: part for part in (plan, *all_workflows_in(plan))}.values())


def _places(plan: Plan) -> dict[str, str]:
    return {f"{path} of {part.file}": place for part in _parts(plan) for path, place in part.places.items()}


def _variables(plan: Plan) -> dict[str, str]:
    return {name: digest_of(value) for part in _parts(plan) for name, value in part.variables.items()}
