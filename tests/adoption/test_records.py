"""Adopted tools as records: what they are, and what a changed distribution makes of them."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.adopted.adopted_file import AdoptedFile
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.publisher_records import find_provenance, find_sources
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import InvalidInput, NotEquipped
from tests.adoption.kit import FILE, FUNCTION, MODULE, adopt, catalog_of, install
from tests.distributions import sound, without_manifest

HELLO = {"hello": "acme_tools.hello:hello"}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    install(site)
    return site


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "config" / FILE


FILE_OF_HELLO = "acme_tools/hello.py"


def only(catalog: Any, name: str) -> ToolRecord:
    [record] = catalog.by_name[name]
    assert isinstance(record, ToolRecord)
    return record


def edit(file: Path, *keys: str, value: Any) -> None:
    document = json.loads(file.read_text("utf-8"))
    node = document["distributions"]["acme-tools"]
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    file.write_text(json.dumps(document), encoding="utf-8")


def test_an_adopted_tool_is_as_any_other(site: Path, user: Path) -> None:
    catalog = catalog_of(site, adopt(user, site, HELLO))
    record = catalog.resolve("native:hello")
    assert (record.status, record.distribution, record.version) == ("available", "acme-tools", "1.0")
    assert (record.module, record.attribute, record.path) == ("acme_tools.hello", "hello", str(site))
    assert record.description == "Say hello to a person."
    assert record.adopted is not None
    assert (record.adopted.level, record.adopted.since, record.adopted.file) == ("user", "2026-11-23", str(user))
    assert catalog.findings == ()
    assert "native:hello" in catalog.allowed_refs
    assert catalog.resolve("native:acme-tools/hello@>=1") is record


def test_its_source_is_adopted_and_how_the_distribution_is_installed(site: Path, user: Path) -> None:
    catalog = catalog_of(site, adopt(user, site, HELLO))
    record = only(catalog, "hello")
    assert find_sources(record, catalog) == {"adopted", "index"}
    provenance = find_provenance(record, catalog)
    assert (provenance.file, provenance.line) == (str(site / "acme_tools" / "hello.py"), 7)
    assert record.source["adopted"] == {
        "file": str(user),
        "level": "user",
        "since": "2026-11-23",
        "called": "hello",
        "imported": False,
    }


def test_an_alias_is_the_name_and_the_own_name_is_kept(site: Path, user: Path) -> None:
    install(site, "word-tools", files={"word_tools/__init__.py": "", "word_tools/count.py": MODULE})
    catalog = catalog_of(site, adopt(user, site, {"count_words": "word_tools.count"}, "word-tools"))
    record = catalog.resolve("count_words")
    assert (record.name, record.entry_name, record.kind) == ("count_words", "count_words", "module")
    assert record.adopted is not None
    assert record.adopted.called == "Count-Words"


def test_the_digests_are_of_the_module_and_of_what_is_imported_on_the_way(tmp_path: Path, user: Path) -> None:
    files = {
        "deep_tools/__init__.py": "from .inner.hello import hello\n",
        "deep_tools/inner/__init__.py": "",
        "deep_tools/inner/hello.py": FUNCTION,
        "deep_tools/other.py": "",
    }
    install(tmp_path / "s", "deep-tools", files=files)
    adopted, _ = AdoptedFile.read(adopt(user, tmp_path / "s", {"hello": "deep_tools.inner.hello:hello"}, "deep-tools"))
    assert list(adopted.distributions["deep-tools"].files) == [name for name in files if "other" not in name]
    adopted, _ = AdoptedFile.read(adopt(user, tmp_path / "s", {"hello": "deep_tools:hello"}, "deep-tools"))
    assert set(adopted.distributions["deep-tools"].files) == {"deep_tools/__init__.py", "deep_tools/inner/hello.py"}


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("Say hello to a person.", "Say hello, and send mail.", ["description", "send mail"]),
        ("(name: str)", "(name: str, also: str)", ["input_schema", "also"]),
        ("return f", "return 'x' + f", ["acme_tools/hello.py"]),
    ],
)
def test_a_changed_module_makes_it_broken_with_what_changed(
    before: str, after: str, shown: list[str], site: Path, user: Path
) -> None:
    adopt(user, site, HELLO)
    module = site / "acme_tools" / "hello.py"
    module.write_text(module.read_text("utf-8").replace(before, after), encoding="utf-8")
    catalog = catalog_of(site, user)
    record = only(catalog, "hello")
    assert record.status == "broken"
    assert all(word in str(record.reason) for word in shown), record.reason
    [finding] = catalog.findings
    assert (finding.code, finding.where and finding.where.pointer) == (
        "adopted-changed",
        "/distributions/acme-tools/tools/hello",
    )
    with pytest.raises(NotEquipped) as caught:
        catalog.resolve("native:hello")
    assert "strands plugin adopt acme-tools" in str(caught.value.fix)


def test_another_version_makes_it_broken_though_its_files_are_equal(tmp_path: Path, site: Path, user: Path) -> None:
    adopt(user, site, HELLO)
    (site / "acme_tools-1.0.dist-info").rename(site / "acme_tools-1.1.dist-info")
    record = only(catalog_of(site, user), "hello")
    assert record.status == "broken"
    assert "1.1" in str(record.reason)
    assert "1.0" in str(record.reason)


def test_a_module_that_is_gone_or_no_python_makes_it_broken(site: Path, user: Path) -> None:
    adopt(user, site, HELLO)
    module = site / "acme_tools" / "hello.py"
    module.write_text("def (", encoding="utf-8")
    assert only(catalog_of(site, user), "hello").status == "broken"
    module.unlink()
    assert only(catalog_of(site, user), "hello").status == "broken"
    shutil.rmtree(site / "acme_tools")
    assert only(catalog_of(site, user), "hello").status == "broken"


def test_an_uninstalled_distribution_says_how_to_get_it(site: Path, user: Path) -> None:
    adopt(user, site, HELLO)
    shutil.rmtree(site / "acme_tools-1.0.dist-info")
    catalog = catalog_of(site, user)
    record = only(catalog, "hello")
    assert (record.status, record.version) == ("broken", None)
    with pytest.raises(NotEquipped) as caught:
        catalog.resolve("native:hello")
    assert caught.value.fix == "pip install acme-tools"
    assert find_sources(record, catalog) == {"adopted", "unknown"}
    assert find_provenance(record, catalog).file is None


def test_no_adoption_shadows_an_installed_tool(site: Path, user: Path) -> None:
    sound(site, "hello")
    catalog = catalog_of(site, adopt(user, site, HELLO))
    ours, adopted = sorted(catalog.by_name["hello"], key=lambda record: record.status)
    assert (ours.status, ours.distribution) == ("available", "strands-tool-hello")
    assert (adopted.status, adopted.distribution) == ("broken", "acme-tools")
    assert catalog.resolve("native:hello") is ours


def test_no_adoption_takes_the_name_of_a_broken_tool(site: Path, user: Path) -> None:
    without_manifest(site, "hello", source="def (")
    catalog = catalog_of(site, adopt(user, site, HELLO))
    assert {record.status for record in catalog.by_name["hello"]} == {"broken"}


def test_a_distribution_that_declares_the_tool_by_now_needs_no_adoption(site: Path, user: Path) -> None:
    adopt(user, site, HELLO)
    points = "[strands_cli.tools]\nhello = acme_tools.hello:hello\n"
    (site / "acme_tools-1.0.dist-info" / "entry_points.txt").write_text(points, encoding="utf-8")
    catalog = catalog_of(site, user)
    assert only(catalog, "hello").adopted is None
    assert [(finding.code, finding.severity) for finding in catalog.findings] == [("adopted-twice", "warning")]


def test_two_adopted_tools_of_one_name_are_in_conflict(site: Path, user: Path, tmp_path: Path) -> None:
    install(site, "other-tools", files={"other_tools/__init__.py": "", "other_tools/hello.py": FUNCTION})
    adopt(user, site, HELLO)
    second = adopt(tmp_path / "second.json", site, {"hello": "other_tools.hello:hello"}, "other-tools")
    both = json.loads(user.read_text("utf-8"))
    both["distributions"] |= json.loads(second.read_text("utf-8"))["distributions"]
    user.write_text(json.dumps(both), encoding="utf-8")
    catalog = catalog_of(site, user)
    assert [record.status for record in catalog.by_name["hello"]] == ["conflict", "conflict"]
    assert catalog.resolve("native:other-tools/hello").distribution == "other-tools"
    with pytest.raises(InvalidInput):
        catalog.resolve("native:hello")


def test_no_file_passes_off_code_of_others_as_that_of_a_distribution(site: Path, user: Path) -> None:
    install(site, "other-tools", files={"other_tools/__init__.py": "", "other_tools/hello.py": FUNCTION})
    adopt(user, site, {"hello": "other_tools.hello:hello"})
    record = only(catalog_of(site, user), "hello")
    assert record.status == "broken"
    assert "other_tools/hello.py" in str(record.reason)


@pytest.mark.parametrize("entry", ["os:system", "subprocess:run", "acme_tools.other:hello", "acme_tools:hello"])
def test_a_module_without_a_digest_is_not_used(entry: str, site: Path, user: Path) -> None:
    (site / "acme_tools" / "other.py").write_text(FUNCTION, encoding="utf-8")
    adopt(user, site, HELLO)
    edit(
        user,
        "files",
        value={
            "acme_tools/hello.py": AdoptedFile.read(user)[0].distributions["acme-tools"].files["acme_tools/hello.py"]
        },
    )
    edit(user, "tools", "hello", "entry", value=entry)
    catalog = catalog_of(site, user)
    assert only(catalog, "hello").status == "broken"
    assert {str(finding.code) for finding in catalog.findings} <= {"bad-adopted-file", "adopted-changed"}


def test_a_class_has_its_tools_as_members(site: Path, user: Path) -> None:
    source = (
        "from strands import tool\n\n\nclass Db:\n    @tool\n    def query(self, sql: str) -> str:\n"
        '        """Read rows."""\n        return sql\n'
    )
    install(site, "db-tools", files={"db_tools/__init__.py": source})
    catalog = catalog_of(site, adopt(user, site, {"db": "db_tools:Db"}, "db-tools"))
    assert catalog.resolve("native:db.query").description == "Read rows."
    assert catalog.resolve("native:db").kind == "class"


def test_listing_imports_nothing_of_what_is_adopted(site: Path, user: Path, tmp_path: Path) -> None:
    sentinel = tmp_path / "imported"
    trap = f"open({str(sentinel)!r}, 'w').close()\n{FUNCTION}"
    install(site, "trap-tools", files={"trap_tools/__init__.py": trap, "trap_tools/hello.py": trap})
    adopt(user, site, {"hello": "trap_tools.hello:hello"}, "trap-tools")
    assert only(catalog_of(site, user), "hello").usable
    (site / "trap_tools" / "hello.py").write_text(trap + "\n", encoding="utf-8")
    assert only(catalog_of(site, user), "hello").status == "broken"
    assert not sentinel.exists()


def test_the_users_file_counts_by_default_and_the_projects_where_its_folder_is_known(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "xdg"))
    monkeypatch.syspath_prepend(str(site))

    user = AdoptedFile.path()
    assert user is not None
    adopt(user, site, HELLO)
    project = tmp_path / "work"
    project.mkdir()
    adopt(project / FILE, site, {"greet": "acme_tools.hello:hello"})
    assert discover_catalog().get("hello") is not None
    assert discover_catalog().get("greet") is None
    found = discover_catalog(project=project).get("greet")
    assert found is not None
    assert found.adopted is not None
    assert found.adopted.level == "project"
    assert discover_catalog([str(site)]).get("hello") is None


def test_a_module_of_a_thousand_changed_tools_is_parsed_once(
    site: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = "".join(f"\n\n@tool\ndef t{n}(a: str) -> str:\n    '''Do {n}.'''\n    return a\n" for n in range(1000))
    files = {"many_tools/__init__.py": "", "many_tools/m.py": f"from strands import tool\n{functions}"}
    install(site, "many-tools", files=files)
    adopt(user, site, {"t0": "many_tools.m:t0"}, "many-tools")
    document = json.loads(user.read_text("utf-8"))
    tools = document["distributions"]["many-tools"]["tools"]
    for number in range(1000):
        # Every second one is not in the module any more.
        name = f"t{number}" if number % 2 else f"u{number}"
        tools[name] = {**tools["t0"], "entry": f"many_tools.m:{name}", "called": name}
    user.write_text(json.dumps(document), encoding="utf-8")
    module = site / "many_tools" / "m.py"
    module.write_text(module.read_text("utf-8") + "\n", encoding="utf-8")
    monkeypatch.setattr("strands_cli.catalog.adopted.adoption_claims.MAX_PARSED", 3)
    parsed = []
    real = ast.parse
    monkeypatch.setattr(ast, "parse", lambda *a, **k: parsed.append(1) or real(*a, **k))
    catalog = catalog_of(site, user)
    assert {record.status for record in catalog.tools} == {"broken"}
    assert "Do 1." in str(only(catalog, "t1").reason)
    assert len(parsed) == 3
