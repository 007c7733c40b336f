"""`strands plugin check` of a workflow package: each spoiled copy fails exactly the check that is meant."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from flow_kit import AGENT, PACKAGE, WORKFLOW, edit, findings_of, found_in, make_bees

from strands_cli.cli.program import run_program
from strands_cli_dev.plugin_check import folder_files
from strands_cli_dev.plugin_check.plugin_project import find_installed, read_project
from strands_cli_dev.plugin_check.whole_plugin import check_plugin

Spoil = Callable[[Path], object]
KEY = "sk-proj-" + "a1B2c3D4" * 4


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bees(tmp_path_factory.mktemp("sound"))


@pytest.fixture
def bees(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "bees"))


def changed(file: str, old: str, new: str) -> Spoil:
    return lambda project: edit(project / file, old, new)


def written(file: str, content: bytes) -> Spoil:
    def spoil(project: Path) -> None:
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_bytes(content)

    return spoil


def linked(name: str, target: str) -> Spoil:
    return lambda project: (project / PACKAGE / name).symlink_to(target)


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (
            changed("pyproject.toml", '"strands_flow_bees:workflows"', '"strands_flow_bees.workflows"'),
            "bad-packaged",
        ),
        (changed("pyproject.toml", '"strands_flow_bees:workflows"', '"strands_flow_bees:../x"'), "bad-packaged"),
        (changed("pyproject.toml", '"strands_flow_bees:workflows"', '"strands_flow_bees:/etc"'), "bad-packaged"),
        (changed("pyproject.toml", '"strands_flow_bees:workflows"', '"strands_flow_bees:flows"'), "bad-packaged"),
        (changed("pyproject.toml", '"strands_flow_bees:workflows"', '"other:workflows"'), "missing-module"),
        (changed("pyproject.toml", "strands_cli.agents", "strands_cli.skills"), "package-empty"),
        (changed("pyproject.toml", '"strands-flow-bees"', '"bees"'), "plugin-name"),
        (written(f"{PACKAGE}/other.yaml", b"name: \xff\xfe"), "not-utf8"),
        (written(f"{PACKAGE}/other.yaml", b"a: [1"), "not-yaml"),
        (changed(WORKFLOW, "pattern:", "patern:"), "package-empty"),
        (changed(WORKFLOW, "agent: writer", "agent: poet"), "unknown-agent"),
        (changed(WORKFLOW, "$ref: reader.yaml", "$ref: absent.yaml"), "file-unreadable"),
        (changed(f"{PACKAGE}/bees.recording.yaml", "steps.1:", "steps.7:"), "bad-recording"),
        (changed(AGENT, "minLength: 1", "minLength: few"), "bad-schema"),
        (changed(WORKFLOW, "agents:\n", "tools: {python: [native:nothing_of_this_name]}\nagents:\n"), "unknown-tool"),
        (linked("passwd.yaml", "/etc/passwd"), "package-link"),
        (linked("up", "../../.."), "package-link"),
        (linked("gone", "/absent/file"), "package-link"),
        (written(f"{PACKAGE}/.env", b"A=1"), "package-secret"),
        (written(f"{PACKAGE}/notes.md", b"first\nuse " + KEY.encode()), "package-secret"),
        (written(f"{PACKAGE}/large.txt", b"x" * (folder_files.MAX_FILE_BYTES + 1)), "package-too-large"),
        (written(f"{PACKAGE}/{'d/' * 15}deep.txt", b"x"), "package-too-large"),
    ],
)
def test_what_is_wrong_is_found(bees: Path, spoil: Spoil, code: str) -> None:
    spoil(bees)
    assert code in {found for _, found in found_in(bees)}


def test_a_folder_with_ten_thousand_files_is_refused_after_a_few(bees: Path) -> None:
    for number in range(10_000):
        (bees / PACKAGE / f"{number}.txt").touch()
    assert ("error", "package-too-large") in found_in(bees)


def test_a_named_pipe_is_reported_and_not_opened(bees: Path) -> None:
    os.mkfifo(bees / PACKAGE / "pipe.yaml")
    assert found_in(bees) == [("error", "package-link")]


def test_a_link_inside_the_folder_is_a_file_as_any(bees: Path) -> None:
    (bees / PACKAGE / "again.txt").symlink_to("bees.yaml")
    assert found_in(bees) == []


def test_a_file_outside_of_the_folder_is_not_there_when_it_is_installed(bees: Path) -> None:
    (bees / ".git").mkdir()
    shutil.move(bees / AGENT, bees / "src" / "strands_flow_bees" / "reader.yaml")
    edit(
        bees / "pyproject.toml",
        '[project.entry-points."strands_cli.agents"]\nreader = "strands_flow_bees:workflows"',
        "",
    )
    edit(bees / WORKFLOW, "reader.yaml", "../reader.yaml")
    (found,) = findings_of(bees)
    assert (found.code, found.severity) == ("package-outside", "error")


def test_a_secret_is_named_by_its_line_and_never_shown(bees: Path) -> None:
    written(f"{PACKAGE}/notes.md", b"first\nuse " + KEY.encode())(bees)
    (found,) = findings_of(bees)
    assert found.where is not None
    assert found.where.line == 2
    assert KEY not in str(found)


@pytest.mark.parametrize("text", ["a task-force of risk_management", "eyJ is the start", "sk-learn and hf_hub"])
def test_plain_words_are_not_secrets(bees: Path, text: str) -> None:
    written(f"{PACKAGE}/notes.md", text.encode())(bees)
    assert found_in(bees) == []


def test_a_tool_that_the_package_does_not_require_is_warned_about(bees: Path) -> None:
    edit(bees / WORKFLOW, "agents:\n", "tools: {python: [native:calculator]}\nagents:\n")
    assert ("warning", "package-requires") in found_in(bees)
    edit(bees / "pyproject.toml", "dependencies = []", 'dependencies = ["strands-tool-calculator>=0.1"]')
    assert "package-requires" not in {code for _, code in found_in(bees)}


def test_the_keys_of_this_machine_do_not_count(bees: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    edit(bees / WORKFLOW, "provider: replay ", "provider: openai\n  model_id: gpt-4.1-mini #")
    assert {code for _, code in found_in(bees)} <= {"no-effect"}


def test_an_installed_package_is_checked_by_its_name_without_an_import(
    bees: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site"
    shutil.copytree(bees / "src", site)
    (site / "strands_flow_bees" / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    home = site / "strands_flow_bees-0.1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text("Metadata-Version: 2.4\nName: strands-flow-bees\nVersion: 0.1.0\n", encoding="utf-8")
    (home / "entry_points.txt").write_text(
        "[strands_cli.workflows]\nbees = strands_flow_bees:workflows\n"
        "[strands_cli.agents]\nreader = strands_flow_bees:workflows\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(site))
    done = check_plugin(find_installed("strands-flow-bees"))
    assert done.findings == []
    assert done.folders is not None
    assert (list(done.folders.workflows), list(done.folders.agents)) == (["bees"], ["reader"])
    assert run_program(["plugin", "check", "strands-flow-bees", "--no-tests", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["workflows"], document["agents"], document["tests"]) == (["bees"], ["reader"], [])
    assert "strands_flow_bees" not in sys.modules


def test_a_package_may_have_tools_and_workflows(bees: Path) -> None:
    project = read_project(bees)
    assert project.source.tools == {}
    assert sorted(group for group, _, _ in project.source.points) == ["strands_cli.agents", "strands_cli.workflows"]
