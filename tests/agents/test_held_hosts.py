"""The host of models in a workflow of others: a name that looks public must lead to a public place."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from strands_cli import Workflow
from strands_cli.agents.model.client_errors import causes_of
from strands_cli.agents.model.models import build_model, close_model
from strands_cli.errors import Denied, RunFailed
from strands_cli.providers import ModelSettings
from tests.fakes.raw_server import LINES, RawServer, Reply, chat, line

MESSAGES: list[Any] = [{"role": "user", "content": [{"text": "go"}]}]
REPLIES = {"openai": chat("well"), "ollama": Reply([line({"role": "assistant", "content": "well"}, done=True)], LINES)}
PATHS = {"openai": "/v1", "ollama": ""}


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name of `example.com` lead to this machine, as an attacker's resolver may."""
    real = socket.getaddrinfo

    def look_up(host: Any, *rest: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        return real("127.0.0.1" if str(name).endswith(".example.com") else host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


async def ask(provider: str, host: str, *, of_others: bool) -> str:
    model = build_model(ModelSettings(provider, "m", host=host), of_others=of_others)
    try:
        return str([one async for one in model.stream(MESSAGES)])
    finally:
        await close_model(model)


@pytest.mark.parametrize("provider", sorted(REPLIES))
def test_a_public_name_of_others_that_leads_to_this_machine_gets_nothing(provider: str) -> None:
    with RawServer(REPLIES[provider]) as server:
        port = server.host.rpartition(":")[2]
        host = f"http://models.example.com:{port}{PATHS[provider]}"
        with pytest.raises(Exception) as raised:
            asyncio.run(ask(provider, host, of_others=True))
        assert any("127.0.0.1 is not a public address (loopback)" in str(one) for one in causes_of(raised.value))
        assert not any("allow_private" in str(one) for one in causes_of(raised.value))
        assert server.paths == []
        assert "well" in asyncio.run(ask(provider, host, of_others=False))


@pytest.mark.parametrize("host", ["http://models.example.com:9", "https://models.example.com", "models.example.com"])
def test_a_client_of_its_own_is_not_made_for_a_public_name_that_leads_to_this_machine(host: str) -> None:
    settings = ModelSettings("bedrock", "m", host=host, region="us-east-1")
    with pytest.raises(Denied) as raised:
        build_model(settings, of_others=True)
    assert "--host" in str(raised.value.fix)


@pytest.mark.parametrize(("host", "of_others"), [("http://models.example.com:9", False), ("http://127.0.0.1:9", True)])
def test_a_client_of_its_own_is_made_for_a_host_that_a_person_knows(host: str, of_others: bool) -> None:
    assert build_model(ModelSettings("bedrock", "m", host=host, region="us-east-1"), of_others=of_others) is not None


@pytest.mark.parametrize("provider", sorted(REPLIES))
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_host_that_a_person_was_asked_about_is_used(provider: str, name: str) -> None:
    with RawServer(REPLIES[provider]) as server:
        host = f"http://{name}:{server.host.rpartition(':')[2]}{PATHS[provider]}"
        assert "well" in asyncio.run(ask(provider, host, of_others=True))


@pytest.mark.parametrize(("folder", "is_refused"), [("mine", False), ("elsewhere", True), ("mine/site-packages", True)])
def test_a_workflow_of_others_is_one_outside_of_the_project(
    folder: str, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine/.git", folder):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path / "mine")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / folder / "flow.yaml"
    with RawServer(REPLIES["openai"]) as server:
        host = f"http://models.example.com:{server.host.rpartition(':')[2]}/v1"
        agents = (
            "agents: {writer: {prompt: Write.}}\npattern: {type: chain, config: {steps: [{agent: writer, input: Go.}]}}"
        )
        runtime = f"runtime: {{provider: openai, model_id: m, host: '{host}'}}"
        file.write_text(f"version: 2\nname: flow\n{runtime}\n{agents}\n")
        workflow = Workflow.from_file(file)
        if is_refused:
            with pytest.raises(RunFailed, match=r"127.0.0.1 is not a public address \(loopback\)") as raised:
                workflow.run()
            assert "--allow workflow:" in str(raised.value.fix)
            assert server.paths == []
        allow = [f"workflow:{file}"] if is_refused else []
        assert workflow.run(allow=allow).status == "completed"
        assert len(server.paths) == 1
