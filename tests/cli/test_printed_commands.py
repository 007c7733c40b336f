"""Every command that a run prints is typed as it is printed, and ends the problem or leads to the next question."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import pytest

from tests.cli.strands import STRANDS, Folder, Ran

# What is printed is written for people to run, as the blocks of pages are.
pytestmark = pytest.mark.docs

GATE = {"type": "hitl", "prompt": "Good?"}
TIMED = {**GATE, "timeout_seconds": 86400, "default": "bug"}
CALL = {"tool": "native:note", "input": {"text": "hi"}}
AGENTS = {"writer": {"prompt": "You write.", "tools": ["native:note"]}}
CALLS = {"steps.0": [{"calls": [{"note": {"text": "hi"}}]}, {"text": "done"}]}
NOTE = "import pathlib\npathlib.Path('noted.txt').write_text('x')\nreturn answer('noted')"


def printed(ran: Ran) -> list[str]:
    """Return the commands of a message, as a person copies them: from `strands` to the end of the line."""
    lines = ran.err.splitlines()
    found = [re.search(r"^ *(?:next: |fix: |continue with: |.*: )?(strands .*)$", line) for line in lines]
    return [one[1] for one in found if one is not None]


def typed(folder: Folder, line: str) -> Ran:
    """Type a command line at a shell, where `#` begins a remark."""
    return folder.strands(*shlex.split(line, comments=True)[1:])


def command(ran: Ran, verb: str) -> str:
    return next(line for line in printed(ran) if line.startswith(f"strands {verb} "))


def has_noted(folder: Folder) -> bool:
    return (folder.work / "noted.txt").exists()


@pytest.fixture
def noting(folder: Folder) -> Folder:
    folder.tool("note", NOTE, annotations={"destructiveHint": True})
    return folder


def steps_that_ask(folder: Folder) -> None:
    folder.workflow([GATE, CALL])


def an_agent_that_asks(folder: Folder) -> None:
    folder.workflow([{"agent": "writer", "input": "go"}], CALLS, agents=AGENTS)


def branches_that_ask(folder: Folder) -> None:
    branches = [{"id": name, "steps": [CALL]} for name in ("a", "b")]
    folder.workflow([], pattern={"type": "parallel", "config": {"branches": branches}})


def a_graph_that_asks(folder: Folder) -> None:
    nodes = {"ask": GATE, "call": CALL}
    folder.workflow(
        [], pattern={"type": "graph", "config": {"nodes": nodes, "edges": [{"from": "ask", "to": ["call"]}]}}
    )


def tasks_that_ask(folder: Folder) -> None:
    tasks = [{"id": "one", **CALL}, {"id": "two", **CALL, "deps": ["one"]}]
    folder.workflow([], pattern={"type": "workflow", "config": {"tasks": tasks}})


def a_workflow_inside(folder: Folder) -> None:
    folder.workflow([CALL])
    folder.work.joinpath("flow.yaml").rename(folder.work / "inner.yaml")
    folder.workflow([{"tool": "workflow:./inner.yaml", "input": {}}])


ASKING = [
    steps_that_ask,
    an_agent_that_asks,
    branches_that_ask,
    a_graph_that_asks,
    tasks_that_ask,
    a_workflow_inside,
]


@pytest.mark.parametrize("ask", ASKING, ids=lambda ask: ask.__name__)
def test_what_asks_waits_and_each_answer_that_is_printed_leads_to_the_end(
    noting: Folder, ask: Callable[..., None]
) -> None:
    ask(noting)
    ran = noting.strands("run", "flow.yaml")
    for _ in range(3):
        if ran.code != 19:
            break
        assert noting.record()["status"] == "waiting"
        ran = typed(noting, command(ran, "approve"))
    assert (ran.code, has_noted(noting)) == (0, True), ran.err


@pytest.mark.parametrize("ask", ASKING, ids=lambda ask: ask.__name__)
def test_what_was_denied_is_a_failed_run_everywhere_whose_fix_does_the_work(
    noting: Folder, ask: Callable[..., None]
) -> None:
    ask(noting)
    ran = noting.strands("run", "flow.yaml", "--deny", "--json")
    if ran.code == 19:
        ran = noting.strands("approve", "last", "--json")
    assert (ran.code, ran.document["status"], ran.document["error"]["exit_code"]) == (21, "failed", 21)
    assert ran.document["error"]["code"] == "denied"
    assert noting.strands("runs", "list", "--json").document["runs"][0]["status"] == "failed"
    assert noting.strands("runs", "show", "last", "--json").document["status"] == "failed"
    assert not has_noted(noting)
    again = noting.strands("resume", "last")
    assert again.code == 21
    fixed = typed(noting, command(again, "resume" if "fix: strands resume" in again.err else "runs rerun"))
    assert (fixed.code, has_noted(noting)) == (0, True), fixed.err


@pytest.mark.parametrize(
    "before", [["--deny"], ["--deny", "resume --detach"], ["--detach"], ["--deny", "resume", "resume --detach"]]
)
def test_an_answer_is_used_whatever_happened_before(noting: Folder, before: list[str]) -> None:
    noting.workflow([CALL])
    noting.strands("run", "flow.yaml", before[0])
    for line in before[1:]:
        verb, *options = line.split()
        noting.strands(verb, "last", *options)
    if noting.record()["status"] != "waiting":
        assert noting.strands("resume", "last", "--detach").code == 19
    ran = noting.strands("approve", "last")
    assert (ran.code, has_noted(noting)) == (0, True), ran.err


@pytest.mark.parametrize("options", [["--allow", "note"], ["--yes"]], ids=" ".join)
@pytest.mark.parametrize("verb", ["resume", "approve", "runs rerun"])
def test_what_continues_a_run_takes_permissions_and_the_run_has_them_from_then_on(
    noting: Folder, verb: str, options: list[str]
) -> None:
    noting.workflow([GATE, CALL, GATE, CALL])
    assert noting.strands("run", "flow.yaml").code == 19
    if verb != "approve":
        assert noting.strands("approve", "last", "--no-resume").code == 0
    ran = noting.strands(*verb.split(), "last", *(["--from", "steps.1"] if verb == "runs rerun" else []), *options)
    assert ran.code == 19, "the second gate"
    assert noting.strands("approve", "last").code == 0


def test_a_refusal_of_one_call_may_allow_the_others(noting: Folder) -> None:
    calls = {"steps.0": [{"calls": [{"note": {"text": "a"}}, {"note": {"text": "b"}}]}, {"text": "done"}]}
    noting.workflow([{"agent": "writer", "input": "go"}], calls, agents=AGENTS)
    assert noting.strands("run", "flow.yaml").code == 19
    ran = noting.strands("reject", "last", "--allow", "note", "--json")
    assert (ran.code, ran.document["denials"][0]["denied"], has_noted(noting)) == (0, 1, True)


def test_only_one_thing_happens_to_calls_that_would_ask(noting: Folder) -> None:
    noting.workflow([CALL])
    assert noting.strands("run", "flow.yaml", "--yes", "--deny").code == 2
    assert noting.strands("run", "flow.yaml", "--yes").code == 0
    assert noting.strands("runs", "rerun", "last", "--from", "steps.0", "--deny").code == 21, "the later choice counts"


def test_a_call_that_waits_is_denied_by_a_resume_that_denies(noting: Folder) -> None:
    noting.workflow([CALL])
    assert noting.strands("run", "flow.yaml").code == 19
    ran = noting.strands("resume", "last", "--deny")
    assert ran.code == 21
    assert noting.strands("runs", "show", "last", "--json").document.get("questions", []) == []
    assert typed(noting, command(ran, "resume")).code == 0


def test_a_denied_run_writes_no_artifact_and_any_denied_call_fails_one_that_wants_it(noting: Folder) -> None:
    outputs = {"artifacts": [{"path": "out.txt", "from": "{{ last_response }}"}]}
    turns = {"steps.0": [{"calls": [{"note": {"text": "hi"}}, {"look": {"text": "hi"}}]}, {"text": "done"}]}
    noting.tool("look", "return answer('seen')")
    agents = {"writer": {"prompt": "You write.", "tools": ["native:note", "native:look"]}}
    policy = noting.write("rules.yaml", 'version: 1\nrules: [{deny: "note(text=hi)"}]\n')
    noting.workflow([{"agent": "writer", "input": "go"}], turns, agents=agents, outputs=outputs)
    ran = noting.strands("run", "flow.yaml", "--policy", policy, "--fail-on-denied", "--json")
    assert (ran.code, ran.document["status"]) == (21, "failed")
    assert not list(noting.work.rglob("out.txt"))
    ran = noting.strands("run", "flow.yaml", "--policy", policy, "--json")
    assert (ran.code, ran.document["status"]) == (0, "completed")


# -- what a person refuses, and several questions


def one_step_that_asks(folder: Folder) -> None:
    folder.workflow([CALL])


def one_gate(folder: Folder) -> None:
    folder.workflow([GATE])


REFUSED = [one_step_that_asks, one_gate, a_workflow_inside]


@pytest.mark.parametrize("ask", REFUSED, ids=lambda ask: ask.__name__)
def test_what_a_person_has_refused_is_asked_again_by_each_command_that_is_printed(
    noting: Folder, ask: Callable[..., None]
) -> None:
    ask(noting)
    place = ("--runs-dir", noting.root / "other runs")
    refused = typed(noting, command(noting.strands("run", "flow.yaml", *place), "reject"))
    assert refused.code == 10
    key = noting.strands("runs", "show", "last", "--json", *place).document["effects"][-1]["key"]
    again = [
        refused,
        noting.strands("resume", "last", *place),
        noting.strands("approve", "last", *place),
        noting.strands("approve", "last", key, *place),
    ]
    for ran in again:
        line = re.findall(r"strands runs rerun [^;\n]*", ran.err)[-1]
        waits = typed(noting, line)
        assert waits.code == 19, (line, waits.err)
        ended = typed(noting, command(waits, "approve"))
        assert (ended.code, has_noted(noting)) == (0, ask is not one_gate), ended.err


def test_a_refusal_that_the_run_survives_is_not_what_has_failed_it(noting: Folder) -> None:
    noting.tool("breaks", "raise ValueError('no')")
    call = {"id": "call", "tool": "native:breaks", "input": {}, "deps": ["two"]}
    tasks = [{"id": "one", **GATE, "on_error": "continue"}, {"id": "two", **GATE}, call]
    noting.workflow([], pattern={"type": "workflow", "config": {"tasks": tasks}})
    assert noting.strands("run", "flow.yaml").code == 19
    assert noting.strands("reject", "last", "tasks.one").code == 19
    ran = noting.strands("approve", "last")
    assert (ran.code, "rerun" in ran.err, command(ran, "resume").split()[:2]) == (10, False, ["strands", "resume"])


def test_the_call_of_a_router_that_was_denied_is_made_by_the_printed_command(noting: Folder) -> None:
    unsure = [{"calls": [{"note": {"text": "hi"}}]}, {"text": "billing?"}, {"text": "billing?"}]
    turns = {f"router{number}": unsure for number in ("", "#2", "#3")} | {"routes.b.steps.0": [{"text": "done"}]}
    routes = {"a": {"then": [GATE]}, "b": {"then": [{"agent": "clerk", "input": "go"}]}}
    config = {"router": {"agent": "writer", "input": "Which?"}, "routes": routes, "default": "b"}
    noting.workflow(
        [],
        turns,
        agents={**AGENTS, "clerk": {"prompt": "x", "tools": []}},
        pattern={"type": "routing", "config": config},
    )
    ran = noting.strands("run", "flow.yaml", "--deny")
    assert ran.code == 21, ran.err
    fixed = typed(noting, printed(ran)[-1])
    assert (fixed.code, has_noted(noting)) == (0, True), fixed.err


def test_several_questions_are_named_by_commands_which_answer_them_in_any_order(noting: Folder) -> None:
    tasks = [{"id": "one", **GATE}, {"id": "two", **CALL}, {"id": "three", **CALL, "on_error": "continue"}]
    noting.workflow([], pattern={"type": "workflow", "config": {"tasks": tasks}})
    assert noting.strands("run", "flow.yaml").code == 19
    ran = noting.strands("approve", "last")
    assert ran.code == 2
    lines = printed(ran)
    assert len(lines) == 6, "an approval and a refusal for each"
    chosen = [line for line in lines if ("reject" in line) == ("three" in line)]
    assert [typed(noting, line).code for line in reversed(chosen)] == [19, 19, 0]
    assert has_noted(noting)
    ran = noting.strands("approve", "last", "nosuch")
    assert all(typed(noting, line).code == 0 for line in re.findall(r"strands [^;\n]*", ran.err)), ran.err


@pytest.mark.parametrize("later", [[], ["--no-resume"]], ids=str)
def test_a_permission_beside_an_answer_counts_also_while_other_questions_wait(noting: Folder, later: list[str]) -> None:
    tasks = [{"id": "one", **GATE}, {"id": "two", **CALL}, {"id": "three", **CALL}]
    noting.workflow([], pattern={"type": "workflow", "config": {"tasks": tasks}})
    assert noting.strands("run", "flow.yaml").code == 19
    ran = noting.strands("approve", "last", "tasks.two/tool.0.note", "--allow", "note", *later)
    if later:
        ran = noting.strands("resume", "last")
    assert (ran.code, has_noted(noting)) == (19, True)
    assert noting.strands("approve", "last").code == 0, "the gate alone has waited"


def test_the_words_that_a_workflow_knows_are_printed_as_answers(folder: Folder) -> None:
    nodes = {"ask": GATE, **{name: {"tool": "native:note", "input": {"text": name}} for name in ("ship", "hold")}}
    edges = [{"when": f"nodes.ask.response == '{name} it'", "to": name} for name in ("ship", "hold")]
    folder.tool("note", "return answer(tool['input']['text'])")
    config = {"nodes": nodes, "edges": [{"from": "ask", "choose": edges}]}
    folder.workflow([], pattern={"type": "graph", "config": config})
    for word in ("ship", "hold"):
        ran = folder.strands("run", "flow.yaml", "--json")
        assert not re.search("  +", ran.document["error"]["fix"])
        unclear = folder.strands("approve", "last")
        assert unclear.code == 2
        for said in (ran, unclear):
            assert [line for line in printed(said) if f"'{word} it'" in line], said.err
        line = next(line for line in printed(unclear) if f"'{word} it'" in line)
        assert typed(folder, line).out == f"{word}\n"


# -- the default of a gate


def test_a_gate_takes_its_default_in_a_pipe_after_its_time(folder: Folder) -> None:
    folder.workflow([{**TIMED, "timeout_seconds": 0.05}])
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, ran.out) == (0, "bug\n")
    assert "0.05 s" in ran.err


@pytest.mark.parametrize("options", [["--detach"], []])
def test_the_default_of_a_gate_that_waits_long_is_shown_with_the_command_that_takes_it(
    folder: Folder, options: list[str]
) -> None:
    folder.workflow([TIMED])
    ran = folder.strands("run", "flow.yaml", *options)
    assert ran.code == 19
    line = command(ran, "resume")
    assert "86400 s" in line
    assert line.endswith("bug")
    assert typed(folder, line).code == 19, "its time is not over"
    answered = folder.strands("approve", "last")
    assert (answered.code, answered.out) == (0, "approved\n")


# -- other ends of runs


def failed_tool(folder: Folder) -> Ran:
    folder.tool(
        "note", "import pathlib\nif not pathlib.Path('flag').exists():\n    raise ValueError('no')\nreturn answer('x')"
    )
    folder.workflow([CALL])
    ran = folder.strands("run", "flow.yaml")
    folder.write("flag", "")
    return ran


def refused_gate(folder: Folder) -> Ran:
    folder.workflow([GATE])
    return typed(folder, command(folder.strands("run", "flow.yaml"), "reject"))


def spent_budget(folder: Folder) -> Ran:
    steps = [{"agent": "writer", "input": "go"}] * 2
    turns = {f"steps.{number}": [{"text": "done"}] for number in range(2)}
    folder.workflow(
        steps, turns, runtime={"provider": "replay", "recording": "flow.recording.yaml", "budgets": {"max_steps": 1}}
    )
    return folder.strands("run", "flow.yaml")


def file_at_fault(folder: Folder) -> Ran:
    folder.workflow([{"agent": "writer", "input": "{{ 1 // 0 }}"}], {"steps.0": [{"text": "done"}]})
    ran = folder.strands("run", "flow.yaml")
    folder.workflow([{"agent": "writer", "input": "{{ 1 // 1 }}"}], {"steps.0": [{"text": "done"}]})
    return ran


def existing_artifact(folder: Folder) -> Ran:
    folder.tool("note", "return answer('x')")
    folder.workflow([CALL], outputs={"artifacts": [{"path": "out.txt", "from": "x"}]})
    folder.strands("run", "flow.yaml")
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 12
    return ran


def damaged_journal(folder: Folder) -> Ran:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    (run,) = folder.runs.iterdir()
    (run / "journal.sqlite").write_bytes(b"no database")
    return folder.strands("resume", run.name)


def unknown_run(folder: Folder) -> Ran:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    return folder.strands("runs", "show", "nosuch")


def answered_question(folder: Folder) -> Ran:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    folder.strands("approve", "last")
    return folder.strands("approve", "last")


def untrusted(folder: Folder) -> Ran:
    folder.tool("note", "return answer('x')")
    servers = {"mcp": [{"id": "none", "command": "true"}]}
    folder.workflow([CALL], tools=servers, agents={"writer": {"prompt": "x", "tools": ["mcp:none"]}})
    return folder.strands("run", "flow.yaml")


@pytest.mark.parametrize(
    ("situation", "verb", "codes"),
    [
        (failed_tool, "resume", {0}),
        (refused_gate, "runs rerun", {19}),
        (spent_budget, "resume", {0}),
        (file_at_fault, "resume", {0}),
        (damaged_journal, "runs delete", {0}),
        (unknown_run, "runs list", {0}),
        (answered_question, "resume", {0}),
        (answered_question, "runs show", {0}),
        (untrusted, "explain", {0}),
        (untrusted, "workflows trust", {0}),
    ],
    ids=lambda one: one.__name__ if callable(one) else None,
)
def test_the_command_of_a_message_ends_what_it_is_about(
    folder: Folder, situation: Callable[[Folder], Ran], verb: str, codes: set[int]
) -> None:
    ran = situation(folder)
    found = re.findall(rf"strands {verb}(?: [^;`,)#\n]*)?", ran.err)
    assert found, ran.err
    line = found[-1]
    assert typed(folder, line).code in codes, typed(folder, line).err


@pytest.mark.parametrize(("way", "code"), [("--redo", 0), ("--skip", 0), ("--fail", 10)])
def test_a_call_that_was_cut_off_is_decided_by_each_command_that_is_printed(
    folder: Folder, way: str, code: int
) -> None:
    body = "import os, pathlib\nif not pathlib.Path('flag').exists():\n    os._exit(9)\nreturn answer('noted')"
    folder.tool("note", body, annotations={"destructiveHint": True})
    folder.workflow([CALL])
    assert folder.strands("run", "flow.yaml", "--yes").code == 9
    folder.write("flag", "")
    ran = folder.strands("resume", "last")
    assert (ran.code, folder.record()["status"]) == (19, "needs-decision")
    assert typed(folder, re.findall(r"strands [^;\n]*", folder.strands("approve", "last").err)[0]).code == 19
    line = next(line for line in printed(ran) if way in line).replace("JSON", "'\"by hand\"'")
    decided = typed(folder, line)
    assert (decided.code, decided.out) == (code, {"--redo": "noted\n", "--skip": "by hand\n"}.get(way, ""))


def test_a_call_that_waits_is_shown_by_its_key_and_one_that_was_made_is_not_called_new(noting: Folder) -> None:
    noting.tool("look", "return answer('seen')")
    turns = {"steps.0": [{"calls": [{"look": {"text": "a"}}, {"note": {"text": "hi"}}]}, {"text": "done"}]}
    agents = {"writer": {"prompt": "You write.", "tools": ["native:note", "native:look"]}}
    noting.workflow([{"agent": "writer", "input": "go"}], turns, agents=agents)
    assert noting.strands("run", "flow.yaml").code == 19
    shown = noting.strands("runs", "show", "last", "steps.0/tool.1.note")
    assert (shown.code, "hi" in shown.out) == (0, True)
    ran = typed(noting, next(line for line in shown.out.splitlines() if line.startswith("strands approve")))
    assert (ran.code, re.findall(r"look +\((.*)\)", ran.err)) == (0, ["ok, from the journal"])


# -- one document for every error


COMMANDS = [
    ["runs", "show", "nosuch"],
    ["runs", "nosuch"],
    ["runs", "list", "--nosuch"],
    ["runs", "artifacts", "nosuch"],
    ["workers"],
    ["workers", "queue", "list"],
    ["tools", "show", "nosuch"],
    ["explain", "nosuch"],
    ["batch", "status", "nosuch"],
    ["nosuch"],
    ["run", "nosuch.yaml"],
    ["approve", "nosuch"],
    ["plan", "nosuch.yaml"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_that_fails_with_json_prints_one_document_about_its_error(folder: Folder, words: list[str]) -> None:
    ran = folder.strands(*words, "--json")
    assert ran.code not in (0, 70), ran.err
    error = ran.document["error"]
    assert error["exit_code"] == ran.code
    assert error["message"]
    assert error["code"]
    assert ran.err.startswith("error")
    assert folder.strands(*words).out == ""


def test_a_word_after_two_hyphens_is_not_an_option(folder: Folder) -> None:
    assert folder.strands("runs", "show", "--", "--json").out == ""


# -- a process that lacks what it needs of the machine


@pytest.mark.parametrize("number", [10, 14, 18])
def test_a_process_that_may_open_few_files_says_so(folder: Folder, number: int) -> None:
    folder.workflow([TIMED])
    ran = folder.run(["bash", "-c", f"ulimit -n {number}; exec {shlex.quote(str(STRANDS))} run flow.yaml --json"])
    assert (ran.code, ran.document["error"]["code"]) == (18, "not-equipped"), ran.err
    assert "ulimit -n" in ran.err
    assert "Traceback" not in ran.err


def test_a_run_without_any_stream_ends_with_its_own_code(folder: Folder) -> None:
    folder.tool("note", NOTE)
    folder.workflow([CALL])
    line = f"{shlex.quote(str(STRANDS))} run flow.yaml <&- >&- 2>&-; echo $?"
    assert folder.run(["bash", "-c", line]).out == "0\n"
    assert has_noted(folder)
