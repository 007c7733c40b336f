"""What the models do that go on with a call when the first is down, those of `runtime` and those of an agent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.covers.kit import Ran, World, covers_each
from tests.fakes.model_server import Turn
from tests.yaml_texts import write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

SECTIONS = {"runtime": "/runtime/models/*", "agent": "/agents/*/models/*"}
FIRST = {"model": "openai/first"}
SAMPLING = {"temperature": 0.25, "top_p": 0.5, "max_tokens": 77}
SECOND = {"provider": "openai", "model_id": "second", **SAMPLING, "options": {"params": {"seed": 11}}}


def each(*fields: str) -> dict[tuple[str, str], str]:
    return {(section, name): f"{pointer}/{name}" for section, pointer in SECTIONS.items() for name in fields}


def go(world: World, section: str, models: list[dict[str, Any]], **runtime: Any) -> Ran:
    """Let the first model be down."""
    world.turns = [*([] if "host" in runtime else [Turn(status=500)]), Turn("at last")]
    agent = {"prompt": "You help.", "tools": []}
    if section == "runtime":
        runtime["models"] = models
    else:
        agent["models"] = models
    return world.run(write_yaml({"runtime": runtime, "agents": {"a": agent}}))


@covers_each(each("model"))
def test_a_name_has_the_provider_before_it(world: World, case: tuple[str, str]) -> None:
    assert go(world, case[0], [FIRST, {"model": "openai/second"}]).response == "at last"
    assert [request["model"] for request in world.requests] == ["first", "second"]


@covers_each(each("provider", "model_id"))
def test_a_model_is_named_beside_its_provider(world: World, case: tuple[str, str]) -> None:
    assert go(world, case[0], [FIRST, SECOND]).response == "at last"
    assert [request["model"] for request in world.requests] == ["first", "second"]


@covers_each(each(*SAMPLING))
def test_a_model_has_sampling_of_its_own(world: World, case: tuple[str, str]) -> None:
    go(world, case[0], [FIRST, SECOND])
    assert [request.get(case[1]) for request in world.requests] == [None, SAMPLING[case[1]]]


@covers_each(each("options"))
def test_a_model_has_options_of_its_own(world: World, case: tuple[str, str]) -> None:
    go(world, case[0], [FIRST, SECOND])
    assert [request.get("seed") for request in world.requests] == [None, 11]


@covers_each(each("host"))
def test_a_model_is_asked_at_its_host(world: World, case: tuple[str, str]) -> None:
    models = [FIRST, {**SECOND, "host": world.server.url}]
    assert go(world, case[0], models, host="http://127.0.0.1:9/v1").response == "at last"


@covers_each(each("region"))
def test_a_model_is_asked_in_its_region(world: World, case: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    bedrock = {"provider": "bedrock", "model_id": "m", "region": "eu-north-1", "host": world.server.host}
    go(world, case[0], [FIRST, bedrock])
    assert "/eu-north-1/bedrock/" in world.server.requests[-1].headers["authorization"]


@covers_each(each("on"))
def test_a_model_goes_on_where_it_is_meant_to(world: World, case: tuple[str, str]) -> None:
    ran = go(world, case[0], [FIRST, {**SECOND, "on": ["throttled"]}])
    assert ran.error is not None
    assert len(world.requests) == 1
