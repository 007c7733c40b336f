from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.policy import Decision, Request, Rule, decide, strongest

STRENGTH = {"allow": 0, "ask": 1, "deny": 2}
NAMES = ("file_read", "file_write", "shell")

hints = st.dictionaries(
    st.sampled_from(["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]),
    st.sampled_from([True, False, None, "true", 1]),
)
claims = st.dictionaries(
    st.sampled_from(["requires_confirmation", "read_only_when"]), st.sampled_from([True, False, None, "no", {}])
)
requests = st.builds(
    lambda name, annotations, says, now: Request(
        (name, f"native:{name}", f"dist/{name}"), annotations, says, now and says.get("read_only_when") is not None
    ),
    st.sampled_from(NAMES), hints, claims, st.booleans(),
)  # fmt: skip
rules = st.builds(
    Rule,
    effect=st.sampled_from(["allow", "ask", "deny"]),
    tools=st.sampled_from(["*", "file_*", "native:*", *NAMES, "dist/shell"]),
    level=st.sampled_from(["managed", "user", "project", "command line", "workflow"]),
    origin=st.sampled_from(["a", "b", "c"]),
    unless=st.lists(st.sampled_from(["shell", "file_*"]), max_size=2).map(tuple),
)


def strength(some: list[Rule], request: Request) -> int:
    return STRENGTH[decide(some, request).effect]


@settings(deadline=None)
@given(st.lists(rules, max_size=5), rules, requests)
def test_one_more_deny_or_ask_rule_never_allows_more(some: list[Rule], one: Rule, request: Request) -> None:
    for effect in ("deny", "ask"):
        more = Rule(effect, one.tools, one.level, "more", one.unless)
        assert strength([*some, more], request) >= strength(some, request)


@settings(deadline=None)
@given(st.lists(rules, max_size=5), rules, requests)
def test_a_deny_rule_always_holds(some: list[Rule], one: Rule, request: Request) -> None:
    deny = Rule("deny", one.tools, one.level, "no", one.unless)
    if deny.matches(request):
        assert decide([*some, deny], request).effect == "deny"


@settings(deadline=None)
@given(st.lists(rules, max_size=5), rules, requests)
def test_an_allow_of_the_workflow_itself_never_changes_anything(some: list[Rule], one: Rule, request: Request) -> None:
    own = Rule("allow", one.tools, "workflow", "own", one.unless)
    assert decide([*some, own], request) == decide(some, request) == decide([own, *some], request)


@settings(deadline=None)
@given(st.lists(rules, max_size=6), requests, st.randoms())
def test_the_order_of_rules_does_not_matter(some: list[Rule], request: Request, random: Any) -> None:
    mixed = list(some)
    random.shuffle(mixed)
    assert decide(mixed, request).effect == decide(some, request).effect


@settings(deadline=None)
@given(requests)
def test_unknown_is_never_safe(request: Request) -> None:
    if decide([], request).effect == "allow":
        assert request.read_only_now or request.annotations["readOnlyHint"] is True


@settings(deadline=None)
@given(st.lists(rules, max_size=5), requests)
def test_every_decision_names_its_rule(some: list[Rule], request: Request) -> None:
    decision = decide(some, request)
    deciding = {rule.origin for rule in some if rule.effect == decision.effect and rule.matches(request)}
    assert decision.rule in deciding or decision == decide([], request)


@pytest.mark.parametrize(
    ("annotations", "says", "now", "effect"),
    [
        ({}, {}, False, "ask"),
        ({"readOnlyHint": True}, {}, False, "allow"),
        ({"readOnlyHint": False}, {}, False, "ask"),
        ({"readOnlyHint": "true"}, {}, False, "ask"),
        ({"destructiveHint": False}, {}, False, "ask"),
        ({"destructiveHint": True}, {}, False, "ask"),
        ({"readOnlyHint": True, "destructiveHint": True}, {}, False, "ask"),
        ({"readOnlyHint": True, "destructiveHint": "yes"}, {}, False, "ask"),
        ({"readOnlyHint": True, "destructiveHint": False}, {}, False, "allow"),
        ({"readOnlyHint": True}, {"requires_confirmation": True}, False, "ask"),
        ({"readOnlyHint": True}, {"requires_confirmation": "yes"}, False, "ask"),
        ({"readOnlyHint": True}, {"requires_confirmation": False}, False, "allow"),
        ({"destructiveHint": True}, {"read_only_when": {}}, True, "allow"),
        ({"destructiveHint": True}, {"read_only_when": {}}, False, "ask"),
        ({"readOnlyHint": True}, {"read_only_when": {}}, False, "ask"),
        ({}, {"read_only_when": {}, "requires_confirmation": True}, True, "ask"),
        ({"idempotentHint": True}, {}, False, "ask"),
    ],
)
def test_a_tool_is_judged_by_what_it_says_of_itself(annotations: Any, says: Any, now: bool, effect: str) -> None:
    assert decide([], Request(("x",), annotations, says, now)).effect == effect


def rule(effect: Any, level: Any = "command line", tools: str = "file_write", **fields: Any) -> Rule:
    return Rule(effect, tools, level, f"{level} {effect}", **fields)


WRITE = Request(("file_write", "native:file_write", "strands-tool-files/file_write"), {"destructiveHint": True})


@pytest.mark.parametrize(
    ("some", "effect"),
    [
        ([rule("allow")], "allow"),
        ([rule("allow", tools="native:file_write")], "allow"),
        ([rule("allow", tools="strands-tool-files/*")], "allow"),
        ([rule("allow", tools="file_read")], "ask"),
        ([rule("allow", "workflow")], "ask"),
        ([rule("allow"), rule("deny", "workflow")], "deny"),
        ([rule("allow"), rule("ask", "workflow")], "allow"),
        ([rule("allow"), rule("ask", "project")], "allow"),
        ([rule("allow"), rule("ask", "managed")], "ask"),
        ([rule("allow", "project"), rule("ask", "user")], "ask"),
        ([rule("allow", "managed"), rule("ask", "managed")], "allow"),
        ([rule("allow", "managed"), rule("deny", "project")], "deny"),
    ],
)
def test_a_question_becomes_a_yes_only_from_as_high_a_place(some: list[Rule], effect: str) -> None:
    assert decide(some, WRITE).effect == effect
    assert decide(some[::-1], WRITE).effect == effect


def test_an_ask_rule_holds_for_read_only_tools_too() -> None:
    request = Request(("file_read",), {"readOnlyHint": True})
    assert decide([rule("ask", "workflow", "*")], request) == Decision("ask", "workflow ask")
    assert decide([rule("ask", "workflow", "*"), rule("allow", tools="*")], request).effect == "allow"


def test_a_rule_does_not_speak_of_what_it_spares() -> None:
    only = rule("deny", "workflow", "*", unless=("native:file_*", "shell"))
    assert not only.matches(WRITE)
    assert not only.matches(Request(("shell",)))
    assert only.matches(Request(("http_request",)))
    assert rule("deny", "workflow", "*", unless=()).matches(WRITE)


def test_names_are_compared_with_their_case() -> None:
    assert not rule("deny", tools="FILE_WRITE").matches(WRITE)


def test_the_strongest_decision_is_the_first_of_the_strictest() -> None:
    allow, ask, deny, second = (Decision(e, r) for e, r in (("allow", "1"), ("ask", "2"), ("deny", "3"), ("deny", "4")))
    assert strongest([allow, ask]) == ask
    assert strongest([allow, deny, ask, second]) == deny
