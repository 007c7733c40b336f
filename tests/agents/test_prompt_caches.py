"""What a provider may read from its cache is marked, and is the same bytes in every turn and every run."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from strands_cli.errors import RunFailed
from tests.agents.kit import Site
from tests.agents.resumable import RECORD, going, workflow
from tests.fakes.model_server import ModelServer, Turn

TURNS = [Turn(calls=[("echo", {"text": word})]) for word in ("a", "b")]
TOOLS, NONE = "tools: [native:echo, native:echo]", "tools: []"

pytestmark = pytest.mark.usefixtures("echo_and_key")


def requests(
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    *,
    options: str = "{}",
    tools: str = TOOLS,
    provider: str = "anthropic",
    model: str = "claude-haiku-4-5",
) -> list[Any]:
    """Return the bodies of the requests of a new run."""
    shutil.rmtree(RECORD, ignore_errors=True)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0123456789abcdef")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    turns = [*TURNS, Turn("done")] if tools == TOOLS else [Turn("done")]
    with ModelServer(turns) as server:
        host = server.url if provider == "openai" else server.host
        text = workflow(host, "{agent: one, input: go}", agents=f"{{one: {{prompt: You echo., {tools}}}}}")
        text = text.replace("provider: openai, model_id: m", f"provider: {provider}, model_id: {model}")
        text = text.replace("failure_policy", f"max_tokens: 99, options: {options}, failure_policy")
        if provider == "bedrock":  # the server does not speak its language, and keeps what it was sent
            with pytest.raises(RunFailed):
                going(site, text)
        else:
            going(site, text)
        return [json.loads(request.body) for request in server.requests]


def is_marked(part: Any) -> bool:
    return "cache_control" in json.dumps(part) or "cachePoint" in json.dumps(part)


def unmarked(messages: list[Any]) -> list[Any]:
    blocks = (
        {name: value for name, value in block.items() if name != "cache_control"}
        for m in messages
        for block in m["content"]
    )
    return list(blocks)


def test_tools_system_prompt_and_conversation_are_marked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for request in requests(site, monkeypatch):
        assert is_marked(request["tools"][-1])
        assert is_marked(request["system"][-1])
        assert [is_marked(message) for message in request["messages"]] == [
            *[False] * (len(request["messages"]) - 1),
            True,
        ]


def test_the_bytes_before_the_marks_are_the_same_in_every_turn_and_every_run(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = requests(site, monkeypatch), requests(site, monkeypatch)
    heads = {json.dumps([request["tools"], request["system"]]) for request in (*first, *second)}
    assert len(heads) == 1
    assert len(first) == len(second) == 3
    for run in (first, second):
        said = [unmarked(request["messages"]) for request in run]
        assert said[1][: len(said[0])] == said[0]
        assert said[2][: len(said[1])] == said[1]


@pytest.mark.parametrize(
    ("options", "tools"), [("{cache_config: off}", TOOLS), ("{}", NONE), ("{cache_config: off}", NONE)]
)
def test_nothing_is_marked_where_it_is_switched_off_or_no_tools_bring_a_second_request(
    site: Site, monkeypatch: pytest.MonkeyPatch, options: str, tools: str
) -> None:
    assert not is_marked(requests(site, monkeypatch, options=options, tools=tools))


def test_options_about_the_cache_count_as_they_are_written(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    request, *_ = requests(site, monkeypatch, options="{cache_config: {ttl: 1h}}", tools=NONE)
    assert request["system"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize(("model", "expected"), [("eu.anthropic.claude-haiku-4-5", True), ("amazon.titan-x", False)])
def test_bedrock_gets_marks_for_models_that_take_them(
    site: Site, monkeypatch: pytest.MonkeyPatch, model: str, expected: bool
) -> None:
    request, *_ = requests(site, monkeypatch, provider="bedrock", model=model)
    assert is_marked(request["toolConfig"]["tools"]) is expected
    assert is_marked(request["system"]) is expected


def test_a_server_that_refuses_the_marks_brings_the_word_that_switches_them_off(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = {"type": "error", "error": {"type": "invalid_request_error", "message": "cache_control: not permitted"}}
    monkeypatch.setattr("tests.agents.test_prompt_caches.TURNS", [Turn(status=400, body=refusal)])
    with pytest.raises(RunFailed) as error:
        requests(site, monkeypatch)
    assert "cache_config: off" in str(error.value.fix)


def test_a_provider_that_caches_by_itself_gets_no_marks(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_marked(requests(site, monkeypatch, provider="openai", model="m"))
