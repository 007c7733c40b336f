"""Calls in the earlier words that tools declare are made; models are offered the present words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strands_cli.errors import ExitCode
from tests.covers.kit import Ran, World, chain
from tests.fakes.http_service import HttpService
from tests.fakes.model_server import Turn
from tests.yaml_texts import write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

WRITTEN = {
    "method": "POST",
    "path": "/hives?season=spring",
    "json_data": {"kg": 3},
    "headers_override": {"X-Hive": "7"},
}
PRESENT = {
    "method": "POST",
    "path": "/hives",
    "query": {"season": "spring"},
    "json": {"kg": 3},
    "headers": {"X-Hive": "7"},
}


def run(world: World, service: HttpService, pattern: Any, **more: Any) -> Ran:
    tools = {
        "http_executors": [{"id": "hives", "base_url": f"{service.url}/v1"}],
        "python": ["current_time", {"tool": "web_fetch", "config": {"allow_private": [f"127.0.0.1:{service.port}"]}}],
    }
    sections = {"tools": tools, "pattern": pattern, **more.pop("sections", {})}
    return world.run(write_yaml(sections), yes=True, **more)


def results(world: World) -> list[Any]:
    return [json.loads(one["content"]) for one in world.requests[-1]["messages"] if one["role"] == "tool"]


def test_calls_of_a_model_in_earlier_words_are_made(world: World) -> None:
    with HttpService({"/page": "bees"}) as service:
        page = {"url": f"{service.url}/page", "mode": "text"}
        calls = [("hives", WRITTEN), ("web_fetch", page), ("current_time", {"timezone": "local", "format": "unix"})]
        world.turns = [Turn(calls=calls), Turn("done")]
        assert run(world, service, chain("go")).response == "done"
        posted = next(one for one in service.asked if one.method == "POST")
    assert (posted.path, json.loads(posted.body), posted.headers["x-hive"]) == (
        "/v1/hives?season=spring",
        {"kg": 3},
        "7",
    )
    assert "invalid_input" not in str(world.requests[-1]["messages"])
    offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in world.requests[0]["tools"]}
    assert set(offered) == {"hives", "web_fetch", "current_time"}
    assert not [
        word for word in ("json_data", "headers_override", "mode", "local") if f'"{word}"' in json.dumps(offered)
    ]


def test_a_step_in_earlier_words_is_planned_and_made(world: World) -> None:
    steps = {"type": "chain", "config": {"steps": [{"tool": "hives", "input": WRITTEN}]}}
    with HttpService({"/v1/hives": {"ok": True}}) as service:
        assert run(world, service, steps).error is None
        assert [one.path for one in service.asked] == ["/v1/hives?season=spring"]


@pytest.mark.parametrize("words", [WRITTEN, PRESENT], ids=["earlier", "present"])
@pytest.mark.parametrize("rule", ["hives(path=/hives)", "hives(method=POST)"])
def test_a_rule_on_a_present_word_denies_both(world: World, rule: str, words: dict[str, Any]) -> None:
    world.turns = [Turn(calls=[("hives", words)]), Turn("done")]
    with HttpService() as service:
        run(world, service, chain("go"), sections={"security": {"permissions": {"deny": [rule]}}})
        assert service.asked == []
    assert "was not called" in str(world.requests[-1]["messages"])


def test_a_model_may_look_for_news(world: World) -> None:
    news = {"results": [{"title": "Lime in flower", "url": "https://news.test/lime", "source": "The Hive"}]}
    world.turns = [Turn(calls=[("duckduckgo_search", {"query": "lime", "search_type": "news"})]), Turn("done")]
    with HttpService({"/": {"page": "vqd=4-12345"}, "/news.js": news}) as service:
        search = {"tool": "duckduckgo_search", "config": {"base_url": service.url}}
        run(world, service, chain("go"), sections={"tools": {"python": [search]}})
        assert [one.path.partition("?")[0] for one in service.asked] == ["/", "/news.js"]
    assert "Lime in flower" in str(world.requests[-1]["messages"])


@pytest.mark.parametrize("name", ["Authorization", "Cookie"])
def test_an_earlier_word_does_not_change_who_a_request_is_from(world: World, name: str) -> None:
    world.turns = [Turn(calls=[("hives", {"path": "/a", "headers_override": {name: "mine"}})]), Turn("done")]
    with HttpService() as service:
        run(world, service, chain("go"))
        assert service.asked == []
    assert "denied" in str(world.requests[-1]["messages"])


def test_a_step_with_a_value_that_the_present_word_does_not_take_stops_the_plan_at_its_line(world: World) -> None:
    steps = {
        "type": "chain",
        "config": {"steps": [{"tool": "web_fetch", "input": {"url": "https://a.test", "mode": "x"}}]},
    }
    with HttpService() as service:
        error = run(world, service, steps).error
    assert error is not None
    (finding,) = [one for one in error.findings if one.code == "tool-input"]
    assert finding.where is not None
    assert finding.where.pointer == "/pattern/config/steps/0/input/mode"
    assert error.exit_code == ExitCode.INVALID
