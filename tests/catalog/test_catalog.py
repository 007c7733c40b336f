from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from strands_cli.catalog import record_builder
from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.catalog.distributions.entry_points import Distribution, Scan
from strands_cli.catalog.tool_record import ToolRecord
from tests.distributions import (
    SCHEMA,
    booby_trapped,
    broken_manifest,
    exits_on_import,
    make_distribution,
    manifest_of,
    module_source,
    sound,
    tool,
    twin,
    without_manifest,
)
from tests.wordings import Wording


def catalog(*directories: Path) -> Catalog:
    return discover_catalog([str(directory) for directory in directories])


def only(found: Catalog, name: str) -> ToolRecord:
    (record,) = [record for record in found.tools if record.name == name]
    return record


def codes(found: Catalog) -> list[str]:
    return [finding.code for finding in found.findings]


def test_a_manifest_says_everything_about_its_tool(tmp_path: Path) -> None:
    fields = {
        "output_schema": {"type": "string"},
        "annotations": {"readOnlyHint": True},
        "strands_cli": {"timeout_s": 3},
        "requires": {"python": ">=3.11"},
        "config_schema": {"type": "object"},
        "examples": [{"input": {"text": "x"}}],
        "family": "words",
        "category": "text",
        "deprecated": {"replacement": "bar"},
    }
    sound(tmp_path, "foo", "1.2", **fields)
    found = catalog(tmp_path)
    record = only(found, "foo")
    assert codes(found) == []
    assert {name: getattr(record, name) for name in fields if name != "examples"} == {
        name: value for name, value in fields.items() if name != "examples"
    }
    assert record.examples == ({"input": {"text": "x"}},)
    assert (record.distribution, record.version, record.status) == ("strands-tool-foo", "1.2", "available")
    assert (record.kind, record.description, record.input_schema) == ("module", "Does foo.", SCHEMA)
    assert (record.module, record.attribute, record.entry) == ("strands_tool_foo.foo", None, "strands_tool_foo.foo")
    assert (record.path, record.location) == (str(tmp_path), str(tmp_path / "strands_tool_foo"))


def test_without_a_manifest_the_source_speaks(tmp_path: Path) -> None:
    without_manifest(tmp_path, "foo")
    record = only(catalog(tmp_path), "foo")
    assert (record.status, record.description, record.input_schema) == ("available", "Does foo.", SCHEMA)
    assert record.manifest is None


def test_what_neither_says_is_unknown_but_usable(tmp_path: Path) -> None:
    without_manifest(tmp_path, "foo", "foo = make_one()", "foo")
    record = only(catalog(tmp_path), "foo")
    assert (record.status, record.description, record.members) == ("unknown", None, None)
    assert record.usable


def test_a_broken_manifest_does_not_hide_other_tools(tmp_path: Path, wording: Wording) -> None:
    broken_manifest(tmp_path, "bad")
    sound(tmp_path, "good")
    found = catalog(tmp_path)
    assert [(record.name, record.status) for record in found.tools] == [("bad", "broken"), ("good", "available")]
    assert codes(found) == ["bad-manifest"]
    wording(only(found, "bad").reason or "")


@pytest.mark.parametrize("trap", [booby_trapped, exits_on_import])
def test_listing_imports_no_plugin(tmp_path: Path, trap: object) -> None:
    sentinel = tmp_path / "imported"
    if trap is booby_trapped:
        booby_trapped(tmp_path, "foo", sentinel)
    else:
        exits_on_import(tmp_path, "foo")
    assert only(catalog(tmp_path), "foo").status == "available"
    assert not sentinel.exists()


def test_a_dotted_module_is_found_without_importing_its_parent(tmp_path: Path) -> None:
    sentinel = tmp_path / "imported"
    trap = f"open({str(sentinel)!r}, 'w').close()"
    files = {"pkg/__init__.py": trap, "pkg/deep/__init__.py": trap, "pkg/deep/foo.py": module_source("foo")}
    make_distribution(tmp_path, "strands-tool-foo", "1.0", {"foo": "pkg.deep.foo"}, files)
    assert only(catalog(tmp_path), "foo").description == "Does foo."
    assert not sentinel.exists()


def test_two_distributions_that_claim_one_name_are_both_listed_in_conflict(tmp_path: Path) -> None:
    sound(tmp_path, "foo")
    twin(tmp_path, "foo", "other-tools")
    found = catalog(tmp_path)
    assert [(record.distribution, record.status) for record in found.tools] == [
        ("other-tools", "conflict"),
        ("strands-tool-foo", "conflict"),
    ]
    assert codes(found) == ["tool-conflict"]
    assert "'native:other-tools/foo' or 'native:strands-tool-foo/foo'" in (found.findings[0].fix or "")
    assert found.get("foo") is None


def test_a_broken_twin_does_not_make_a_sound_tool_ambiguous(tmp_path: Path) -> None:
    broken_manifest(tmp_path, "foo")
    twin(tmp_path, "foo", "other-tools")
    found = catalog(tmp_path)
    record = found.get("foo")
    assert record is not None
    assert (record.distribution, record.status) == ("other-tools", "available")
    assert found.resolve("foo") == record


@pytest.mark.parametrize(
    ("entry_points", "code", "part"),
    [
        ({"foo": "../evil"}, "bad-entry-point", "'../evil'"),
        ({"foo": "..evil"}, "bad-entry-point", "'..evil'"),
        ({"foo": ""}, "bad-entry-point", "''"),
        ({"foo": "a:b:c"}, "bad-entry-point", "'a:b:c'"),
        ({"foo": "absent_package.foo"}, "missing-module", "absent_package.foo"),
        ({"foo": "strands_tool_foo.absent"}, "missing-module", "strands_tool_foo.absent"),
        ({"Foo-Bar": "strands_tool_foo"}, "bad-tool-name", "'Foo-Bar'"),
    ],
)
def test_an_entry_point_that_cannot_work_is_listed_as_broken(
    tmp_path: Path, entry_points: dict[str, str], code: str, part: str
) -> None:
    make_distribution(tmp_path, "strands-tool-foo", "1.0", entry_points, {"strands_tool_foo/__init__.py": ""})
    found = catalog(tmp_path)
    assert codes(found) == [code]
    assert part in found.findings[0].message
    assert [record.status for record in found.tools] == ["broken"]
    where = found.findings[0].where
    assert where is not None
    assert (Path(where.file).name, where.line) == ("entry_points.txt", 2)


def test_source_that_is_not_python_is_broken_with_its_line(tmp_path: Path) -> None:
    without_manifest(tmp_path, "foo", "x = 1\ndef broken(:\n")
    found = catalog(tmp_path)
    assert codes(found) == ["unreadable-source"]
    assert found.findings[0].where is not None
    assert found.findings[0].where.line == 2
    assert only(found, "foo").status == "broken"


def test_a_tool_that_calls_itself_something_else_is_broken(tmp_path: Path) -> None:
    without_manifest(tmp_path, "foo", module_source("bar"))
    found = catalog(tmp_path)
    assert codes(found) == ["manifest-untrue"]
    assert only(found, "foo").status == "broken"


class TestManifestThatLies:
    def install(self, directory: Path, *tools: dict[str, object], distribution: str = "strands-tool-foo") -> Catalog:
        files = {"strands_tool_foo/__init__.py": module_source("foo")}
        document = manifest_of(distribution, *tools)
        make_distribution(directory, "strands-tool-foo", "1.0", {"foo": "strands_tool_foo"}, files, document)
        return catalog(directory)

    def test_about_its_distribution(self, tmp_path: Path) -> None:
        found = self.install(tmp_path, tool("foo", "strands_tool_foo"), distribution="strands-tool-famous")
        assert codes(found) == ["manifest-untrue"]
        assert only(found, "foo").status == "broken"

    def test_about_the_tools_name(self, tmp_path: Path) -> None:
        found = self.install(tmp_path, tool("bar", "strands_tool_foo"))
        assert set(codes(found)) == {"manifest-untrue"}
        assert only(found, "foo").status == "broken"

    @pytest.mark.parametrize("entry", ["strands_tool_foo.bar", "strands_tool_foo"])
    def test_about_a_tool_that_no_entry_point_declares(self, tmp_path: Path, entry: str) -> None:
        found = self.install(tmp_path, tool("foo", "strands_tool_foo"), tool("bar", entry))
        assert codes(found) == ["manifest-untrue"]
        assert [record.name for record in found.tools] == ["foo"]
        assert only(found, "foo").status == "available"

    def test_by_leaving_a_tool_out(self, tmp_path: Path) -> None:
        found = self.install(tmp_path)
        assert [(finding.code, finding.severity) for finding in found.findings] == [("manifest-untrue", "warning")]
        assert (only(found, "foo").status, only(found, "foo").description) == ("available", "Does foo.")


def test_another_calling_contract_is_unmet_and_says_which(tmp_path: Path) -> None:
    document = manifest_of("strands-tool-foo", tool("foo", "strands_tool_foo"), api={"min": 2, "max": 3})
    files = {"strands_tool_foo/__init__.py": ""}
    make_distribution(tmp_path, "strands-tool-foo", "1.0", {"foo": "strands_tool_foo"}, files, document)
    found = catalog(tmp_path)
    assert codes(found) == ["manifest-version"]
    assert only(found, "foo").status == "unmet"
    (missing,) = only(found, "foo").missing
    assert "2 to 3" in missing


def test_a_class_in_a_manifest_is_one_tool_with_members(tmp_path: Path) -> None:
    entry = "strands_tool_db:Db"
    members = [
        tool(name, entry, kind="class", requires={"env": ["NO_SUCH_VARIABLE_HERE"]}) for name in ("query", "add")
    ]
    files = {"strands_tool_db/__init__.py": "class Db: ..."}
    document = manifest_of("strands-tool-db", *members)
    make_distribution(tmp_path, "strands-tool-db", "1.0", {"db": "strands_tool_db : Db"}, files, document)
    found = catalog(tmp_path)
    record = only(found, "db")
    assert codes(found) == []
    assert [(member.ref_name, member.description) for member in record.members or ()] == [
        ("db.query", "Does query."),
        ("db.add", "Does add."),
    ]
    assert (record.kind, record.status) == ("class", "unmet")
    assert found.get("db.query") == (record.members or ())[0]
    assert found.get("db.drop") is None


def test_an_editable_install_is_found_where_its_path_file_points(tmp_path: Path) -> None:
    site, source = tmp_path / "site", tmp_path / "project" / "src"
    package = {"strands_tool_foo/__init__.py": module_source("foo")}
    make_distribution(site, "strands-tool-foo", "1.0", {"foo": "strands_tool_foo"})
    make_distribution(source, "unrelated", files=package)
    record = only(catalog(site, source), "foo")
    assert (record.status, record.location) == ("available", str(source / "strands_tool_foo"))
    assert record.path == str(site)


EDITABLE = """
import importlib.machinery, importlib.util, sys
import strands_cli

class EditableFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "strands_tool_foo":
            return importlib.util.spec_from_file_location(name, sys.argv[2] + "/strands_tool_foo/__init__.py")

sys.meta_path.append(EditableFinder)
record = strands_cli.discover_catalog([sys.argv[1]]).get("foo")
print(record.status, record.description, "strands_tool_foo" in sys.modules)
"""


def test_an_editable_install_is_found_through_its_finder(tmp_path: Path) -> None:
    site, source = tmp_path / "site", tmp_path / "src"
    make_distribution(site, "strands-tool-foo", "1.0", {"foo": "strands_tool_foo.foo"})
    sound(source, "foo")
    done = subprocess.run(
        [sys.executable, "-c", EDITABLE, str(site), str(source)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "available Does foo. False"


def test_the_package_that_would_be_imported_is_the_one_that_speaks(tmp_path: Path) -> None:
    site, shadow = tmp_path / "site", tmp_path / "shadow"
    sound(site, "foo")
    make_distribution(shadow, "impostor", files={"strands_tool_foo/__init__.py": ""})
    record = only(catalog(shadow, site), "foo")
    assert record.status == "broken"
    assert record.location == str(shadow / "strands_tool_foo")


def test_tools_in_a_shared_namespace_package_each_have_their_manifest(tmp_path: Path) -> None:
    for site, name in ((tmp_path / "a", "foo"), (tmp_path / "b", "bar")):
        entry = f"acme.{name}"
        record = make_distribution(
            site,
            f"strands-tool-{name}",
            "1.0",
            {name: entry},
            {f"acme/{name}/__init__.py": "", f"acme/{name}/strands_tools.json": ""},
        )
        text = json.dumps(manifest_of(f"strands-tool-{name}", tool(name, entry)))
        (record.parent / "acme" / name / "strands_tools.json").write_text(text)
    found = catalog(tmp_path / "a", tmp_path / "b")
    assert codes(found) == []
    assert [(record.name, record.description) for record in found.tools] == [("bar", "Does bar."), ("foo", "Does foo.")]


def test_tools_in_a_zip_archive_are_listed_from_their_manifest(tmp_path: Path) -> None:
    sound(tmp_path / "tree", "foo")
    without_manifest(tmp_path / "tree", "bar")
    archive = tmp_path / "tools.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for file in sorted((tmp_path / "tree").rglob("*")):
            opened.write(file, file.relative_to(tmp_path / "tree"))
    found = catalog(archive)
    assert codes(found) == []
    assert [(record.name, record.status, record.description) for record in found.tools] == [
        ("bar", "available", "Does bar."),
        ("foo", "available", "Does foo."),
    ]


def test_whatever_one_distribution_provokes_the_others_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound(tmp_path, "good")
    sound(tmp_path, "worse")
    build = record_builder.build_records

    def fail_on_one(distribution: Distribution, scan: Scan) -> list[ToolRecord]:
        if distribution.name == "strands-tool-worse":
            raise RuntimeError("nobody foresaw this")
        return build(distribution, scan)

    monkeypatch.setattr(record_builder, "build_records", fail_on_one)
    found = catalog(tmp_path)
    assert [record.name for record in found.tools] == ["good"]
    assert "nobody foresaw this" in found.findings[0].message


def test_allowed_refs_are_exactly_what_resolves(tmp_path: Path) -> None:
    sound(tmp_path, "one")
    sound(tmp_path, "foo")
    twin(tmp_path, "foo", "other-tools")
    broken_manifest(tmp_path, "bad")
    sound(tmp_path, "poor", requires={"modules": ["no_such_module_here"]})
    without_manifest(tmp_path, "db", "class Db:\n    @tool\n    def query(self): 'Q.'\n", "Db")
    found = catalog(tmp_path)
    assert found.allowed_refs == (
        "native:db",
        "native:db.query",
        "native:one",
        "native:other-tools/foo",
        "native:strands-tool-foo/foo",
    )
    assert all(isinstance(found.lookup(ref), ToolRecord) for ref in found.allowed_refs)


def test_versions_of_all_distributions_are_known(tmp_path: Path) -> None:
    make_distribution(tmp_path, "Some.Thing", "2.5")
    found = catalog(tmp_path)
    assert found.version_of("some-thing") == "2.5"
    assert found.version_of("absent") is None


COLD = """
import sys, strands_cli
strands_cli.discover_catalog([sys.argv[1]])
print(sorted({"strands", "pydantic", "asyncio", "rich", "jsonschema", "importlib.metadata", "typer", "packaging",
    "strands_cli.catalog.source.source_reader", "strands_cli.catalog.publisher_records"} & set(sys.modules)))
"""


def test_discovery_of_tools_with_manifests_stays_cold(tmp_path: Path) -> None:
    sound(tmp_path, "foo", requires={"python": ">=3.11,<4", "distributions": ["strands-tool-foo>=1.0"]})
    done = subprocess.run([sys.executable, "-c", COLD, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
