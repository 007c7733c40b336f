"""The keys of a recording are compared with the steps of the workflow, also where a pattern repeats them."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli import app
from strands_cli.errors import Finding

HEAD = """\
version: 2
name: flow
runtime: {provider: replay, recording: rec.yaml}
agents: {a: {prompt: A, tools: []}}
pattern: {type: KIND, config: CONFIG}
"""
CONFIGS = {
    "evaluator_optimizer": "{producer: a, evaluator: {agent: a}, accept: {min_score: 1}}",
    "orchestrator_workers": "{orchestrator: {agent: a}, worker_template: {agent: a}, reduce: {agent: a}}",
    "graph": "{nodes: {N: {agent: a}, two: {agent: a}}, edges: [{from: N, to: two}]}",
    "routing": "{router: {agent: a}, routes: {one: {then: [{agent: a}]}}}",
}


def found(folder: Path, kind: str, key: str) -> list[Finding]:
    (folder / "rec.yaml").write_text(f"recording: 1\nsteps: {{'{key}': [{{text: x}}]}}\n")
    flow = folder / "flow.yaml"
    flow.write_text(HEAD.replace("KIND", kind).replace("CONFIG", CONFIGS[kind]))
    return list(app.check(flow))


@pytest.mark.parametrize(
    ("kind", "key", "meant"),
    [
        ("evaluator_optimizer", "iterations.2.producr", "iterations.2.producer"),
        ("evaluator_optimizer", "iteration.0.evaluator", "iterations.0.evaluator"),
        ("orchestrator_workers", "worker.3", "workers.3"),
        ("orchestrator_workers", "orchestrater", "orchestrator"),
        ("graph", "nodes.tow#2", "nodes.two#2"),
        ("graph", "nodes.two", "nodes.two#1"),
        ("routing", "routes.oen.steps.0", "routes.one.steps.0"),
    ],
)
def test_a_mistyped_key_of_a_repeated_step_is_an_error(tmp_path: Path, kind: str, key: str, meant: str) -> None:
    (finding,) = found(tmp_path, kind, key)
    assert (finding.code, finding.severity, finding.fix) == ("bad-recording", "error", f"did you mean '{meant}'?")


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("evaluator_optimizer", "iterations.12.producer"),
        ("orchestrator_workers", "workers.3"),
        ("orchestrator_workers", "orchestrator#2"),
        ("graph", "nodes.N#11"),
        ("graph", "nodes.two#2/part.1"),
        ("routing", "router#3"),
    ],
)
def test_a_key_that_a_run_can_have_has_no_finding(tmp_path: Path, kind: str, key: str) -> None:
    assert found(tmp_path, kind, key) == []
