"""With many tools a model sees their names, and loads the definitions that it needs behind those before."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from strands_cli.agents.model.journaled_model import tokens_in
from strands_cli.errors import RunFailed
from tests.agents.kit import Site
from tests.agents.resumable import RECORD, going, rows, workflow
from tests.distributions import make_distribution, manifest_of
from tests.fakes.model_server import ModelServer, Turn

ONE = "{agent: one, input: go}"
PACKAGES = Path(__file__).parents[2] / "packages"
MANY = 200

pytestmark = pytest.mark.usefixtures("echo_and_key")


def first_party() -> list[dict[str, Any]]:
    """Return the tools of the manifests of this repository, as tools of real size."""
    files = sorted(PACKAGES.glob("strands-tool-*/src/*/strands_tools.json"))
    return [each for file in files for each in json.loads(file.read_text("utf-8"))["tools"]]


@pytest.fixture
def many(site: Site) -> list[str]:
    """Install 200 tools of the size of real ones, which all answer with their arguments."""
    models = first_party()
    tools: dict[str, dict[str, Any]] = {}
    for number in range(MANY):
        model = models[number % len(models)]
        name = f"{model['name']}_{number}"
        schema = {**(model["input_schema"] or {"type": "object"}), "required": []}
        tools[name] = {"name": name, "description": model["description"], "input_schema": schema}
    specs = {
        name: {"name": name, "description": tool["description"], "inputSchema": {"json": tool["input_schema"]}}
        for name, tool in tools.items()
    }
    source = (
        "import json\nfrom strands.types.tools import AgentTool\n"
        f"SPECS = json.loads({json.dumps(json.dumps(specs))})\n"
        "READS = {'readOnlyHint': True}\n"
        "class Made(AgentTool):\n"
        "    def __init__(self, name):\n"
        "        super().__init__()\n"
        "        self.name = name\n"
        "    tool_name = property(lambda self: self.name)\n"
        "    tool_spec = property(lambda self: {**SPECS[self.name], 'annotations': READS})\n"
        "    tool_type = 'python'\n"
        "    async def stream(self, tool_use, state, **kwargs):\n"
        "        yield {'toolUseId': tool_use['toolUseId'], 'status': 'success',"
        " 'content': [{'text': json.dumps(tool_use['input'])}]}\n"
        "globals().update({name: Made(name) for name in SPECS})\n"
    )
    described = [
        {**tool, "entry": f"made_many:{name}", "kind": "agent_tool", "annotations": {"readOnlyHint": True}}
        for name, tool in tools.items()
    ]
    entries = {name: f"made_many:{name}" for name in tools}
    document = manifest_of("made-many", *described)
    make_distribution(site.directory, "made-many", "1.0", entries, {"made_many/__init__.py": source}, document)
    return list(tools)


def agents(names: Sequence[str], more: str = "") -> str:
    return f"{{one: {{prompt: p, tools: [{', '.join(f'native:made-many/{name}' for name in names)}]{more}}}}}"


def find(*names: str) -> Turn:
    return Turn(calls=[("find_tool", {"names": list(names)})])


def offered(request: Mapping[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in request.get("tools", [])]


def played(site: Site, names: Sequence[str], turns: Sequence[Turn], more: str = "", steps: str = ONE) -> list[Any]:
    with ModelServer([*turns, Turn("done")]) as server:
        going(site, workflow(server.url, steps, agents=agents(names, more)))
        return server.model_requests


def test_the_first_request_with_200_tools_has_at_most_15_percent_of_the_tokens(site: Site, many: list[str]) -> None:
    (whole,) = played(site, many, [], ", tools_shown: all")
    shutil.rmtree(RECORD)
    (deferred,) = played(site, many, [])
    assert len(offered(whole)) == MANY
    assert offered(deferred) == ["find_tool"]
    assert all(f"\n- {name}: " in deferred["tools"][0]["function"]["description"] for name in many)
    assert tokens_in(deferred) <= 0.15 * tokens_in(whole)
    assert len(json.dumps(deferred)) <= 0.15 * len(json.dumps(whole))


def test_definitions_come_in_the_order_of_loading_behind_the_same_bytes(site: Site, many: list[str]) -> None:
    turns = [find(many[7], many[3]), Turn(calls=[(many[7], {})]), find(many[5]), Turn(calls=[(many[5], {})])]
    requests = played(site, many, turns)
    assert [offered(request)[1:] for request in requests] == [
        [],
        [many[7], many[3]],
        [many[7], many[3]],
        [many[7], many[3], many[5]],
        [many[7], many[3], many[5]],
    ]
    sent = [json.dumps(request["tools"])[:-1] for request in requests]
    assert all(after.startswith(before) for before, after in itertools.pairwise(sent))
    stored = rows()
    assert stored["steps.0/tool.0.find_tool"].detail["decision"] == "allow"


def test_a_call_by_the_right_name_is_checked_and_made_and_its_definition_comes_with_the_next_request(
    site: Site, many: list[str]
) -> None:
    calculator, current_time = (next(name for name in many if name.startswith(word)) for word in ("calc", "current"))
    calls = [Turn(calls=[(current_time, {})]), Turn(calls=[(calculator, {"expression": 7})])]
    requests = played(site, many, calls)
    assert "format" in json.dumps(requests[1]["messages"][-1]), "its default, filled in"
    assert "invalid_input" in json.dumps(requests[2]["messages"][-1])
    assert offered(requests[2]) == ["find_tool", current_time, calculator]


def test_a_name_that_the_agent_has_not_is_not_loaded_and_the_close_one_is_named(site: Site, many: list[str]) -> None:
    requests = played(site, many[:50], [find(many[60], f"{many[3]}x"), Turn(calls=[(many[60], {})])])
    said = json.dumps(requests[1]["messages"][-1])
    assert f"did you mean {many[3]}?" in said
    assert "Unknown tool" in json.dumps(requests[2]["messages"][-1])
    assert {tuple(offered(request)) for request in requests} == {("find_tool",)}


@pytest.mark.parametrize(
    ("number", "shown", "expected"),
    [(40, "auto", 40), (41, "auto", 1), (41, "all", 41), (3, "deferred", 1), (3, "[{0}, {2}]", 3), (3, "[]", 1)],
)
def test_the_words_of_the_workflow_say_what_is_shown(
    site: Site, many: list[str], number: int, shown: str, expected: int
) -> None:
    (request,) = played(site, many[:number], [], f", tools_shown: {shown.format(*many)}")
    assert len(offered(request)) == expected
    if shown.startswith("[{"):
        assert offered(request) == ["find_tool", many[0], many[2]]


def test_a_later_step_that_remembers_has_the_definitions_that_the_conversation_loaded(
    site: Site, many: list[str]
) -> None:
    turns = [find(many[9]), Turn(calls=[(many[9], {})]), Turn("first")]
    requests = played(site, many, turns, ", memory: run", f"{ONE}, {ONE}")
    assert offered(requests[-1]) == ["find_tool", many[9]]


@pytest.mark.parametrize("broken_at", [1, 2, 3, 4])
def test_a_resumed_run_sends_the_same_requests(site: Site, many: list[str], broken_at: int) -> None:
    turns = [find(many[7], many[3]), Turn(calls=[(many[7], {})]), find(many[5]), Turn(calls=[(many[4], {})])]
    whole = played(site, many[:45], turns)
    shutil.rmtree(RECORD)
    with ModelServer([*turns[:broken_at], Turn(status=400), *turns[broken_at:], Turn("done")]) as server:
        text = workflow(server.url, ONE, agents=agents(many[:45]))
        with pytest.raises(RunFailed):
            going(site, text)
        going(site, text)
        assert server.model_requests[-1]["tools"] == whole[-1]["tools"]
        assert server.model_requests[broken_at] == server.model_requests[broken_at + 1]


def test_an_agent_whose_tools_are_all_shown_has_nothing_to_load(site: Site, many: list[str]) -> None:
    (request,) = played(site, many[:2], [], f", tools_shown: [{many[0]}, {many[1]}]")
    assert offered(request) == many[:2]
