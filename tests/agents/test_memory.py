"""`memory: run`: the conversation goes on from step to step, through a crash as well, and in one order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strands_cli.agents.agent_runner import journal_messages, restored
from strands_cli.errors import InvalidInput, RunFailed, RunRecordError
from strands_cli.planning.run_request import RunRequest
from tests.agents.kit import Site
from tests.agents.resumable import going, lines_of, rows, workflow
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

KEEPING = "{one: {prompt: be one, tools: [native:echo], memory: run}, two: {prompt: be two, tools: [], memory: step}}"
STEPS = "{agent: one, input: first}, {agent: two, input: between}, {agent: one, input: second}"


pytestmark = pytest.mark.usefixtures("echo_and_key")


TURNS = [Turn(calls=[("echo", {"text": "hi"})]), Turn("one said"), Turn("two said"), Turn("one again")]
SECOND = [
    "user: first",
    "assistant calls echo",
    "tool: said hi",
    "assistant: one said",
    "user: second",
]


def test_the_next_step_of_the_agent_goes_on_with_its_conversation_and_others_see_none_of_it(site: Site) -> None:
    with ModelServer(TURNS) as server:
        result = going(site, workflow(server.url, STEPS, agents=KEEPING))
        first, again, between, second = server.model_requests
    assert result.response == "one again"
    assert lines_of(first) == ["user: first"]
    assert lines_of(again) == SECOND[:3]
    assert lines_of(between) == ["user: between"]
    assert lines_of(second) == SECOND


def test_without_it_each_step_starts_afresh_and_its_row_keeps_no_messages(site: Site) -> None:
    with ModelServer(TURNS) as server:
        going(site, workflow(server.url, STEPS, agents=KEEPING.replace("memory: run", "memory: step")))
        assert lines_of(server.model_requests[-1]) == ["user: second"]
    assert "messages" not in rows()["steps.0"].output


def test_the_row_of_a_step_keeps_only_what_the_step_added(site: Site) -> None:
    with ModelServer(TURNS) as server:
        going(site, workflow(server.url, STEPS, agents=KEEPING))
    kept_rows = {
        key: [m["role"] for m in row.output["messages"]]
        for key, row in rows().items()
        if row.kind == "step" and row.output["agent"] == "one"
    }
    assert kept_rows == {"steps.0": ["user", "assistant", "user", "assistant"], "steps.2": ["user", "assistant"]}
    assert set(rows()["steps.0"].output["messages"][0]) == {"role", "content"}


def test_a_resumed_run_goes_on_with_the_conversation_of_the_finished_steps(site: Site) -> None:
    with ModelServer([*TURNS[:3], Turn(status=400), TURNS[3]]) as server:
        text = workflow(server.url, STEPS, agents=KEEPING)
        with pytest.raises(RunFailed):
            going(site, text)
        result = going(site, text)
        assert [lines_of(request) for request in server.model_requests[3:]] == [SECOND, SECOND]
    assert result.response == "one again"
    assert rows()["steps.2/model.0"].attempt == 2


COUNTING = """
from strands import tool, ToolContext
@tool(context=True)
def counter(tool_context: ToolContext) -> str:
    "Counts."
    state = tool_context.agent.state
    state.set("count", (state.get("count") or 0) + 1)
    return f"count {state.get('count')}"
"""
CALL = Turn(calls=[("counter", {})])


@pytest.mark.parametrize("memory", ["run", "step"])
def test_what_tools_keep_in_the_state_follows_the_conversation(site: Site, memory: str) -> None:
    site.install(COUNTING, {"annotations": {"readOnlyHint": True}}, name="counter", manifest=False)
    agents = KEEPING.replace("native:echo", "native:counter").replace("memory: run", f"memory: {memory}")
    allowed = RunRequest(out_dir=Path("out"), allow=("counter",))
    turns = [CALL, Turn("one said"), Turn("two said"), CALL, Turn(status=400), Turn("one again")]
    with ModelServer(turns) as server:
        text = workflow(server.url, STEPS, agents=agents)
        with pytest.raises(RunFailed):
            going(site, text, options=allowed)
        assert going(site, text, options=allowed).response == "one again"
    counts = [row.output["content"][0]["text"] for row in rows().values() if row.kind == "tool"]
    assert counts == ["count 1", "count 2" if memory == "run" else "count 1"]
    stored = [row.output.get("state") for key, row in rows().items() if row.kind == "step" and key != "steps.1"]
    assert stored == ([{"count": 1}, {"count": 2}] if memory == "run" else [None, None])


def test_a_call_as_a_tool_leaves_the_state_of_the_steps_as_it_is(site: Site) -> None:
    site.install(COUNTING, {"annotations": {"readOnlyHint": True}}, name="counter", manifest=False)
    agents = KEEPING.replace("native:echo", "native:counter").replace("tools: []", "tools: ['agent:one']")
    allowed = RunRequest(out_dir=Path("out"), allow=("counter", "agent:one"))
    call = Turn(calls=[("one", {"input": "asked"})])
    with ModelServer([CALL, Turn("a"), call, CALL, Turn("b"), Turn("c"), CALL, Turn("d")]) as server:
        assert going(site, workflow(server.url, STEPS, agents=agents), options=allowed).response == "d"
    counts = {key: row.output["content"][0]["text"] for key, row in rows().items() if "counter" in key}
    assert list(counts.values()) == ["count 1", "count 1", "count 2"]


def test_a_run_that_is_complete_asks_nothing_again(site: Site) -> None:
    with ModelServer(TURNS) as server:
        text = workflow(server.url, STEPS, agents=KEEPING)
        going(site, text)
        assert going(site, text).response == "one again"
        assert len(server.requests) == 4


def test_the_digest_of_a_model_call_covers_the_conversation_before_it(site: Site) -> None:
    with ModelServer([*TURNS[:3], Turn(calls=[("echo", {"text": "x"})]), Turn(status=400)]) as server:
        text = workflow(server.url, STEPS, agents=KEEPING)
        with pytest.raises(RunFailed):
            going(site, text)
        tampered = json.dumps(rows()["steps.0"].output).replace("one said", "one lied")
        _rewrite("steps.0", tampered)
        with pytest.raises(RunRecordError, match=r"steps\.2/model\.0"):
            going(site, text)


def _rewrite(key: str, output: str) -> None:
    import sqlite3

    from strands_cli.engine.journal.sqlite_journal import DATABASE

    connection = sqlite3.connect(Path("record") / DATABASE)
    connection.execute("UPDATE effects SET output = ? WHERE key = ?", (output, key))
    connection.commit()
    connection.close()


def parallel(host: str) -> str:
    branches = ", ".join(f"{{id: {name}, steps: [{{agent: one, input: {name}}}]}}" for name in "ab")
    text = workflow(host, "{agent: two, input: x}", agents=KEEPING)
    return text.partition("pattern:")[0] + f"pattern: {{type: parallel, config: {{branches: [{branches}]}}}}\n"


def test_an_agent_in_two_branches_is_refused_before_the_run(site: Site) -> None:
    with pytest.raises(InvalidInput) as caught:
        going(site, parallel("http://127.0.0.1:9/v1"))
    assert {finding.code for finding in caught.value.findings if finding.severity == "error"} == {"concurrent-memory"}


def graph(host: str, nodes: str, edges: str) -> str:
    text = workflow(host, "{agent: two, input: x}", agents=KEEPING)
    return text.partition("pattern:")[0] + f"pattern: {{type: graph, config: {{nodes: {nodes}, edges: {edges}}}}}\n"


def test_an_agent_in_two_nodes_of_one_edge_is_refused_before_the_run(site: Site) -> None:
    nodes = "{s: {agent: two, input: x}, a: {agent: one, input: a}, b: {agent: one, input: b}}"
    with pytest.raises(InvalidInput) as caught:
        going(site, graph("http://127.0.0.1:9/v1", nodes, "[{from: s, to: [a, b]}]"))
    found = [finding for finding in caught.value.findings if finding.code == "concurrent-memory"]
    assert [finding.where.pointer for finding in found if finding.where] == ["/pattern/config/nodes/b/agent"]


def test_an_agent_that_two_paths_reach_at_once_is_refused_before_the_run_or_when_they_do(
    site: Site, wording: Wording
) -> None:
    nodes = (
        "{s: {agent: two, input: s}, l: {agent: two, input: l}, r: {agent: two, input: r},"
        " a: {agent: one, input: a}, b: {agent: one, input: b}}"
    )
    certain = "[{from: s, to: [l, r]}, {from: l, to: [a]}, {from: r, to: [b]}]"
    # A choice leaves it open until the run is there.
    open_ended = certain.replace("to: [a]}", "choose: [{when: 'true', to: a}]}")
    with ModelServer(repeat=True, script=[Turn("ok", delay_s=0.02)]) as server:
        with pytest.raises(InvalidInput) as refused:
            going(site, graph(server.url, nodes, certain))
        assert [finding.code for finding in refused.value.findings] == ["concurrent-memory"]
        assert server.model_requests == []
        with pytest.raises(RunFailed) as raised:
            going(site, graph(server.url, nodes, open_ended))
        wording(raised.value)
        assert all("user: b" not in lines_of(request) for request in server.model_requests)


def test_a_structured_answer_is_in_the_conversation_as_text(site: Site) -> None:
    routing = "{type: routing, config: {router: {agent: one, input: which}, routes: {x: {then: [%s]}}}}"
    with ModelServer([Turn(calls=[("final_answer", {"route": "x"})]), Turn("gone")]) as server:
        text = workflow(server.url, "{agent: two, input: x}", agents=KEEPING).partition("pattern:")[0]
        result = going(site, f"{text}pattern: {routing % '{agent: one, input: go on}'}\n")
        last = lines_of(server.model_requests[-1])
    assert result.response == "gone"
    assert last[0].startswith("user: which")
    assert last[1:] == ['assistant: {"route": "x"}', "user: go on"]


def test_it_plays_back_from_a_recording(site: Site) -> None:
    text = workflow("http://127.0.0.1:9/v1", "{agent: one, input: a}, {agent: one, input: b}", agents=KEEPING)
    text = text.replace("provider: openai", "provider: replay, recording: r.yaml").replace(", model_id: m", "")
    Path("r.yaml").write_text(
        "recording: 1\nsteps:\n  steps.0:\n    - {text: one}\n  steps.1:\n    - {when: b, text: two}\n"
    )
    assert going(site, text, options=RunRequest(out_dir=Path("out"))).response == "two"
    assert [m["content"][0]["text"] for m in rows()["steps.1"].output["messages"]] == ["b", "two"]


def test_a_model_that_keeps_the_conversation_itself_is_refused(site: Site) -> None:
    text = workflow("http://127.0.0.1:9/v1", "{agent: one, input: a}", agents=KEEPING)
    text = text.replace("provider: openai", "provider: openai_responses, options: {stateful: true}")
    with pytest.raises(InvalidInput) as caught:
        going(site, text)
    assert "stateful-memory" in {finding.code for finding in caught.value.findings}


BYTES: list[Any] = [
    {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": b"\x00\xff"}}}], "tracking_id": "t"}
]


def test_bytes_survive_the_way_through_json_and_random_ids_do_not() -> None:
    stored = json.loads(json.dumps(journal_messages(BYTES, "", structured=False)))
    assert restored(stored) == [{"role": "user", "content": BYTES[0]["content"]}]


def test_all_attempts_at_a_structured_answer_give_way_to_the_answer() -> None:
    def call(name: str, status: str) -> list[Any]:
        return [
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": name, "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "status": status, "content": []}}]},
        ]

    task = {"role": "user", "content": [{"text": "go"}]}
    answer = {"role": "assistant", "content": [{"text": "{}"}]}
    echo = call("echo", "success")
    tried = [task, *echo, *call("final_answer", "error"), *call("final_answer", "success")]
    assert list(journal_messages(tried, "{}", structured=True)) == [task, *echo, answer]
