"""Composites, agents and workflows as tools from the command line: shown in plans, kept, locked, recorded, approved."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.strands import Folder
from tests.yaml_texts import read_yaml, write_yaml

INNER: dict[str, Any] = {
    "version": 2,
    "name": "inner",
    "runtime": {"provider": "replay", "recording": "inner.recording.yaml"},
    "inputs": {"required": {"topic": "string"}},
    "agents": {"inner": {"prompt": "On {{ topic }}.", "tools": ["native:shout"]}},
    "pattern": {
        "type": "chain",
        "config": {"steps": [{"type": "hitl", "prompt": "Write?"}, {"agent": "inner", "input": "{{ topic }}"}]},
    },
}
CALL = {"tool": "workflow:./parts/inner.yaml", "input": {"topic": "bees"}}
COMPOSITE = {
    "id": "twice",
    "description": "Shouts twice.",
    "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "steps": [{"tool": "native:shout", "input": {"text": "{{ text }}"}}] * 2,
}


@pytest.fixture
def tools(folder: Folder) -> Folder:
    folder.tool("shout", "return answer(tool['input']['text'].upper())", annotations={"readOnlyHint": True})
    folder.write("parts/inner.yaml", INNER)
    turns = [{"calls": [{"shout": {"text": "x"}}]}, {"text": "written on bees"}]
    folder.write("parts/inner.recording.yaml", {"recording": 1, "steps": {"steps.1": turns}})
    return folder


def run_id(folder: Folder) -> str:
    (found,) = [path.name for path in folder.runs.iterdir()]
    return found


def test_a_gate_inside_is_approved_by_the_printed_command_without_the_files_and_elsewhere(tools: Folder) -> None:
    tools.workflow([CALL], {})
    ran = tools.strands("run", "flow.yaml")
    assert ran.code == 19, ran.err
    printed = re.search(r"strands approve (\S+) (\S+)", ran.err)
    assert printed is not None
    assert printed[2] == "steps.0/tool.0.inner/steps.0"
    for path in ("flow.yaml", "parts/inner.yaml", "parts/inner.recording.yaml"):
        (tools.work / path).unlink()
    elsewhere = tools.root / "elsewhere"
    elsewhere.mkdir()
    approved = tools.strands("approve", printed[1], printed[2], cwd=elsewhere)
    assert (approved.code, approved.out) == (0, "written on bees\n"), approved.err


def test_a_changed_inner_workflow_is_another_run_and_rerun_takes_it(tools: Folder) -> None:
    tools.workflow([CALL], {})
    assert tools.strands("run", "flow.yaml").code == 19
    asked = run_id(tools)
    inner = json.loads(json.dumps(INNER))
    inner["pattern"]["config"]["steps"][0] = {"tool": "native:shout", "input": {"text": "go"}}
    tools.write("parts/inner.yaml", inner)
    again = tools.strands("runs", "rerun", asked, "--from", "steps.0")
    assert (again.code, again.out) == (0, "written on bees\n"), again.err
    kept = tools.strands("approve", asked, "steps.0/tool.0.inner/steps.0")
    assert (kept.code, kept.out) == (0, "written on bees\n"), "the waiting run goes on as it began"


def test_a_recording_of_a_run_plays_also_what_its_tools_asked(tools: Folder) -> None:
    agents = {"lead": {"prompt": "l", "tools": ["agent:helper"]}, "helper": {"prompt": "h", "tools": ["native:shout"]}}
    key = "steps.0/tool.0.helper/agent.helper"
    turns = {
        "steps.0": [{"calls": [{"helper": {"input": "go"}}]}, {"text": "done"}],
        key: [{"calls": [{"shout": {"text": "x"}}]}, {"text": "helped"}],
    }
    tools.workflow([{"agent": "lead", "input": "hi"}], turns, agents=agents)
    ran = tools.strands("run", "flow.yaml", "--record", "again.yaml")
    assert ran.code == 0
    assert f"  tool  {key}  shout  (ok" in ran.err
    assert "  tool  steps.0  helper  (ok" in ran.err
    recorded = read_yaml((tools.work / "again.yaml").read_text())["steps"]
    assert {name: len(one) for name, one in recorded.items()} == {"steps.0": 2, key: 2}
    assert recorded[key][0]["when"] == "go"
    flow = tools.work / "flow.yaml"
    document = read_yaml(flow.read_text())
    document["runtime"]["recording"] = "again.yaml"
    flow.write_text(write_yaml(document))
    assert tools.strands("run", "flow.yaml").out == "done\n"


def test_a_plan_shows_what_tools_are_made_of(tools: Folder) -> None:
    agents = {"lead": {"prompt": "l", "tools": ["twice", "workflow:./parts/inner.yaml", "agent:helper"]}}
    agents["helper"] = {"prompt": "h", "tools": []}
    turns = {"steps.0": [{"text": "x"}]}
    tools.workflow([{"agent": "lead", "input": "hi"}], turns, agents=agents, tools={"composite": [COMPOSITE]})
    shown = tools.strands("plan", "flow.yaml").out.splitlines()
    (line,) = [number for number, text in enumerate(shown) if text.startswith("  tool    twice")]
    assert shown[line + 1].split()[:3] == ["tool", "shout", "native:shout"]
    document = json.loads(tools.strands("plan", "flow.yaml", "--format", "json").out)
    made_of = {tool["name"]: [part["name"] for part in tool["made_of"]] for tool in document["agents"][0]["tools"]}
    assert made_of == {"twice": ["shout"], "inner": ["shout"], "helper": []}
    drawn = tools.strands("plan", "flow.yaml", "--format", "mermaid").out
    assert drawn.count(" -.-> ") == 3
    assert '[["workflow:./parts/inner.yaml"]]' in drawn
    (explained,) = tools.strands("explain", "policy", "agent:helper", "flow.yaml", "--json").document["tools"]
    assert explained["call"]["effect"] == "allow"


def test_a_lock_covers_the_tools_inside_tools(tools: Folder) -> None:
    tools.workflow([{"tool": "twice", "input": {"text": "a"}}], {}, tools={"composite": [COMPOSITE]})
    assert tools.strands("lock").code == 0
    assert "strands-tool-shout" in (tools.work / "strands.lock").read_text()
    assert tools.strands("run", "flow.yaml").out == "A\n"
    module = next(Path(tools.site).glob("strands_tool_shout/**/*.py"))
    module.write_text(module.read_text() + "# changed\n")
    changed = tools.strands("run", "flow.yaml")
    assert (changed.code, "lock-changed" in changed.err) == (21, True)


def test_a_limit_of_an_agent_that_is_a_tool_stops_the_run_and_can_be_raised(tools: Folder) -> None:
    helper = {"prompt": "h", "tools": ["native:shout"], "limits": {"turns": 1}}
    agents = {"lead": {"prompt": "l", "tools": ["agent:helper"]}, "helper": helper}
    turns = {
        "steps.0": [{"calls": [{"helper": {"input": "go"}}]}, {"text": "done"}],
        "steps.0/tool.0.helper/agent.helper": [{"calls": [{"shout": {"text": "x"}}]}, {"text": "helped"}],
    }
    tools.workflow([{"agent": "lead", "input": "hi"}], turns, agents=agents)
    stopped = tools.strands("run", "flow.yaml")
    assert stopped.code == 20
    assert "--budget agents.helper.turns=" in stopped.err
    resumed = tools.strands("resume", run_id(tools), "--budget", "agents.helper.turns=2")
    assert (resumed.code, resumed.out) == (0, "done\n"), resumed.err
