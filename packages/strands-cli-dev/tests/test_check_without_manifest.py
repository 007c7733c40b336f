"""`plugin check` of a project without a committed manifest checks what its build would make, or has a finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli.cli.program import run_program
from strands_cli.errors import InvalidInput
from strands_cli_dev.plugin_check.manifests import check_manifests, write_manifests
from strands_cli_dev.plugin_check.plugin_project import read_project
from strands_cli_dev.plugin_check.whole_plugin import PluginCheck, check_plugin
from tests.distributions import module_source

HOOK = "[tool.hatch.build.hooks.strands-tools]\n"
FUNCTION = 'from strands import tool\n\n\n@tool\ndef foo(text: str) -> str:\n    """Does foo."""\n    return text\n'
COMPUTED = module_source("foo").replace("'inputSchema': ", "'inputSchema': dict() or ")


def project(folder: Path, source: str, settings: str = "", *, value: str = "foo_tools.foo", root: str = "src") -> Path:
    package = folder / root / "foo_tools"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "foo.py").write_text(source)
    head = '[project]\nname = "strands-tool-foo"\nversion = "1.0"\n[project.entry-points."strands_cli.tools"]\n'
    (folder / "pyproject.toml").write_text(f'{head}foo = "{value}"\n{settings}')
    return folder


def checked(folder: Path) -> PluginCheck:
    return check_plugin(read_project(folder), twins=False)


def errors(done: PluginCheck) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for one in done.findings:
        if one.severity == "error":
            found.setdefault(str(one.code), []).append(one)
    return found


@pytest.mark.parametrize("source", [module_source("foo"), FUNCTION])
@pytest.mark.parametrize("root", ["src", "."])
def test_what_the_build_hook_would_make_is_checked(tmp_path: Path, source: str, root: str) -> None:
    value = "foo_tools.foo:foo" if source == FUNCTION else "foo_tools.foo"
    done = checked(project(tmp_path, source, HOOK, value=value, root=root))
    assert (done.tools, errors(done)) == (["foo"], {})
    assert "missing-hint" in {one.code for one in done.findings}


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"inputSchema": {"json": {"type": "objekt"}}}, "bad-manifest"),
        ({"annotations": {"readOnlyHint": "yes"}}, "bad-manifest"),
        ({"description": " "}, "no-description"),
        ({"strands_cli": {"capabilities": {"network": True}}}, "bad-capabilities"),
        ({"inputSchema": {"json": {"type": "object", "properties": []}}}, "bad-schema"),
    ],
)
@pytest.mark.parametrize("settings", [HOOK, ""])
def test_faults_in_the_code_are_found_at_their_line(tmp_path: Path, spec: Any, code: str, settings: str) -> None:
    done = checked(project(tmp_path, module_source("foo", **spec), settings))
    found = errors(done)
    assert code in found
    assert ("manifest-missing" in found) is (settings == "")
    assert all(one.where and one.where.file.endswith("foo.py") and one.where.line for one in found[code])


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("foo = 3\n", "foo_tools.foo:foo"),
        ("foo = ['a', 'b']\n", "foo_tools.foo:foo"),
        ("def foo(text):\n    return text\n", "foo_tools.foo:foo"),
        ("TOOL_SPEC = {'name': 'foo', 'description': 'x', 'inputSchema': {'json': {}}}\n", "foo_tools.foo"),
    ],
)
@pytest.mark.parametrize("settings", [HOOK, ""])
def test_what_can_be_no_tool_is_found_without_an_import(tmp_path: Path, source: str, value: str, settings: str) -> None:
    found = errors(checked(project(tmp_path, source, settings, value=value)))
    assert any("is not a tool" in one.message for one in found["not-a-tool"])


@pytest.mark.parametrize(
    ("settings", "fix"), [(HOOK, "import = true"), (HOOK + "import = true\n", "--import"), ("", "manifest --write")]
)
def test_what_only_loading_shows_is_never_passed_over(tmp_path: Path, settings: str, fix: str) -> None:
    found = errors(checked(project(tmp_path, COMPUTED, settings)))
    assert any(fix in (one.fix or "") for one in (*found.get("not-checked", ()), *found.get("manifest-missing", ())))


@pytest.mark.parametrize(
    ("settings", "root"),
    [
        ('[tool.poetry]\npackages = [{include = "foo_tools", from = "lib"}]\n', "lib"),
        ('[tool.uv.build-backend]\nmodule-root = "lib"\n', "lib"),
        ('[tool.setuptools.package-dir]\n"" = "lib"\n', "lib"),
        ('[tool.hatch.build.targets.wheel]\npackages = ["lib/foo_tools"]\n', "lib"),
        ('[build-system]\nbuild-backend = "flit_core.buildapi"\n', "."),
    ],
)
def test_the_packages_are_where_the_build_says(tmp_path: Path, settings: str, root: str) -> None:
    (tmp_path / "src").mkdir()  # of something else
    done = checked(project(tmp_path, module_source("foo"), settings, root=root))
    assert (done.tools, set(errors(done))) == (["foo"], {"manifest-missing"})


def test_entry_points_in_the_form_of_poetry_are_read(tmp_path: Path) -> None:
    folder = project(tmp_path, module_source("foo"))
    text = '[tool.poetry]\nname = "strands-tool-foo"\nversion = "1.0"\n[tool.poetry.plugins."strands_cli.tools"]\n'
    (folder / "pyproject.toml").write_text(f'{text}foo = "foo_tools.foo"\n')
    assert checked(folder).tools == ["foo"]


@pytest.mark.parametrize("made", ["", "setup.py", "foo.egg-info/PKG-INFO", "pyproject.toml"])
def test_a_folder_that_declares_nothing_is_an_error(tmp_path: Path, made: str) -> None:
    if made:
        (tmp_path / made).parent.mkdir(exist_ok=True)
        (tmp_path / made).write_text("")
    with pytest.raises(InvalidInput):
        read_project(tmp_path)
    assert run_program(["plugin", "check", str(tmp_path)]) == 3


def test_differences_are_listed_by_tool_up_to_a_limit(tmp_path: Path) -> None:
    properties = {f"p{number}": {"type": "string"} for number in range(200)}
    schema = {"inputSchema": {"json": {"type": "object", "properties": properties}}}
    folder = project(tmp_path, module_source("foo", **schema))
    write_manifests(read_project(folder))
    changed = {name: {"type": "integer"} for name in properties}
    (folder / "src/foo_tools/foo.py").write_text(
        module_source("foo", inputSchema={"json": {"type": "object", "properties": changed}})
    )
    for findings in (checked(folder).findings, check_manifests(read_project(folder))):
        drifts = [one for one in findings if one.code == "manifest-drift"]
        assert len(drifts) == 11
        assert "190" in drifts[-1].message


def test_what_does_not_load_is_named_by_its_entry_point(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        write_manifests(read_project(project(tmp_path, "foo = list('ab')\n", value="foo_tools.foo:foo")))
    (finding,) = raised.value.findings
    assert "'foo'" in finding.message


def test_a_tool_with_another_name_hides_no_other_finding(tmp_path: Path) -> None:
    made = project(tmp_path, module_source("other"), 'bee = "foo_tools.bee:bee"\ncat = "foo_tools.cat"\n')
    (tmp_path / "src" / "foo_tools" / "bee.py").write_text("bee = 3\n")
    (tmp_path / "src" / "foo_tools" / "cat.py").write_text(module_source("cat"))
    done = checked(made)
    assert errors(done).keys() == {"manifest-missing", "manifest-untrue", "not-a-tool"}
    assert done.tools == ["cat"]
