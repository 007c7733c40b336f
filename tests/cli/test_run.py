"""`strands run` in a pipe: stdout, stderr and the exit code."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.strands import EXAMPLES, Folder
from tests.wordings import Wording

QUICKSTART = EXAMPLES / "quickstart.yaml"
RUN_ID = r"\d{8}-\d{6}-[0-9a-f]{6}"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
WRITE = {"calls": [{"file_write": {"path": "note.txt", "content": "hello"}}]}
WRITER = {"writer": {"prompt": "You write.", "tools": ["native:file_write"]}}
ONE_STEP = [{"agent": "writer", "input": "Write."}]
GATE = {"type": "hitl", "prompt": "Publish?", "context_display": "{{ last_response }}"}


def test_stdout_is_exactly_the_response_and_all_else_is_on_stderr(folder: Folder) -> None:
    folder.examples()
    ran = folder.strands("run", "examples/quickstart.yaml")
    report = (folder.work / "artifacts" / "report.md").read_text()
    assert (ran.code, ran.out) == (0, report + "\n")
    assert "| **total** | **576.20** |" in ran.out
    assert re.match(rf"run {RUN_ID}: quickstart \(chain, 2 .*\)\n", ran.err), "the run's id comes first"
    assert re.search(r" artifacts/report\.md \(240 .*\)$", ran.err, re.MULTILINE)
    assert not CONTROL.search(ran.out + ran.err)


def test_an_artifact_that_exists_stops_the_second_run_before_its_first_call(folder: Folder) -> None:
    spec = folder.examples() / "quickstart.yaml"
    spec.write_text(spec.read_text().replace("overwrite: true", "overwrite: false"))
    folder.strands("run", "examples/quickstart.yaml", "--out", "there")
    report = folder.work / "there" / "report.md"
    report.write_text("mine")
    again = folder.strands("run", "examples/quickstart.yaml", "--out", "there")
    assert (again.code, again.out, report.read_text()) == (12, "", "mine")
    assert "error[artifact-exists]" in again.err
    assert "examples/quickstart.yaml:40:13" in again.err
    assert "--force" in again.err
    assert "run 2" not in again.err, "no run was started"
    assert len(list(folder.runs.iterdir())) == 1
    forced = folder.strands("run", "examples/quickstart.yaml", "--out", "there", "--force", "--quiet")
    assert (forced.code, forced.err) == (0, "")
    assert report.read_text().startswith("# Sales")


def test_the_quickstart_says_so_where_no_engine_holds(folder: Folder) -> None:
    spec = folder.examples() / "quickstart.yaml"
    engine = "{tool: native:python_exec, config: {engine: monty}}"
    spec.write_text(spec.read_text().replace("native:python_exec", engine))
    ran = folder.strands("run", "examples/quickstart.yaml", MONTY_BIN="/nowhere/monty")
    assert ran.code == 10
    assert re.search(r"'unavailable: python_exec .*: monty: ", ran.err)


def test_json_is_one_document(folder: Folder) -> None:
    folder.examples()
    ran = folder.strands("run", "examples/quickstart.yaml", "--json")
    assert ran.code == 0
    document = ran.document
    assert list(document) == [
        "format",
        "run",
        "workflow",
        "status",
        "response",
        "artifacts",
        "usage",
        "model_calls",
        "tool_calls",
        "cost_usd",
        "seconds",
        "denials",
        "failed_calls",
        "failures",
        "findings",
    ]
    assert (document["status"], document["model_calls"], document["tool_calls"]) == ("completed", 4, 2)
    assert document["artifacts"][0]["path"] == "artifacts/report.md"
    assert document["usage"] == {"input_tokens": 1533, "output_tokens": 285}


@pytest.mark.parametrize(
    ("arguments", "code", "finding"),
    [
        (["nowhere.yaml"], 2, "file-unreadable"),
        (["flow.yaml", "--var", "novalue"], 2, "bad-var"),
        (["flow.yaml", "--provider", "opnai"], 3, "unknown-provider"),
        (["flow.yaml", "--events", "-"], 2, None),
    ],
)
def test_json_is_one_document_also_where_no_run_starts(
    folder: Folder, arguments: list[str], code: int, finding: str | None
) -> None:
    folder.workflow(ONE_STEP)
    ran = folder.strands("run", *arguments, "--json")
    assert ran.code == code
    document = ran.document
    assert (document["run"], document["status"], document["error"]["exit_code"]) == (None, "failed", code)
    codes = [found["code"] for found in document["error"]["findings"]]
    assert codes == ([finding] if finding else [])
    assert not finding or f"error[{finding}]" in ran.err


def test_json_is_one_document_also_where_the_run_fails(folder: Folder) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [WRITE]}, agents=WRITER)
    ran = folder.strands("run", "flow.yaml", "--deny", "--json")
    assert ran.code == 10
    document = ran.document
    assert re.fullmatch(RUN_ID, document["run"])
    assert (document["status"], document["error"]["exit_code"]) == ("failed", 10)
    assert re.search(r"\b1 .*\bsteps\.0\b", document["error"]["message"])


def test_events_are_json_lines(folder: Folder) -> None:
    folder.examples()
    to_file = folder.strands("run", "examples/quickstart.yaml", "--events", "events.jsonl", "--out", "a")
    to_stdout = folder.strands("run", "examples/quickstart.yaml", "--events", "-", "--out", "b")
    lines = (folder.work / "events.jsonl").read_text().splitlines()
    names = [json.loads(line)["event"] for line in lines]
    assert (names[0], names[-1]) == ("RunStarted", "RunFinished")
    assert {"StepStarted", "ModelText", "ToolCallDecided", "ArtifactWritten"} <= set(names)
    assert [json.loads(line)["event"] for line in to_stdout.out.splitlines()] == names
    assert to_file.out.startswith("# Sales"), "the response is on stdout unless the events are there"


def test_events_that_cannot_be_written_stop_the_run_before_it_starts(folder: Folder) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [{"text": "hi"}]})
    ran = folder.strands("run", "flow.yaml", "--events", "no/such/folder/events.jsonl")
    assert ran.code == 12
    assert "no/such/folder/events.jsonl: No such file or directory" in ran.err
    assert not folder.runs.exists()


def test_verbose_shows_what_the_model_says_and_quiet_shows_findings_only(folder: Folder) -> None:
    folder.workflow(
        [*ONE_STEP, {"agent": "writer", "input": "Again."}],
        {"steps.0": [{"text": "one\ntwo"}], "steps.1": [{"text": "three"}]},
    )
    verbose = folder.strands("run", "flow.yaml", "--verbose")
    assert "  start steps.0  writer\n  > one\n  > two\n  done  steps.0" in verbose.err
    quiet = folder.strands("run", "flow.yaml", "--quiet")
    assert (quiet.code, quiet.out, quiet.codes) == (0, "three\n", ["lost-conversation"]), "findings are shown with -q"
    assert len(quiet.err.splitlines()) == 3, "one finding with its place and fix, and nothing else"


def test_a_response_reaches_a_pipe_exactly(folder: Folder) -> None:
    family = "\U0001f469‍\U0001f467 می‌خواهم \x1b[1mbold\x1b[0m é\ttab"
    folder.workflow(ONE_STEP, {"steps.0": [{"text": family}]})
    assert folder.strands("run", "flow.yaml", "--quiet").out == family + "\n"


def test_a_stdout_that_cannot_hold_a_letter_gets_it_escaped(folder: Folder) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [{"text": "neige é, snow ☃"}]})
    ran = folder.strands("run", "flow.yaml", "--quiet", PYTHONIOENCODING="ascii")
    assert (ran.code, ran.out) == (0, "neige \\xe9, snow \\u2603\n")
    document = folder.strands("run", "flow.yaml", "--json", "--quiet", PYTHONIOENCODING="ascii").document
    assert document["response"] == "neige é, snow ☃"


def test_json_escapes_what_a_terminal_would_act_on_and_half_characters(folder: Folder) -> None:
    folder.write(
        "flow.recording.yaml", '{"recording": 1, "steps": {"steps.0": [{"text": "a\\u202eb\\u009bc\\u00e9"}]}}'
    )
    spec = folder.workflow(ONE_STEP).read_text()
    folder.write(
        "flow.recording.yaml", '{"recording": 1, "steps": {"steps.0": [{"text": "a\\u202eb\\u200dc\\u00e9"}]}}'
    )
    ran = folder.strands("run", "-", "--json", "--quiet", given=spec)
    assert '"a\\u202eb\\u200dcé"' in ran.out
    assert ran.document["response"] == "a\u202eb\u200dcé"


def test_a_workflow_is_read_from_standard_input(folder: Folder) -> None:
    spec = folder.workflow(ONE_STEP, {"steps.0": [{"text": "hi"}]}).read_text()
    ran = folder.strands("run", "-", "--quiet", given=spec)
    assert (ran.code, ran.out) == (0, "hi\n")
    empty = folder.strands("run", "-")
    assert empty.code == 3
    assert "<stdin>" in empty.err


def test_a_call_that_is_to_be_denied_is_announced_denied_and_repeated(folder: Folder, wording: Wording) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [WRITE, {"text": "done"}]}, agents=WRITER)
    ran = folder.strands("run", "flow.yaml", "--deny")
    assert (ran.code, ran.out) == (21, ""), "the model was told, and nothing of the work was done"
    assert folder.record()["status"] == "failed"
    lines = ran.err.splitlines()
    assert "file_write" in lines[0]
    assert "--allow file_write" in lines[0]
    assert lines[1].startswith("run ")
    assert "  tool  steps.0  file_write  (denied, " in ran.err
    assert lines[-3].startswith("denied: file_write: ")
    assert lines[-2].startswith("error: every call of file_write ")
    assert re.match(r"  fix: strands runs rerun \S+ --from steps\.0 --allow file_write( |$)", lines[-1])
    wording(lines[-3:-1])
    assert not (folder.work / "note.txt").exists()
    quiet = folder.strands("run", "flow.yaml", "--deny", "--quiet")
    assert "denied: file_write" in quiet.err, "something was not done: also --quiet says so"


def test_denials_for_different_reasons_are_not_one_line(folder: Folder, wording: Wording) -> None:
    folder.write("policy.yaml", {"version": 1, "rules": [{"deny": "file_write(path=secrets/**)"}]})
    calls = [WRITE, {"calls": [{"file_write": {"path": "secrets/key", "content": "x"}}]}, WRITE, {"text": "done"}]
    folder.workflow(ONE_STEP, {"steps.0": calls}, agents=WRITER)
    ran = folder.strands("run", "flow.yaml", "--policy", "policy.yaml", "--deny")
    assert ran.code == 21, "no call was made, and a person could have allowed two of the three"
    wording([line for line in ran.err.splitlines() if line.startswith("denied: ")])
    assert folder.strands("resume", "last", "--fail-on-denied").code == 21
    denials = folder.strands("resume", "last", "--json").document["denials"]
    assert [(one["tool"], one["denied"], one["calls"], one["no_person"]) for one in denials] == [
        ("file_write", 2, 3, True),
        ("file_write", 1, 3, False),
    ]


def test_a_run_in_which_a_call_was_allowed_is_done(folder: Folder) -> None:
    other = {"calls": [{"file_write": {"path": "other.txt", "content": "x"}}]}
    folder.workflow(ONE_STEP, {"steps.0": [WRITE, other, {"text": "done"}]}, agents=WRITER)
    allowed = ["--deny", "--allow", "file_write(path=note.txt)"]
    assert folder.strands("run", "flow.yaml", *allowed).code == 0
    failed = folder.strands("run", "flow.yaml", *allowed, "--fail-on-denied", "--quiet")
    assert (failed.code, failed.out) == (21, ""), "any denied call fails the run"


@pytest.mark.parametrize("grant", [["--allow", "file_write"], ["--allow", "file_*"], ["--yes"], ["-y"]])
def test_what_the_command_line_allows_runs_without_asking(folder: Folder, grant: list[str]) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [WRITE, {"text": "done"}]}, agents=WRITER)
    ran = folder.strands("run", "flow.yaml", *grant)
    assert ran.code == 0
    assert "warning" not in ran.err
    assert (folder.work / "note.txt").read_text() == "hello"


def test_a_tool_of_which_some_calls_are_allowed_is_not_reported_as_denied(folder: Folder) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [WRITE, {"text": "done"}]}, agents=WRITER)
    ran = folder.strands("run", "flow.yaml", "--allow", "file_write(path=*.txt)")
    assert (ran.code, (folder.work / "note.txt").read_text()) == (0, "hello")
    assert "'file_write' that no rule allows" in ran.err


def test_rules_about_tools_that_come_during_the_run_are_no_mistakes(folder: Folder) -> None:
    permissions = {"permissions": {"ask": ["late:wipe"]}, "guardrails": {"allow_tools": ["late:*"]}}
    folder.workflow(ONE_STEP, {"steps.0": [{"text": "hi"}]}, agents=WRITER, security=permissions)
    folder.write("policy.yaml", {"version": 1, "rules": [{"ask": "late:load"}]})
    ran = folder.strands("run", "flow.yaml", "--allow", "late:wipe", "--policy", "policy.yaml")
    assert (ran.code, ran.codes) == (0, []), ran.err


def test_an_allow_that_speaks_of_no_tool_is_answered_with_the_name_that_was_meant(folder: Folder) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [{"text": "hi"}]}, agents=WRITER)
    for command in ("plan", "run"):
        ran = folder.strands(command, "flow.yaml", "--allow", "file_wirte")
        assert ran.code == 0
        assert ran.codes == ["unmatched-rule"]
        assert "--allow file_wirte" in ran.err
        assert re.search(r"^  fix: .*'file_write'", ran.err, re.MULTILINE)


@pytest.mark.parametrize("arguments", [[], ["--detach"], ["--yes"], ["--detach", "--json"]])
def test_a_gate_in_a_pipe_leaves_the_run_waiting(folder: Folder, arguments: list[str]) -> None:
    folder.workflow([*ONE_STEP, GATE], {"steps.0": [{"text": "A draft."}]})
    ran = folder.strands("run", "flow.yaml", *arguments)
    assert ran.code == 19
    assert "steps.1" in ran.err
    assert "Publish?" in ran.err
    (record,) = folder.runs.iterdir()
    assert f"strands approve {record.name} steps.1\n        strands reject {record.name} steps.1" in ran.err
    assert not re.search("^(error|  fix):", ran.err, re.MULTILINE), "a run that waits has not failed"
    assert str(record) in ran.err
    assert folder.record()["status"] == "waiting"
    if "--json" in arguments:
        assert (ran.document["status"], ran.document["error"]["exit_code"]) == ("waiting", 19)
    else:
        assert ran.out == ""


def test_with_detach_a_tool_call_that_asks_waits_too(folder: Folder) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [WRITE, {"text": "done"}]}, agents=WRITER)
    ran = folder.strands("run", "flow.yaml", "--detach")
    assert ran.code == 19
    assert re.search(r"^warning: calls of 'file_write' will wait .*: --allow file_write\)$", ran.err, re.MULTILINE)
    assert "denied" not in ran.err
    assert folder.record()["status"] == "waiting"
    assert not (folder.work / "note.txt").exists()


def test_a_tool_call_step_that_is_denied_fails_the_run_and_says_what_would_allow_it(folder: Folder) -> None:
    step = {"tool": "native:file_write", "input": {"path": "note.txt", "content": "hello"}}
    folder.workflow([step])
    waits = folder.strands("run", "flow.yaml")
    assert (waits.code, folder.record()["status"]) == (19, "waiting")
    denied = folder.strands("run", "flow.yaml", "--deny")
    assert denied.code == 21
    assert re.search(r"^warning: .*'file_write'", denied.err, re.MULTILINE)
    assert "--allow file_write" in denied.err
    allowed = folder.strands("run", "flow.yaml", "--allow", "file_write")
    assert allowed.code == 0
    assert (folder.work / "note.txt").read_text() == "hello"


def test_a_recording_is_written_and_plays_the_same_run(folder: Folder) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [WRITE, {"text": "done"}]}, agents=WRITER)
    first = folder.strands("run", "flow.yaml", "--yes", "--record", "again.yaml", "--quiet")
    spec = (folder.work / "flow.yaml").read_text().replace("flow.recording.yaml", "again.yaml")
    second = folder.strands("run", "-", "--yes", "--quiet", given=spec)
    assert (first.code, first.out) == (second.code, second.out) == (0, "done\n")
    kept = folder.strands("run", "flow.yaml", "--yes", "--record", "again.yaml")
    assert kept.code == 12, "a recording that exists is found before the first call"
    assert "run 2" not in kept.err
