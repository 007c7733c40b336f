"""`strands batch`: one run a row, in the order of the rows, each once, whatever happens to single ones."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest
from batch_kit import OUT, STEPS, Rows


def test_each_row_has_a_line_in_its_order_and_equal_rows_share_a_run(rows: Rows) -> None:
    rows.csv("bees", "ants", "bees", '"wasps, and hornets"')
    ran = rows.batch("--concurrency", "3", "--json")
    assert ran.code == 0, ran.err
    lines = rows.lines()
    assert [(line["row"], line["line"], line["status"], line["response"]) for line in lines] == [
        (1, 2, "completed", "BEES"),
        (2, 3, "completed", "ANTS"),
        (3, 4, "completed", "BEES"),
        (4, 5, "completed", "WASPS, AND HORNETS"),
    ]
    assert lines[0]["run"] == lines[2]["run"] != lines[1]["run"]
    assert lines[1]["inputs"] == {"topic": "ants"}
    assert (lines[1]["usage"], lines[1]["model_calls"]) == ({"input_tokens": 10, "output_tokens": 2}, 1)
    assert rows.asked == {"bees": 1, "ants": 1, "wasps, and hornets": 1}
    document = ran.document
    assert document["rows"] | {"total": 4, "distinct": 3, "completed": 4, "left": 0} == document["rows"]
    assert (document["status"], document["usage"]["input_tokens"]) == ("completed", 30)
    assert all(line["run"].startswith(f"{document['batch']}.") for line in lines)


def test_the_same_command_again_runs_only_rows_that_are_new_or_edited(rows: Rows) -> None:
    rows.csv("bees", "ants", "moths")
    assert rows.batch().code == 0
    first = rows.lines()
    assert rows.batch().code == 0
    assert rows.asked == {"bees": 1, "ants": 1, "moths": 1}
    assert rows.lines() == first
    rows.csv("gnats", "bees", "aunts", "moths", "bees")
    ran = rows.batch("--json")
    assert ran.document["rows"]["reused"] == 3
    assert rows.responses() == ["GNATS", "BEES", "AUNTS", "MOTHS", "BEES"]
    assert [line["line"] for line in rows.lines()] == [2, 3, 4, 5, 6]
    assert rows.asked == {"bees": 1, "ants": 1, "moths": 1, "gnats": 1, "aunts": 1}
    rows.csv("moths")
    assert rows.batch().code == 0
    assert rows.responses() == ["MOTHS"], "rows that the file has no more have no lines"


def test_rows_come_from_stdin_and_results_go_to_stdout(rows: Rows) -> None:
    given = '{"topic": "bees"}\n{"topic": "ants", "tone": "dry"}\n'
    ran = rows.strands("batch", "flow.yaml", "-", "--format", "jsonl", given=given)
    assert ran.code == 0, ran.err
    assert [json.loads(line)["response"] for line in ran.out.splitlines()] == ["BEES", "ANTS"]
    again = rows.strands("batch", "run", "flow.yaml", "-", "--format", "jsonl", given=given)
    assert again.out == ran.out
    assert rows.asked == {"bees": 1, "ants": 1}
    # The rows were in a pipe, and are in the journal of the batch now.
    assert rows.strands("batch", "resume", "flow").out == ran.out


def test_nothing_is_sent_or_stored_before_all_rows_are_checked(rows: Rows) -> None:
    rows.folder.write("rows.csv", "topic,tune\nbees,\n,x\n")
    ran = rows.batch("--json")
    assert (ran.code, ran.codes) == (3, ["unknown-column", "row-input"])
    assert ran.places == ["rows.csv:1:7", "rows.csv:3:1"]
    assert [found["code"] for found in ran.document["error"]["findings"]] == ran.codes
    assert not rows.asked
    assert not rows.folder.runs.exists() or not list(rows.folder.runs.iterdir())
    assert not (rows.folder.work / OUT).exists()
    given = rows.batch("--ignore", "tune", rows="-", given="topic,tune\nbees,x\n")
    assert given.code == 2
    ran = rows.batch("--ignore", "tune", "--format", "csv", rows="-", given="topic,tune\nbees,x\n")
    assert (ran.code, rows.lines()[0]["inputs"]) == (0, {"topic": "bees"})


def test_common_inputs_are_a_part_of_what_the_batch_is(rows: Rows) -> None:
    rows.flow([{"agent": "writer", "input": "About {{ topic }} {{ tone }}."}])
    rows.csv("bees")
    dry = rows.batch("--var", "tone=dry")
    assert rows.responses() == ["BEES DRY"]
    warm = rows.batch("--var", "tone=warm", "--force")
    assert rows.responses() == ["BEES WARM"]
    assert rows.id_of(dry) != rows.id_of(warm)
    rows.folder.write("rows.csv", "topic,tone\nbees,dry\n")
    ran = rows.batch("--var", "tone=dry")
    assert (ran.code, ran.codes) == (3, ["input-twice"])


def test_an_edited_workflow_is_another_batch_and_does_not_overwrite_the_results_of_the_first(rows: Rows) -> None:
    rows.csv("bees")
    first = rows.id_of(rows.batch())
    rows.flow([{"agent": "writer", "input": "Now about it. About {{ topic }}."}])
    ran = rows.batch()
    assert ran.code == 12
    assert first in ran.err
    assert rows.asked == {"bees": 1}
    ran = rows.batch("--force")
    assert (ran.code, rows.asked) == (0, {"bees": 2})
    assert rows.id_of(ran) != first
    assert first in ran.err.partition(rows.id_of(ran))[2], "an earlier batch of the name is mentioned"
    # A comment changes nothing that runs.
    text = (rows.folder.work / "flow.yaml").read_text()
    (rows.folder.work / "flow.yaml").write_text(f"# a comment\n{text}")
    assert rows.id_of(rows.batch()) == rows.id_of(ran)
    assert rows.asked == {"bees": 2}


def test_all_rows_run_once_more_in_a_batch_of_another_name(rows: Rows) -> None:
    rows.csv("bees")
    first = rows.id_of(rows.batch())
    ran = rows.batch("--again", "-o", "again.jsonl")
    assert (ran.code, rows.asked) == (0, {"bees": 2})
    assert "--name flow-2" in ran.err
    assert rows.id_of(ran) != first
    assert rows.batch("--name", "flow-2", "-o", "again.jsonl").code == 0
    assert rows.asked == {"bees": 2}
    assert rows.batch("--name", "Flow 2!").code == 2


def test_a_row_that_breaks_is_a_line_with_its_error_and_the_others_go_on(rows: Rows) -> None:
    rows.folder.tool(
        "look",
        "if tool['input']['text'] == 'stones':\n    raise SystemError('a stone')\nreturn answer('seen')",
    )
    rows.model.failing = {"wasps"}
    rows.flow(
        [
            *STEPS,
            {"tool": "native:look", "input": {"text": "{{ topic }}"}},
            {"agent": "writer", "input": "About {{ (topic | length) // (topic | length - 4) }}."},
        ]
    )
    rows.csv("bees", "wasps", "stones", "moths", "gnats")
    ran = rows.batch("--json")
    assert ran.code == 10, ran.err
    lines = rows.lines()
    assert [line["status"] for line in lines] == ["failed", "failed", "failed", "completed", "completed"]
    assert all(line["error"]["exit_code"] == 10 and line["error"]["message"] for line in lines[:3])
    assert "a stone" in lines[2]["error"]["message"]
    assert lines[3]["response"] == "5"
    assert ran.document["rows"] | {"completed": 2, "failed": 3} == ran.document["rows"]
    assert sum(one["count"] for one in ran.document["failures"]) == 3


def test_no_further_row_begins_after_so_many_failures(rows: Rows) -> None:
    rows.model.failing = {"bees", "ants"}
    rows.csv("bees", "moths", "ants", "gnats", "flies")
    ran = rows.batch("--concurrency", "1", "--fail-fast", "2", "--json")
    assert (ran.code, ran.document["rows"]["left"]) == (10, 2)
    assert rows.asked == {"bees": 1, "moths": 1, "ants": 1}
    assert len(rows.lines()) == 3
    assert rows.strands("batch", "resume", "flow").code == 10
    assert rows.asked == {"bees": 1, "moths": 1, "ants": 1, "gnats": 1, "flies": 1}


def test_failed_rows_run_again_when_that_is_asked_for_and_finished_steps_are_not_repeated(rows: Rows) -> None:
    rows.flow([*STEPS, {"agent": "writer", "input": "About second {{ topic }}."}])
    rows.model.failing = {"second ants"}
    rows.csv("bees", "ants")
    assert rows.batch().code == 10
    before = rows.asked
    assert rows.batch().code == 10, "the same command keeps failed rows"
    assert rows.strands("batch", "resume", "last").code == 10
    assert rows.asked == before == {"bees": 1, "second bees": 1, "ants": 1, "second ants": 1}
    rows.model.failing = set()
    assert rows.strands("batch", "retry", "last").code == 2
    ran = rows.strands("batch", "retry", "last", "--failed", "--json")
    assert (ran.code, ran.document["rows"]["reused"]) == (0, 1), ran.err
    assert rows.asked == {**before, "second ants": 2}
    assert rows.responses() == ["SECOND BEES", "SECOND ANTS"]


def test_a_row_whose_model_answered_nothing_is_asked_again_by_retry(rows: Rows) -> None:
    rows.flow([*STEPS, {"agent": "writer", "input": "About second {{ topic }}."}])
    rows.model.silent = {"second ants"}
    rows.csv("bees", "ants")
    assert rows.batch().code == 10
    before = rows.asked
    rows.model.silent = set()
    ran = rows.strands("batch", "retry", "last", "--failed", "--json")
    assert (ran.code, ran.document["rows"]["reused"]) == (0, 1), ran.err
    assert rows.asked == {**before, "second ants": before["second ants"] + 1}
    assert rows.responses() == ["SECOND BEES", "SECOND ANTS"]
    assert ran.document["model_calls"] == sum(rows.asked.values()), "every answer counts"


def test_one_budget_is_for_all_rows_and_a_larger_one_continues(rows: Rows) -> None:
    rows.csv("bees", "ants", "moths", "gnats")
    ran = rows.batch("--concurrency", "1", "--budget", "max_tokens=20", "--json")
    assert (ran.code, ran.document["status"], ran.document["rows"]["completed"]) == (20, "failed", 2), ran.err
    assert len(rows.asked) == 2
    assert re.search(r"strands batch resume \S+ --budget max_tokens=", ran.err)
    assert len(rows.lines()) == 2
    assert rows.strands("batch", "resume", "last").code == 20
    assert rows.strands("batch", "resume", "last", "--budget", "max_tokens=30").code == 20
    assert len(rows.asked) == 3, "what earlier processes spent counts"
    assert rows.strands("batch", "resume", "last", "--budget", "max_tokens=1000").code == 0
    assert rows.responses() == ["BEES", "ANTS", "MOTHS", "GNATS"]
    assert set(rows.asked.values()) == {1}


def test_what_is_advised_when_a_budget_is_spent_does_not_stop_at_once(rows: Rows) -> None:
    rows.csv("bees", "ants", "moths", "gnats")
    ran = rows.batch("--concurrency", "1", "--budget", "max_tokens=20", "--budget", "max_model_calls=100")
    status = rows.strands("batch", "status", "last").out
    advised = [re.findall(r"^to continue: strands (.*)", text, re.MULTILINE) for text in (ran.err, status)]
    assert advised[0] == advised[1]
    assert advised[0][0].split()[3:] == ["--budget", "max_tokens=48"]
    assert rows.strands(*advised[0][0].split()).code == 0
    assert len(rows.asked) == 4


def test_a_budget_that_is_spent_by_the_last_row_has_stopped_nothing(rows: Rows) -> None:
    rows.csv("bees", "ants")
    assert rows.batch("--concurrency", "1", "--budget", "max_tokens=24").code == 0
    assert len(rows.lines()) == 2


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--budget", "max_cost=5"], 2),
        (["--budget", "max_tokens=0"], 2),
        (["--budget", "max_cost_usd=5"], 18),
        (["--rate", "60"], 2),
        (["--limit", "opnai=3"], 2),
        (["--concurrency", "0"], 2),
        (["--order", "names"], 2),
    ],
)
def test_an_option_that_cannot_hold_is_refused_before_anything_begins(
    rows: Rows, options: list[str], code: int
) -> None:
    rows.csv("bees")
    ran = rows.batch(*options)
    assert ran.code == code, ran.err
    assert "\n  fix: " in ran.err
    assert not rows.asked
    assert not rows.folder.runs.exists()


def test_what_this_machine_lacks_is_one_error_before_any_row(rows: Rows) -> None:
    rows.csv("bees", "ants")
    ran = rows.folder.strands("batch", "flow.yaml", "rows.csv", "-o", OUT)
    assert ran.code == 18
    assert "OPENAI_API_KEY" in ran.err
    assert not (rows.folder.work / OUT).exists()
    servers = {"mcp": [{"id": "shelf", "command": "true"}]}
    rows.flow(tools=servers, agents={"writer": {"prompt": "w", "tools": ["mcp:shelf"]}})
    assert rows.batch().code == 21, "nothing is started that no person has allowed"
    assert not rows.asked


def test_results_can_be_written_as_rows_are_done(rows: Rows) -> None:
    rows.flow([*STEPS, {"type": "hitl", "prompt": "Fine?"}])
    rows.csv("bees", "ants")
    assert rows.batch("--order", "done").code == 19
    waiting = rows.lines()
    second = next(line["run"] for line in waiting if line["row"] == 2)
    assert rows.strands("approve", second).code == 0
    assert rows.strands("batch", "resume", "last").code == 19
    assert {line["row"]: line["status"] for line in rows.lines()} == {1: "waiting", 2: "completed"}


def test_a_file_of_others_is_not_overwritten_unless_that_is_asked_for(rows: Rows) -> None:
    rows.csv("bees")
    rows.folder.write(OUT, "my notes\n")
    ran = rows.batch()
    assert (ran.code, rows.asked) == (12, {})
    assert (rows.folder.work / OUT).read_text() == "my notes\n"
    assert rows.batch(out="rows.csv").code == 2
    assert rows.batch("--force", out="rows.csv").code == 2
    assert rows.batch(out="none/out.jsonl").code == 12
    assert rows.batch(out=".").code == 12
    assert rows.batch("--json", out="-").code == 2
    assert not rows.folder.runs.exists()
    assert rows.batch("--force").code == 0
    assert rows.responses() == ["BEES"]
    (rows.folder.work / "empty.jsonl").touch()
    assert rows.batch(out="empty.jsonl").code == 0
    assert rows.batch(out="/dev/null").code == 0
    assert rows.asked == {"bees": 1}


def test_artifacts_of_each_row_have_a_folder_of_their_own(rows: Rows) -> None:
    rows.flow(outputs={"artifacts": [{"path": "answer.txt", "from": "{{ last_response }}"}]})
    rows.folder.write("artifacts/answer.txt", "of another run")
    rows.csv("bees", "ants")
    assert rows.batch().code == 0
    lines = rows.lines()
    paths = [Path(artifact["path"]) for line in lines for artifact in line["artifacts"]]
    assert paths == [Path("artifacts") / line["run"] / "answer.txt" for line in lines]
    assert [(rows.folder.work / path).read_text() for path in paths] == ["BEES", "ANTS"]
    assert rows.strands("batch", "resume", "last").code == 0


def test_structured_answers_are_values_in_the_results(rows: Rows) -> None:
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    recording = {"steps.0": [{"text": '{"word": "hum"}'}]}
    rows.folder.workflow(
        STEPS,
        recording,
        inputs={"required": {"topic": "string"}},
        agents={"writer": {"prompt": "w", "output_schema": schema}},
    )
    rows.csv("bees")
    assert rows.batch().code == 0
    assert rows.lines()[0]["output"] == {"word": "hum"}
    assert rows.strands("batch", "resume", "last", "-o", "again.jsonl").code == 0
    assert rows.lines("again.jsonl") == rows.lines()


def test_secrets_are_in_neither_the_results_nor_the_journals(rows: Rows) -> None:
    rows.csv("a-key-of-mine")
    assert rows.batch().code == 0
    assert "a-key-of-mine" not in (rows.folder.work / OUT).read_text()
    assert "[secret]" in (rows.folder.work / OUT).read_text()
    stored = b"".join(path.read_bytes() for path in rows.folder.runs.rglob("*") if path.is_file())
    assert stored.count(b"a-key-of-mine") == 2, "the inputs of the row and of its run, and nothing else"


def test_a_workflow_with_the_name_of_a_command_is_named_by_its_path(rows: Rows) -> None:
    rows.csv("bees")
    (rows.folder.work / "flow.yaml").rename(rows.folder.work / "status")
    ran = rows.strands("batch", "./status", "rows.csv", "-o", OUT)
    assert ran.code == 0, ran.err
    assert rows.strands("batch", "-o", "other.jsonl", "./status", "rows.csv").code == 0
    assert rows.strands("batch", "status", "rows.csv").code == 17


def test_each_row_names_the_file_that_goes_with_it(rows: Rows) -> None:
    for name in ("bees", "ants"):
        (rows.folder.work / f"{name}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + name.encode())
    rows.flow([{"agent": "writer", "input": "About {{ topic }}.", "attachments": ["{{ topic }}.png"]}])
    rows.csv("bees", "moths", "ants")
    ran = rows.batch("--json")
    assert (ran.code != 0, rows.asked) == (True, {"bees": 1, "ants": 1})
    assert [line["status"] for line in rows.lines()] == ["completed", "failed", "completed"]
    sent = {
        message["content"][-1]["text"]: message["content"][0]["image_url"]["url"].partition(",")[2]
        for request in rows.server.model_requests
        for message in request["messages"][1:]
    }
    assert {text: base64.b64decode(picture)[8:].decode() for text, picture in sent.items()} == {
        "About bees.": "bees",
        "About ants.": "ants",
    }
    (rows.folder.work / "moths.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert rows.strands("batch", "retry", ran.document["batch"], "--failed").code == 0
    assert rows.responses() == ["BEES", "MOTHS", "ANTS"]
