"""What each agent of the earlier format knows of its workflow at the end of its system prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strands_cli import Workflow
from tests.fakes.model_server import ModelServer, Turn

BUDGETS = {"max_tokens": 9000, "max_duration_s": 60}


def _system_of(folder: Path, version: Any, **more: Any) -> str:
    with ModelServer(lambda _: Turn("done")) as server:
        flow = {
            "version": version,
            "name": "m16",
            "runtime": {"provider": "openai", "model_id": "m", "host": server.url, "budgets": BUDGETS},
            "agents": {"a": {"prompt": "You write."}},
            "pattern": {"type": "chain", "config": {"steps": [{"agent": "a", "input": "go"}]}},
            **more,
        }
        (folder / "flow.json").write_text(json.dumps(flow))
        Workflow.from_file("flow.json").run(runs_dir="runs")
        (request,) = server.model_requests
    (system,) = (one["content"] for one in request["messages"] if one["role"] == "system")
    return system if isinstance(system, str) else "".join(part["text"] for part in system)


@pytest.mark.parametrize("version", [0, 1, "1", "1.0.0"])
def test_the_description_and_the_tags_reach_the_model(version: Any, folder: Path) -> None:
    about = {"description": "Write for children. Never mention war.", "tags": ["kids", "tales"]}
    before, _, context = _system_of(folder, version, **about).partition("\n\n# Runtime Context\n")
    assert before == "You write."
    assert context.splitlines() == [
        "- Workflow: m16",
        "- Description: Write for children. Never mention war.",
        "- Tags: kids, tales",
        "- Agent ID: a",
        "- Budgets: max_tokens=9000, max_duration_s=60",
    ]


def test_what_a_file_does_not_have_is_left_out(folder: Path) -> None:
    assert "Description" not in _system_of(folder, 0)


def test_the_present_format_sends_the_prompt_as_it_is(folder: Path) -> None:
    assert _system_of(folder, 2, description="For people.") == "You write."
