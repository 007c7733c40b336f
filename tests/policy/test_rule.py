from __future__ import annotations

from typing import Any

import pytest

from strands_cli.policy.decision import Policy, SwitchedOn, joined
from strands_cli.policy.rule import PatternError, Request, Rule, make_rule, parse_pattern
from strands_cli.policy.tool_claims import names_custom


def rule(effect: Any = "deny", tools: str = "*", level: Any = "managed", **fields: Any) -> Rule:
    return Rule(effect, tools, level, "here", **fields)


def request(**fields: Any) -> Request:
    if "sources" in fields:
        fields["sources"] = frozenset(fields["sources"])
    return Request(("shell", "native:shell", "some-dist/shell"), **{"distribution": "some-dist", **fields})


def standing(effect: Any, asked: Request, **fields: Any) -> str:
    return rule(effect, **fields).standing(asked)


@pytest.mark.parametrize(
    ("pattern", "allowed", "refused"),
    [
        ("pkg.mod:attr", ["pkg.mod:attr", "pkg.mod.attr"], ["pkg.mod:attrs", "pkg.mod:attr.x", "pkg:mod"]),
        ("pkg.*", ["pkg.mod:attr", "pkg:attr", "pkg.a.b:c"], ["pkgs:attr", "pkgs.mod:attr", "pkg", "other.pkg.mod:x"]),
        ("pkg.mod:*", ["pkg.mod:attr"], ["pkg.other:attr"]),
        ("*", [], ["pkg.mod:attr"]),
        (".*", [], ["pkg.mod:attr"]),
        ("pkg.mod", [], ["pkg.mod:attr"]),
        ("pkg.m*", [], ["pkg.mod:attr"]),
    ],
)
def test_custom_python_is_named_exactly_or_by_its_package(pattern: str, allowed: list[str], refused: list[str]) -> None:
    assert [ref for ref in allowed if not names_custom(pattern, ref)] == []
    assert [ref for ref in refused if names_custom(pattern, ref)] == []


@pytest.mark.parametrize(
    ("fields", "known", "other", "unknown"),
    [
        ({"version": "<1.2"}, {"version": "1.1"}, {"version": "1.2"}, {}),
        ({"version": "<1.2"}, {"version": "1.1rc1"}, {"version": "1.3.post1"}, {"version": "no version"}),
        ({"sources": ("editable", "vcs")}, {"sources": {"vcs"}}, {"sources": {"index"}}, {}),
        ({"sources": ("editable",)}, {"sources": {"editable"}}, {"sources": {"index"}}, {"sources": {"unknown"}}),
    ],
)
def test_what_is_unknown_of_a_tool_fits_what_restricts_and_nothing_that_allows(
    fields: dict[str, Any], known: dict[str, Any], other: dict[str, Any], unknown: dict[str, Any]
) -> None:
    for effect, of_unknown in (("deny", "yes"), ("ask", "yes"), ("allow", "no")):
        assert standing(effect, request(**known), **fields) == "yes"
        assert standing(effect, request(**other), **fields) == "no"
        assert standing(effect, request(**unknown), **fields) == of_unknown


def test_a_tool_from_two_sources_is_denied_by_either_and_allowed_by_both() -> None:
    both = request(sources={"index", "PYTHONPATH"})
    assert standing("deny", both, sources=("PYTHONPATH",)) == "yes"
    assert standing("allow", both, sources=("index",)) == "no"
    assert standing("allow", both, sources=("index", "PYTHONPATH")) == "yes"


NOTHING = {"network": [], "filesystem": [], "subprocess": False, "env": [], "secrets": []}


@pytest.mark.parametrize(
    ("said", "deny", "allow"),
    [
        ({"network": ["*"]}, "yes", "no"),
        ({"network": []}, "no", "no"),
        ({"filesystem": [1]}, "yes", "no"),
        ({**NOTHING, "network": ["*"]}, "yes", "yes"),
        ({**NOTHING, "filesystem": [1]}, "no", "no"),
        ({**NOTHING, "network": ["*"], "filesystem": [1]}, "yes", "no"),
        (NOTHING, "no", "no"),
        ({}, "yes", "no"),
        (None, "yes", "no"),
        ("network", "yes", "no"),
    ],
)
def test_a_capability_that_an_author_does_not_rule_out_counts(said: Any, deny: str, allow: str) -> None:
    asked = Request(("x",), claims={} if said is None else {"capabilities": said})
    assert standing("deny", asked, capabilities=("network",)) == deny
    assert standing("allow", asked, capabilities=("network",)) == allow


def test_a_rule_on_a_distribution_speaks_of_it_in_any_spelling_and_of_no_tool_without_one() -> None:
    assert standing("deny", request(), distribution=("Some_Dist",)) == "yes"
    assert standing("deny", request(), distribution=("other", "some.*")) == "yes"
    assert standing("deny", request(distribution=None), distribution=("*",)) == "no"
    assert standing("deny", request(), tools="Some_Dist/shell") == "yes"


def test_names_that_a_workflow_chose_restrict_and_do_not_loosen() -> None:
    disguised = Request(("shell", "native:shell"), aliases=("calculator",))
    assert standing("deny", disguised, tools="calculator") == "yes"
    assert standing("allow", disguised, tools="calculator") == "no"
    assert standing("deny", disguised, unless=("calculator",)) == "yes"
    assert rule("allow", "calculator", "command line").standing(disguised) == "no"
    executor = Request(("http_executor",), aliases=("hives",), typed_names=("hives",))
    assert rule("allow", "hives", "command line").standing(executor) == "yes"
    assert rule("allow", "hives", "user").standing(executor) == "no"
    assert standing("deny", Request(("calculator",)), unless=("calculator",)) == "no"


def test_custom_python_is_allowed_by_its_own_name_only_and_denied_by_any() -> None:
    custom = Request(("my.tools:fn", "my.tools.fn"), custom="my.tools:fn", aliases=("fn",))
    for word, allowed in (("*", "no"), ("fn", "no"), ("my.*", "yes"), ("my.tools:*", "yes"), ("my.tools:fn", "yes")):
        assert standing("deny", custom, tools=word) == "yes", word
        assert standing("allow", custom, tools=word) == allowed, word
    assert rule("allow", "*", "command line").standing(custom) == "yes"


def test_a_rule_on_arguments_depends_until_there_is_a_call() -> None:
    assert standing("deny", request(), arguments=(("path", "a"),)) == "depends"
    assert standing("deny", request(arguments={"path": "a"}), arguments=(("path", "a"),)) == "yes"
    assert standing("deny", request(arguments={"path": "a"}), arguments=(("path", "a"), ("mode", "w"))) == "no"
    assert standing("deny", request(), tools="other", arguments=(("path", "a"),)) == "no"


@pytest.mark.parametrize(
    ("text", "tools", "arguments"),
    [
        ("file_write", "file_write", ()),
        (" native:http_* ", "native:http_*", ()),
        ("file_write(path=docs/**)", "file_write", (("path", "docs/**"),)),
        ("f(a.b=x, mode = create)", "f", (("a.b", "x"), ("mode", "create"))),
        ("shell(command=rm (now), really=yes)", "shell", (("command", "rm (now)"), ("really", "yes"))),
        ("q(sql=select a, b from c)", "q", (("sql", "select a, b from c"),)),
        ("q(url=https://x/?a=b)", "q", (("url", "https://x/?a=b"),)),
    ],
)
def test_a_pattern_is_read_and_written(text: str, tools: str, arguments: Any) -> None:
    assert parse_pattern(text) == (tools, arguments)
    assert parse_pattern(make_rule("deny", text, "user", "here").pattern) == (tools, arguments)


@pytest.mark.parametrize("text", ["", "a b", "f(", "f)", "f()", "f(x)", "f(=x)", "f(x=)", "f(x*=y)", "a,b", "x" * 1001])
def test_what_is_not_a_pattern_is_refused(text: str) -> None:
    with pytest.raises(PatternError):
        parse_pattern(text)


def test_policies_are_joined_and_the_strongest_file_is_named_for_a_hook_and_the_lock() -> None:
    one = Policy((rule(),), (SwitchedOn("audit", "managed", "a:1"),), SwitchedOn("locked", "managed", "a:2"))
    two = Policy((rule("ask"),), (SwitchedOn("audit", "user", "b:1"), SwitchedOn("more", "user", "b:2")))
    both = joined(one, two)
    assert [made.effect for made in both.rules] == ["deny", "ask"]
    assert {(hook.word, hook.origin) for hook in both.hooks} == {("audit", "a:1"), ("more", "b:2")}
    assert both.locked == joined(two, one).locked == one.locked
    assert joined() == Policy()
