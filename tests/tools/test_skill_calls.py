"""Skills: a tool gives the texts of a folder on demand; nothing outside it is read, and a resumed run has the same."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli import Workflow, app
from strands_cli.cli.commands.plan_command import plan_document, plan_text
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.errors import Denied, Finding, WaitingForPerson
from strands_cli.planning.environment import workspace_of
from strands_cli.planning.plan_values import Skills
from strands_cli.workflow.skill_folders import MAX_FILE_BYTES, MAX_FILES, MAX_FOLDER_BYTES
from tests.fakes.plans import definition_of
from tests.wordings import Wording

FRONT = "---\nname: tidy\ndescription: >\n  When a text\n  is untidy.\n---\n# Tidy\nSweep first.\n"
FLOW = """
version: 2
name: skilled
runtime: {provider: replay, recording: r.yaml}
skills: [SKILLS]
agents: {a: {prompt: p, ...}}
pattern: {type: chain, config: {steps: [{agent: a, input: go}]}}
"""


def write(folder: Path, **files: str | bytes) -> Path:
    for name, text in {"SKILL_md": FRONT, **files}.items():
        path = folder / name.replace("__", "/").replace("_md", ".md").replace("_bin", ".bin")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def flow(tmp_path: Path, skills: str = "{id: tidy, path: tidy}", agent: str = "") -> Path:
    file = tmp_path / "flow.yaml"
    file.write_text(FLOW.replace("SKILLS", skills).replace(", ...", f", {agent}" if agent else ""))
    return file


def called(tmp_path: Path, *calls: dict[str, Any], skills: str = "{id: tidy, path: tidy}") -> list[Any]:
    """Let an agent call the tool, and return the results as the record has them."""
    turns = [{"calls": [{"Skill": arguments} for arguments in calls]}, {"text": "done"}]
    (tmp_path / "r.yaml").write_text(json.dumps({"recording": 1, "steps": {"steps.0": turns}}))
    result = Workflow.from_file(flow(tmp_path, skills)).run(runs_dir=tmp_path / "runs")
    return [row.output for row in rows_of(tmp_path / "runs" / result.run_id)]


def rows_of(directory: Path) -> list[Row]:
    journal = SqliteJournal.open(directory, hold=False)
    try:
        return list(journal.rows("tool"))
    finally:
        journal.close()


def texts(results: list[Any]) -> list[str]:
    return [block["text"] for result in results for block in result["content"] if "text" in block]


def found(tmp_path: Path, skills: str = "{id: tidy, path: tidy}") -> list[Finding]:
    return list(app.check(flow(tmp_path, skills)))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: done}]}")


def test_an_agent_loads_the_text_and_then_files_of_the_folder(tmp_path: Path, wording: Wording) -> None:
    write(tmp_path / "tidy", how__deep_md="Dust.", notes_md="\ufeffPlain.")
    first, second, third, fourth = texts(
        called(
            tmp_path,
            {"skill_id": "tidy"},
            {"skill_id": "tidy", "file": "how/deep.md"},
            {"skill_id": "tidy", "file": "./how/../notes.md"},
            {"skill_id": "tidy", "file": "how\\deep.md"},
        )
    )
    text, _, listed = first.rpartition("\n\n")
    assert text == "# Tidy\nSweep first."
    assert listed.endswith("how/deep.md, notes.md")
    wording(listed)
    assert (second, third, fourth) == ("Dust.", "Plain.", "Dust.")


def test_a_model_is_shown_the_ids_and_what_the_front_matter_says(tmp_path: Path) -> None:
    write(tmp_path / "tidy")
    write(tmp_path / "quiet")
    skills = "{id: tidy, path: tidy}, {id: quiet, path: quiet, preload_metadata: false}, {id: own, path: tidy, "
    plan = app.plan(flow(tmp_path, skills + "description: When I say so.}"))
    (tool,) = plan.agents["a"].tools
    assert tool.record is not None
    assert str(tool.record.description).splitlines()[1:] == [
        "- tidy: When a text is untidy.",
        "- quiet",
        "- own: When I say so.",
    ]
    assert tool.record.input_schema is not None
    assert tool.record.input_schema["properties"]["skill_id"]["enum"] == ["tidy", "quiet", "own"]
    assert tool.decision.effect == "allow"


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        ("", ["Skill"]),
        ("tools: []", ["Skill"]),
        ("tools: [Skill]", ["Skill"]),
        ("tools: [{tool: Skill, as: load}]", ["load"]),
        ("tools: [python]", ["Skill"]),
        ("skills: []", []),
        ("tools: [Skill], skills: []", []),
    ],
)
def test_every_agent_has_it_unless_it_has_no_skills(tools: str, names: list[str], tmp_path: Path) -> None:
    write(tmp_path / "tidy")
    plan = app.plan(flow(tmp_path, agent=tools))
    assert [tool.name for tool in plan.agents["a"].tools] == names
    assert list(plan.findings) == []


def test_a_step_may_load_a_skill_and_a_rule_may_deny_it(tmp_path: Path, wording: Wording) -> None:
    write(tmp_path / "tidy")
    file = flow(tmp_path)
    step = "{tool: Skill, input: {skill_id: tidy}}"
    file.write_text(file.read_text().replace("{agent: a, input: go}", step))
    (tmp_path / "r.yaml").write_text("recording: 1\nsteps: {}")
    assert Workflow.from_file(file).run(runs_dir=tmp_path / "runs").response.startswith("# Tidy")
    file.write_text(f"{file.read_text()}security: {{permissions: {{deny: [Skill]}}}}\n")
    with pytest.raises(Denied) as raised:
        Workflow.from_file(file).run(runs_dir=tmp_path / "runs")
    wording(raised.value)


OUTSIDE = [
    "../secret.txt",
    "/etc/passwd",
    "how/../../secret.txt",
    "..",
    "C:\\secret.txt",
    "..\\secret.txt",
    "link.md",
    "folder/passwd",
    "./.env",
    ".env",
    "%2e%2e/secret.txt",
    "\u2025/secret.txt",
    "x.bin",
    "fifo",
    ".git/config",
    "tidy\u0000.md",
    ".",
]


@pytest.mark.skipif(sys.platform == "win32", reason="links and FIFOs need POSIX")
def test_no_path_leads_to_anything_else(tmp_path: Path) -> None:
    folder = write(tmp_path / "tidy", x_bin=b"PNG\0\xff")
    (tmp_path / "secret.txt").write_text("CANARY")
    (folder / ".env").write_text("CANARY")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("CANARY")
    (folder / "link.md").symlink_to(tmp_path / "secret.txt")
    (folder / "folder").symlink_to("/etc")
    os.mkfifo(folder / "fifo")
    results = called(tmp_path, *({"skill_id": "tidy", "file": path} for path in OUTSIDE))
    assert {result["status"] for result in results} == {"error"}
    errors = [block["json"]["error"] for result in results for block in result["content"] if "json" in block]
    assert {error["code"] for error in errors} == {"invalid_input"}
    assert [error["details"]["reason"] for error in errors[:4]] == ["outside"] * 4
    assert "CANARY" not in json.dumps(results)
    assert "root:" not in json.dumps(results)


def test_an_unknown_skill_or_file_is_an_error_that_says_what_there_is(tmp_path: Path, wording: Wording) -> None:
    write(tmp_path / "tidy", notes_md="Plain.")
    none, close, other = texts(
        called(
            tmp_path,
            {"skill_id": "tidi"},
            {"skill_id": "tidy", "file": "note.md"},
            {"skill_id": "tidy", "file": "quite-another"},
        )
    )
    assert "tidy" in none
    wording(close)
    wording(other)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("none", "missing-skill"),
        ("empty", "missing-skill"),
        ("file.md", "missing-skill"),
        ("lower", "missing-skill"),
        ("linked", "missing-skill"),
        ("binary", "missing-skill"),
        ("latin", "missing-skill"),
        ("huge", "missing-skill"),
        ("..", "bad-path"),
        ("/etc", "bad-path"),
        ("out", "bad-path"),
        ("a\\0b", "bad-path"),
    ],
)
def test_a_folder_that_cannot_be_used_is_found_where_it_is_written(
    path: str, code: str, wording: Wording, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.md").write_text("x")
    write(tmp_path / "lower").joinpath("SKILL.md").rename(tmp_path / "lower" / "skill.md")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "SKILL.md").symlink_to("/etc/passwd")
    write(tmp_path / "binary", SKILL_md=b"\0\1")
    write(tmp_path / "latin", SKILL_md="\u00e9".encode("latin-1"))
    write(tmp_path / "huge", SKILL_md="x" * (MAX_FILE_BYTES + 1))
    (tmp_path / "out").symlink_to("/usr")
    findings = found(tmp_path, f'{{id: s, path: "{path}"}}')
    assert [finding.code for finding in findings] == [code]
    wording(f"{findings[0].message} {findings[0].fix}")
    assert findings[0].where is not None
    assert (findings[0].where.line, findings[0].where.pointer) == (5, "/skills/0/path")


def test_what_is_too_much_is_left_out_with_a_notice(tmp_path: Path) -> None:
    big = "x" * (MAX_FILE_BYTES + 1)
    write(tmp_path / "tidy", a_md=big, b_md="short")
    (finding,) = found(tmp_path)
    assert (finding.code, finding.severity) == ("skill-too-large", "warning")
    assert "a.md" in finding.message
    for number in range(MAX_FOLDER_BYTES // MAX_FILE_BYTES + 1):
        (tmp_path / "tidy" / f"c{number}.md").write_text("y" * MAX_FILE_BYTES)
    (tool,) = app.plan(flow(tmp_path)).agents["a"].tools
    assert isinstance(definition_of(tool), Skills)
    kept = definition_of(tool).folders[0].texts
    assert sum(map(len, kept.values())) <= MAX_FOLDER_BYTES
    assert "b.md" in kept
    for number in range(MAX_FILES + 5):
        (tmp_path / "tidy" / f"d{number}.md").write_text("z")
    (tool,) = app.plan(flow(tmp_path)).agents["a"].tools
    assert isinstance(definition_of(tool), Skills)
    assert len(definition_of(tool).folders[0].texts) <= MAX_FILES + 1


@pytest.mark.parametrize("front", ["---\na: [\n---\nText.", "---\n- list\n---\n", "No front matter.", "---\nopen"])
def test_front_matter_that_tells_nothing_is_a_warning(front: str, tmp_path: Path) -> None:
    write(tmp_path / "tidy", SKILL_md=front)
    findings = found(tmp_path)
    assert {(finding.code, finding.severity) for finding in findings} == {("no-effect", "warning")}
    plain = found(tmp_path, "{id: tidy, path: tidy, preload_metadata: false}")
    assert plain == (findings[: len(plain)])
    assert len(plain) == ("[" in front), "text that is not YAML is a fault whatever is shown of it"
    assert found(tmp_path, "{id: tidy, path: tidy, description: d}") == []


def test_a_resumed_run_has_the_texts_with_which_it_began(tmp_path: Path) -> None:
    folder = write(tmp_path / "tidy", notes_md="As it was.")
    file = flow(tmp_path)
    asking = "{type: hitl, prompt: Well?}, {agent: a, input: go}"
    file.write_text(file.read_text().replace("{agent: a, input: go}", asking))
    turns = [{"calls": [{"Skill": {"skill_id": "tidy", "file": "notes.md"}}]}, {"text": "done"}]
    (tmp_path / "r.yaml").write_text(json.dumps({"recording": 1, "steps": {"steps.1": turns}}))
    with pytest.raises(WaitingForPerson):
        Workflow.from_file(file).run(runs_dir=tmp_path / "runs")
    shutil.rmtree(folder)
    write(folder, notes_md="As it is now.", more_md="More.")
    (record,) = (tmp_path / "runs").iterdir()
    Workflow.resume(record.name, answer=lambda question: "yes", runs_dir=tmp_path / "runs")
    assert texts([row.output for row in rows_of(record)]) == ["As it was."]
    shutil.rmtree(folder)


def test_what_agents_load_is_not_theirs_to_change(tmp_path: Path) -> None:
    write(tmp_path / "tidy", notes_md="Plain.")
    protected = workspace_of(app.plan(flow(tmp_path)))["protected"]
    assert {str(tmp_path / "tidy" / "SKILL.md"), str(tmp_path / "tidy" / "notes.md")} <= set(protected)


def test_other_texts_are_another_plan(tmp_path: Path) -> None:
    write(tmp_path / "tidy")
    before = app.plan(flow(tmp_path)).digest
    write(tmp_path / "tidy", SKILL_md="Other.")
    assert app.plan(flow(tmp_path)).digest != before


def test_a_plan_shows_the_skills_and_their_files(tmp_path: Path) -> None:
    write(tmp_path / "tidy", notes_md="Plain.")
    plan = app.plan(flow(tmp_path))
    assert "skill tidy: SKILL.md, notes.md" in plan_text(plan)
    assert plan_document(plan)["agents"][0]["tools"][0]["skills"] == {"tidy": ["SKILL.md", "notes.md"]}


def test_a_workflow_that_is_a_tool_has_its_own_skills_and_keeps_them(tmp_path: Path) -> None:
    sub = tmp_path / "sub"
    write(sub / "tidy", SKILL_md="Inner.")
    inner = FLOW.replace("SKILLS", "{id: tidy, path: tidy, description: d}").replace(", ...", "")
    inner = inner.replace("{agent: a, input: go}", "{tool: Skill, input: {skill_id: tidy}}")
    (sub / "sub.yaml").write_text(inner)
    (sub / "r.yaml").write_text("recording: 1\nsteps: {}")
    file = tmp_path / "outer.yaml"
    steps = '{type: hitl, prompt: Well?}, {tool: "workflow:sub/sub.yaml", input: {}}'
    outer = FLOW.replace("skills: [SKILLS]\n", "").replace(", ...", "").replace("{agent: a, input: go}", steps)
    file.write_text(outer)
    (tmp_path / "r.yaml").write_text("recording: 1\nsteps: {}")
    with pytest.raises(WaitingForPerson):
        Workflow.from_file(file).run(runs_dir=tmp_path / "runs")
    write(sub / "tidy", SKILL_md="Changed.")
    (record,) = (tmp_path / "runs").iterdir()
    result = Workflow.resume(record.name, answer=lambda question: "yes", runs_dir=tmp_path / "runs")
    assert result.response == "Inner."
