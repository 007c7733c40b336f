"""What every tool must do, these tools do; needs strands-cli, which the tools themselves do not."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

testing = pytest.importorskip("strands_cli_dev")

models = pytest.importorskip("strands.models")


class _NoModel(models.Model):  # type: ignore[name-defined, misc]
    """A model that is never asked: the agent only calls its tool directly."""

    stateful = False

    def update_config(self, **given: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *given: Any, **more: Any) -> Any: ...

    def stream(self, *given: Any, **more: Any) -> Any: ...


class TestDuckDuckGoSearch(testing.ToolContract):  # type: ignore[name-defined, misc]
    """A server that answers each query with a page of its own."""

    tool = "strands_tool_web_search.duckduckgo_search"

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _server(cls, start_server: Any) -> None:
        server = start_server()

        async def play(asked: Any, writer: Any) -> None:
            query = asked.form["q"]
            page = f'<div class="result"><a class="result__a" href="https://a.test/{query}">{query}</a></div>'
            content = ("<form id='challenge-form'>" if query == "robot" else page).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(content) + content)

        server.in_turn[:] = [play]
        cls.config = {"base_url": server.url()}
        cls.examples = ({"query": "bees"}, {"query": "honey"}, testing.Example({"query": "robot"}, status="error"))

    @testing.contract_exception("without configuration it asks the service itself, which no test reaches")
    def test_a_plain_agent_can_call_it(self) -> None: ...


class TestTavilySearch(testing.ToolContract):  # type: ignore[name-defined, misc]
    """Without the declared secret each call says so; with it, see test_tavily.py and tests/agents."""

    tool = "strands_tool_web_search.tavily_search"
    examples = (
        testing.Example({"query": "bees"}, status="error"),
        testing.Example({"query": "honey", "include_answer": True}, status="error"),
    )


@pytest.mark.parametrize("name", ["duckduckgo_search", "tavily_search"])
def test_a_plain_agent_gets_a_structured_error_when_nothing_can_be_asked(name: str, monkeypatch: Any) -> None:
    from strands import Agent

    from strands_tool_kit import resolve

    async def look_up(host: str, port: int) -> list[str]:
        raise OSError("no network here")

    monkeypatch.setattr(resolve, "look_up", look_up)
    module = importlib.import_module(f"strands_tool_web_search.{name}")
    agent = Agent(model=object.__new__(_NoModel), tools=[module], callback_handler=None)
    result = getattr(agent.tool, name)(record_direct_tool_call=False, query="bees")
    error = result["content"][-1]["json"]["error"]
    reason = {"duckduckgo_search": "resolve", "tavily_search": "secret"}[name]
    assert (result["status"], error["code"], error["details"]["reason"]) == ("error", "unavailable", reason)


WORKFLOW = """version: 2
name: research
runtime: {{provider: replay, recording: turns.yaml}}
env: {{secrets: [{{key: TAVILY_API_KEY}}]}}
agents:
  reader:
    prompt: You answer with pages.
    tools: [{{tool: native:tavily_search, config: {{base_url: "{url}"}}}}]
pattern: {{type: chain, config: {{steps: [{{agent: reader, input: Look it up.}}]}}}}
"""
TURNS = """recording: 1
steps:
  steps.0:
    - calls: [{tavily_search: {query: euro}}]
    - when: "tavily_search: success"
      text: Read it at the bank's.
"""


def test_in_a_run_the_key_reaches_the_service_and_no_record(room: Any, tmp_path: Any, monkeypatch: Any) -> None:
    from strands_cli import Workflow

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("TAVILY_API_KEY", room.key)
    (tmp_path / "turns.yaml").write_text(TURNS)
    (tmp_path / "flow.yaml").write_text(WORKFLOW.format(url=room.server.url()))
    # A service that repeats the key does not bring it into the record either.
    room.answers(room.recorded("tavily.json").replace("Another page.", f"Another page of {room.key}."))
    assert Workflow.from_file("flow.yaml").run().response == "Read it at the bank's."
    assert room.server.asked[0].headers["authorization"] == f"Bearer {room.key}"
    held = [path for path in tmp_path.rglob("*") if path.is_file() and room.key.encode() in path.read_bytes()]
    assert held == []
