from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.catalog.manifest import MAX_BYTES, MAX_DEPTH, Manifest
from tests.distributions import manifest_of, tool
from tests.wordings import Wording

NAME = "strands-tool-foo"
FOO = tool("foo", "strands_tool_foo")


def check(document: Any) -> list[tuple[str, str, str]]:
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    manifest, findings = Manifest.parse(raw, "strands_tools.json", NAME)
    assert (manifest is None) == any(finding.severity == "error" for finding in findings)
    return [(one.code, one.where.pointer if one.where else "", one.message) for one in findings]


def full() -> dict[str, Any]:
    return tool(
        "foo",
        "strands_tool_foo",
        output_schema={"type": "string"},
        annotations={"title": "Foo", "readOnlyHint": True, "destructiveHint": False},
        strands_cli={"requires_confirmation": False, "timeout_s": 2.5, "max_output_bytes": 9, "capabilities": {}},
        requires={"distributions": ["a>=1"], "modules": ["b"], "python": ">=3.11", "os": ["linux"], "env": ["KEY"]},
        config_schema={"type": "object"},
        examples=[{"input": {"text": "x"}}],
        family="words",
        category="text",
        deprecated={"since": "1.0", "replacement": "bar"},
    )


def test_a_sound_manifest_with_every_field_has_no_findings() -> None:
    assert check(manifest_of("Strands_Tool.Foo", full())) == []


def test_a_minimal_tool_is_enough() -> None:
    assert check(manifest_of(NAME, {"name": "foo", "entry": "strands_tool_foo", "kind": "module"})) == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xef\xbb\xbf{}",
        b'{"a": "\xff"}',
        b'{"a": NaN}',
        b"{" + b" " * MAX_BYTES + b"}",
        b"[" * 5000 + b"]" * 5000,
        b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1),
        b"[]",
        rb'{"a": "\ud800"}',
        b'{"a": ' + b"1" * 10_000 + b"}",
    ],
    ids=["empty", "bom", "utf8", "nan", "huge", "very-deep", "deep", "list", "surrogate", "digits"],
)
def test_bytes_that_are_no_manifest_are_one_finding(raw: bytes, wording: Wording) -> None:
    ((code, _, message),) = check(raw)
    assert code == "bad-manifest"
    wording(message)


def test_wide_is_not_deep() -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(200)}}
    assert check(manifest_of(NAME, {**FOO, "input_schema": schema})) == []


def test_a_syntax_error_has_its_line_and_column() -> None:
    _, (finding,) = Manifest.parse(b'{\n  "a": x\n}', "strands_tools.json", NAME)
    assert str(finding.where) == "strands_tools.json:2:8"


def test_all_faults_are_found_at_once_each_at_its_pointer() -> None:
    broken = {**full(), "kind": "modul", "name": "Foo", "annotations": {"readOnlyHint": "yes"}, "family": 3}
    broken["requires"] = {"modules": [1], "python": 3}
    broken["strands_cli"] = {"timeout_s": True}
    document = manifest_of("other", broken, "no object", {"kind": "module"}, api={"min": 2, "max": 1})
    pointers = {pointer for _, pointer, _ in check(document)}
    assert pointers == {
        "/distribution",
        "/api",
        "/tools/0/kind",
        "/tools/0/name",
        "/tools/0/annotations/readOnlyHint",
        "/tools/0/family",
        "/tools/0/requires/modules",
        "/tools/0/requires/python",
        "/tools/0/strands_cli/timeout_s",
        "/tools/1",
        "/tools/2",
    }


def test_an_unknown_field_is_a_warning_with_a_suggestion() -> None:
    manifest, (finding,) = Manifest.parse(
        json.dumps(manifest_of(NAME, {**FOO, "famly": "x"})).encode(), "strands_tools.json", NAME
    )
    assert manifest is not None
    assert (finding.code, finding.severity) == ("manifest-field", "warning")
    assert "'family'" in str(finding.fix)


@pytest.mark.parametrize("missing", ["manifest_version", "distribution", "tools"])
def test_what_every_manifest_needs_is_missed(missing: str) -> None:
    document = manifest_of(NAME, FOO)
    del document[missing]
    ((code, _, message),) = check(document)
    assert code == "bad-manifest"
    assert f"'{missing}'" in message


def test_a_later_manifest_version_is_not_judged_by_this_ones_rules() -> None:
    assert [code for code, _, _ in check({"manifest_version": 2, "everything": "else"})] == ["manifest-version"]


def test_a_schema_for_something_else_than_an_object_is_refused() -> None:
    (finding,) = check(manifest_of(NAME, {**FOO, "input_schema": {"type": "string"}}))
    assert finding[1] == "/tools/0/input_schema/type"


def test_members_may_have_any_name_the_sdk_takes_and_tools_only_ours() -> None:
    suite = tool("Get-Rows", "strands_tool_foo:Db", kind="class")
    assert check(manifest_of(NAME, suite)) == []
    assert [pointer for _, pointer, _ in check(manifest_of(NAME, {**suite, "kind": "module"}))] == ["/tools/0/name"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*full(), "x", "tools"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["manifest_version", "api", "distribution", "tools", "x"]), JSON))
def test_no_json_document_makes_the_reader_fail(document: dict[str, Any]) -> None:
    check(document)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*full()]), JSON))
def test_no_tool_makes_the_reader_fail(fields: dict[str, Any]) -> None:
    check(manifest_of(NAME, {**full(), **fields}))


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_make_the_reader_fail(raw: bytes) -> None:
    check(raw)


@pytest.mark.parametrize(
    "earlier",
    [
        {"form": "text"},
        {"mode": "style"},
        {"mode": "data", "data": "mode"},
        {"mode": "?text"},
        {"text": "?text"},
        {"mode": 5},
    ],
)
def test_an_earlier_word_that_means_nothing_is_an_error_at_its_place(earlier: dict[str, Any], wording: Wording) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}, "form": {"type": "string"}}}
    described = {**FOO, "input_schema": schema, "strands_cli": {"earlier": earlier}}
    found = check(manifest_of(NAME, described))
    assert [(code, place) for code, place, _ in found] == [
        ("bad-manifest", f"/tools/0/strands_cli/earlier/{word}") for word in earlier
    ]
    wording([message for _, _, message in found])


def test_earlier_words_of_inputs_are_no_fault() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "query": {"type": "object"}}}
    described = {**FOO, "input_schema": schema, "strands_cli": {"earlier": {"url": "path", "path": "?query"}}}
    assert check(manifest_of(NAME, described)) == []
