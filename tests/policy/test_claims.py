"""A claim that is not vouched for may ask for more care, and never for less, whatever rules there are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.policy.decision import decide
from strands_cli.policy.rule import CAPABILITIES, Request, Rule
from strands_cli.policy.tool_claims import NO_CLAIMS, Claims, tightened
from tests.policy.test_decide import requests, rules, strength
from tests.wordings import Wording

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title")
# What a server or a careless author may write where true or false is meant.
garbage: st.SearchStrategy[Any] = st.sampled_from(
    [True, False, None, "true", "false", "", 0, 1, [], {}, {"a": 1}, float("nan"), "\x00"]
)
words = st.dictionaries(st.sampled_from(HINTS), garbage)
abilities = st.none() | garbage | st.dictionaries(st.sampled_from([*CAPABILITIES, "flying"]), garbage)
claimed = st.builds(
    lambda hints, confirms, when, able: Claims(
        hints, {"requires_confirmation": confirms, "read_only_when": when, "capabilities": able}
    ),
    words,
    garbage,
    garbage,
    abilities,
)


def with_claims(request: Request, said: Claims) -> Request:
    return replace(request, annotations=said.annotations, claims=said.claims)


@settings(deadline=None, max_examples=300)
@given(st.lists(rules, max_size=5), requests, claimed)
def test_a_claim_that_is_not_vouched_for_only_tightens(some: list[Rule], request: Request, said: Claims) -> None:
    known = Claims(request.annotations, request.claims)
    assert strength(some, with_claims(request, tightened(known, said))) >= strength(some, request)


def test_a_tool_that_declares_both_read_only_and_destructive_asks_whatever_a_claim_adds() -> None:
    hints = {"readOnlyHint": True, "destructiveHint": True}
    request = Request(("t",), annotations=hints, claims={"read_only_when": {"mode": ["r"]}}, read_only_now=True)
    said = tightened(Claims(request.annotations, request.claims), Claims({"readOnlyHint": False}, {}))
    assert decide([], request).effect == decide([], with_claims(request, said)).effect == "ask"


@settings(deadline=None)
@given(requests, claimed)
def test_a_claim_alone_is_never_the_reason_for_a_yes(request: Request, said: Claims) -> None:
    unknown = replace(with_claims(request, tightened(NO_CLAIMS, said)), read_only_now=False)
    assert decide([], unknown).effect == "ask"


@settings(deadline=None)
@given(words.map(lambda hints: {**hints, "readOnlyHint": None}) | words)
def test_a_hint_that_is_absent_or_nonsense_is_not_a_safe_one(hints: dict[str, Any]) -> None:
    if decide([], Request(("x",), hints)).effect == "allow":
        assert hints.get("readOnlyHint") is True
        assert hints.get("destructiveHint") in (None, False)


@settings(deadline=None)
@given(abilities)
def test_only_a_tool_that_is_known_to_leave_the_network_alone_passes_where_the_network_is_denied(able: Any) -> None:
    closed = Rule("deny", "*", "workflow", "f.yaml:1", capabilities=("network",))
    decision = decide([closed], Request(("x",), {"readOnlyHint": True}, {"capabilities": able}))
    says = able.get("network") if isinstance(able, dict) else None
    assert (decision.effect == "allow") == (says is False or says == [])


@pytest.mark.parametrize(
    ("known", "said", "effect"),
    [
        ({}, {"readOnlyHint": True}, "ask"),
        ({"readOnlyHint": True}, {"destructiveHint": True}, "ask"),
        ({"readOnlyHint": True}, {"readOnlyHint": False}, "ask"),
        ({"readOnlyHint": True}, {}, "allow"),
        ({"destructiveHint": True}, {"destructiveHint": False}, "ask"),
    ],
)
def test_a_claim_is_weighed_beside_what_is_known(known: Any, said: Any, effect: str, wording: Wording) -> None:
    both = tightened(Claims(known, {}), Claims(said, {}))
    decision = decide([], Request(("x",), both.annotations, both.claims))
    assert decision.effect == effect
    wording(decision.rule)


def test_a_claimed_ability_adds_to_the_known_ones_and_takes_none_away() -> None:
    known = Claims({}, {"capabilities": {"network": ["a.example"], "subprocess": False}})
    both = tightened(known, Claims({}, {"capabilities": {"network": [], "subprocess": True}}))
    assert both.claims["capabilities"] == {"network": ["a.example"], "subprocess": True}


@pytest.mark.parametrize(
    "path",
    [
        "strands_cli.tools.shell",
        "strands_cli.tools.shell.shell",
        "strands_tools.shell",
        "strands_tools.shell:shell",
        "strands_cli.tools.sh*",
    ],
)
def test_a_rule_may_name_a_tool_by_its_older_paths(path: str) -> None:
    request = Request(("shell", "native:shell", "dist/shell"))
    assert Rule("deny", path, "managed", "p:1").matches(request)
    assert not Rule("deny", "*", "workflow", "p:1", unless=(path,)).matches(request)
    assert not Rule("deny", path.replace("sh", "x"), "managed", "p:1").matches(request)
