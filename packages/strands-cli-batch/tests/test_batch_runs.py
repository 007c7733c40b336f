"""A batch among other runs: listed, shown, answered, deleted and pruned, with its rows as runs of their own."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from batch_kit import OUT, STEPS, Rows

from strands_cli.cli.commands.plugin_commands import built_command
from strands_cli_batch.batch_group import batch_app
from tests.cli.strands import Ran
from tests.fakes.model_server import ModelServer, Turn

GATE = [*STEPS, {"type": "hitl", "prompt": "Publish {{ topic }}?"}]


def runs(rows: Rows, *words: str) -> Any:
    return rows.strands("runs", "list", *words, "--json").document


def ids(rows: Rows, *words: str) -> list[str]:
    return [run["id"] for run in runs(rows, *words)["runs"]]


def test_a_list_of_runs_has_a_batch_as_one_line_and_its_rows_where_they_are_asked_for(rows: Rows) -> None:
    rows.csv("bees", "ants")
    batch = rows.id_of(rows.batch())
    listed = runs(rows)
    assert [(run["id"], run["pattern"]) for run in listed["runs"]] == [(batch, "batch")]
    assert listed["hidden_parts"] == 2
    shown = rows.strands("runs", "list")
    assert f"{batch}." not in shown.out
    assert "strands runs list --parts" in shown.err
    assert sorted(ids(rows, "--parts", "flow")) == sorted(line["run"] for line in rows.lines())
    assert ids(rows, "--status", "completed") == [batch]
    rows.strands("run", "flow.yaml", "--var", "topic=bees")
    assert len(ids(rows)) == 2


def test_rows_that_wait_are_listed_and_answered_like_runs_and_then_collected(rows: Rows) -> None:
    rows.flow(GATE)
    rows.csv("bees", "ants", "moths")
    ran = rows.batch("--json")
    assert (ran.code, ran.document["rows"]["waiting"]) == (19, 3)
    lines = rows.lines()
    assert [line["questions"][0]["prompt"] for line in lines] == [f"Publish {t}?" for t in ("bees", "ants", "moths")]
    assert sorted(ids(rows, "--status", "waiting")) == sorted([ran.document["batch"], *(one["run"] for one in lines)])
    # The commands are there, ready to be copied.
    status = rows.strands("batch", "status", "flow").out
    for line in lines:
        for command in line["questions"][0]["commands"]:
            assert command in status
    approve = lines[0]["questions"][0]["commands"][0].split()[1:]
    assert rows.strands(*approve).code == 0
    assert rows.strands("reject", lines[1]["run"], "--reason", "no").code == 10
    assert rows.strands("approve", lines[2]["run"], "--no-resume").code == 0
    document = rows.strands("batch", "status", "flow", "--json").document
    assert document["rows"] | {"completed": 1, "failed": 1, "waiting": 0, "left": 1} == document["rows"]
    assert rows.strands("batch", "resume", "flow").code == 10
    assert [line["status"] for line in rows.lines()] == ["completed", "failed", "completed"]
    assert set(rows.asked.values()) == {1}
    assert runs(rows, "--status", "waiting")["runs"] == []


@pytest.mark.parametrize(
    ("words", "options"),
    [("resume", []), ("approve", []), ("reject", []), ("runs rerun", ["--from", "steps.0"])],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_commands_of_runs_say_that_it_is_a_batch_and_which_command_is_meant(
    rows: Rows, words: str, options: list[str]
) -> None:
    rows.csv("bees")
    batch = rows.id_of(rows.batch())
    ran = rows.strands(*words.split(), batch, *options)
    assert ran.code == 2
    assert f"fix: strands batch resume {batch}" in ran.err
    line = rows.lines()[0]["run"]
    for command in ("status", "resume", "cancel"):
        ran = rows.strands("batch", command, line)
        assert (ran.code, batch in ran.err) == (17, True)


def test_a_batch_is_shown_as_what_its_rows_have_come_to(rows: Rows) -> None:
    rows.model.failing = {"ants"}
    rows.csv("bees", "ants", "moths")
    batch = rows.id_of(rows.batch())
    shown = rows.strands("runs", "show", batch, "--json").document
    assert (shown["id"], shown["command"], shown["parts"]) == (batch, "batch", {"completed": 2, "failed": 1})
    assert f"strands batch status {batch}" in rows.strands("runs", "show", batch).out
    document = rows.strands("batch", "status", batch, "--json").document
    assert (document["status"], document["rows_file"], document["choices"]["concurrency"]) == ("failed", "rows.csv", 4)
    (failure,) = document["failures"]
    assert (failure["count"], failure["runs"]) == (1, [rows.lines()[1]["run"]])
    shown = rows.strands("runs", "show", failure["runs"][0])
    assert shown.code == 0


def test_last_is_the_newest_run_or_batch_and_never_a_row(rows: Rows) -> None:
    rows.csv("bees")
    alone = rows.strands("run", "flow.yaml", "--var", "topic=ants", "--json").document["run"]
    batch = rows.id_of(rows.batch())
    assert rows.strands("runs", "show", "last", "--json").document["id"] == batch
    later = rows.strands("run", "flow.yaml", "--var", "topic=ants", "--json").document["run"]
    assert rows.strands("runs", "show", "last", "--json").document["id"] == later != alone


def test_a_batch_goes_with_its_rows_when_it_is_deleted_or_pruned(rows: Rows) -> None:
    rows.csv("bees", "ants")
    rows.batch()
    rows.batch("--again", "-o", "again.jsonl")
    pruned = rows.strands("runs", "prune", "--older-than", "0h", "--dry-run", "--json").document
    assert sorted(pruned["deleted"]) == sorted(ids(rows)), "rows go with their batch"
    (gone,) = (one for one in ids(rows) if one.startswith("flow-2-"))
    ran = rows.strands("runs", "delete", gone, "--json")
    assert (ran.code, ran.document["deleted"]) == (0, [gone])
    assert not list(rows.folder.runs.glob("flow-2-*"))
    assert len(list(rows.folder.runs.glob("flow-*"))) == 3
    assert rows.strands("runs", "prune", "--older-than", "0h").code == 0
    assert not list(rows.folder.runs.glob("flow-*"))
    assert rows.batch().code == 0
    assert rows.asked == {"bees": 3, "ants": 3}, "what is deleted is done again"


def test_a_stored_batch_continues_from_any_directory_and_without_its_files(rows: Rows, tmp_path: Path) -> None:
    rows.flow(outputs={"artifacts": [{"path": "a.txt", "from": "{{ last_response }}"}]})
    rows.csv("bees", "ants", "moths")
    assert rows.batch("--concurrency", "1", "--budget", "max_tokens=10").code == 20
    for name in ("rows.csv", "flow.yaml"):
        (rows.folder.work / name).unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ran: Ran = rows.folder.strands(
        *("batch", "resume", "flow", "--budget", "max_tokens=900"),
        cwd=elsewhere,
        OPENAI_API_KEY="any",
        OPENAI_BASE_URL=rows.server.url,
    )
    assert ran.code == 0, ran.err
    assert rows.responses() == ["BEES", "ANTS", "MOTHS"]
    assert len(list((rows.folder.work / "artifacts").glob("*/a.txt"))) == 3
    assert rows.strands("batch", "status", "nothing").code == 17


def test_denied_calls_are_reported_and_wait_where_questions_may(rows: Rows) -> None:
    rows.folder.tool("note", "return answer('noted')", annotations={"readOnlyHint": False})
    calls = [{"tool": "native:note", "input": {"text": "{{ topic }}"}}]
    rows.flow(calls)
    rows.csv("bees")
    ran = rows.batch("--deny")
    assert ran.code == 21, ran.err
    (line,) = rows.lines()
    assert (line["status"], line["error"]["exit_code"]) == ("failed", 21)
    assert "--allow note" in ran.err
    ran = rows.batch("-o", "waiting.jsonl")
    assert ran.code == 19, "another batch, since more may happen in it"
    (line,) = rows.lines("waiting.jsonl")
    assert rows.strands("approve", line["run"]).code == 0
    assert rows.batch("--allow", "note", "-o", "allowed.jsonl").code == 0


def test_rows_that_wait_go_on_with_what_a_resumed_batch_allows_or_denies(rows: Rows) -> None:
    rows.folder.tool("note", "return answer('noted')", annotations={"readOnlyHint": False})
    rows.flow([{"tool": "native:note", "input": {"text": "{{ topic }}"}}])
    rows.csv("bees", "ants")
    assert rows.batch().code == 19
    assert rows.strands("batch", "resume", "last").code == 19, "nothing new is allowed"
    denied = rows.strands("batch", "resume", "last", "--deny", "--json", "-o", OUT)
    assert (denied.code, denied.document["rows"]["failed"]) == (21, 2)
    assert rows.strands("batch", "retry", "last", "--failed", "--allow", "note").code == 0
    assert [line["status"] for line in rows.lines(OUT)] == ["completed", "completed"]


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("topic\nbees\nants,3\n", True),
        ("topic,count\nbees,many\nants,3\n", True),
        ("topic,nosuch\nbees,1\n", False),
        ("topic,nosuch\nbees,1\nants\n", False),
    ],
)
def test_the_fix_of_rows_that_cannot_be_used_names_the_option_where_it_helps(
    rows: Rows, text: str, is_named: bool
) -> None:
    rows.flow(inputs={"required": {"topic": "string"}, "optional": {"count": "integer"}})
    rows.folder.write("rows.csv", text)
    ran = rows.batch()
    assert (ran.code, "--skip-bad-rows" in ran.err) == (3, is_named), ran.err
    assert rows.batch("--skip-bad-rows").code == (0 if is_named else 3)


def note_and_tell(request: dict[str, Any]) -> Turn:
    """Call the tool where there is one, then repeat the last message."""
    last = request["messages"][-1]
    if request.get("tools") and last["role"] != "tool":
        return Turn(calls=[("note", {"text": "x"})])
    return Turn(re.findall(r"noted|denied|About \w+", json.dumps(last))[-1])


@pytest.mark.parametrize("asked", ["--deny", ""], ids=["denied by an option", "denied by a rule"])
def test_the_printed_command_does_what_was_denied_in_failed_rows_and_what_follows(rows: Rows, asked: str) -> None:
    rows.folder.tool("note", "return answer('noted')", annotations={"readOnlyHint": False})
    agents = {"writer": {"prompt": "x", "tools": ["native:note"]}, "reader": {"prompt": "x", "tools": []}}
    outputs = {"artifacts": [{"path": "a.txt", "from": "{{ last_response }}"}]}
    steps = [
        {"agent": "writer", "input": "About {{ topic }}"},
        {"agent": "reader", "input": "Read: {{ last_response }}"},
    ]
    rule = rows.folder.write("rules.yaml", 'version: 1\nrules: [{deny: "note(text=x)"}]\n')
    rows.flow(steps, agents=agents, outputs=outputs)
    rows.csv("bees", "ants")
    options = [asked] if asked else ["--policy", str(rule), "--fail-on-denied"]
    with ModelServer(note_and_tell) as rows.server:
        ran = rows.batch(*options)
        assert (ran.code, rows.responses()) == (21, [None, None]), ran.err
        line = re.findall(r"strands (batch retry .*)", ran.err)[-1].split()
        for row in rows.lines():
            assert row["error"]["fix"].split("strands ")[1].split()[: len(line)] == line, "one advice everywhere"
        if asked:
            assert rows.strands("batch", "retry", "last", "--failed").code == 21, "nothing new is allowed"
        else:
            rule.write_text("version: 1\nrules: [{allow: note}]\n")
        fixed = rows.strands(*line)
    assert (fixed.code, rows.responses()) == (0, ["noted", "noted"]), fixed.err
    assert len(list((rows.folder.work / "artifacts").glob("*/a.txt"))) == 2
    assert rows.lines()[0]["model_calls"] == (9 if asked else 6), "what was paid for before counts"


def test_a_row_that_a_person_has_refused_asks_again_when_failed_rows_are_run_again(rows: Rows) -> None:
    rows.flow([{"type": "hitl", "prompt": "About {{ topic }}?"}])
    rows.csv("bees")
    assert rows.batch().code == 19
    (run,) = [line["run"] for line in rows.lines()]
    refused = rows.strands("reject", run, "--json")
    assert (refused.code, refused.document["status"]) == (10, "failed")
    retried = rows.strands(*re.findall(r"strands (batch retry .*)", rows.batch().err)[-1].split())
    assert (retried.code, rows.lines()[0]["status"]) == (19, "waiting"), retried.err
    assert rows.strands("approve", run).code == 0
    assert (rows.batch().code, rows.responses()) == (0, ["approved"])


@pytest.mark.terminals
def test_the_reader_of_the_results_may_stop(rows: Rows) -> None:
    rows.csv(*(f"topic {number}" for number in range(50)))
    environ = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": rows.server.url}
    line = "strands batch flow.yaml rows.csv --concurrency 1 2> said.txt | head -1; echo ${PIPESTATUS[0]}"
    ran = rows.folder.run(["bash", "-c", line.replace("strands", str(strands()), 1)], **environ)
    first, code = ran.out.splitlines()
    assert (json.loads(first)["response"], code) == ("TOPIC 0", "141")
    assert "strands batch resume" in (rows.folder.work / "said.txt").read_text()
    assert len(rows.asked) < 50
    assert rows.batch().code == 0
    assert len(rows.lines(OUT)) == 50
    assert set(rows.asked.values()) <= {1, 2}


@pytest.mark.terminals
def test_a_reader_that_stops_after_the_last_row_is_not_an_error_as_for_a_run(rows: Rows) -> None:
    rows.csv("bees", "ants")
    environ = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": rows.server.url}
    assert rows.batch().code == 0
    line = f"{strands()} batch flow.yaml rows.csv | true; echo ${{PIPESTATUS[0]}}"
    ran = rows.folder.run(["bash", "-c", line], **environ)
    assert ran.out == "0\n", ran.err
    assert set(rows.asked.values()) == {1}


@pytest.mark.parametrize(("word", "meant"), [("stauts", "status"), ("cancle", "cancel"), ("retyr", "retry")])
def test_a_word_that_is_nearly_a_command_is_not_read_as_a_workflow(rows: Rows, word: str, meant: str) -> None:
    ran = rows.strands("batch", word, "flow")
    assert ran.code == 2
    assert f"`strands batch {meant} flow`" in ran.err
    rows.csv("bees")
    (rows.folder.work / word).write_bytes((rows.folder.work / "flow.yaml").read_bytes())
    assert rows.strands("batch", word, "rows.csv", "-o", OUT).code == 0


@pytest.mark.terminals
def test_the_results_may_go_to_a_pipe_that_has_a_name_of_the_shell(rows: Rows) -> None:
    rows.csv("bees", "ants")
    environ = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": rows.server.url}
    line = f"{strands()} batch flow.yaml rows.csv -q -o >(cat); echo $?"
    ran = rows.folder.run(["bash", "-c", line], **environ)
    assert sorted(ran.out.splitlines())[0] == "0"
    assert [json.loads(one)["response"] for one in ran.out.splitlines() if one != "0"] == ["BEES", "ANTS"]


def test_a_retry_that_names_nothing_is_a_document_too(rows: Rows) -> None:
    ran = rows.strands("batch", "retry", "flow", "--json")
    assert (ran.code, ran.document["error"]["fix"]) == (2, "strands batch retry flow --failed")


@pytest.mark.terminals
def test_a_run_whose_directory_is_gone_says_how_to_continue_it(rows: Rows) -> None:
    rows.flow(GATE)
    there = rows.folder.work / "not here"
    there.mkdir()
    environ = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": rows.server.url}
    start = f"cd 'not here' && {strands()} run ../flow.yaml --var topic=bees --detach -q"
    assert rows.folder.run(["bash", "-c", start], **environ).code == 19
    there.rmdir()
    refused = rows.strands("approve", "last", "--json")
    assert refused.code == 17
    fix = refused.document["error"]["fix"].partition(",")[0]
    assert rows.folder.run(["bash", "-c", fix]).code == 0
    assert rows.strands("approve", "last").code == 0


def strands() -> Path:
    from tests.warm import STRANDS

    return Path(STRANDS)


def test_people_are_notified_of_the_batch_and_not_of_each_row(rows: Rows) -> None:
    config = rows.folder.root / "home" / ".config" / "strands-cli" / "config.yaml"
    config.parent.mkdir(parents=True)
    told = rows.folder.root / "told.jsonl"
    program = rows.folder.write("tell.py", f"import sys\nopen({str(told)!r}, 'a').write(sys.stdin.read() + '\\n')\n")
    target = {"command": [sys.executable, str(program)], "on": ["waiting", "failed", "completed"]}
    config.write_text(json.dumps({"version": 1, "notify": [target]}))
    config.chmod(0o600)
    rows.flow(GATE)
    rows.csv("bees", "ants")
    batch = rows.id_of(rows.batch())
    (message,) = map(json.loads, told.read_text().splitlines())
    assert (message["type"], message["data"]["run"]) == ("run.waiting", batch)
    assert message["data"]["usage"] == {"input_tokens": 20, "output_tokens": 4}
    assert [" ".join(command.split()[1:4]) for command in message["data"]["commands"]] == [f"batch status {batch}"]


def test_batches_and_the_workflow_of_one_are_completed(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    rows.csv("bees")
    batch = rows.id_of(rows.batch())
    monkeypatch.chdir(rows.folder.work)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(rows.folder.runs))
    group = built_command("batch", batch_app)
    context = group.make_context("batch", [], resilient_parsing=True)
    assert {item.value for item in group.shell_complete(context, "")} >= {"run", "status", "cancel", "flow.yaml"}
    status = group.commands["status"]
    (argument,) = (one for one in status.params if one.param_type_name == "argument")
    context = status.make_context("status", [], resilient_parsing=True)
    assert [item.value for item in argument.shell_complete(context, "")] == [batch, "last"]


def test_the_status_has_the_finding_of_rows_that_could_not_begin(rows: Rows) -> None:
    artifacts = [{"path": "note.md", "from": "{{ last_response }}"}]
    rows.flow(outputs={"artifacts": artifacts})
    rows.csv("bees", "ants")
    batch = rows.id_of(rows.batch())
    assert rows.strands("runs", "delete", batch).code == 0
    ran = rows.batch()  # the files of the deleted rows are there
    assert ran.code == 10
    (failure,) = rows.strands("batch", "status", batch, "--json").document["failures"]
    assert (failure["count"], failure["finding"]["code"]) == (2, "artifact-exists")
    for text in (ran.err, rows.strands("batch", "status", batch).out):
        lines = [line.strip() for line in text.splitlines()]
        place = lines.index(f"for example {failure['runs'][0]}: {failure['finding']['message']}")
        assert lines[place + 1] == f"fix: {failure['finding']['fix']}"
