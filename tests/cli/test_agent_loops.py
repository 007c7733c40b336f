"""An agent that repeats itself, as a person and a script see it: the warning, the exit code, and the stored run."""

from __future__ import annotations

from typing import Any

from strands_cli.tools.calls.loops import AGENT_LOOP
from tests.cli.strands import Folder

CALL = {"calls": [{"calculator": {"expression": "2 + 2"}}]}


def test_a_run_that_ends_in_a_loop_says_so_everywhere(folder: Folder) -> None:
    agents: dict[str, Any] = {"writer": {"prompt": "You write.", "tools": ["calculator"]}}
    folder.workflow([{"agent": "writer", "input": "go"}], {"steps.0": [CALL] * 9}, agents=agents)
    ran = folder.strands("run", "flow.yaml", "--json")
    assert ran.code == 22
    assert ran.document["error"]["code"] == "agent-loop"
    assert [finding["code"] for finding in ran.document["findings"]] == [AGENT_LOOP]
    shown = folder.strands("runs", "show", "last", "steps.0/tool.2.calculator", "--json").document
    assert shown["loop"] == 3
    assert "[strands: " in shown["text"]
    assert "hinted at a loop" in folder.strands("runs", "show", "last").out
    assert folder.strands("resume", "last").code == 22, "the recording says the same again"
