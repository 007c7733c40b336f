"""What `approve` answers where conditions compare the answer, and at the review of a route."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.strands import Folder
from tests.wordings import Wording


def graph(folder: Folder, when: str, **gate: object) -> None:
    """Write a graph whose gate leads to `ship` where a condition holds, else to `rejected`; run it until it waits."""
    folder.tool("say", "return answer(tool['input']['text'])")
    ask = {"type": "hitl", "prompt": "Ship?", "context_display": "THE PLAN: bees", **gate}
    says = {name: {"tool": "native:say", "input": {"text": name}} for name in ("ship", "rejected")}
    choose = [{"when": when, "to": "ship"}, {"when": "else", "to": "rejected"}]
    config = {"nodes": {"ask": ask, **says}, "edges": [{"from": "ask", "choose": choose}]}
    folder.write("flow.yaml", {"version": 2, "name": "flow", "pattern": {"type": "graph", "config": config}})
    assert folder.strands("run", "flow.yaml", "--detach").code == 19


@pytest.mark.parametrize(
    ("when", "answered"),
    [
        ("nodes.ask.response == 'approve'", "approve"),
        ("nodes.ask.response | lower in ['yes', 'ok']", "yes"),
        ("nodes.ask.response == 'YES'", "YES"),
        ("nodes.ask.response != 'reject'", "approved"),
        ("nodes.ask.response | length > 3", "approved"),
    ],
)
def test_approve_answers_with_a_word_that_the_condition_knows(folder: Folder, when: str, answered: str) -> None:
    graph(folder, when)
    (question,) = folder.strands("runs", "show", "last", "--json").document["questions"]
    assert question["approve_answers"] == answered
    ran = folder.strands("approve", "last")
    assert ran.out == "ship\n"
    assert f"nodes.ask#1: {answered}\n" in ran.err
    assert "THE PLAN: bees" in ran.err


def test_approve_asks_which_where_no_word_approves(folder: Folder, wording: Wording) -> None:
    graph(folder, "nodes.ask.response == 'ship it'")
    shown = folder.strands("runs", "show", "last")
    assert "knows: ship it" in shown.out
    assert folder.strands("runs", "show", "last", "--json").document["questions"][0]["words"] == ["ship it"]
    refused = folder.strands("approve", "last")
    assert refused.code == 2
    wording(refused.err)
    other = folder.strands("approve", "last", "--answer", "hold it", "--no-resume")
    assert other.code == 0
    wording(other.err)
    assert folder.strands(*other.err.rpartition("next: strands ")[2].split()).code == 0


@pytest.mark.parametrize(("answer", "out"), [("ship it", "ship\n"), ("later", "rejected\n")])
def test_a_word_that_the_condition_knows_and_the_default_have_no_remark(folder: Folder, answer: str, out: str) -> None:
    graph(folder, "nodes.ask.response == 'ship it'", default="later")
    ran = folder.strands("approve", "last", "--answer", answer)
    assert ran.out == out
    assert "as it is" not in ran.err


def review(folder: Folder, *routes: str) -> None:
    """Write a workflow whose router chooses the first route, with a review, and run it until it waits."""
    folder.tool("say", "return answer(tool['input']['text'])")
    turns = {"router": [{"text": json.dumps({"route": routes[0]})}]}
    folder.write("flow.recording.yaml", {"recording": 1, "steps": turns})
    gate = {"type": "hitl", "prompt": "Is it {{ router.chosen_route }}?"}
    then = {name: {"then": [{"tool": "native:say", "input": {"text": f"at {name}"}}]} for name in routes}
    config = {"router": {"agent": "sorter", "input": "Sort.", "review_router": gate}, "routes": then}
    flow = {
        "version": 2,
        "name": "flow",
        "runtime": {"provider": "replay", "recording": "flow.recording.yaml"},
        "agents": {"sorter": {"prompt": "You sort.", "tools": []}},
        "pattern": {"type": "routing", "config": config},
    }
    folder.write("flow.yaml", flow)
    assert folder.strands("run", "flow.yaml", "--detach").code == 19


@pytest.mark.parametrize(
    ("routes", "answer", "out"),
    [
        (("tech", "billing"), ["--answer", "route:billing"], "at billing\n"),
        (("tech", "billing"), ["--answer", "Billing"], "at billing\n"),
        (("tech", "billing"), [], "at tech\n"),
        (("tech", "approved"), [], "at tech\n"),
        (("tech", "approved"), ["--answer", "approved"], "at approved\n"),
    ],
)
def test_a_review_takes_a_route_or_an_approval(
    folder: Folder, routes: tuple[str, ...], answer: list[str], out: str
) -> None:
    review(folder, *routes)
    assert folder.strands("approve", "last", *answer).out == out


def test_a_review_refuses_any_other_answer_and_waits_still(folder: Folder, wording: Wording) -> None:
    review(folder, "tech", "billing")
    refused = folder.strands("approve", "last", "--answer", "no idea")
    assert refused.code == 2
    wording(refused.err)
    assert folder.strands("approve", "last", "--answer", "billing").out == "at billing\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_a_terminal_asks_again_until_a_route_is_clear(folder: Folder) -> None:
    review(folder, "tech", "billing")
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"answer: $")
        terminal.type("no idea\n")
        terminal.wait_for(r"none of approved, .*billing")
        terminal.wait_for(r"answer: $")
        terminal.type("route:billing\n")
        assert terminal.end() == 0
    assert "at billing" in terminal.text
