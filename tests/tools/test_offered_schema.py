"""Each provider gets a tool's schema in a form that it accepts; calls are checked against the written schema."""

from __future__ import annotations

import gc
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strands_cli.agents.agent_runner import SdkAgentRunner
from strands_cli.agents.model.journaled_model import JournaledModel
from strands_cli.agents.model.models import build_model, close_model
from strands_cli.agents.model.structured_output import TOOL
from strands_cli.engine.ports import AgentRequest
from strands_cli.provider_table import PROVIDERS
from strands_cli.providers import ModelSettings
from strands_cli.tools.schema.flattened import ANYTHING, MAX_PARTS
from strands_cli.tools.schema_for_provider import DIALECTS, MAX_WORDS, offered_schema, offered_specs
from strands_cli.tools.tool_loading import load_tools
from tests.agents.kit import RunContext, Script, Site, agent_of, asking, error, gate_of, run
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

LIVE = sorted(provider.name for provider in PROVIDERS.values() if provider.make)
NARROW = [name for name in LIVE if not DIALECTS[name].is_wide]
RICH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"$ref": "#/$defs/Path"},
        "level": {"enum": [1, 2]},
        "any": {},
        "tree": {"$ref": "#/$defs/Tree"},
        "headers": {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
        "size": {"oneOf": [{"type": "string"}, {"type": "integer", "minimum": 1}]},
        "kind": {"const": "copy"},
        "list": {"type": "array"},
        "both": {"allOf": [{"type": "string"}, {"maxLength": 3}]},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        "code": {"type": "string", "pattern": "a+"},
        "nothing": False,
    },
    "oneOf": [{"required": ["path"]}, {"properties": {"url": {"type": "string"}}, "required": ["url"]}],
    "allOf": [{"properties": {"depth": {"type": "integer"}}, "required": ["depth"]}],
    "if": {"required": ["level"]},
    "then": {"required": ["any"]},
    "$defs": {
        "Path": {"type": "string", "minLength": 1},
        "Tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}},
    },
}
GOOD: list[dict[str, Any]] = [
    {"path": "a", "depth": 1, "size": 3, "kind": "copy", "both": "abc", "pair": ["a"]},
    {"url": "u", "depth": 1, "any": [1], "level": 2, "headers": {"x-a": "b"}, "tree": {"kids": [{"kids": []}]}},
]
BAD: list[dict[str, Any]] = [
    {"path": "a", "url": "u", "depth": 1},
    {"path": "a"},
    {"path": "", "depth": 1},
    {"path": "a", "depth": 1, "level": 1},
    {"path": "a", "depth": 1, "headers": {"y": "b"}},
    {"path": "a", "depth": 1, "both": "abcd"},
    {"path": "a", "depth": 1, "nothing": 1},
]


def spec(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": "echo", "description": "Does echo.", "inputSchema": {"json": schema}}


# -- the form


def words_in(schema: Any) -> set[str]:
    """Every keyword of a schema, at every place of a schema in it."""
    found: set[str] = set()
    if isinstance(schema, Mapping):
        found |= set(schema)
        parts = [part for word, part in schema.items() if word not in ("properties", "enum", "default")]
        parts += list(schema.get("properties", {}).values())
        found |= set().union(*(words_in(part) for part in parts), set())
    if isinstance(schema, list):
        found |= set().union(*(words_in(part) for part in schema), set())
    return found


@pytest.mark.parametrize("name", [*LIVE, "a plugin's own"])
def test_the_top_is_a_plain_object_for_everybody(name: str) -> None:
    schema, said = offered_schema(RICH, name)
    assert schema["type"] == "object"
    assert not set(schema) & {"oneOf", "anyOf", "allOf", "not", "enum", "if", "$ref"}
    assert {"path", "url", "depth", "size"} <= set(schema["properties"])
    assert schema["required"] == ["depth"]
    assert json.loads(said[said.index("{") :])["then"] == {"required": ["any"]}
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", [*NARROW, "a plugin's own"])
def test_only_words_that_every_service_knows_are_left(name: str) -> None:
    schema, _ = offered_schema(RICH, name)
    common = "type properties required items enum anyOf description minimum maxLength minLength pattern"
    assert words_in(schema) <= {*common.split(), "additionalProperties"}
    assert "patternProperties" in schema["properties"]["headers"]["description"]


@pytest.mark.parametrize("name", NARROW)
def test_a_recursive_reference_is_written_out_once(name: str, wording: Wording) -> None:
    tree = offered_schema(RICH, name)[0]["properties"]["tree"]
    told = tree.get("description", "")
    written = tree if "properties" in tree else json.loads(told[told.index('{"properties"') :])
    properties = written["properties"]
    again = properties["kids"]["items"]
    assert (again["type"], again.keys()) == ("object", {"type", "description"})
    wording(again["description"])


def test_bedrock_gets_nothing_else_at_the_top_and_llamacpp_no_pattern_that_is_not_anchored() -> None:
    plain = {"type": "object", "title": "T", "additionalProperties": False, "properties": {"a": {"type": "string"}}}
    assert set(offered_schema(plain, "bedrock")[0]) == {"type", "properties", "required"}
    assert offered_schema(plain, "gemini")[0]["additionalProperties"] is False
    code = offered_schema(RICH, "llamacpp")[0]["properties"]["code"]
    assert code.keys() == {"type", "description"}
    assert code["description"].endswith('{"pattern": "a+"}')
    anchored = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^a+$"}}, "required": []}
    assert offered_schema(anchored, "llamacpp") == (anchored, "")


def test_what_openai_and_anthropic_take_further_down_they_get_as_written() -> None:
    for name in ("openai", "openai_responses", "anthropic"):
        schema, _ = offered_schema(RICH, name)
        assert schema["$defs"] == RICH["$defs"]
        assert schema["properties"]["size"] == RICH["properties"]["size"]
        assert schema["properties"]["path"] == {"$ref": "#/$defs/Path"}


@pytest.mark.parametrize("name", LIVE)
def test_an_ordinary_schema_is_sent_as_it_is_written(name: str) -> None:
    plain = {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What."}, "rows": {"type": "array", "items": {}}},
        "required": ["text"],
    }
    assert offered_schema(plain, name) == (plain, "")
    assert offered_specs([spec(plain)], name) == [spec(plain)]


@pytest.mark.parametrize("name", [*LIVE, "a plugin's own"])
def test_what_the_schema_allows_its_form_does_not_forbid(name: str) -> None:
    schema, _ = offered_schema(RICH, name)
    for good in GOOD:
        jsonschema.validate(good, RICH)
        jsonschema.validate(good, schema)


LEAF = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 1},
        {"enum": ["a", 1]},
        {"const": "a"},
        {"type": ["string", "null"], "maxLength": 1},
        {"$ref": "#/$defs/Text"},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
        {"allOf": [{"type": "string"}, {"not": {"const": "b"}}]},
        {"allOf": [{"enum": ["a", 1, None]}, {"enum": ["b", 1, None]}]},
        {"anyOf": [{"type": "integer"}, {"enum": ["a", None]}, {"allOf": [{"type": "array"}, {"maxItems": 1}]}]},
        {"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
        {"type": "array", "items": {"oneOf": [{"const": "a"}, {"type": "object"}]}, "minItems": 1},
        {"type": ["object", "array"], "properties": {"a": {"$ref": "#/$defs/Text"}}, "contains": {"const": "a"}},
        {"if": {"type": "string"}, "then": {"const": "a"}, "else": False},
        {"$ref": "#/$defs/Tree", "description": "d"},
        True,
        {},
    ]
)
OBJECT = st.fixed_dictionaries(
    {"properties": st.fixed_dictionaries({"a": LEAF, "b": LEAF})},
    optional={"required": st.sampled_from([["a"], ["a", "b"], []]), "additionalProperties": st.booleans()},
)
ROOT = st.builds(
    lambda base, word, parts: {
        "type": "object",
        **base,
        word: parts,
        "$defs": {
            "Text": {"type": "string"},
            "Tree": {"anyOf": [{"const": "a"}, {"type": "array", "items": {"$ref": "#/$defs/Tree"}}]},
        },
    },
    OBJECT,
    st.sampled_from(["allOf", "anyOf", "oneOf"]),
    st.lists(OBJECT, min_size=1, max_size=2),
)
VALUE = st.sampled_from(["a", "b", 1, 2, None, [], ["a"], {}, {"a": 1}])
CALL = st.dictionaries(st.sampled_from("abc"), VALUE)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROOT, CALL, st.sampled_from([*LIVE, "a plugin's own"]))
def test_no_form_forbids_a_call_that_its_schema_allows(schema: Any, call: Any, name: str) -> None:
    if jsonschema.Draft202012Validator(schema).is_valid(call):
        form, _ = offered_schema(schema, name)
        jsonschema.validate(call, form)


@pytest.mark.parametrize("name", NARROW)
def test_references_that_multiply_or_never_end_stay_small(name: str) -> None:
    levels = 30
    defs: dict[str, Any] = {
        f"n{level}": {"type": "object", "properties": {s: {"$ref": f"#/$defs/n{level + 1}"} for s in "ab"}}
        for level in range(levels)
    }
    many = {"type": "object", "properties": {"x": {"$ref": "#/$defs/n0"}}, "required": ["x"], "$defs": defs}
    defs[f"n{levels}"] = {"type": "string"}
    assert offered_schema(many, name)[0] == {"type": "object", "properties": {"x": ANYTHING}, "required": ["x"]}
    endless = {"type": "object", "properties": {"x": {"$ref": "#"}}}
    assert len(json.dumps(offered_schema(endless, name)[0])) < 50 * MAX_PARTS


def test_words_are_bounded() -> None:
    schema = {"type": "object", "not": {"enum": ["x" * 100_000]}}
    assert len(offered_schema(schema, "gemini")[1]) < MAX_WORDS + 100


def test_the_client_of_ollama_keeps_all_that_is_left() -> None:
    ollama = pytest.importorskip("ollama")
    schema, _ = offered_schema(RICH, "ollama")
    function = {"type": "function", "function": {"name": "echo", "description": "E.", "parameters": schema}}
    kept = ollama.Tool.model_validate(function).model_dump(exclude_none=True)["function"]["parameters"]
    assert kept == schema


# -- over the wire


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name, value in {
        "NO_PROXY": "127.0.0.1",
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_EC2_METADATA_DISABLED": "true",
        **{key: "not-a-key" for provider in PROVIDERS.values() for key in provider.keys if "AWS" not in key},
    }.items():
        monkeypatch.setenv(name, value)
    with warnings.catch_warnings():
        # Clients that nothing here can close; what they sent is what counts.
        warnings.simplefilter("ignore", ResourceWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


# Where a request has the schema of its first tool, and its description.
PLACES: dict[str, tuple[Any, ...]] = {
    "openai": ("tools", 0, "function", "parameters"),
    "openai_responses": ("tools", 0, "parameters"),
    "anthropic": ("tools", 0, "input_schema"),
    "bedrock": ("toolConfig", "tools", 0, "toolSpec", "inputSchema", "json"),
    "gemini": ("tools", 0, "functionDeclarations", 0, "parameters_json_schema"),
    **dict.fromkeys(
        ["ollama", "llamacpp", "mistral", "litellm", "writer", "sagemaker"], ("tools", 0, "function", "parameters")
    ),
}
MODEL_IDS = {"litellm": "openai/m", "bedrock": "amazon.nova-lite-v1:0"}


def sent(name: str, schema: Mapping[str, Any]) -> tuple[Any, str]:
    """Send one request with this tool as a step does; return the schema and the description that arrived."""
    with ModelServer(lambda _request: Turn("fine")) as server:
        host = server.url if name in ("openai", "openai_responses", "litellm") else server.host
        options: dict[str, Any] = {}
        if name == "sagemaker":
            os.environ["AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME"] = server.host
            options, host = {"boto_client_config": {"retries": {"total_max_attempts": 1}}}, None
        model_id = MODEL_IDS.get(name, "m")
        region = "us-east-1" if name in ("bedrock", "sagemaker") else None
        given = ModelSettings(name, model_id, region, host, max_tokens=9, options=options)

        async def work() -> None:
            inner = build_model(given)
            model = JournaledModel(inner, given, RunContext().scope())
            messages: Any = [{"role": "user", "content": [{"text": "hello"}]}]
            try:
                _ = [event async for event in model.stream(messages, [spec(schema)], "be brief")]
            except Exception:  # the server speaks OpenAI's interface only; the request is what counts
                return
            finally:
                await close_model(inner)

        run(work())
        gc.collect()  # here, where a client that was left open is not reported
        request = server.requests[0]
    found = request.json
    for step in PLACES[name][:-1]:
        found = found[step]
    holder = found if PLACES[name][-1] != "json" else request.json["toolConfig"]["tools"][0]["toolSpec"]
    return found[PLACES[name][-1]], holder["description"]


def is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that is not there
        return False


@pytest.mark.parametrize("name", LIVE)
def test_what_arrives_at_each_service_is_the_form_that_it_accepts(name: str) -> None:
    if not all(map(is_installed, PROVIDERS[name].modules)):
        pytest.skip(f"the client of {name} is not installed")
    schema, said = offered_schema(RICH, name)
    arrived, description = sent(name, RICH)
    assert arrived == schema
    assert description == f"Does echo.\n\n{said}"


# -- through an agent


SOURCE = (
    "TOOL_SPEC = {{'name': 'echo', 'description': 'E.', 'annotations': {{'readOnlyHint': True}},\n"
    "             'inputSchema': {{'json': {schema!r}}}}}\n"
    "def echo(tool, **kwargs):\n"
    "    return {{'status': 'success', 'content': [{{'json': tool['input']}}]}}\n"
)


def test_a_call_is_checked_against_the_schema_as_it_is_written(site: Site) -> None:
    site.install(SOURCE.format(schema=RICH), manifest=False)
    model = Script([("echo", call) for call in [*GOOD, *BAD]], "done")
    asking(model, *site.plan("native:echo"))
    [offered] = model.requests[0]["tools"]
    assert "oneOf" not in offered["inputSchema"]["json"]
    assert [result["content"][0].get("json") for result in model.results[: len(GOOD)]] == GOOD
    assert [error(result)["code"] for result in model.results[len(GOOD) :]] == ["invalid_input"] * len(BAD)


def test_the_form_of_a_structured_answer_reaches_the_provider_in_its_dialect_too() -> None:
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
        "anyOf": [{"required": ["tree"]}, {"properties": {"none": {"const": True}}, "required": ["none"]}],
        "$defs": RICH["$defs"],
    }
    for name in ("openai", "gemini"):
        model = Script([(TOOL, {"none": True})])
        agent = agent_of(settings=ModelSettings(name, "m"))

        async def work(model: Script = model, agent: Any = agent) -> Any:
            runner = SdkAgentRunner(lambda _agent, _key: model, await load_tools(()), gate_of())
            return await runner.run_agent(AgentRequest(agent, "go", "be brief", (), schema), RunContext().scope())

        assert run(work()).output == {"none": True}
        [offered] = model.requests[0]["tools"]
        form = offered["inputSchema"]["json"]
        assert (form["type"], set(form["properties"]) >= {"tree", "none"}) == ("object", True)
        assert "anyOf" not in form
        assert ("$defs" in form) is (name == "openai")
        assert '"required": ["none"]' in offered["description"]


def test_no_property_becomes_text_because_it_names_no_type(site: Site) -> None:
    properties = {"n": {"enum": [1, 2]}, "at": {"properties": {"x": {"const": 3}}}, "any": {}, "yes": True}
    site.install(SOURCE.format(schema={"type": "object", "properties": properties}), manifest=False)
    model = Script("done")
    asking(model, *site.plan("native:echo"))
    offered = model.requests[0]["tools"][0]["inputSchema"]["json"]["properties"]
    assert offered["n"]["type"] == "integer"
    assert (offered["at"]["type"], offered["at"]["properties"]["x"]["type"]) == ("object", "integer")
    assert offered["any"]["anyOf"] == offered["yes"]["anyOf"] == ANYTHING["anyOf"]
