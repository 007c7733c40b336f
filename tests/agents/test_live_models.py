"""Through the real client over HTTP: settings arrive, errors are explained, a recording plays back to the same."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.agents.assembly import SharedRuns, assemble
from strands_cli.config import Settings
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.plan_execution import RunResult
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.errors import RunFailed
from strands_cli.events import Event
from strands_cli.planning.run_request import RunRequest
from tests.agents.kit import SCHEMA, Site
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

KEY = "sk-test-0123456789abcdef"
ECHO = (
    f"TOOL_SPEC = {{'name': 'echo', 'description': 'E.', 'inputSchema': {{'json': {SCHEMA!r}}},"
    " 'annotations': {'readOnlyHint': True}}\n"
    "def echo(tool, **kwargs):\n"
    "    return {'status': 'success', 'content': [{'text': 'said ' + tool['input']['text']}]}\n"
)
WORKFLOW = """
version: 2
name: live
runtime: {{provider: openai, model_id: base-model, host: "{host}", recording: recording.yaml,
  failure_policy: {{retries: 0}}}}
agents:
  first: {{prompt: be brief, tools: [native:echo], inference: {{temperature: 0.25, top_p: 0.5, max_tokens: 77}}}}
  second: {{prompt: be long, tools: [], model_id: other-model}}
pattern:
  type: chain
  config:
    steps:
      - {{agent: first, input: "Say hi."}}
      - {{agent: second, input: "Repeat: {{{{ last_response }}}}"}}
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    site.install(ECHO, {"annotations": {"readOnlyHint": True}})


@pytest.fixture
def events() -> Iterator[list[Event]]:
    return iter([[]])  # type: ignore[arg-type]


def start(site: Site, host: str, seen: list[Event] | None = None, **options: Any) -> RunResult:
    from strands_cli.catalog.catalog import discover_catalog

    file = Path("workflow.yaml")
    file.write_text(WORKFLOW.format(host=host))
    chosen = RunRequest(out_dir=Path("out"), **options)
    settings = Settings(Path("runs"))
    planned = app.plan(file, chosen, catalog=discover_catalog([str(site.directory)]), settings=settings)
    emit = (lambda event: None) if seen is None else seen.append
    return asyncio.run(app.run(planned, replace(chosen, runs_dir=settings.runs_dir), StandaloneRun(), emit))


TURNS = [Turn(calls=[("echo", {"text": "hi"})]), Turn("the tool said hi"), Turn("long hi")]


def test_each_agents_model_and_settings_really_reach_the_server(site: Site) -> None:
    with ModelServer(TURNS) as server:
        result = start(site, server.url)
        first, again, second = server.model_requests
    assert result.response == "long hi"
    assert [request["model"] for request in (first, again, second)] == ["base-model", "base-model", "other-model"]
    for request in (first, again):
        assert (request["temperature"], request["top_p"]) == (0.25, 0.5)
        assert 77 in (request.get("max_tokens"), request.get("max_completion_tokens"))
    assert "temperature" not in second
    assert [tool["function"]["name"] for tool in first["tools"]] == ["echo"]
    assert not second.get("tools")
    assert again["messages"][-1]["role"] == "tool"
    assert "said hi" in json.dumps(again["messages"][-1])
    assert second["messages"][-1]["content"][0]["text"] == "Repeat: the tool said hi"


def test_the_command_lines_model_wins_for_every_agent(site: Site) -> None:
    with ModelServer(TURNS) as server:
        start(site, server.url, model="mine")
        assert {request["model"] for request in server.model_requests} == {"mine"}


def test_a_recorded_live_run_plays_back_to_the_same_result_without_the_server(site: Site) -> None:
    with ModelServer(TURNS) as server:
        live = start(site, server.url, record=Path("recording.yaml"))
        address = server.url
    played = start(site, address, provider="replay")
    assert (played.response, played.model_calls, played.tool_calls) == (live.response, 3, 1)
    assert played.usage == live.usage
    assert KEY not in Path("recording.yaml").read_text()


def test_a_recording_of_a_failed_run_has_the_turns_until_then(site: Site) -> None:
    with ModelServer([*TURNS[:2], Turn(status=500)]) as server, pytest.raises(RunFailed):
        start(site, server.url, record=Path("recording.yaml"))
    assert "the tool said hi" in Path("recording.yaml").read_text()


def refused_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (Turn(status=401), r"refused the key: Unauthorized \(401\)"),
        (Turn(status=403), r"refused the key: Forbidden \(403\)"),
        (Turn(status=404), r"Not Found \(404\)"),
        (Turn(status=429), r"over its rate limit: Too Many Requests \(429\)"),
        (Turn(status=400), r"refused the request: Bad Request \(400\)"),
        (Turn(status=500), r"failed: Internal Server Error \(500\)"),
        (Turn(status=503), r"failed: Service Unavailable \(503\)"),
        (Turn("half", malformed=True), "did not answer as openai does"),
        (Turn("a half answer " * 5, drop_after_chunks=2), "the connection to"),
        (Turn(drop_after_chunks=0), "the connection to"),
        (Turn("half", finish="length"), "max_tokens"),
        (Turn("", finish="content_filter"), "first"),
        (Turn(""), "first"),
    ],
    ids=["401", "403", "404", "429", "400", "500", "503", "malformed", "dropped", "unsent", "length", "filter", "none"],
)
def test_a_providers_error_is_explained(site: Site, turn: Turn, said: str, wording: Wording) -> None:
    with ModelServer([turn]) as server, pytest.raises(RunFailed, match=said) as caught:
        start(site, server.url)
    assert "first" in caught.value.message
    assert len(server.requests) == 1
    wording(caught.value.fix)


@pytest.mark.parametrize("provider", [None, "openai"])
def test_the_length_of_answers_is_an_option_and_the_fix_of_a_short_one_names_it(
    site: Site, provider: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {} if provider is None else {"provider": provider, "model": "m"}
    with ModelServer([Turn("half", finish="length")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with pytest.raises(RunFailed) as caught:
            start(site, server.url, max_tokens=5, **given)
    request = server.model_requests[0]
    assert request.get("max_tokens", request.get("max_completion_tokens")) == 5
    assert str(caught.value.fix) == "raise --max-tokens"


def test_a_server_that_is_not_there_is_named(site: Site, wording: Wording) -> None:
    host = f"http://127.0.0.1:{refused_port()}/v1"
    with pytest.raises(RunFailed, match=r"127.0.0.1:\d+ cannot be reached") as caught:
        start(site, host)
    wording(caught.value.fix)


@pytest.mark.parametrize("calls", [[("echo", '{"text": "hi')], [("ecko", {"text": "hi"})], [("my tool!", {})]])
def test_a_model_that_asks_for_nonsense_gets_an_error_and_may_go_on(site: Site, calls: Any) -> None:
    with ModelServer([Turn(calls=calls), Turn("sorry"), Turn("done")]) as server:
        assert start(site, server.url).response == "done"
        answer = server.model_requests[1]["messages"][-1]
    assert answer["role"] == "tool"
    assert "invalid_input" in str(answer) or "Unknown tool" in str(answer) or "invalid" in str(answer).lower()


def test_the_key_is_in_no_message_event_or_record_when_the_server_echoes_it(site: Site) -> None:
    seen: list[Event] = []
    long = "x" * 980
    body = {"error": {"message": f"{long} Incorrect API key provided: Bearer {KEY}", "type": "auth", "code": "bad"}}
    with ModelServer([Turn(status=401, body=body)]) as server, pytest.raises(RunFailed) as caught:
        start(site, server.url, seen)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    [directory] = Path("runs").iterdir()
    journal = SqliteJournal.open(directory, hold=False)
    rows, reason = str(list(journal.rows())), str(journal.get("reason"))
    journal.close()
    for text in (caught.value.message, str(caught.value.fix), str(seen), rows, reason):
        assert KEY[:12] not in text
    for file in directory.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


def test_a_key_written_into_the_options_is_a_secret_too(site: Site) -> None:
    from dataclasses import replace

    from strands_cli.agents.assembly import redactor_of
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.secrets.redactor import MARK

    text = WORKFLOW.format(host="http://127.0.0.1:9/v1").lstrip()
    planned = app.plan(
        "w.yaml", text=text, catalog=discover_catalog([str(site.directory)]), settings=Settings(Path("r"))
    )
    agent = planned.agents["first"]
    options = {"client_args": {"api_key": "written-into-the-file"}}
    agents = {"first": replace(agent, model=replace(agent.model, options=options))}
    redactor = redactor_of(replace(planned, agents=agents))
    assert redactor.text(f"{KEY} written-into-the-file") == f"{MARK} {MARK}"


def test_a_run_plays_the_recording_that_was_planned_whatever_becomes_of_the_file(site: Site) -> None:
    text = WORKFLOW.format(host="http://127.0.0.1:9/v1").lstrip()
    Path("w.yaml").write_text(text)
    Path("recording.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: ok}], steps.1: [{text: ok}]}\n")
    from strands_cli.catalog.catalog import discover_catalog

    catalog = discover_catalog([str(site.directory)])
    planned = app.plan("w.yaml", RunRequest(provider="replay"), catalog=catalog, settings=Settings(Path("r")))
    Path("recording.yaml").unlink()
    asyncio.run(assemble(planned, {}, SharedRuns()))
