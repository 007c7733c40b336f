"""A model reads a result of a first-party tool once: no value of the JSON that it gets is in the text as well."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.tools.messages.repeated_results import for_model
from strands_cli.tools.tool_forms import output_schema_of
from strands_tool_kit.loopback import LoopbackServer, loopback_servers, reply

BODY = "<title>Bees of Bern</title><h1>Bees</h1><p>" + "They fly in the morning. " * 9
HIT = {"title": "Bees of Bern", "url": "https://a.test/bees", "content": "They fly in the morning.", "score": 0.93217}
ANSWER = json.dumps({"answer": "They fly early on most days.", "results": [HIT]})
DUCK = '<div class="result"><a class="result__a" href="https://a.test/bees">Bees of Bern</a></div>'
BROKEN = "version: 2\nname: x\nagents: {a: {prompt: p}}\npattern: {type: chain, config: {steps: [{agent: nope}]}}\n"
CALLS: dict[str, list[dict[str, Any]]] = {
    "calculator": [{"expression": "12345 * 7"}, {"expression": "1/7", "mode": "exact"}, {"expression": "2**300"}],
    "current_time": [{}],
    "duckduckgo_search": [{"query": "honey"}],
    "file_list": [{"path": ".", "depth": 3}],
    "file_read": [{"path": "notes.txt"}],
    "file_write": [
        {"path": "other.txt", "content": "x" * 12345},
        {"path": "notes.txt", "content": "x" * 12345, "mode": "append"},
    ],
    "grep": [{"path": ".", "pattern": "alpha"}, {"path": "notes.txt", "pattern": "alpha"}],
    "head": [{"path": "notes.txt"}],
    "http_executor": [{"path": "/page"}],
    "http_request": [{"url": "URL/page"}, {"url": "URL/json"}],
    "python_exec": [
        {"code": "print('alpha ' * 30)\n{'beta': [12345]}"},
        {"code": "print('alpha')\n1/0"},
        {"code": "import sys\nprint('alpha', file=sys.stderr)"},
    ],
    "search": [{"path": ".", "query": "alpha"}],
    "spec_verify": [{"spec_content": BROKEN}],
    "tail": [{"path": "notes.txt"}],
    "tavily_search": [{"query": "honey", "include_answer": True}],
    "web_fetch": [{"url": "URL/page"}],
}


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with loopback_servers() as start:
        yield start()


def answer_of(tool: str, given: Mapping[str, Any], server: LoopbackServer, folder: Path) -> tuple[dict[str, Any], Any]:
    """Return the result of a call, and the tool's output schema."""
    record = next(one for one in discover_catalog().tools if one.name == tool)
    module = importlib.import_module(record.module)
    server.forget()
    server.in_turn[:] = {"duckduckgo_search": [reply(DUCK)], "tavily_search": [reply(ANSWER)]}.get(tool, [])
    server.answers |= {
        "/page": reply(BODY, content_type="text/html"),
        "/json": reply('{"bees": "They fly in the morning."}', content_type="application/json"),
    }
    config: dict[str, Any] = {"base_url": server.url()}
    if record.module.startswith("strands_tool_http_request"):
        config = {"allow_private": [f"127.0.0.1:{server.port}"]}
    if tool == "http_executor":
        config["base_url"] = server.url()
    given = {name: value.replace("URL", server.url()) if name == "url" else value for name, value in given.items()}
    keywords = {"workspace": str(folder), "config": config, "secrets": {"TAVILY_API_KEY": "tvly-0123456789abcdef"}}
    answer = getattr(module, tool)({"toolUseId": "t", "name": tool, "input": given}, strands_cli=keywords)
    return asyncio.run(answer) if inspect.isawaitable(answer) else answer, output_schema_of(module.TOOL_SPEC)


def leaves(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value that are no coincidence in a text."""
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from leaves(part)
    if isinstance(value, (str, int, float)) and not isinstance(value, bool) and len(str(value).strip()) > 3:
        yield str(value).strip()


def test_there_are_calls_of_all_first_party_tools() -> None:
    assert sorted(CALLS) == sorted(
        one.name for one in discover_catalog().tools if one.distribution.startswith("strands-tool-")
    )


@pytest.mark.parametrize(("tool", "given"), [(tool, one) for tool, calls in CALLS.items() for one in calls])
def test_a_model_reads_it_once(tool: str, given: Mapping[str, Any], server: LoopbackServer, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("".join(f"alpha {1000 + number}\n" for number in range(30)))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.md").write_text("alpha beta")
    result, schema = answer_of(tool, given, server, tmp_path)
    uses = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": tool, "input": {}}}]}
    answers = {"role": "user", "content": [{"toolResult": result}]}
    content = for_model([uses, answers], {tool: schema})[1]["content"][0]["toolResult"]["content"]
    text = "\n".join(block["text"] for block in content if "text" in block)
    twice = [leaf for block in content if "json" in block for leaf in leaves(block["json"]) if leaf in text]
    assert (result["status"], twice) == ("success", [])
    assert {"engine", "layers"}.isdisjoint(name for block in content for name in block.get("json", ()))


def test_what_a_schema_marks_inside_a_list_is_left_out_there() -> None:
    marked = {"type": "string", "x-for-programs": True}
    schema = {"properties": {"rows": {"items": {"properties": {"name": marked, "score": {}}}}, "whole": marked}}
    rows = [{"name": "a", "score": 1}, {"name": "b", "score": 2}]
    [block] = read({"rows": rows, "whole": "x"}, schema)[1:]
    assert block["json"] == {"rows": [{"score": 1}, {"score": 2}]}
    assert read({"rows": [{"name": "a"}], "whole": "x"}, schema)[1:] == [{"json": {"rows": []}}]


def test_the_error_of_a_refused_call_is_not_a_field_of_its_output() -> None:
    schema = {"properties": {"error": {"x-for-programs": True}}}
    value = {"error": {"code": "denied", "message": "no", "retryable": True, "details": {"a": 1}}}
    assert read(value, schema)[1:] == [{"json": value}]


def read(value: Any, schema: Any) -> list[Any]:
    use = {"toolUseId": "t", "name": "rows", "input": {}}
    result = {"toolUseId": "t", "status": "success", "content": [{"text": "two"}, {"json": value}]}
    messages = [{"role": "assistant", "content": [{"toolUse": use}]}]
    messages += [{"role": "user", "content": [{"toolResult": result}]}]
    [_, sent] = for_model(messages, {"rows": schema})
    return list(sent["content"][0]["toolResult"]["content"])
