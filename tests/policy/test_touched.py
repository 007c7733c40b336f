"""What a call touches, from what its tool declares: what is not declared is everything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.policy.file_places import MAX_NAMES, fields_of_resource
from strands_cli.policy.resources import EVERYTHING, Resource, TouchedResources, touched
from strands_cli.policy.rule import Request
from tests.wordings import Wording

READ_ONLY = {"readOnlyHint": True}
ALL = (EVERYTHING,)


def of(
    resources: Any = None, hints: Any = None, arguments: Any = None, now: bool = False, **claims: Any
) -> TouchedResources:
    claims |= {} if resources is None else {"resources": resources}
    return touched(
        Request(names=("t",), annotations=hints or {}, claims=claims, arguments=arguments or {}, read_only_now=now)
    )


def named(template: str, **arguments: Any) -> tuple[Resource, ...]:
    return of({"reads": [template], "writes": []}, arguments=arguments).reads


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({}, TouchedResources(ALL, ALL)),
        ({"hints": {"destructiveHint": False, "idempotentHint": True}}, TouchedResources(ALL, ALL)),
        ({"hints": READ_ONLY}, TouchedResources(ALL, ())),
        ({"hints": READ_ONLY | {"destructiveHint": True}}, TouchedResources(ALL, ALL)),
        ({"hints": READ_ONLY, "read_only_when": {"required": ["a"]}}, TouchedResources(ALL, ALL)),
        ({"hints": READ_ONLY, "read_only_when": {"required": ["a"]}, "now": True}, TouchedResources(ALL, ())),
        ({"now": True}, TouchedResources(ALL, ())),
        ({"now": True, "hints": READ_ONLY | {"destructiveHint": True}}, TouchedResources(ALL, ALL)),
        ({"resources": {"reads": [], "writes": []}}, TouchedResources()),
        ({"resources": {"reads": ["db"], "writes": ["db"]}}, TouchedResources((Resource("db"),), (Resource("db"),))),
        ({"resources": {"writes": ["db"]}}, TouchedResources(ALL, (Resource("db"),))),
        ({"resources": {"reads": ["db"]}}, TouchedResources((Resource("db"),), ALL)),
        ({"resources": {"reads": ["db"]}, "hints": READ_ONLY}, TouchedResources((Resource("db"),), ())),
        ({"resources": {"reads": [], "writes": ["db"]}, "hints": READ_ONLY}, TouchedResources((), (Resource("db"),))),
        ({"resources": {"reads": [], "writes": ["db"]}, "now": True}, TouchedResources((Resource("db"),), ())),
        ({"resources": {"reads": "db", "writes": None}}, TouchedResources(ALL, ALL)),
        ({"resources": "db"}, TouchedResources(ALL, ALL)),
        ({"resources": {"reads": [], "writes": [7]}}, TouchedResources((), ALL)),
        ({"resources": {"reads": [], "writes": ["*"]}}, TouchedResources((), ALL)),
        ({"resources": {"reads": [], "writes": ["{kind}:a"]}, "arguments": {"kind": "db"}}, TouchedResources((), ALL)),
    ],
)
def test_what_is_not_declared_is_everything(said: dict[str, Any], meant: TouchedResources) -> None:
    assert of(**said) == meant


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a/b.txt", ("a", "b.txt")),
        ("./a//b.txt", ("a", "b.txt")),
        ("x/../a/b.txt", ("a", "b.txt")),
        ("A\\B.TXT", ("a", "b.txt")),
        ("cafe\u0301", ("caf\u00e9",)),
        (7, ("7",)),
        ("", ()),
        (".", ()),
        ("/a/b", ()),
        ("../a", ()),
        ("a/../../b", ()),
        ("~/a", ()),
        ("@mount/a", ()),
        ("C:\\a", ()),
        (None, ()),
        ({"deep": "a"}, ()),
        ([["a"]], ()),
    ],
)
def test_a_name_is_the_same_however_it_is_spelled_and_all_of_its_kind_where_that_is_not_known(
    path: Any, parts: tuple[str, ...]
) -> None:
    assert named("file:{path}", path=path) == (Resource("file", parts),)


def test_an_entry_may_hold_several_fields_and_a_list_means_each_of_its_names() -> None:
    assert named("table:{db}/{table}", db="d", table="t") == (Resource("table", ("d", "t")),)
    assert named("file:{paths}", paths=["a", "b/c"]) == (Resource("file", ("a",)), Resource("file", ("b", "c")))
    assert named("file:{paths}", paths=[]) == ()
    assert named("table:{db}/{table}", db="d") == (Resource("table"),)
    assert named("file:{paths}", paths=["a"] * (MAX_NAMES + 1)) == (Resource("file"),)
    assert named("file:{path", path="a") == named("file:{}", path="a") == (Resource("file"),)
    assert named("file:docs/{name}.md", name="a") == (Resource("file", ("docs", "a.md")),)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("file:a", "file:a", True),
        ("file:a", "file:a/b", True),
        ("file:a", "file:ab", False),
        ("file:a/b", "file:a/c", False),
        ("file", "file:a", True),
        ("file:a", "url:a", False),
        ("*", "url:a", True),
        ("*", "*", True),
    ],
)
def test_two_resources_overlap_where_one_lies_in_the_other(one: str, other: str, meet: bool) -> None:
    writes, reads = of({"reads": [], "writes": [one]}), of({"reads": [other], "writes": []})
    assert writes.conflicts(reads) is reads.conflicts(writes) is meet
    assert writes.conflicts(of({"reads": [], "writes": [other]})) is meet
    assert of({"reads": [one], "writes": []}).conflicts(reads) is False


RESOURCES = st.builds(
    Resource, st.sampled_from(["file", "url"]), st.lists(st.sampled_from("abc"), max_size=3).map(tuple)
)
TOUCHED = st.builds(
    TouchedResources,
    st.lists(RESOURCES | st.just(EVERYTHING), max_size=3).map(tuple),
    st.lists(RESOURCES | st.just(EVERYTHING), max_size=3).map(tuple),
)


@given(TOUCHED, TOUCHED)
def test_unknown_is_apart_from_whatever_touches_anything_and_conflicts_go_both_ways(
    one: TouchedResources, two: TouchedResources
) -> None:
    assert one.conflicts(two) == two.conflicts(one)
    assert of().conflicts(one) == bool(one.reads or one.writes)
    assert of(hints=READ_ONLY).conflicts(one) == bool(one.writes)


@given(st.dictionaries(st.text(max_size=3), st.text() | st.integers() | st.none()), st.text())
def test_no_arguments_and_no_entry_of_any_kind_break_it(arguments: dict[str, Any], entry: str) -> None:
    assert isinstance(of({"reads": [entry], "writes": ["file:{path}"]}, arguments=arguments), TouchedResources)


def test_the_fields_of_an_entry_are_reported_and_what_is_not_an_entry_is_refused(wording: Wording) -> None:
    assert [fields_of_resource(entry) for entry in ("*", "db", "db:x", "file:{path}", "t:{a}/{b}.c")] == [
        (),
        (),
        (),
        ("path",),
        ("a", "b"),
    ]
    for entry in ("", "{kind}:a", "file:{path", "file:{}", "file:{a.b}", "File:a", ":a"):
        with pytest.raises(ValueError) as raised:
            fields_of_resource(entry)
        wording(raised.value)
