"""A draft that no evaluator accepted is never a success without a word."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.strands import Folder

AGENTS = {"w": {"prompt": "Write."}, "c": {"prompt": "Judge."}}


def judged(folder: Folder, *scores: float, version: int = 1, gate: bool = False, **config: Any) -> None:
    """Write a workflow whose drafts get these scores, and need 80."""
    turns = {}
    for index, score in enumerate(scores):
        turns[f"iterations.{index}.producer"] = [{"text": f"draft {index}"}]
        turns[f"iterations.{index}.evaluator"] = [{"text": json.dumps({"score": score})}]
    review = {"review_gate": {"type": "hitl", "prompt": "Take it?"}} if gate else {}
    accept = {"min_score": 80, "max_iters": len(scores) + gate}
    pattern = {"producer": "w", "evaluator": {"agent": "c"}, "accept": accept, **review, **config}
    outputs = {"artifacts": [{"path": "o.md", "from": "{{ last_response }}"}]}
    folder.workflow([], turns, version=version, agents=AGENTS, outputs=outputs)
    spec = json.loads((folder.work / "flow.yaml").read_text())
    folder.write("flow.yaml", {**spec, "pattern": {"type": "evaluator_optimizer", "config": pattern}})


@pytest.mark.parametrize("version", [0, 1])
def test_the_last_draft_below_the_score_fails_the_run_and_writes_nothing(folder: Folder, version: int) -> None:
    judged(folder, 40, 30.5, version=version)
    ran = folder.strands("run", "flow.yaml", "--json", "-q")
    document = ran.document
    assert (ran.code, document["status"], document["error"]["exit_code"]) == (10, "failed", 10)
    assert [document[name] for name in ("accepted", "score", "min_score", "drafts")] == [False, 30.5, 80, 2]
    assert "not accepted: 30.5 of 80 after 2 drafts" in ran.err
    assert "on_reject: accept" in document["error"]["fix"]
    assert not (folder.work / "artifacts").exists()
    shown = folder.strands("runs", "show", "last")
    assert "not accepted: 30.5 of 80 after 2 drafts" in shown.out
    again = folder.strands("resume", "last")
    assert (again.code, "not accepted: 30.5 of 80 after 2 drafts" in again.err) == (10, True)


@pytest.mark.parametrize(
    ("change", "draft"),
    [({"on_reject": "accept"}, "draft 1"), ({"accept": {"min_score": 35, "max_iters": 2}}, "draft 0")],
)
def test_what_the_fix_names_ends_the_problem_without_a_call(folder: Folder, change: dict[str, Any], draft: str) -> None:
    judged(folder, 40, 30)
    assert folder.strands("run", "flow.yaml").code == 10
    judged(folder, 40, 30, **change)
    resumed = folder.strands("resume", "last", "--spec", "flow.yaml", "--json")
    assert (resumed.code, resumed.document["accepted"]) == (0, "accept" in change)
    assert resumed.document["model_calls"] == 4
    assert (folder.work / "artifacts" / "o.md").read_text().strip() == draft


def test_a_draft_that_is_taken_below_the_score_is_a_warning_also_with_quiet(folder: Folder) -> None:
    judged(folder, 40, on_reject="accept")
    ran = folder.strands("run", "flow.yaml", "-q")
    assert (ran.code, ran.out) == (0, "draft 0\n")
    assert "warning: not accepted: 40 of 80 after 1 draft" in ran.err
    shown = folder.strands("runs", "show", "last", "--json").document
    assert [shown[name] for name in ("accepted", "score", "drafts")] == [False, 40, 1]


def test_a_draft_that_reaches_the_score_or_that_a_person_takes_is_accepted(folder: Folder) -> None:
    judged(folder, 80)
    assert folder.strands("run", "flow.yaml", "--json").document["accepted"] is True
    judged(folder, 10, gate=True)
    folder.strands("run", "flow.yaml", "--force")
    taken = folder.strands("approve", "last", "--answer", "accept", "--json")
    assert (taken.code, taken.document["accepted"], taken.document["score"]) == (0, True, 10)


def test_a_row_of_a_batch_says_it_and_retry_finds_it_again(folder: Folder) -> None:
    judged(folder, 40)
    spec = json.loads((folder.work / "flow.yaml").read_text())
    folder.write("flow.yaml", {**spec, "inputs": {"required": {"n": "integer"}}, "outputs": {}})
    folder.write("rows.csv", "n\n1\n")
    folder.strands("batch", "run", "flow.yaml", "rows.csv", "-o", "out.jsonl")
    (line,) = map(json.loads, (folder.work / "out.jsonl").read_text().splitlines())
    assert [line[name] for name in ("status", "accepted", "score", "drafts")] == ["failed", False, 40, 1]


def test_plan_and_explain_say_what_happens_without_an_accepted_draft(folder: Folder) -> None:
    judged(folder, 40)
    fails = folder.strands("explain", "flow.yaml").out
    judged(folder, 40, on_reject="accept")
    accepts = folder.strands("explain", "flow.yaml").out
    assert ("fails" in fails, "with a warning" in accepts) == (True, True)


def test_a_workflow_that_is_a_tool_fails_its_call(folder: Folder) -> None:
    judged(folder, 40)
    (folder.work / "flow.yaml").rename(folder.work / "inner.yaml")
    recording = json.loads((folder.work / "flow.recording.yaml").read_text())["steps"]
    nested = {f"steps.0/tool.0.inner/{key}": turns for key, turns in recording.items()}
    folder.workflow([{"tool": "workflow:./inner.yaml", "input": {}, "on_error": "continue"}], nested)
    ran = folder.strands("run", "flow.yaml")
    assert "not accepted: 40 of 80 after 1 draft" in ran.err
