"""Lists of models in a workflow: names, aliases and variables, what beside them is wrong, and every check of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.planning.data_flow.planned_authority import authority_of
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest
from strands_cli.user_files.model_names import ModelNames, write_model_names
from strands_cli.yaml_files.document_reader import read_document
from tests.wordings import Wording

TEXT = """
version: 2
name: t
runtime: {runtime}
agents:
  a: {{prompt: p, inference: {{temperature: 0.5}}{agent}}}
  b: {{prompt: p, model_id: other}}
pattern: {{type: chain, config: {{steps: [{{agent: a, input: Hi}}, {{agent: b, input: Hi}}]}}}}
"""


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")


def text(runtime: str, agent: str = "") -> str:
    return TEXT.format(runtime=runtime, agent=agent and f", {agent}")


def plan(runtime: str, agent: str = "", **options: Any) -> Plan:
    settings = Settings(Path("runs"))
    return app.plan(
        "t.yaml", RunRequest(**options), text=text(runtime, agent), catalog=discover_catalog([]), settings=settings
    )


def listed(planned: Plan, agent: str = "a") -> list[str]:
    return ["/".join(filter(None, (model.provider, model.model_id))) for model in planned.agents[agent].models]


def test_models_are_names_aliases_and_objects() -> None:
    write_model_names(ModelNames("", {"cheap": "openai/nano", "way": "cheap"}))
    objects = "{provider: openai, model_id: own, host: 'http://h/v1', on: [context]}, anthropic/claude-x"
    planned = plan(f"{{models: [openai/mini, way, {objects}], max_tokens: 9, temperature: 1}}")
    assert listed(planned) == ["openai/mini", "openai/nano", "openai/own", "anthropic/claude-x"]
    settings = planned.agents["a"].models
    assert [(model.host, model.max_tokens, model.temperature) for model in settings] == [
        (None, 9, 0.5),
        (None, 9, 0.5),
        ("http://h/v1", 9, 0.5),
        (None, 9, 0.5),
    ]
    on = [alternate.on for alternate in planned.agents["a"].alternates]
    assert on == [("down", "throttled"), ("context",), ("down", "throttled")]
    assert planned.aliases == {"way": "openai/nano"}
    # Another model than the runtime's has none of its others.
    assert listed(planned, "b") == ["openai/other"]
    hosts = {host for outgoing in authority_of(planned).outgoing for host in outgoing.hosts or ()}
    assert hosts == {"api.openai.com", "h", "api.anthropic.com"}
    assert planned.digest != plan("{models: [openai/mini, anthropic/claude-x]}").digest


def test_settings_of_a_provider_are_for_models_of_the_first_one_only() -> None:
    planned = plan(
        "{models: [openai/mini, openai/n, anthropic/c], max_tokens: 9, host: 'http://h/v1', options: {stream: false}}"
    )
    assert [(model.host, dict(model.options)) for model in planned.agents["a"].models] == [
        ("http://h/v1", {"stream": False}),
        ("http://h/v1", {"stream": False}),
        (None, {}),
    ]


def test_an_agent_has_its_own_list() -> None:
    runtime = "{models: [openai/mini, anthropic/c], host: 'http://h/v1', max_tokens: 9}"
    planned = plan(runtime, "models: [{model: openai/own, temperature: 1}, {model: anthropic/c, max_tokens: 5}]")
    assert listed(planned) == ["openai/own", "anthropic/c"]
    settings = planned.agents["a"].models
    assert [(model.host, model.temperature, model.max_tokens) for model in settings] == [
        ("http://h/v1", 1, 9),
        (None, 0.5, 5),
    ]


@pytest.mark.parametrize("option", [{"model": "m"}, {"provider": "openai", "model": "m"}, {"host": "http://x/v1"}])
@pytest.mark.parametrize("agent", ["", "models: [openai/own, anthropic/c]"])
def test_the_command_line_names_one_model(agent: str, option: dict[str, str]) -> None:
    planned = plan("{models: [openai/mini, anthropic/c], max_tokens: 9}", agent, **option)
    own = "own" if agent else "mini"
    assert listed(planned) == [f"openai/{option.get('model', own)}"]
    assert plan("{models: [openai/mini, anthropic/c]}", max_tokens=7).agents["a"].models[1].max_tokens == 7


def test_variables_may_be_parts_of_names_and_whole_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECOND", "anthropic/claude-x")
    planned = plan(
        "{models: ['${FIRST:-openai/mini}', '${SECOND}', {provider: openai, model_id: '${N:-n}'}], max_tokens: 9}"
    )
    assert listed(planned) == ["openai/mini", "anthropic/claude-x", "openai/n"]
    assert planned.variables == {"FIRST": "openai/mini", "SECOND": "anthropic/claude-x", "N": "n"}


@pytest.mark.parametrize(
    ("runtime", "agent", "code", "pointer"),
    [
        ("{provider: openai, models: [openai/mini]}", "", "bad-value", "/runtime/models"),
        ("{models: [openai/mini]}", "provider: openai, models: [openai/m]", "bad-value", "/agents/a/models"),
        ("{models: [{model: openai/m, provider: openai}]}", "", "bad-value", "/runtime/models/0"),
        ("{models: [{model_id: m}]}", "", "bad-value", "/runtime/models/0"),
        ("{models: [openai/m, openai/]}", "", "bad-value", "/runtime/models/1"),
        ("{models: [openai/m, round]}", "", "bad-value", "/runtime/models/1"),
        ("{models: [openai/m, replay]}", "", "bad-value", "/runtime/models/1"),
        ("{models: [openai/m, {model: openai/n, on: [busy]}]}", "", "bad-value", "/runtime/models/1/on/0"),
        ("{models: [{model: openai/m, on: [down]}]}", "", "no-effect", "/runtime/models/0/on"),
    ],
)
def test_a_wrong_list_is_found_at_its_place(
    runtime: str, agent: str, code: str, pointer: str, wording: Wording
) -> None:
    write_model_names(ModelNames("", {"round": "about", "about": "round"}))
    loaded = app.load("t.yaml", text(runtime, agent))
    (finding,) = loaded.findings
    assert finding.where is not None
    assert (finding.code, finding.where.pointer) == (code, pointer)
    wording([finding.message, finding.fix])


def test_every_model_is_checked_like_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    runtime = "{models: [openai/mini, {model: anthropic/none-such, options: {beak: 1}}], budgets: {max_cost_usd: 1}}"
    planned = plan(runtime, "")
    found = {(str(finding.code), finding.where and finding.where.pointer) for finding in planned.findings}
    assert found == {
        ("missing-api-key", "/runtime/models/1"),
        ("provider-needs", "/runtime/models/1"),
        ("unknown-option", "/runtime/models/1/options/beak"),
        ("unknown-price", "/runtime/budgets/max_cost_usd"),
    }


def test_no_model_goes_on_for_one_whose_server_has_the_conversation() -> None:
    stateful = "{provider: openai_responses, model_id: m, options: {stateful: true}}"
    planned = plan(f"{{models: [openai/mini, {stateful}]}}")
    assert [str(finding.code) for finding in planned.findings] == ["stateful-memory"]


def test_an_alias_of_a_stored_run_is_what_it_was(tmp_path: Path) -> None:
    from strands_cli.workflow.loader import load_spec
    from strands_cli.yaml_files.document_reader import FileSnapshot

    write_model_names(ModelNames("", {"cheap": "openai/new"}))
    document = read_document("t.yaml", text("{models: [cheap]}"))
    stored = load_spec(document, FileSnapshot(aliases={"cheap": "openai/old"}))
    assert stored.spec is not None
    assert stored.spec.runtime.model_id == "old"
    assert load_spec(document).spec.runtime.model_id == "new"  # type: ignore[union-attr]
