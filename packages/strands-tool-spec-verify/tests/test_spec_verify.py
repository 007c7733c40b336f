"""A workflow that an agent has written is checked as `validate` and `plan` do, and nothing of it happens."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("strands_cli")

from strands_tool_spec_verify.spec_verify import spec_verify

SOUND = """\
version: 2
name: draft
runtime: {provider: replay, recording: said.yaml}
agents:
  writer: {prompt: You write.}
pattern: {type: chain, config: {steps: [{agent: writer, input: go}]}}
"""


def verify(text: str, folder: Path, **given: Any) -> dict[str, Any]:
    state = {"workspace": {"root": str(folder), "mounts": {}, "protected": []}}
    result = spec_verify({"toolUseId": "1", "input": {"spec_content": text, **given}}, strands_cli=state)
    assert result["status"] == "success", result
    answer: dict[str, Any] = result["content"][-1]["json"]
    answer["text"] = result["content"][0]["text"]
    return answer


def codes(answer: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in answer["findings"]]


@pytest.fixture(autouse=True)
def plain_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name.startswith("STRANDS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def test_a_sound_workflow_is_valid(tmp_path: Path) -> None:
    answer = verify(SOUND, tmp_path)
    assert (answer["valid"], answer["errors"], answer["findings"]) == (True, 0, [])
    assert "valid" in answer["text"]


def test_every_mistake_comes_with_its_place_and_a_fix(tmp_path: Path) -> None:
    answer = verify(SOUND.replace("prompt", "promt").replace("agent: writer", "agent: writter"), tmp_path)
    assert not answer["valid"]
    assert {"unknown-key", "unknown-agent"} <= set(codes(answer))
    mistyped = next(finding for finding in answer["findings"] if finding["code"] == "unknown-agent")
    assert (mistyped["line"], mistyped["column"]) == (6, 49)
    assert mistyped["pointer"] == "/pattern/config/steps/0/agent"
    assert "writer" in mistyped["fix"]
    assert "line 6" in answer["text"]


@pytest.mark.parametrize("text", ["{", "a: [", "\x00", "- 1", "version: 1\n---\nversion: 2\n", "&a [*a]", "\ud800"])
def test_what_is_not_a_workflow_is_an_answer_too(text: str, tmp_path: Path) -> None:
    assert not verify(text, tmp_path)["valid"]
    assert not verify(text, tmp_path, check_capability=True)["valid"]


def test_capability_is_looked_at_only_when_asked_for(tmp_path: Path) -> None:
    live = SOUND.replace("{provider: replay, recording: said.yaml}", "{provider: openai, model_id: m}")
    lacking = live.replace("You write.}", "You write., tools: [native:no_such_tool]}")
    assert verify(lacking, tmp_path)["valid"]
    answer = verify(lacking, tmp_path, check_capability=True)
    assert not answer["valid"]
    assert "unknown-tool" in codes(answer)
    assert any("OPENAI_API_KEY" in finding["message"] + str(finding["fix"]) for finding in answer["findings"])


READS_FILES = {
    "ref": SOUND.replace("{prompt: You write.}", "{$ref: PATH}"),
    "schema": SOUND.replace("You write.}", "You write., output_schema: PATH}"),
    "recording": SOUND.replace("said.yaml", "PATH"),
    "skill": SOUND + "skills: [{id: s, path: PATH}]\n",
    "workflow": SOUND.replace("You write.}", "You write., tools: ['workflow:PATH']}"),
}


@pytest.mark.parametrize("place", ["in.yaml", "../out.yaml", "link.yaml", "/etc/passwd", "missing.yaml"])
@pytest.mark.parametrize("kind", READS_FILES)
def test_no_file_that_the_text_names_is_read(kind: str, place: str, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "dir").mkdir(parents=True)
    for file in (folder / "in.yaml", tmp_path / "out.yaml"):
        file.write_text("- CANARY: [\n")
    (folder / "link.yaml").symlink_to("/etc/passwd")
    said = json.dumps(verify(READS_FILES[kind].replace("PATH", place), folder, check_capability=True))
    assert "CANARY" not in said
    assert "root:" not in said
    assert "file-not-read" in said or "bad-path" in said


@pytest.mark.parametrize("kind", READS_FILES)
def test_whether_a_file_exists_is_not_revealed(kind: str, tmp_path: Path) -> None:
    (tmp_path / "there.yaml").write_text("prompt: x\n")
    there = verify(READS_FILES[kind].replace("PATH", "there.yaml"), tmp_path, check_capability=True)
    absent = verify(READS_FILES[kind].replace("PATH", "absen.yaml"), tmp_path, check_capability=True)
    assert json.dumps(there).replace("there.yaml", "absen.yaml") == json.dumps(absent)
    unread = [finding for finding in there["findings"] if finding["code"] == "file-not-read"]
    assert unread
    assert all(finding["line"] and finding["severity"] == "warning" for finding in unread)
    assert there["valid"]
    summary = there["text"].partition("\n")[0]
    assert summary.count("; ") == 1, "what was not read qualifies the summary"


NAMES = {
    "mount": "env: {mounts: {m: PATH}}",
    "secret file": "env: {secrets: [{key: K, source: file, path: PATH}]}",
    "secret program": "env: {secrets: [{key: K, source: command, path: PATH}]}",
    "server": "tools: {mcp: [{id: s, command: PATH}]}",
    "notes": "context_policy: {notes: {file: notes/PATH}}",
}


@pytest.mark.parametrize("kind", NAMES)
def test_neither_are_other_files_and_programs(kind: str, tmp_path: Path) -> None:
    there, absent = ("/etc", "/etk") if kind == "mount" else ("/bin/sh", "/bin/no")
    texts = [f"{SOUND}{NAMES[kind]}\n".replace("PATH", path) for path in (there, absent)]
    answers = [verify(text, tmp_path, check_capability=True) for text in texts]
    assert json.dumps(answers[0]).replace(there, absent) == json.dumps(answers[1])


def test_nothing_of_the_text_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "was-run"
    (tmp_path / "evil.py").write_text(f"open({str(mark)!r}, 'w')\n")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho > {mark}\n")
    program.chmod(0o700)
    text = f"""{SOUND.replace("You write.}", "You write., tools: ['evil:run']}")}
env: {{secrets: [{{key: K, source: command, path: {program}}}]}}
tools: {{python: ['evil:run'], python_path: [.], mcp: [{{id: s, command: {program}}}]}}
"""
    for capability in (False, True):
        verify(text, tmp_path, check_capability=capability)
    assert not mark.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"evil.py", "program"}


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 10 ** 10 }}",
        "{% for i in range(10 ** 9) %}x{% endfor %}",
        "{{ 9 ** 9 ** 9 }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ ('a' * 40) | regex_search('(a+)+$b') }}",
    ],
)
def test_no_template_is_rendered(template: str, tmp_path: Path) -> None:
    step = f'{{agent: writer, input: "{template}", vars: {{v: "{template}"}}}}'
    artifact = f'outputs: {{artifacts: [{{path: "{template}", from: "{template}"}}]}}\n'
    text = SOUND.replace("steps: [{agent: writer, input: go}]", f"steps: [{', '.join([step] * 20)}]") + artifact
    start = time.process_time()
    answer = verify(text, tmp_path, check_capability=True)
    assert time.process_time() - start < 8, "rendered, each of them would take seconds, or the memory"
    assert "<class" not in json.dumps(answer)


@pytest.mark.hostile
def test_a_large_text_ends_soon_and_a_larger_one_is_refused(tmp_path: Path) -> None:
    steps = ", ".join(["{agent: writer, input: '{{ a }}'}"] * 3000)
    start = time.process_time()
    verify(SOUND.replace("{agent: writer, input: go}", steps), tmp_path, check_capability=True)
    assert time.process_time() - start < 20
    result = spec_verify({"toolUseId": "1", "input": {"spec_content": "x" * 1_000_001}})
    assert result["content"][-1]["json"]["error"]["code"] == "invalid_input"


@pytest.mark.parametrize(
    ("agent", "count"),
    [
        ("  a{0}: {{prompt: x, tols: []}}\n", (300, 0)),
        ("  a{0}: {{prompt: x}}\n", (0, 300)),
        ("  a{0}: {{prompt: x, prompt: y}}\n", (300, 300)),
    ],
)
def test_a_flood_of_findings_is_cut_and_counted(tmp_path: Path, agent: str, count: tuple[int, int]) -> None:
    agents = "".join(map(agent.format, range(300)))
    answer = verify(SOUND.replace("agents:\n", f"agents:\n{agents}"), tmp_path)
    assert len(answer["findings"]) == 100
    assert (answer["errors"], answer["warnings"]) == count
    assert "more" in answer["text"].splitlines()[-1]


def test_a_value_in_the_environment_is_never_revealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-canary")
    live = SOUND.replace("{provider: replay, recording: said.yaml}", "{provider: openai, model_id: m}")
    text = f"{live}env: {{secrets: [{{key: OPENAI_API_KEY}}]}}\n"
    assert "canary" not in json.dumps(verify(text, tmp_path, check_capability=True))


AUTHOR = """\
version: 2
name: author
runtime: {provider: replay, recording: author.recording.yaml}
agents:
  author: {prompt: You write workflows., tools: [native:spec_verify]}
pattern: {type: chain, config: {steps: [{agent: author, input: Write one.}]}}
"""


def test_an_agent_checks_what_it_has_written_and_corrects_it(tmp_path: Path) -> None:
    from strands_cli.api import Workflow
    from strands_cli.engine.journal.sqlite_journal import SqliteJournal

    drafts = [SOUND.replace("prompt", "promt"), SOUND]
    turns: list[Any] = [{"calls": [{"spec_verify": {"spec_content": draft}}]} for draft in drafts]
    recording = {"recording": 1, "steps": {"steps.0": [*turns, {"text": "It is valid."}]}}
    (tmp_path / "author.recording.yaml").write_text(json.dumps(recording))
    (tmp_path / "author.yaml").write_text(AUTHOR)
    result = Workflow.from_file(tmp_path / "author.yaml").run(runs_dir=tmp_path / "runs")
    journal = SqliteJournal.open(tmp_path / "runs" / result.run_id, hold=False)
    outputs = [row.output for row in journal.rows("tool")]
    journal.close()
    assert [output["status"] for output in outputs] == ["success", "success"]
    answers = [block["json"] for output in outputs for block in output["content"] if "json" in block]
    assert [answer["valid"] for answer in answers] == [False, True]
