"""A file of version 1 that looks like one of an earlier strands-cli gets a warning; so does a number that is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strands_cli.app import load
from tests.wordings import Wording

STEPS = [{"agent": "a", "input": "one"}, {"agent": "a", "input": "{{ steps[0].response }}"}]
GRAPH = {
    "nodes": {"n": {"agent": "a", "input": "x"}, "m": {"agent": "b", "input": "y"}},
    "edges": [
        {"from": "n", "choose": [{"when": "nodes.n.status == 'success'", "to": "m"}, {"when": "else", "to": "n"}]}
    ],
}
LONG = {"nodes": GRAPH["nodes"], "edges": [{"from": "n", "choose": [{"when": "len(nodes.n.response) > 9", "to": "m"}]}]}


def _warned(version: Any, **more: Any) -> list[str]:
    flow = {
        "version": version,
        "name": "f",
        "runtime": {"provider": "openai", "model_id": "m"},
        "agents": {"a": {"prompt": "A"}, "b": {"prompt": "B"}},
        "pattern": {"type": "chain", "config": {"steps": [{"agent": "a", "input": "one"}, {"agent": "b"}]}},
        **more,
    }
    found = [
        one for one in load("<text>", json.dumps(flow)).findings if one.code in ("earlier-file", "unknown-version")
    ]
    assert all(one.severity == "warning" and "`version: 0`" in (one.fix or "") for one in found)
    return [str(one.code) for one in found]


@pytest.mark.parametrize(
    "more",
    [
        {"tools": {"python": [{"callable": "strands_tools.calculator"}]}},
        {"tools": {"python": ["strands_tools.http_request.http_request"]}},
        {"pattern": {"type": "graph", "config": LONG}},
        {"outputs": {"artifacts": [{"path": "a", "from": "{{ cumulative_tokens }}"}]}},
        {
            "pattern": {"type": "chain", "config": {"steps": STEPS}},
            "context_policy": {"compaction": {"enabled": True, "when_tokens_over": 1000}},
        },
    ],
)
def test_what_only_the_earlier_program_had_is_reported_for_version_1_alone(more: dict[str, Any]) -> None:
    assert _warned(1, **more) == ["earlier-file"]
    assert _warned("1.0", **more) == ["earlier-file"]
    assert [_warned(version, **more) for version in (0, 2, "1.0.0", "2.0")] == [[], [], [], []]


@pytest.mark.parametrize("version", ["1", 1.0, "1.0"])
def test_an_agent_that_comes_again_is_reported_where_the_version_is_not_as_files_of_today_write_it(
    version: Any,
) -> None:
    chain = {"pattern": {"type": "chain", "config": {"steps": STEPS}}}
    assert _warned(version, **chain) == ["earlier-file"]
    assert _warned(1, **chain) == []
    assert _warned(version, **chain, agents={"a": {"prompt": "A", "memory": "step"}}) == []


DRAFTS = {"producer": "a", "evaluator": {"agent": "b"}, "accept": {"min_score": 90}}
LOOP = {"nodes": GRAPH["nodes"], "edges": [{"from": "n", "choose": [{"when": "nodes.n.response == 'x'", "to": "n"}]}]}


@pytest.mark.parametrize(("kind", "config"), [("evaluator_optimizer", DRAFTS), ("graph", LOOP)])
def test_an_agent_that_comes_again_in_a_loop_is_reported_too(kind: str, config: dict[str, Any]) -> None:
    pattern = {"type": kind, "config": config}
    assert _warned("1.0", pattern=pattern) == ["earlier-file"]
    assert [_warned(version, pattern=pattern) for version in (1, 2)] == [[], []]


def test_a_comparison_with_success_names_version_0() -> None:
    flow = {
        "version": 1,
        "name": "f",
        "runtime": {"provider": "openai", "model_id": "m"},
        "agents": {"a": {"prompt": "A"}, "b": {"prompt": "B"}},
        "pattern": {"type": "graph", "config": GRAPH},
    }
    (found,) = [one for one in load("<text>", json.dumps(flow)).findings if one.code == "unknown-status"]
    assert "`version: 0`" in (found.fix or "")


def test_a_lost_conversation_of_version_1_names_version_0() -> None:
    flow = {
        "version": 1,
        "name": "f",
        "runtime": {"provider": "openai", "model_id": "m"},
        "agents": {"a": {"prompt": "A"}},
        "pattern": {"type": "chain", "config": {"steps": [STEPS[0], {"agent": "a", "input": "again"}]}},
    }
    (found,) = load("<text>", json.dumps(flow)).findings
    assert (found.code, "`version: 0`" in (found.fix or "")) == ("lost-conversation", True)


@pytest.mark.parametrize(
    "version", [3, 7, "12", 99999999, 20240601, "2.0.0", "v2", "V2.0", "2.1", 2.5, "v3", "3.0.1.2"]
)
def test_a_number_of_no_format_is_reported(version: Any) -> None:
    assert _warned(version) == ["unknown-version"]


@pytest.mark.parametrize("version", [0, 1, 2, "2.0", "1.0.0", "v1", "0.1", "2024-06", "latest", "2 drafts", -1])
def test_other_versions_are_not(version: Any) -> None:
    assert _warned(version) == []


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("prompt", ["Say {{ word }}.", "Use {{ tasks.x.response }}.", "{{ steps[0].text }} is wrong."])
def test_an_unknown_name_in_a_prompt_has_raw_in_its_fix(version: int, prompt: str) -> None:
    flow = {
        "version": version,
        "name": "f",
        "runtime": {"provider": "openai", "model_id": "m"},
        "agents": {"a": {"prompt": prompt}},
        "pattern": {"type": "chain", "config": {"steps": [{"agent": "a", "input": "x"}]}},
    }
    found = [one for one in load("<text>", json.dumps(flow)).findings if "`{% raw %}`" in (one.fix or "")]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [("true", "wrong-type"), ("[1]", "wrong-type"), ("", "missing-key"), ("null", "missing-key")],
)
def test_a_version_is_a_number_or_a_text(text: str, message: str) -> None:
    flow = f"version: {text}\nname: f\nagents: {{a: {{prompt: A}}}}\nruntime: {{provider: openai, model_id: m}}\n"
    found = load("<text>", flow + "pattern: {type: chain, config: {steps: [{agent: a, input: x}]}}\n").findings
    assert [(one.code, one.where and one.where.line) for one in found] == [(message, 1)]


@pytest.mark.parametrize(("key", "line"), [("name", 2), ("/pattern/config/steps/0/agent", 5)])
def test_a_key_without_a_value_has_a_message_of_its_own(key: str, line: int, wording: Wording) -> None:
    name, agent = ("", "a") if key == "name" else ("f", "")
    flow = f"version: 1\nname: {name}\nruntime: {{provider: openai, model_id: m}}\nagents: {{a: {{prompt: A}}}}\n"
    flow += f"pattern: {{type: chain, config: {{steps: [{{agent: {agent}, input: x}}]}}}}\n"
    (found,) = [one for one in load("<text>", flow).findings if one.code == "missing-key"]
    assert found.where is not None
    assert found.where.line == line
    wording([found.message, found.fix])
