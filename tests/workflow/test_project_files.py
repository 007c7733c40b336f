"""A workflow names files anywhere in its project, and nothing outside it, links included."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli import app
from strands_cli.yaml_files.document_reader import FileSnapshot

AGENT = "prompt: You help.\n"
FLOW = "version: 2\nname: t\nruntime: {{provider: ollama, model_id: m}}\nagents: {{a: {{{agent}}}}}\n{rest}\n"
CHAIN = "pattern: {type: chain, config: {steps: [{agent: a, input: go}]}}"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a workflow in `flows`, beside which there are files; the working directory is elsewhere."""
    root = tmp_path / "home" / "project"
    for name in ("flows", "agents", "skills/tidy", "elsewhere"):
        (root / name).mkdir(parents=True)
    for name in ("agents/one.yaml", ".env", "id_rsa", "../outside.yaml"):
        (root / name).write_text(AGENT)
    (root / "schema.json").write_text('{"type": "object"}')
    (root / "skills/tidy/SKILL.md").write_text("---\ndescription: d\n---\nTidy.")
    (root / "flows/sub.yaml").write_text(FLOW.format(agent="$ref: ../agents/one.yaml", rest=CHAIN))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(root / "elsewhere")
    (root / ".git").write_text("gitdir: of a work tree")
    return root


def codes(project: Path, agent: str = "$ref: ../agents/one.yaml", rest: str = "", folder: str = "flows") -> list[str]:
    file = project / folder / "flow.yaml"
    file.write_text(FLOW.format(agent=agent, rest=f"{rest}\n{CHAIN}"))
    return [one.code for one in app.plan(file).findings if one.severity == "error"] if _valid(file) else _errors(file)


def _valid(file: Path) -> bool:
    return app.load(file).valid is not None


def _errors(file: Path) -> list[str]:
    return [one.code for one in app.load(file).findings if one.severity == "error"]


def test_agents_schemas_skills_and_workflows_may_lie_beside_the_folder(project: Path) -> None:
    assert codes(project) == []
    assert codes(project, "$ref: ../agents/one.yaml, output_schema: ../schema.json") == []
    assert codes(project, rest="skills: [{id: tidy, path: ../skills/tidy}]") == []
    assert codes(project, "prompt: p, tools: ['workflow:../flows/sub.yaml']", folder="agents") == []


@pytest.mark.parametrize(
    "path", ["../../outside.yaml", "../../../../../../etc/passwd", "/etc/passwd", "../.env", "../id_rsa", "../.git"]
)
def test_what_is_outside_or_may_hold_credentials_is_refused_at_its_line(project: Path, path: str) -> None:
    assert codes(project, f"$ref: {path}") == ["bad-path"]
    assert codes(project, f"prompt: p, output_schema: {path}") == ["bad-path"]
    assert codes(project, rest=f"skills: [{{id: x, path: {path}}}]") == ["bad-path"]
    where = app.load(project / "flows/flow.yaml").findings[0].where
    assert where is not None
    assert where.line == 5


@pytest.mark.parametrize("target", ["../../outside.yaml", "../.env"])
def test_links_are_followed_before_the_check(project: Path, target: str) -> None:
    (project / "flows/link.yaml").symlink_to(Path(target))
    (project / "agents/link.yaml").symlink_to(Path(target))
    (project / "flows/folder").symlink_to(project.parent, target_is_directory=True)
    assert codes(project, "$ref: link.yaml") == ["bad-path"]
    assert codes(project, "$ref: ../agents/link.yaml") == ["bad-path"]
    assert codes(project, "$ref: folder/outside.yaml") == ["bad-path"]
    (project / "flows/inside.yaml").symlink_to(project / "agents/one.yaml")
    assert codes(project, "$ref: inside.yaml") == []


def test_a_folder_behind_a_link_has_the_files_beside_its_target(project: Path) -> None:
    assert codes(project) == []
    here = project / "elsewhere"
    (here / "linked").symlink_to(project / "flows", target_is_directory=True)
    (here / "agents").mkdir()
    (here / "agents/one.yaml").write_text("prompt: Another one.")
    for folder in ("linked", "../flows"):
        spec = app.load(Path(folder, "flow.yaml")).spec
        assert spec is not None
        assert spec.agents["a"].prompt == "You help."
    (project / "agents/one.yaml").write_text("prompt: You help.\nnope: 1")
    shown = [one.where.file for one in app.load("../flows/flow.yaml").findings if one.where]
    assert shown == ["../agents/one.yaml"]


def test_without_a_repository_the_working_directory_is_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".git").unlink()
    assert codes(project) == ["bad-path"]
    monkeypatch.chdir(project)
    assert codes(project) == []
    monkeypatch.chdir(project / "flows")
    assert codes(project) == ["bad-path"]


def test_a_folder_that_contains_the_home_directory_cannot_be_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (project.parent, project.parent.parent):
        (place / ".git").mkdir()
    (project / ".git").unlink()
    assert codes(project, "$ref: ../../outside.yaml") == ["bad-path"]
    monkeypatch.chdir(project.parent)
    assert codes(project, "$ref: ../../outside.yaml") == ["bad-path"]


def test_a_stored_run_has_its_files_wherever_it_is_continued(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".git").unlink()
    monkeypatch.chdir(project)
    assert codes(project, rest="skills: [{id: tidy, path: ../skills/tidy}]") == []
    file = project / "flows/flow.yaml"
    stored = app.plan(file).files
    monkeypatch.chdir(project / "elsewhere")
    (project / "agents/one.yaml").write_text("prompt: changed")
    loaded = app.load(file, file.read_text(), FileSnapshot(file.parent, stored))
    assert loaded.findings == ()
    assert loaded.spec is not None
    assert loaded.spec.agents["a"].prompt == "You help."


def test_a_skill_shares_no_file_that_may_hold_credentials(project: Path) -> None:
    for name in ("SKILL.md", "words.md", "server.pem", "id_rsa"):
        (project / name).write_text("text")
    file = project / "flows/flow.yaml"
    assert codes(project, rest="skills: [{id: all, path: .., description: d}]") == []
    shared = {Path(name).relative_to(project).as_posix() for name in app.plan(file).files}
    assert shared == {
        *("SKILL.md", "words.md", "schema.json", "agents/one.yaml"),
        *("flows/flow.yaml", "flows/sub.yaml", "skills/tidy/SKILL.md"),
    }
