"""Each address that a workflow names and that is not certainly public is asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.planning.data_flow.workflow_trust import Trust
from tests.yaml_texts import write_yaml


def asked(folder: Path, **sections: Any) -> list[tuple[str, str]]:
    """Return kind and name of what a person is asked about."""
    runtime = {"provider": "openai", "model_id": "m"}
    steps = [{"agent": "a", "input": "x"}]
    document = {"version": 2, "name": "w", "runtime": runtime, "agents": {"a": {"prompt": "p"}}}
    document |= {"pattern": {"type": "chain", "config": {"steps": steps}}, **sections}
    (folder / "w.yaml").write_text(write_yaml(document, allow_unicode=True), encoding="utf-8")
    return [(use.kind, use.by) for use in Trust.of(app.plan(folder / "w.yaml")).authority.asked_uses]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    return tmp_path


def sections_of(host: str) -> dict[str, Any]:
    """Return a workflow's sections that name a host at each place for one; some forms have errors of their own."""
    proxy = {"tool": "native:http_request", "config": {"proxy": f"http://{host}", "allow_hosts": ["example.com"]}}
    through = {"id": "through", "url": "https://mcp.example.com/", "proxy": f"http://{host}"}
    executor = {"id": "near", "base_url": f"http://{host}/v1"}
    mcp = [{"id": "direct", "url": f"http://{host}/mcp"}, through]
    return {"tools": {"mcp": mcp, "python": [proxy], "http_executors": [executor]}}


EVERY = {"the MCP server direct", "the proxy of the MCP server through", "the executor near"}
EVERY |= {"the proxy of the tool native:http_request"}


@pytest.mark.parametrize("host", ["127.1", "0x7f.0.0.1", "１２７.0.0.1", "localhost.", "100.64.0.1", "intranet"])
def test_a_host_that_is_not_certainly_public_is_asked_about_at_each_place(host: str, here: Path) -> None:
    assert set(asked(here, **sections_of(host))) == {("network", by) for by in EVERY}


def test_a_public_host_is_not_asked_about(here: Path) -> None:
    assert asked(here, **sections_of("api.example.com")) == []


def test_what_a_server_opens_is_asked_about(here: Path) -> None:
    server = {"id": "own", "url": "https://mcp.example.com/", "allow_private": ["10.0.0.0/8:443"]}
    assert asked(here, tools={"mcp": [server]}) == [("network", "the MCP server own")]
    assert "10.0.0.0/8:443" in str(Trust.of(app.plan(here / "w.yaml")).authority.asked_uses)


def test_hosts_of_models_and_traces_show_what_they_are(here: Path) -> None:
    """One's own are not asked about."""
    runtime = {"provider": "openai", "model_id": "m", "host": "http://127.1:9/v1"}
    telemetry = {"otel": {"endpoint": "http://0x7f.1:4318"}}
    assert asked(here, runtime=runtime, telemetry=telemetry) == []
    uses = Trust.of(app.plan(here / "w.yaml")).authority.uses
    assert [use.kind for use in uses] == ["network", "network"]
