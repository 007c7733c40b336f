"""`strands plugin new NAME --form workflow`: a package with nothing to find fault with, which overwrites nothing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from flow_kit import EXAMPLES, found_in, make_bees

from strands_cli.cli.program import run_program
from strands_cli.errors import UsageError
from strands_cli_dev.plugin_new.new_flow import name_flow


def new(folder: Path, name: str, *more: str) -> int:
    return run_program(["plugin", "new", name, "--form", "workflow", "--directory", str(folder), *more])


def test_what_is_made_has_nothing_to_find_fault_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert new(tmp_path, "Bee_Count", "--author", 'Jo "Doe" Ünsal', "--json") == 0
    document = json.loads(capsys.readouterr().out)
    project = tmp_path / "strands-flow-bee-count"
    assert (document["distribution"], document["workflow"]) == (project.name, "bee-count")
    assert {Path(name).relative_to(project).as_posix() for name in document["made"]} == {
        ".github/workflows/publish.yml",
        ".gitignore",
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "src/strands_flow_bee_count/__init__.py",
        "src/strands_flow_bee_count/workflows/bee-count.yaml",
        "src/strands_flow_bee_count/workflows/bee-count.recording.yaml",
        "src/strands_flow_bee_count/workflows/reader.yaml",
        "tests/test_bee_count.py",
    }
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert settings["authors"] == [{"name": 'Jo "Doe" Ünsal'}]
    assert settings["entry-points"] == {
        "strands_cli.workflows": {"bee-count": "strands_flow_bee_count:workflows"},
        "strands_cli.agents": {"reader": "strands_flow_bee_count:workflows"},
    }
    assert found_in(project) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    project = make_bees(tmp_path)
    (project / "README.md").write_text("mine", encoding="utf-8")
    assert new(tmp_path, "bees") == 2
    assert (project / "README.md").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("typed", "name"), [("bees", "bees"), ("strands-flow-bees", "bees"), ("Bee_Count", "bee-count"), ("a.b c", "a-b-c")]
)
def test_a_name_in_another_spelling_is_converted(typed: str, name: str) -> None:
    assert name_flow(typed) == name


@pytest.mark.parametrize("typed", ["", "1bee", "bee/../x", "-", "true", "reader", "bée", "x" * 51, "strands-flow-"])
def test_a_name_that_cannot_be_one_is_refused_with_one_that_can(typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        name_flow(typed)
    words = str(caught.value.fix).split()
    assert name_flow(words[words.index("new") + 1])


@pytest.mark.parametrize("name", ["strands-flow-your-triage", "strands-flow-your-minutes"])
def test_the_example_packages_have_nothing_to_find_fault_with(name: str) -> None:
    assert found_in(EXAMPLES / name) == []
