"""Wheels of every distribution, installed in a clean environment without the source tree, list, plan and run."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.golden import check_golden
from tests.wheels.clean import CLONE, PACKAGES, SITE, Clean

pytestmark = pytest.mark.wheels


def declared_tools() -> dict[str, str]:
    """Return every first-party tool with its distribution, as the manifests in the tree declare them."""
    tools = {}
    for path in CLONE.glob("packages/strands-tool-*/src/*/strands_tools.json"):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        tools |= {tool["name"]: manifest["distribution"] for tool in manifest["tools"]}
    return tools


def test_each_distribution_builds_one_wheel_with_what_it_needs_and_no_more(wheels: list[Path]) -> None:
    assert len(wheels) == 1 + len(PACKAGES)
    for wheel in wheels:
        names = zipfile.ZipFile(wheel).namelist()
        package = wheel.name.split("-")[0]
        assert {name.split("/")[0] for name in names} == {package, f"{package}-{wheel.name.split('-')[1]}.dist-info"}
        assert f"{package}/py.typed" in names
        assert any(name.endswith("licenses/LICENSE") for name in names), wheel.name
        assert not [name for name in names if "__pycache__" in name or "/tests/" in name]
        with_tools = package.replace("_", "-") in declared_tools().values()
        assert (f"{package}/strands_tools.json" in names) == with_tools
    assert {path.name for path in PACKAGES} - set(declared_tools().values()) == {"strands-tool-kit"}


def test_the_installed_program_is_the_wheel_and_not_the_tree(clean: Clean) -> None:
    program = "import strands_cli, sys; print(strands_cli.__file__, *sys.path, sep='\\n')"
    where = clean.run("python", "-I", "-c", program).stdout
    assert where.startswith(str(clean.scripts.parent))
    assert str(CLONE / "src") not in where


def test_the_clean_environment_has_what_is_declared_and_no_more(clean: Clean) -> None:
    present = clean.run("python", "-I", "-c", "import sys, strands, typer; print(*sys.path)").stdout
    assert str(SITE) not in present
    clean.run("python", "-I", "-c", "import hypothesis", code=1)
    clean.run("python", "-I", "-c", "import openai", code=1)


def test_both_console_scripts_answer(clean: Clean) -> None:
    assert clean.run("strands", "--version").stdout == clean.run("strands-cli", "--version").stdout
    assert "Usage" in clean.run("strands", "--help").stdout


def test_the_wheels_list_every_first_party_tool_as_available(clean: Clean) -> None:
    listed = json.loads(clean.run("strands", "list-tools", "--json").stdout)
    assert {tool["name"]: tool["distribution"] for tool in listed["tools"]} == declared_tools()
    assert {tool["status"] for tool in listed["tools"]} == {"available"}
    assert listed["findings"] == []


def test_the_listing_of_a_clean_install_of_all_wheels_is_pinned(clean: Clean) -> None:
    listed = json.loads(clean.run("strands", "list-tools", "--json").stdout)
    site = {tool["source"]["path"] for tool in listed["tools"]}
    assert len(site) == 1
    text = json.dumps(listed, indent=2, ensure_ascii=False).replace(site.pop(), "SITE")
    check_golden("list-tools-clean.json", f"{text}\n")


def test_listing_the_sources_points_into_the_installed_wheels(clean: Clean) -> None:
    sources = clean.run("strands", "list-tools", "--source").stdout
    assert str(clean.scripts.parent) in sources
    assert str(CLONE / "packages") not in sources


def test_the_quickstart_validates_plans_and_runs_from_wheels(clean: Clean) -> None:
    quickstart = str(clean.folder / "examples" / "quickstart.yaml")
    clean.run("strands", "validate", quickstart)
    clean.run("strands", "plan", quickstart)
    before = files(clean.folder)
    clean.run("strands", "run", quickstart)
    assert files(clean.folder) - before, "the run left an artifact"


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}
