from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.policy.decision import Decision, decide, decide_by_hints, grant_of, strongest
from strands_cli.policy.rule import CAPABILITIES, LEVELS, SOURCES, Request, Rule

STRENGTH = {"allow": 0, "ask": 1, "deny": 2}
NAMES = ("file_read", "file_write", "shell")

hints = st.dictionaries(
    st.sampled_from(["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]),
    st.sampled_from([True, False, None, "true", 1]),
)
claims = st.dictionaries(
    st.sampled_from(["requires_confirmation", "read_only_when"]), st.sampled_from([True, False, None, "no", {}])
)
able = st.dictionaries(st.sampled_from(CAPABILITIES), st.sampled_from([True, False, [], ["x"], None]))
paths = st.sampled_from(["docs/a", "docs/../a", "secrets/a", "SECRETS\\a", "docs", ["docs/a", "secrets/b"], [], 7])
requests = st.builds(
    lambda name, annotations, says, can, now, **more: Request(
        (name, f"native:{name}", f"dist/{name}"),
        annotations,
        says if can is None else {**says, "capabilities": can},
        now and says.get("read_only_when") is not None,
        **more,
    ),
    st.sampled_from(NAMES),
    hints,
    claims,
    st.none() | able,
    st.booleans(),
    distribution=st.sampled_from([None, "dist"]),
    version=st.sampled_from([None, "1.0", "2.0", "not a version"]),
    sources=st.frozensets(st.sampled_from([*SOURCES[:3], "unknown"]), max_size=2),
    arguments=st.none() | st.dictionaries(st.just("path"), paths),
    custom=st.sampled_from([None, "my.tools:fn"]),
    aliases=st.sampled_from([(), ("shell",), ("calculator",)]),
)
rules = st.builds(
    Rule,
    effect=st.sampled_from(["allow", "ask", "deny"]),
    tools=st.sampled_from(["*", "file_*", "native:*", *NAMES, "dist/shell", "my.tools:fn", "my.*"]),
    level=st.sampled_from(LEVELS),
    origin=st.sampled_from(["a", "b", "c"]),
    unless=st.lists(st.sampled_from(["shell", "file_*"]), max_size=2).map(tuple),
    arguments=st.sampled_from([(), (("path", "docs/**"),), (("path", "*"),)]),
    distribution=st.sampled_from([(), ("di*",), ("other",)]),
    version=st.sampled_from([None, "<2"]),
    sources=st.lists(st.sampled_from(SOURCES[:3]), max_size=2).map(tuple),
    capabilities=st.lists(st.sampled_from(CAPABILITIES[:2]), max_size=2).map(tuple),
)


def strength(some: list[Rule], request: Request) -> int:
    return STRENGTH[decide(some, request).effect]


@pytest.mark.hostile
@settings(deadline=None)
@given(st.lists(rules, max_size=5), rules, requests)
def test_one_more_deny_or_ask_rule_never_allows_more(some: list[Rule], one: Rule, request: Request) -> None:
    for effect in ("deny", "ask"):
        more = replace(one, effect=effect, origin="more")
        assert strength([*some, more], request) >= strength(some, request)


@pytest.mark.hostile
@settings(deadline=None)
@given(st.lists(rules, max_size=5), rules, requests)
def test_a_deny_rule_always_holds(some: list[Rule], one: Rule, request: Request) -> None:
    deny = replace(one, effect="deny")
    if deny.matches(request):
        assert decide([*some, deny], request).effect == "deny"


@pytest.mark.hostile
@settings(deadline=None)
@given(st.lists(rules, max_size=5), rules, requests)
def test_what_the_workflow_says_never_loosens(some: list[Rule], one: Rule, request: Request) -> None:
    assert strength([*some, replace(one, level="workflow")], request) >= strength(some, request)


@pytest.mark.hostile
@settings(deadline=None)
@given(st.lists(rules, max_size=5), requests)
def test_knowing_less_of_a_tool_never_allows_more(some: list[Rule], request: Request) -> None:
    less = replace(
        request,
        version=None,
        sources=frozenset(),
        claims={key: value for key, value in request.claims.items() if key != "capabilities"},
    )
    assert strength(some, less) >= strength(some, request)


@pytest.mark.hostile
@settings(deadline=None)
@given(st.lists(rules, max_size=5), requests, st.sampled_from(["shell", "calculator", "file_read", "my.tools:fn"]))
def test_a_name_that_the_workflow_chose_never_loosens_what_files_say(
    some: list[Rule], request: Request, alias: str
) -> None:
    of_files = [rule for rule in some if rule.level not in ("command line", "workflow")]
    bare = replace(request, aliases=())
    assert strength(of_files, replace(bare, aliases=(alias,))) >= strength(of_files, bare)


@pytest.mark.hostile
@settings(deadline=None)
@given(st.lists(rules, max_size=5), requests)
def test_an_ask_rule_is_answered_by_the_command_line_alone_and_a_managed_one_by_no_one(
    some: list[Rule], request: Request
) -> None:
    asking = [rule for rule in some if rule.effect == "ask" and rule.matches(request)]
    decision = decide(some, request)
    if asking and decision.effect == "allow":
        assert decision.by is not None
        assert decision.by.level == "command line"
        assert all(rule.level != "managed" for rule in asking)


@pytest.mark.hostile
@settings(deadline=None)
@given(st.lists(rules, max_size=5), requests)
def test_custom_python_is_granted_only_by_a_rule_of_a_file_that_names_it(some: list[Rule], request: Request) -> None:
    grant = grant_of(some, request)
    if grant is not None:
        assert request.custom == "my.tools:fn"
        assert grant.tools in ("my.tools:fn", "my.*")
        assert (grant.effect, bool(grant.arguments)) == ("allow", False)
        assert grant.level in ("managed", "user", "project")


@pytest.mark.hostile
@settings(deadline=None)
@given(st.lists(rules, max_size=5), rules, requests)
def test_an_allow_of_the_workflow_itself_never_changes_anything(some: list[Rule], one: Rule, request: Request) -> None:
    own = replace(one, effect="allow", level="workflow")
    assert decide([*some, own], request) == decide(some, request) == decide([own, *some], request)


@pytest.mark.hostile
@settings(deadline=None)
@given(st.lists(rules, max_size=6), requests, st.randoms())
def test_the_order_of_rules_does_not_matter(some: list[Rule], request: Request, random: Any) -> None:
    mixed = list(some)
    random.shuffle(mixed)
    assert decide(mixed, request).effect == decide(some, request).effect


@pytest.mark.hostile
@settings(deadline=None)
@given(requests)
def test_unknown_is_never_safe(request: Request) -> None:
    if decide([], request).effect == "allow":
        assert request.read_only_now or request.annotations["readOnlyHint"] is True


@pytest.mark.hostile
@settings(deadline=None)
@given(st.lists(rules, max_size=5), requests)
def test_every_decision_names_its_rule(some: list[Rule], request: Request) -> None:
    decision = decide(some, request)
    if decision.by is None:
        assert decision == decide_by_hints(request)
    else:
        assert decision.by in some
        assert decision.by.matches(request)
        assert (decision.effect, decision.rule) == (decision.by.effect, decision.by.origin)


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
        ([rule("allow", "managed"), rule("ask", "managed")], "ask"),
        ([rule("allow", "managed"), rule("ask", "project")], "ask"),
        ([rule("allow", "user"), rule("ask", "workflow")], "ask"),
        ([rule("allow"), rule("ask", "user")], "allow"),
        ([rule("allow", "project")], "allow"),
        ([rule("allow", "user")], "allow"),
        ([rule("allow", "managed")], "allow"),
        ([rule("allow", "managed"), rule("deny", "project")], "deny"),
    ],
)
def test_the_tools_own_question_is_answered_by_any_allow_and_an_ask_rule_by_the_command_line(
    some: list[Rule], effect: str
) -> None:
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
