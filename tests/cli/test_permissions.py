"""Permissions end to end: rules on arguments, who answers, what a yes is bound to, where a decision is written."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.strands import Folder

READS_ONLY_LISTS = {
    "annotations": {"destructiveHint": True},
    "strands_cli": {"read_only_when": {"properties": {"text": {"const": "list"}}, "required": ["text"]}},
}


def events(folder: Folder) -> list[dict[str, Any]]:
    """Return what was decided about each call, in order."""
    lines = (folder.work / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == "ToolCallDecided"]


def test_an_option_allows_the_arguments_it_names_and_the_decision_is_written_with_its_rule(folder: Folder) -> None:
    calls = [{"file_write": {"path": f"{place}/a.txt", "content": "x"}} for place in ("docs", "docs/../src", "src")]
    agents = {"writer": {"prompt": "You write.", "tools": ["native:file_write"]}}
    turns = {"steps.0": [{"calls": calls}, {"text": "done"}]}
    folder.workflow([{"agent": "writer", "input": "go"}], turns, agents=agents)
    allow = "native:file_write(path=docs/**)"
    ran = folder.strands("run", "flow.yaml", "--allow", allow, "--deny", "--events", "events.jsonl")
    assert ran.code == 0, ran.err
    assert [event["effect"] for event in events(folder)] == ["allow", "deny", "deny"]
    assert events(folder)[0]["rule"] == f"--allow {allow}"
    assert "--allow file_write" in events(folder)[1]["rule"]
    assert sorted(path.name for path in folder.work.iterdir() if path.is_dir()) == ["docs"]
    (run,) = folder.runs.iterdir()
    effects = folder.strands("runs", "show", run.name, "--json").document["effects"]
    details = [effect for effect in effects if effect["kind"] == "tool"]
    assert [detail["decision"] for detail in details] == ["allow", "deny", "deny"]
    assert details[0]["rule"] == f"--allow {allow}"


def test_a_call_that_only_reads_by_its_arguments_is_not_asked_about(folder: Folder) -> None:
    folder.tool("store", "return answer('did ' + tool['input']['text'])", **READS_ONLY_LISTS)
    calls = [{"store": {"text": text}} for text in ("list", "wipe", "lists")]
    agents = {"writer": {"prompt": "You write.", "tools": ["native:store"]}}
    turns = {"steps.0": [{"calls": calls}, {"text": "done"}]}
    folder.workflow([{"agent": "writer", "input": "go"}], turns, agents=agents)
    ran = folder.strands("run", "flow.yaml", "--deny", "--events", "events.jsonl")
    assert ran.code == 0, ran.err
    assert [event["effect"] for event in events(folder)] == ["allow", "deny", "deny"]
    assert "(read_only_when)" in events(folder)[0]["rule"]
    assert "read_only_when" not in events(folder)[1]["rule"]
    explained = [
        folder.strands("explain", "policy", "native:store", "--input", f'{{"text": "{text}"}}', "--json").document
        for text in ("list", "wipe")
    ]
    calls_to = [document["tools"][0]["call"] for document in explained]
    assert [call["effect"] for call in calls_to] == ["allow", "ask"]
    assert "(read_only_when)" in calls_to[0]["rule"]


def test_a_yes_is_bound_to_the_arguments_that_were_shown(folder: Folder) -> None:
    folder.tool("wipe", "return answer('wiped ' + tool['input']['text'])", annotations={"destructiveHint": True})
    folder.workflow([{"tool": "wipe", "input": {"text": "{{ disk }}"}}], inputs={"required": {"disk": "string"}})
    assert folder.strands("run", "flow.yaml", "--detach", "--var", "disk=scratch").code == 19
    (run,) = (path.name for path in folder.runs.iterdir())
    done = folder.strands("approve", run, "--detach", "--json")
    assert (done.code, done.document["response"]) == (0, "wiped scratch")
    # The same call with other arguments is asked about again, and says so.
    again = folder.strands("runs", "rerun", run, "--from", "steps.0", "--var", "disk=system", "--detach")
    assert again.code == 19, again.err
    (other,) = (path.name for path in folder.runs.iterdir() if path.name != run)
    (question,) = folder.strands("runs", "show", other, "--json").document["questions"]
    assert "wipe" in question["prompt"]
    assert '"text": "system"' in question["context"]
    refused = folder.strands("reject", other, "--detach")
    assert refused.code == 10
    assert "wiped system" not in refused.out
