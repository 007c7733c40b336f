"""Artifacts stay in the folder that the person chose, whatever a stranger has put into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.strands import Folder

STEP = [{"agent": "writer", "input": "go"}]
TURNS = {"steps.0": [{"text": "export PATH=/tmp"}]}


def flow(folder: Folder, *paths: str) -> None:
    artifacts = [{"path": path, "from": "{{ last_response }}"} for path in paths]
    folder.workflow(STEP, TURNS, outputs={"artifacts": artifacts})


def files_below(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


@pytest.mark.parametrize("leads_to", ["../home", ".", "nowhere"])
def test_a_link_called_artifacts_is_not_followed(folder: Folder, leads_to: str) -> None:
    home = folder.root / "home"
    home.mkdir()
    (folder.work / "artifacts").symlink_to(leads_to)
    flow(folder, ".bash_profile", "notes.md")
    before = files_below(folder.work)
    for command in ("plan", "run"):
        ran = folder.strands(command, "flow.yaml", *(["--trace"] if command == "run" else []))
        assert (ran.code, ran.codes) == (12, ["artifact-outside"]), ran.err
    assert (files_below(home), files_below(folder.work)) == ([], before)


def test_a_link_that_appears_while_the_run_continues_is_not_followed(folder: Folder) -> None:
    home = folder.root / "home"
    home.mkdir()
    folder.tool("linker", f"import os\nos.symlink({str(home)!r}, 'artifacts')\nreturn answer('done')")
    turns = {"steps.0": [{"calls": [{"linker": {"text": "x"}}]}, {"text": "done"}]}
    agents = {"writer": {"prompt": "You write.", "tools": ["native:linker"]}}
    folder.workflow(STEP, turns, agents=agents, outputs={"artifacts": [{"path": "a", "from": "{{ last_response }}"}]})
    ran = folder.strands("run", "flow.yaml", "--trace")
    assert ran.code == 12, ran.err
    assert files_below(home) == []


@pytest.mark.parametrize(
    "path",
    [".git/hooks/post-checkout", "strands-policy.yaml", "STRANDS.lock", "a/.github/x.yml", ".bashrc", "link/hooks/x"],
)
def test_with_out_the_names_that_programs_obey_are_protected(folder: Folder, path: str) -> None:
    (folder.work / ".git").mkdir()
    (folder.work / "link").symlink_to(".git")
    flow(folder, path)
    before = files_below(folder.work)
    for command in ("plan", "run"):
        ran = folder.strands(command, "flow.yaml", "--out", ".", "--force")
        assert (ran.code, ran.codes) == (12, ["artifact-outside"]), ran.err
    assert files_below(folder.work) == before


def test_a_protected_name_that_only_the_run_knows_is_refused_when_it_is_written(folder: Folder) -> None:
    flow(folder, "{{ 'strands-policy.yaml' if last_response else 'x' }}")
    ran = folder.strands("run", "flow.yaml", "--out", ".")
    assert ran.code == 12, ran.err
    assert not (folder.work / "strands-policy.yaml").exists()


def test_in_the_default_folder_and_with_other_names_artifacts_are_written(folder: Folder) -> None:
    flow(folder, "project/conftest.py", "project/.github/ci.yml")
    assert folder.strands("run", "flow.yaml").code == 0
    assert files_below(folder.work / "artifacts") == ["project/.github/ci.yml", "project/conftest.py"]
    flow(folder, "project/notes.md")
    assert folder.strands("run", "flow.yaml", "--out", ".").code == 0
    assert (folder.work / "project" / "notes.md").is_file()


def test_notes_are_not_written_to_what_programs_obey(folder: Folder) -> None:
    (folder.work / ".git").mkdir()
    (folder.work / "link").symlink_to(".git")
    before = files_below(folder.work)
    for name in (".git/hooks/post-checkout", "link/x", "strands-policy.yaml", "conftest.py"):
        folder.workflow(STEP, TURNS, context_policy={"notes": {"file": name}})
        ran = folder.strands("run", "flow.yaml")
        assert (ran.code, ran.codes) == (3, ["notes-outside"]), ran.err
    assert set(files_below(folder.work)) == {*before, "flow.yaml", "flow.recording.yaml"}
