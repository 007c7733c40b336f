"""Damaged, broken and lacking tools: each is reported, with one fix that is the same wherever it is found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.errors import Finding, InvalidInput, NotEquipped
from strands_cli.machine_checks.setup_checks import check_tools
from strands_cli.planning.resolve.single_tool import find_single_tool, require_family
from strands_cli.plugins.plugin_source import PluginSource
from strands_cli.toolref import ToolRef
from strands_cli_dev.plugin_check.plugin_project import PluginProject
from strands_cli_dev.plugin_check.whole_plugin import check_plugin
from tests.distributions import make_distribution, manifest_of, module_source, sound, tool


def with_metadata(record: Path, text: str) -> None:
    (record / "METADATA").write_text((record / "METADATA").read_text() + text)


SOUND = {"pkg/__init__.py": "", "pkg/foo.py": module_source("foo")}
BROKEN: Mapping[str, tuple[str, str, Mapping[str, str], str | None]] = {
    "syntax": ("foo", "pkg.foo", {**SOUND, "pkg/foo.py": "def ("}, None),
    "other name": ("bar", "pkg.foo", SOUND, None),
    "bad name": ("Foo-Tool", "pkg.foo", SOUND, None),
    "no module": ("foo", "pkg.gone", SOUND, None),
    "bad value": ("foo", "pkg foo", SOUND, None),
    "missing attribute": ("foo", "pkg.foo:fooo", SOUND, None),
    "a number": ("foo", "pkg.foo:foo", {**SOUND, "pkg/foo.py": "foo = 5\n"}, None),
    "a plain function": ("foo", "pkg.foo:foo", {**SOUND, "pkg/foo.py": "def foo(a):\n    return a\n"}, None),
    "a spec alone": ("foo", "pkg.foo", {**SOUND, "pkg/foo.py": "TOOL_SPEC = {'name': 'foo'}\n"}, None),
    "large manifest": ("foo", "pkg.foo", SOUND, "x" * 1_000_001),
    "manifest is no JSON": ("foo", "pkg.foo", SOUND, "{"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_fix_of_a_fault_is_the_same_wherever_it_is_found(tmp_path: Path, name: str) -> None:
    key, value, files, manifest = BROKEN[name]
    make_distribution(tmp_path, "acme", "1.0", {key: value}, files, manifest)
    catalog = discover_catalog([str(tmp_path)])
    (record,) = catalog.tools
    (listed,) = {one.fix for one in catalog.findings if one.severity == "error"}
    assert record.status == "broken"
    assert catalog.fix_of(record) == listed
    assert ("--force-reinstall" in str(listed)) is (name == "no module")
    (line,) = [check for check in check_tools(catalog) if check.status == "failed"]
    assert line.fix == listed
    source = PluginSource.installed("acme", [str(tmp_path)])
    assert source is not None
    project = PluginProject(tmp_path / "acme-1.0.dist-info", "acme", source)
    if manifest is None:
        checked = check_plugin(project).findings
        assert {(record.reason, listed)} <= {(one.message, one.fix) for one in checked if one.severity == "error"}
    if name != "bad name":
        with pytest.raises(NotEquipped) as raised:
            find_single_tool(f"native:{key}", catalog)
        assert raised.value.fix == listed


@pytest.mark.parametrize(
    "source",
    [
        "foo = None\ndef make():\n    global foo\n    foo = object()\nmake()\n",
        "foo = None\nif True:\n    from pkg.other import foo\n",
        "foo = 3\nglobals()['foo'] = object()\n",
        "import sys\nsetattr(sys.modules[__name__], 'foo', object())\n",
        "from pkg.other import *\n",
        "def __getattr__(name):\n    return object()\n",
        "def foo(a):\n    return a\nfoo = decorate(foo)\n",
        "def foo():\n    return []\n",
        "try:\n    from pkg.other import foo\nexcept ImportError:\n    foo = None\n",
        "exec('foo = 1')\n",
    ],
)
def test_what_may_be_a_tool_is_not_called_broken(tmp_path: Path, source: str) -> None:
    make_distribution(tmp_path, "acme", "1.0", {"foo": "pkg.foo:foo"}, {**SOUND, "pkg/foo.py": source}, None)
    catalog = discover_catalog([str(tmp_path)])
    assert [one.status for one in catalog.tools] == ["unknown"]
    assert not [one for one in catalog.findings if one.severity == "error"]


@pytest.mark.parametrize(
    "text",
    [
        b"garbage [",
        b"= =\n",
        b"\xff\xfe\x00garbage",
        b"<html>gateway</html>",
        b"foo = pkg.foo\n",
        b"[console_scripts]\na = b:c\n[strands_cli.to",
        b"[strands_cli.tools\nfoo = pkg.foo\n",
        b"[strands_cli.tools]\nfoo\n",
        b"[ strands_cli.tools ]\nfoo = pkg.foo\n",
        b"garbage\n[strands_cli.tools]\nfoo = pkg.foo\n",
        b"foo = pkg.foo\n[strands_cli.tools]\n",
    ],
)
def test_damaged_entry_points_are_never_passed_over(tmp_path: Path, text: bytes) -> None:
    sound(tmp_path, "other")
    make_distribution(tmp_path, "acme", "1.0", text, SOUND)
    catalog = discover_catalog([str(tmp_path)])
    found = [one for one in catalog.findings if one.code == "bad-entry-points"]
    assert found
    assert all("'acme'" in one.message and one.where and one.where.file.endswith("entry_points.txt") for one in found)
    assert "other" in catalog.by_name
    assert any("'acme'" in check.message for check in check_tools(catalog))


@pytest.mark.parametrize(
    "text", [b"", b"\n\n", b"[console_scripts]\na = b:c\n", b"# only a comment\n", b"[x]\n\n[y]\nno equals sign\n"]
)
def test_entry_points_of_others_are_none_of_ours(tmp_path: Path, text: bytes) -> None:
    make_distribution(tmp_path, "acme", "1.0", text, SOUND)
    assert list(discover_catalog([str(tmp_path)]).findings) == []


EXTRA = (
    "Provides-Extra: fancy\nRequires-Dist: no-such-one>=2; extra == 'fancy'\nRequires-Dist: fine; extra == 'plain'\n"
)


@pytest.mark.parametrize(
    ("value", "missing"),
    [
        ("pkg.foo [fancy]", True),
        ("pkg.foo[plain,fancy]", True),
        ("pkg.foo[ plain ]", False),
        ("pkg.foo", False),
        ("pkg.foo[none]", False),
    ],
)
@pytest.mark.parametrize("with_manifest", [True, False])
def test_the_extra_of_an_entry_point_is_a_requirement(
    tmp_path: Path, value: str, missing: bool, with_manifest: bool
) -> None:
    make_distribution(tmp_path, "fine", "1.0")
    manifest = manifest_of("acme", tool("foo", "pkg.foo")) if with_manifest else None
    record = make_distribution(tmp_path, "acme", "1.0", {"foo": value}, SOUND, manifest)
    with_metadata(record, EXTRA)
    catalog = discover_catalog([str(tmp_path)])
    (found,) = catalog.tools
    assert found.status == ("unmet" if missing else "available")
    if missing:
        assert catalog.fix_of(found) == "pip install 'acme[fancy]'"
        with pytest.raises(NotEquipped):
            find_single_tool("native:foo", catalog)


def families(site: Path) -> Catalog:
    entries = {"pkg.foo": "foo", "pkg.bar": "bar"}
    manifest = manifest_of("acme", *(tool(name, entry, family="words") for entry, name in entries.items()))
    files = {**SOUND, "pkg/bar.py": module_source("bar")}
    make_distribution(site, "acme", "1.0", {name: entry for entry, name in entries.items()}, files, manifest)
    sound(site, "lone")
    return discover_catalog([str(site)])


@pytest.mark.parametrize("ref", ["native:words.*", "native:acme/words.*"])
def test_a_family_where_one_tool_is_wanted_names_its_tools(tmp_path: Path, ref: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        find_single_tool(ref, families(tmp_path))
    assert raised.value.fix in ("name one: native:foo", "name one: native:bar")


@pytest.mark.parametrize("ref", ["native:strands-tool-lone/words.*", "native:nowhere/words.*"])
def test_a_family_of_another_distribution_is_named_with_it(tmp_path: Path, ref: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        require_family(ToolRef.parse(ref), families(tmp_path))
    (finding,) = raised.value.findings
    assert isinstance(finding, Finding)
    assert finding.fix == "did you mean 'native:acme/words.*'?"


def test_a_suite_named_as_a_family_has_its_own_name_in_the_fix(tmp_path: Path) -> None:
    both = "from strands import tool\n" + "".join(f"@tool\ndef {name}(a: str):\n    pass\n" for name in ("one", "two"))
    make_distribution(tmp_path, "acme", "1.0", {"pair": "pkg.foo"}, {**SOUND, "pkg/foo.py": both}, None)
    catalog = discover_catalog([str(tmp_path)])
    for ref, meant in (("native:pair.*", "'native:pair'"), ("native:acme/pair.*", "'native:acme/pair'")):
        with pytest.raises(InvalidInput) as raised:
            require_family(ToolRef.parse(ref), catalog)
        assert str(raised.value.findings[0].fix).endswith(meant)
