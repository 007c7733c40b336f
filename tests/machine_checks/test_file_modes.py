"""The doctor names every file that a run obeys and somebody else can change, and every secret that others can read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from strands_cli.config import Settings
from strands_cli.hooks.hook_values import Check
from strands_cli.machine_checks import file_modes as modes
from strands_cli.machine_checks.file_modes import check_modes
from tests.wordings import Wording

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no modes of files")

WORKFLOW = """\
version: 2
name: t
runtime: {provider: ollama, model_id: m}
env:
  secrets: [{key: TOKEN, source: file, path: token.txt}]
agents: {a: {prompt: p}}
pattern: {type: chain, config: {steps: [{agent: a, input: x}]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder in which everything is as it should be."""
    (made := tmp_path / "work").mkdir()
    for name in ("strands-policy.yaml", "strands.lock", "token.txt", "flow.yaml"):
        (made / name).write_text(WORKFLOW if name == "flow.yaml" else "x")
        (made / name).chmod(0o600)
    (tmp_path / "runs").mkdir(mode=0o700)
    (tmp_path / "site").mkdir(mode=0o755)
    return made


def look(folder: Path, **more: str) -> list[Check]:
    settings = Settings(folder.parent / "runs")
    return list(check_modes(settings, folder, [str(folder.parent / "site"), "/nowhere"], **more))


def test_where_no_other_user_can_change_anything_one_line_says_so(folder: Path, wording: Wording) -> None:
    (line,) = look(folder)
    assert line.status == "ok"
    assert "7" in line.message
    wording(line.message)


@pytest.mark.parametrize(
    "name",
    ["work/strands-policy.yaml", "work/strands.lock", "work/flow.yaml", "work/token.txt", "work", "runs", "site"],
)
def test_what_every_user_can_write_to_is_a_warning(folder: Path, name: str, wording: Wording) -> None:
    (place := folder.parent / name).chmod(0o777 if place.is_dir() else 0o606)
    (line,) = look(folder)
    assert line.status == "warning"
    assert str(place) in line.message
    assert ("'TOKEN'" in line.message) == (name == "work/token.txt")
    wording(line.message)
    assert line.fix is not None
    assert str(place) in line.fix


def test_a_folder_in_which_only_owners_delete_is_in_order(folder: Path) -> None:
    (folder.parent / "site").chmod(0o1777)
    assert [line.status for line in look(folder)] == ["ok"]


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_secret_that_others_can_read_is_a_warning_without_its_value(
    folder: Path, mode: int, wording: Wording
) -> None:
    (secret := folder / "token.txt").write_text("hunter2")
    secret.chmod(mode)
    (line,) = look(folder)
    assert (line.status, line.fix) == ("warning", f"chmod 600 {secret}")
    assert f"'TOKEN', {secret}" in line.message
    wording(line.message)
    assert "hunter2" not in repr(line)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_another_user_is_a_warning(folder: Path, wording: Wording) -> None:
    os.chown(folder / "strands.lock", 4242, -1)
    (line,) = look(folder)
    assert "4242" in line.message
    wording(line.message)


def test_a_workflow_that_is_not_sound_hides_nothing_else(folder: Path) -> None:
    (folder / "bad.yaml").write_text("agents: [\n")
    (folder / "odd.json").write_bytes(b"\xff")
    (folder / "strands.lock").chmod(0o602)
    assert [line.status for line in look(folder)] == ["warning"]


def test_a_folder_of_data_is_not_read_through(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "flow.yaml").chmod(0o602)
    assert [line.status for line in look(folder)] == ["warning"]
    monkeypatch.setattr(modes, "LARGEST", 10)
    assert [line.status for line in look(folder)] == ["ok"]
    monkeypatch.setattr(modes, "LARGEST", 1000)
    monkeypatch.setattr(modes, "MOST", 0)
    assert [line.status for line in look(folder)] == ["ok"]


def test_a_system_without_modes_is_not_judged(folder: Path, wording: Wording) -> None:
    (folder / "strands.lock").chmod(0o602)
    (line,) = look(folder, platform="win32")
    assert line.status == "ok"
    assert str(folder) not in line.message
    wording(line.message)
