"""The format `tasks`: a list of texts for one parrot."""

from typing import Any

from strands_cli.api import FormatProblem, Translation


def tasks(document: dict[str, Any]) -> Translation:
    """Return the workflow of a list of tasks."""
    problems = [FormatProblem("a mood has no equal", "remove it", "/mood", "warning")] if "mood" in document else []
    steps = [{"agent": "helper", "input": text} for text in document["tasks"]]
    value = {
        "version": 2,
        "name": document["title"],
        "runtime": {"provider": "replay", "recording": "tasks.recording.yaml"},
        "agents": {"helper": {"prompt": "You help."}},
        "pattern": {"type": "chain", "config": {"steps": steps}},
    }
    places = {f"/pattern/config/steps/{number}/input": f"/tasks/{number}" for number in range(len(steps))}
    return Translation(value, problems, places)
