"""Options that change nothing, or belong to another command, are answered with what to do instead."""

from __future__ import annotations

import json

import pytest

from strands_cli import app
from strands_cli.cli.program import run_program
from strands_cli.planning.run_request import RunRequest

CALLS = """\
version: 2
name: calls
tools: {python: [native:current_time]}
pattern: {type: chain, config: {steps: [{tool: current_time}]}}
"""
ASKS = """\
version: 2
name: asks
runtime: {provider: ollama, model_id: m, host: 'http://127.0.0.1:1'}
agents: {a: {prompt: Answer., tools: []}}
pattern: {type: chain, config: {steps: [{agent: a}]}}
"""


def test_a_model_chosen_for_a_workflow_without_agents_is_reported() -> None:
    chosen = RunRequest(provider="nope", model="m", host="http://127.0.0.1:1")
    found = [(one.code, one.severity) for one in app.plan("flow.yaml", chosen, text=CALLS).findings]
    assert found == [("no-effect", "warning")] * 3
    assert app.plan("flow.yaml", text=CALLS).findings == ()


@pytest.mark.parametrize("host", ["not a url", "http://not a url", "http://", "ftp://x"])
def test_an_address_on_the_command_line_is_reported_at_its_option(host: str) -> None:
    chosen = RunRequest(provider="openai", model="m", host=host)
    (finding,) = [one for one in app.plan("flow.yaml", chosen, text=ASKS).findings if one.code == "bad-host"]
    assert finding.where is not None
    assert (finding.where.file, finding.where.line) == ("--host", None)
    assert "not a url" not in (finding.fix or "")


def test_budget_of_a_run_is_answered_with_where_budgets_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["run", "flow.yaml", "--budget", "max_tokens=1"]) == 2
    assert "budgets: {max_tokens:" in capsys.readouterr().err


def test_a_schema_may_be_asked_for_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["workflows", "schema", "--plain", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["title"]


def test_a_condition_beside_an_edge_is_answered_with_choose() -> None:
    edges = "{from: one, to: one, condition: 'true'}"
    graph = ASKS.replace(
        "chain, config: {steps: [{agent: a}]}", f"graph, config: {{nodes: {{one: {{agent: a}}}}, edges: [{edges}]}}"
    )
    (finding,) = app.check("flow.yaml", graph)
    assert finding.fix is not None
    assert "choose: [{when:" in finding.fix


@pytest.mark.parametrize("key", ["when", "if", "condition"])
def test_a_condition_of_a_step_is_answered_with_where_conditions_are(key: str) -> None:
    (finding,) = app.check("flow.yaml", ASKS.replace("[{agent: a}]", f"[{{agent: a, {key}: 'true'}}]"))
    assert finding.fix is not None
    assert ": `choose: [{when:" in finding.fix
