"""Model settings really arrive: through the SDK's own classes, in the requests their real clients send over HTTP."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strands_cli.agents.model.models import STAND_IN_KEY, build_model, close_model, model_arguments
from strands_cli.errors import InvalidInput, NotEquipped
from strands_cli.provider_table import PROVIDERS
from strands_cli.providers import ModelSettings, value_at
from tests.fakes.model_server import ModelServer, Request, Turn
from tests.wordings import Wording

CLONE = Path(__file__).parent.parent.parent
SAMPLING: dict[str, Any] = {"temperature": 0.25, "top_p": 0.5, "max_tokens": 99}
TOOL: Any = {"name": "add", "description": "Add.", "inputSchema": {"json": {"type": "object", "properties": {}}}}


@pytest.fixture(autouse=True)
def known_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda _request: Turn("fine", usage=(5, 2))) as running:
        yield running


def events_of(model: Any) -> list[Any]:
    async def collect() -> list[Any]:
        messages: Any = [{"role": "user", "content": [{"text": "hello"}]}]
        try:
            return [event async for event in model.stream(messages, [TOOL], "be brief")]
        finally:
            await close_model(model)

    return asyncio.run(collect())


def sent_by(settings: ModelSettings, server: ModelServer) -> Request:
    events = events_of(build_model(settings))
    texts = [e["contentBlockDelta"]["delta"]["text"] for e in events if "contentBlockDelta" in e]
    assert "".join(texts) == "fine"
    [request] = server.requests
    return request


def test_openai_sends_every_setting(server: ModelServer) -> None:
    options = {"params": {"seed": 7}, "client_args": {"organization": "org-1", "default_headers": {"x-team": "t"}}}
    request = sent_by(ModelSettings("openai", "gpt-x", host=server.url, options=options, **SAMPLING), server)
    assert request.path == "/v1/chat/completions"
    assert {key: request.json[key] for key in ("model", "seed", *SAMPLING)} == {"model": "gpt-x", "seed": 7, **SAMPLING}
    assert request.json["stream"] is True
    assert request.headers["authorization"] == f"Bearer {STAND_IN_KEY}"
    assert (request.headers["openai-organization"], request.headers["x-team"]) == ("org-1", "t")


def test_openai_without_streaming_sends_and_reads_the_same(server: ModelServer) -> None:
    options = {"stream": False}
    request = sent_by(ModelSettings("openai", "gpt-x", host=server.url, options=options, **SAMPLING), server)
    assert (request.json["stream"], request.json["max_tokens"]) == (False, 99)


def test_openai_responses_sends_every_setting(server: ModelServer) -> None:
    options = {"params": {"truncation": "auto"}}
    request = sent_by(ModelSettings("openai_responses", "gpt-x", host=server.url, options=options, **SAMPLING), server)
    assert request.path == "/v1/responses"
    sent = {key: request.json[key] for key in ("model", "temperature", "top_p", "max_output_tokens", "truncation")}
    assert sent == {"model": "gpt-x", "temperature": 0.25, "top_p": 0.5, "max_output_tokens": 99, "truncation": "auto"}


def test_llamacpp_sends_every_setting(server: ModelServer) -> None:
    options = {"params": {"top_k": 5}, "timeout": [3.0, 44.0]}
    settings = ModelSettings("llamacpp", "local", host=server.host, options=options, **SAMPLING)
    request = sent_by(settings, server)
    assert request.path == "/v1/chat/completions"
    assert {key: request.json[key] for key in ("model", "top_k", *SAMPLING)} == {
        "model": "local",
        "top_k": 5,
        **SAMPLING,
    }
    model: Any = build_model(settings)
    assert (model.client.timeout.connect, model.client.timeout.read) == (3.0, 44.0)


def test_bedrock_sends_every_setting(server: ModelServer) -> None:
    options = {"stop_sequences": ["END"], "boto_client_config": {"connect_timeout": 7}}
    model_id = "amazon.nova-lite-v1:0"
    settings = ModelSettings("bedrock", model_id, "eu-west-1", server.host, options=options, **SAMPLING)
    model: Any = build_model(settings)
    with pytest.raises(Exception, match="404"):  # the server speaks no Bedrock; the request is what counts
        events_of(model)
    [request] = server.requests
    assert request.path == "/model/amazon.nova-lite-v1%3A0/converse-stream"
    assert "/eu-west-1/bedrock/" in request.headers["authorization"]
    expected = {"maxTokens": 99, "temperature": 0.25, "topP": 0.5, "stopSequences": ["END"]}
    assert request.json["inferenceConfig"] == expected
    assert (model.client.meta.config.connect_timeout, model.client.meta.config.read_timeout) == (7, 120)


@pytest.mark.parametrize("name", ["openai", "openai_responses", "llamacpp"])
def test_streamed_tool_calls_and_usage_come_back(name: str) -> None:
    arguments = {"a": 2, "b": 3, "note": "long enough for several fragments of the stream"}
    with ModelServer([Turn(calls=[("add", arguments)], usage=(5, 2))]) as server:
        host = server.host if name == "llamacpp" else server.url
        events = events_of(build_model(ModelSettings(name, "m", host=host)))
    deltas = [e["contentBlockDelta"]["delta"] for e in events if "contentBlockDelta" in e]
    assert json.loads("".join(d["toolUse"]["input"] for d in deltas if "toolUse" in d)) == arguments
    assert next(e["messageStop"]["stopReason"] for e in events if "messageStop" in e) == "tool_use"
    assert next(e["metadata"]["usage"]["totalTokens"] for e in events if "metadata" in e) == 7


@pytest.mark.parametrize("name", ["openai", "openai_responses", "llamacpp"])
@pytest.mark.parametrize("status", [429, 500])
def test_a_failed_request_is_not_repeated_in_silence(name: str, status: int) -> None:
    with ModelServer([Turn(status=status)] * 5) as server:
        host = server.host if name == "llamacpp" else server.url
        with pytest.raises(Exception, match=r"."):
            events_of(build_model(ModelSettings(name, "m", host=host)))
        assert len(server.requests) == 1


def test_bedrock_does_not_repeat_a_failed_request_in_silence() -> None:
    with ModelServer(elsewhere=503) as server:
        with pytest.raises(Exception, match="503"):
            events_of(build_model(ModelSettings("bedrock", "m", "us-east-1", server.host)))
        assert len(server.requests) == 1


def test_the_turns_of_one_run_share_a_client_and_another_loop_gets_its_own(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import openai

    made: list[openai.AsyncOpenAI] = []

    class CountedClient(openai.AsyncOpenAI):
        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            made.append(self)

    monkeypatch.setattr(openai, "AsyncOpenAI", CountedClient)
    model: Any = build_model(ModelSettings("openai", "m", host=server.url))
    messages: Any = [{"role": "user", "content": [{"text": "hello"}]}]

    async def turns(number: int) -> None:
        for _ in range(number):
            assert [event async for event in model.stream(messages)]
        await close_model(model)

    asyncio.run(turns(3))
    assert len(made) == 1
    asyncio.run(turns(2))
    assert [client.is_closed() for client in made] == [True, True]
    assert len(server.requests) == 5


def test_models_of_one_loop_share_their_connections_until_the_last_is_closed(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import openai

    made: list[openai.DefaultAsyncHttpxClient] = []

    class CountedClient(openai.DefaultAsyncHttpxClient):
        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            made.append(self)

    monkeypatch.setattr(openai, "DefaultAsyncHttpxClient", CountedClient)
    keys = [{"client_args": {"api_key": key, "max_retries": 0}} for key in ("sk-first", "sk-second")]
    models: list[Any] = [build_model(ModelSettings("openai", "m", host=server.url, options=key)) for key in keys]
    messages: Any = [{"role": "user", "content": [{"text": "hello"}]}]

    async def use_and_close() -> None:
        for model in models:
            assert [event async for event in model.stream(messages)]
        assert [request.headers["authorization"] for request in server.requests] == [
            "Bearer sk-first",
            "Bearer sk-second",
        ]
        await close_model(models[0])
        assert [event async for event in models[1].stream(messages)]
        assert [client.is_closed for client in made] == [False]
        await close_model(models[1])
        assert [client.is_closed for client in made] == [True]

    asyncio.run(use_and_close())


@pytest.mark.parametrize("name", ["openai", "anthropic", "ollama"])
def test_a_model_reads_no_certificate_authorities_before_it_needs_them(
    name: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    importlib.import_module(name)  # Ollama's makes a client for its own use
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *places, **named: read.append(places))
    model: Any = build_model(ModelSettings(name, "m", host=server.url))
    if name == "openai":  # the fake does not speak the interfaces of the others
        assert events_of(model)
    elif name == "ollama":
        from ollama import AsyncClient

        AsyncClient(model.host, **model.client_args)  # as its class does for each request
    assert read == []


def test_a_bedrock_endpoint_keeps_the_class_s_own_client() -> None:
    options = {"bedrock_mantle_config": {"region": "us-east-1"}}
    model: Any = build_model(ModelSettings("openai", "m", options=options), {})
    assert not hasattr(model, "client")
    assert model.client_args == {"max_retries": 0}


def test_a_closed_model_leaves_no_connection(server: ModelServer) -> None:
    model: Any = build_model(ModelSettings("llamacpp", "m", host=server.host))
    events_of(model)
    assert model.client.is_closed
    asyncio.run(close_model(build_model(ModelSettings("openai", "m", host=server.url))))


def test_retries_that_the_workflow_asks_for_are_kept() -> None:
    options = {"client_args": {"max_retries": 1, "default_headers": {"x": "y"}}}
    with ModelServer([Turn(status=500, headers={"retry-after-ms": "1"}), Turn("fine")]) as server:
        events_of(build_model(ModelSettings("openai", "m", host=server.url, options=options)))
        assert len(server.requests) == 2


def test_the_key_of_the_environment_is_sent_and_not_stored(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    settings = ModelSettings("openai", "m", host=server.url)
    assert "sk-real" not in str(model_arguments(settings, os.environ))
    assert sent_by(settings, server).headers["authorization"] == "Bearer sk-real"


def test_the_clients_own_variable_for_the_host_works(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    request = sent_by(ModelSettings("openai", "m", max_tokens=9), server)
    assert (request.headers["authorization"], request.json["max_tokens"]) == (f"Bearer {STAND_IN_KEY}", 9)


def test_no_substitute_goes_to_a_service() -> None:
    for host in (None, "https://api.example.com/v1"):
        assert "api_key" not in model_arguments(ModelSettings("openai", "m", host=host), {})["client_args"]
    arguments = model_arguments(ModelSettings("bedrock", "m", host="http://localhost:1"), {})
    assert "api_key" not in arguments


def test_what_a_workflow_says_is_not_written_into() -> None:
    options: dict[str, Any] = {"params": {"seed": 1}, "client_args": {}, "cache_config": {"cache_key": "k"}}
    build_model(ModelSettings("openai", "m", host="http://localhost:1/v1", options=options, **SAMPLING))
    assert options == {"params": {"seed": 1}, "client_args": {}, "cache_config": {"cache_key": "k"}}


def test_a_cache_configuration_becomes_the_sdks_object() -> None:
    from strands.models import CacheConfig

    options = {"cache_config": {"ttl": "5m", "cache_key": "team"}}
    model = build_model(ModelSettings("bedrock", "m", "us-east-1", options=options))
    assert model.get_config()["cache_config"] == CacheConfig(ttl="5m", cache_key="team")


@pytest.mark.parametrize("name", [p.name for p in PROVIDERS.values() if p.make])
def test_every_setting_has_its_place_in_the_constructors_keywords(name: str) -> None:
    provider = PROVIDERS[name]
    given = ModelSettings(name, "m", "us-east-1", "http://localhost:1", **SAMPLING)
    arguments = model_arguments(given, {})
    for setting, place in provider.places.items():
        assert value_at(arguments, place) == getattr(given, setting)
    for place, value in provider.presets.items():
        assert value_at(arguments, place) == value


def test_a_field_wins_over_the_same_option() -> None:
    arguments = model_arguments(
        ModelSettings("openai", "m", temperature=0.1, options={"params": {"temperature": 1}}), {}
    )
    assert arguments["params"]["temperature"] == 0.1
    both = ModelSettings("openai", "m", max_tokens=5, options={"params": {"max_tokens": 9}})
    assert model_arguments(both, {})["params"] == {"max_tokens": 5}


def test_an_absent_setting_is_not_sent() -> None:
    assert "params" not in model_arguments(ModelSettings("openai", "m"), {})
    assert set(model_arguments(ModelSettings("ollama", "m"), {})) == {"model_id", "host"}


def test_a_client_argument_with_a_typing_mistake_is_found_when_building(wording: Wording) -> None:
    options = {"client_args": {"max_retry": 3}}
    with pytest.raises(InvalidInput) as caught:
        build_model(ModelSettings("openai", "m", host="http://localhost:1/v1", options=options))
    wording(caught.value)
    wording(caught.value.fix)


def test_what_the_class_refuses_is_for_the_author_to_correct(wording: Wording) -> None:
    options = {"boto_client_config": {"no_such_setting": 1}}
    with pytest.raises(InvalidInput) as raised:
        build_model(ModelSettings("bedrock", "m", "us-east-1", options=options))
    wording(raised.value)


def in_a_process(code: str, path: Path) -> str:
    setup = f"import sys; sys.path.insert(0, {str(path)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", setup + code], capture_output=True, text=True, check=False, cwd=CLONE, timeout=300
    )
    return done.stdout + done.stderr


def test_a_missing_client_names_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "openai", raising=False)
    with pytest.raises(NotEquipped) as caught:
        build_model(ModelSettings("openai", "m"))
    assert (caught.value.exit_code, caught.value.fix) == (18, "pip install 'strands-cli[openai]'")
    assert [finding.code for finding in caught.value.findings] == ["missing-extra"]


def test_a_client_that_cannot_be_imported_is_distinguished(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "ollama.py").write_text("raise RuntimeError('half installed')\n")
    code = (
        "from strands_cli.agents.model.models import *\n"
        "try: build_model(ModelSettings('ollama', 'm'))\n"
        "except NotEquipped as error: print(error.message, '|', error.fix)"
    )
    printed = in_a_process(code, tmp_path)
    wording(printed)
    assert "| pip install --upgrade 'strands-cli[ollama]'" in printed


def test_litellm_is_kept_from_the_network_and_from_standard_output(tmp_path: Path) -> None:
    (tmp_path / "litellm").mkdir()
    init = "import os\nprint('map', os.environ['LITELLM_LOCAL_MODEL_COST_MAP'])\nacompletion = None\n"
    (tmp_path / "litellm" / "__init__.py").write_text(init)
    (tmp_path / "litellm" / "exceptions.py").write_text("class ContextWindowExceededError(Exception): pass\n")
    (tmp_path / "litellm" / "utils.py").write_text("supports_response_schema = None\n")
    code = (
        "from strands_cli.agents.model.models import *\n"
        "model = build_model(ModelSettings('litellm', 'openai/x', host='http://localhost:1/v1'), {})\n"
        "import litellm; print(litellm.suppress_debug_info, sorted(model.client_args.items()))"
    )
    printed = in_a_process(code, tmp_path)
    assert "map True\n" in printed
    assert "True [('api_base', 'http://localhost:1/v1'), ('api_key', 'not-needed'), ('max_retries', 0)" in printed


def test_one_provider_is_imported_and_no_other() -> None:
    code = (
        "from strands_cli.agents.model.models import *\n"
        "print('strands' in sys.modules)\n"
        "build_model(ModelSettings('llamacpp', 'm'))\n"
        "print('strands.models.llamacpp' in sys.modules, 'openai' in sys.modules)"
    )
    assert in_a_process(code, CLONE).split() == ["False", "True", "False"]


@pytest.mark.parametrize("name", ["replay", "nowhere"])
def test_a_provider_without_a_class_is_a_mistake_of_the_caller(name: str, wording: Wording) -> None:
    with pytest.raises(ValueError) as raised:
        build_model(ModelSettings(name))
    wording(raised.value)
