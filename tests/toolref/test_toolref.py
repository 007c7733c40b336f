from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from strands_cli.toolref import ToolRef, ToolRefError
from tests.wordings import Wording

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)
IDENTIFIERS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True)
VERSIONS = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,3}", fullmatch=True)
SPECIFIERS = st.builds(lambda op, version: op + version, st.sampled_from(["", "==", ">=", "<", "!="]), VERSIONS)
DISTRIBUTIONS = st.from_regex(r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,5}){0,2}", fullmatch=True)
DOTTED = st.lists(IDENTIFIERS, min_size=2, max_size=4).map(".".join)


@st.composite
def native_refs(draw: st.DrawFn) -> str:
    owner = draw(st.none() | DISTRIBUTIONS)
    member = draw(st.none() | NAMES)
    specifier = draw(st.none() | SPECIFIERS)
    text = f"native:{owner}/" if owner else "native:"
    text += draw(NAMES) + (f".{member}" if member else "")
    return text + (f"@{specifier}" if specifier else "")


REFS = st.one_of(
    NAMES,
    native_refs(),
    DOTTED,
    st.builds("{}:{}".format, DOTTED, IDENTIFIERS),
    NAMES.map("strands_tools.{}".format),
    NAMES.map(lambda name: f"strands_tools.{name}:{name}"),
    NAMES.map("strands_cli.tools.{}".format),
    NAMES.map("mcp:{}".format),
    st.builds("mcp:{}/{}".format, NAMES, NAMES),
    NAMES.map("agent:{}".format),
    NAMES.map("workflow:./{}.yaml".format),
)


def meaning(text: str) -> dict[str, object]:
    ref = ToolRef.parse(text)
    names = [field.name for field in dataclasses.fields(ref) if field.compare]
    return {name: getattr(ref, name) for name in names if getattr(ref, name) is not None}


@settings(deadline=None)
@given(REFS)
def test_a_parsed_reference_prints_as_it_was_written(text: str) -> None:
    assert str(ToolRef.parse(text)) == text


@settings(deadline=None)
@example("native.foo")
@example("mcp.server.tool")
@given(REFS)
def test_the_canonical_spelling_means_the_same(text: str) -> None:
    ref = ToolRef.parse(text)
    again = ToolRef.parse(ref.canonical)
    assert again == ref
    assert again.canonical == ref.canonical


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_reference_or_a_named_error(text: str) -> None:
    try:
        ref = ToolRef.parse(text)
    except ToolRefError:
        return
    assert str(ref) == text
    assert ToolRef.parse(ref.canonical) == ref


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("foo", {"kind": "short", "name": "foo"}),
        ("Skill", {"kind": "short", "name": "Skill"}),
        ("my-api", {"kind": "short", "name": "my-api"}),
        ("native:foo", {"kind": "native", "name": "foo"}),
        ("native:foo@1.2.0", {"kind": "native", "name": "foo", "specifier": "==1.2.0"}),
        ("native:db.query", {"kind": "native", "name": "db", "member": "query"}),
        (
            "native:strands-tool-foo/foo",
            {"kind": "native", "name": "foo", "distribution": "strands-tool-foo"},
        ),
        (
            "native:strands-tool-db/db.query@>=1",
            {
                "kind": "native",
                "name": "db",
                "member": "query",
                "specifier": ">=1",
                "distribution": "strands-tool-db",
            },
        ),
        ("strands_cli.tools.foo", {"kind": "native", "name": "foo"}),
        ("strands_cli.tools.foo:foo", {"kind": "native", "name": "foo"}),
        (
            "strands_tools.foo",
            {"kind": "legacy", "name": "foo", "module": "strands_tools.foo", "attribute": "foo"},
        ),
        (
            "strands_tools.foo.foo",
            {"kind": "legacy", "name": "foo", "module": "strands_tools.foo", "attribute": "foo"},
        ),
        (
            "strands_tools.browser:LocalBrowser",
            {"kind": "legacy", "name": "LocalBrowser", "module": "strands_tools.browser", "attribute": "LocalBrowser"},
        ),
        (
            "acme.text:shout",
            {"kind": "custom", "name": "shout", "module": "acme.text", "attribute": "shout"},
        ),
        (
            "acme.text.shout",
            {"kind": "custom", "name": "shout", "module": "acme.text", "attribute": "shout"},
        ),
        ("mcp:github", {"kind": "mcp", "name": "", "server": "github"}),
        ("mcp:github/create_issue", {"kind": "mcp", "name": "create_issue", "server": "github"}),
        ("agent:researcher", {"kind": "agent", "name": "researcher"}),
        ("workflow:./sub.yaml", {"kind": "workflow", "name": "./sub.yaml"}),
    ],
)
def test_each_form_of_the_table_has_its_meaning(text: str, expected: dict[str, object]) -> None:
    assert meaning(text) == expected


@pytest.mark.parametrize(
    "same",
    [
        ("native:foo", "strands_cli.tools.foo", "strands_cli.tools.foo.foo"),
        ("strands_tools.foo", "strands_tools.foo.foo", "strands_tools.foo:foo"),
        ("native:foo@1.2.0", "native:foo@==1.2.0"),
        ("native:foo@>=1,<2", "native:foo@<2,>=1", "native:foo@ >=1, <2"),
        ("acme.text.shout", "acme.text:shout"),
    ],
)
def test_spellings_of_one_meaning_are_equal(same: tuple[str, ...]) -> None:
    assert len({ToolRef.parse(text) for text in same}) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "native:",
        "mcp:",
        "native:foo bar",
        " foo",
        "foo\x1b",
        "native:foo@",
        "native:foo@latest",
        "native:foo@1.2.0\x1b[2J",
        "native:/foo",
        "native:a/b/c",
        "native:foo.",
        "native:" + "x" * 65,
        "foo@1.2",
        "strands-tool-foo/foo",
        "./tools/foo.py",
        "C:\\tools\\foo.py",
        "mcp:/tool",
        "agent:my agent",
        "agent:a/b",
        "strands_cli.tools.a.b.c",
        "foo..bar",
        "x" * 600,
    ],
)
def test_what_fits_no_form_says_what_to_write(text: str, wording: Wording) -> None:
    with pytest.raises(ToolRefError) as caught:
        ToolRef.parse(text)
    wording(caught.value)


@settings(deadline=None)
@given(NAMES, NAMES)
def test_a_changed_reference_prints_its_new_meaning(first: str, second: str) -> None:
    assume(first != second)
    changed = dataclasses.replace(ToolRef.parse(f"strands_cli.tools.{first}"), name=second)
    assert str(changed) == f"native:{second}"
