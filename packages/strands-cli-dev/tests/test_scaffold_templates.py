"""What `strands plugin new` makes builds a wheel with everything in it, which is listed without being imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from strands_cli.catalog.catalog import discover_catalog
from strands_cli_dev.plugin_new.new_flow import NewFlow, make_flow
from strands_cli_dev.plugin_new.new_plugin import FORMS, NewPlugin, make_plugin
from strands_cli_dev.plugin_new.plugin_name import name_plugin

pytestmark = pytest.mark.wheels


@pytest.fixture(scope="module", params=FORMS)
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the source distribution, with the hatchling of this environment."""
    project = make_plugin(NewPlugin(name_plugin("word_count"), request.param), tmp_path_factory.mktemp("made"))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list((project / "dist").glob("*.tar.gz"))) == 1
    (built,) = (project / "dist").glob("*.whl")
    return built


def test_the_wheel_has_the_manifest_the_entry_point_and_the_license(wheel: Path) -> None:
    assert wheel.name == "strands_tool_word_count-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        home = "strands_tool_word_count-0.1.0.dist-info"
        package = {"__init__.py", "word_count.py", "py.typed", "strands_tools.json"}
        assert {f"strands_tool_word_count/{name}" for name in package} <= names
        assert f"{home}/licenses/LICENSE" in names
        assert {name.partition("/")[0] for name in names} == {"strands_tool_word_count", home}
        assert "word_count" in archive.read(f"{home}/entry_points.txt").decode()
        manifest = json.loads(archive.read("strands_tool_word_count/strands_tools.json"))
        assert manifest["distribution"] == "strands-tool-word-count"


def test_the_installed_wheel_is_listed_without_import(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    catalog = discover_catalog([str(tmp_path)])
    tool = catalog.get("word_count")
    assert catalog.findings == ()
    assert tool is not None
    assert (tool.status, tool.distribution, tool.version) == ("available", "strands-tool-word-count", "0.1.0")
    assert not [name for name in sys.modules if name.startswith("strands_tool_word_count")]


@pytest.fixture(scope="module", params=["module", "workflow"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    if request.param == "workflow":
        return make_flow(NewFlow("bees"), folder)
    return make_plugin(NewPlugin(name_plugin("word_count"), request.param), folder)


def commands_of_ci(project: Path) -> list[str]:
    """Return what CI runs before it publishes, without the installation and with the hatchling of this environment."""
    document = yaml.safe_load((project / ".github/workflows/publish.yml").read_text(encoding="utf-8"))
    install, *commands = [step["run"] for step in document["jobs"]["build"]["steps"] if "run" in step]
    assert install.startswith("python -m pip install ")
    return [command.replace("python -m build", "python -m hatchling build") for command in commands]


def run_in(project: Path, command: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-c", command], cwd=project, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )


def test_a_new_project_passes_what_its_ci_file_runs(project: Path) -> None:
    commands = commands_of_ci(project)
    assert [command.split()[0] for command in commands] == [
        "validate-pyproject",
        "strands",
        "python",
        "twine",
        "check-wheel-contents",
    ]
    for command in commands:
        done = run_in(project, command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    ("file", "old", "new", "failing"),
    [
        ("pyproject.toml", "Typing :: Typed", "Typing :: Untyped", "validate-pyproject"),
        ("src/strands_tool_word_count/strands_tools.json", '"hello"', "7", "strands"),
        ("pyproject.toml", 'readme = "README.md"\n', "", "twine"),
        ("pyproject.toml", 'packages = ["src/', 'packages = ["tests", "src/', "check-wheel-contents"),
    ],
)
def test_each_command_of_the_ci_file_finds_what_it_is_for(
    file: str, old: str, new: str, failing: str, tmp_path: Path
) -> None:
    project = make_plugin(NewPlugin(name_plugin("word_count"), "module"), tmp_path)
    text = (project / file).read_text(encoding="utf-8")
    assert old in text
    (project / file).write_text(text.replace(old, new), encoding="utf-8")
    commands = commands_of_ci(project)
    stopped = next((command for command in commands if run_in(project, command).returncode), "")
    assert stopped.split()[:1] == [failing]


def test_only_the_job_that_publishes_may_ask_for_an_identity_and_it_runs_nothing_of_the_project(project: Path) -> None:
    document = yaml.safe_load((project / ".github/workflows/publish.yml").read_text(encoding="utf-8"))
    build, publish = document["jobs"]["build"], document["jobs"]["publish"]
    assert (document["permissions"], build["permissions"]) == ({}, {"contents": "read"})
    assert publish["permissions"] == {"id-token": "write"}
    assert [step.get("run") for step in publish["steps"]] == [None, None]
