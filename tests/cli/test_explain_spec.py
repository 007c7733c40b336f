"""`explain SPEC` says in sentences what a plan knows; a workflow is read alike from YAML, JSON and stdin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from strands_cli.cli.program import run_program
from tests.cli.strands import Folder

Output = pytest.CaptureFixture[str]
STEP = {"agent": "writer", "input": "Write."}
TURNS = {"steps.0": [{"text": "hi"}]}


@pytest.fixture
def in_folder(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Work in the folder, without keys and hosts of whoever runs the tests."""
    monkeypatch.chdir(folder.work)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    return folder


def explained(capsys: Output, spec: str = "flow.yaml", *more: str) -> dict[str, list[str]]:
    """Return the sentences about a workflow by their title."""
    assert run_program(["explain", spec, "--json", *more]) == 0
    document = json.loads(capsys.readouterr().out)
    return {section["title"]: section["sentences"] for section in document["sections"]}


def explained_apart(folder: Folder, *more: str) -> dict[str, list[str]]:
    """Do the same in a process of its own, which sees the tools that are installed in the folder."""
    ran = folder.strands("explain", "flow.yaml", "--json", *more)
    return {section["title"]: section["sentences"] for section in ran.document["sections"]}


def leaving(capsys: Output) -> list[str]:
    return explained(capsys)["What leaves this machine"]


def test_purpose_inputs_order_and_questions_are_said_in_sentences(in_folder: Folder, capsys: Output) -> None:
    in_folder.examples()
    sections = explained(capsys, "examples/approve-and-write.yaml")
    assert sections["What it is for"] == [
        "A notice for the shop's door, seen by a person before it is written.",
        "Input day (string, Friday unless given): The day on which the shop is closed",
    ]
    assert sections["What happens"][1:3] == [
        "steps.0: the agent writer works on: Write a notice that the shop is closed on Friday.",
        "steps.1: after steps.0, a person is asked: Put this notice up? (yes or no)",
    ]
    assert sections["Where a person is asked"] == [
        "At steps.1: Put this notice up? (yes or no); without an answer it is yes",
        "Before each call of file_write: the tool is destructive. To allow it beforehand: --allow file_write",
    ]
    assert "The tool file_write can write files." in sections["What it writes"]
    assert sections["What leaves this machine"] == ["Nothing that is known of."]


def test_the_text_for_people_has_every_sentence_of_the_json(in_folder: Folder, capsys: Output) -> None:
    in_folder.examples()
    sections = explained(capsys, "examples/quickstart.yaml")
    assert run_program(["explain", "examples/quickstart.yaml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "quickstart  (examples/quickstart.yaml)"
    assert [line for line in lines[1:] if line] == [
        line for title, sentences in sections.items() for line in [title, *(f"  {text}" for text in sentences)]
    ]


def test_a_task_waits_for_its_dependencies(in_folder: Folder, capsys: Output) -> None:
    tasks = [{"id": "a", **STEP}, {"id": "b", **STEP}, {"id": "c", **STEP, "deps": ["a", "b"]}]
    in_folder.workflow([], pattern={"type": "workflow", "config": {"tasks": tasks}})
    events = explained(capsys)["What happens"]
    assert events[1] == "tasks.a: the agent writer works on: Write."
    assert events[3] == "tasks.c: after tasks.a and tasks.b, the agent writer works on: Write."


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("graph", "nodes.write#N: first, and again after nodes.review#N (otherwise), the agent writer works on: "),
        ("evaluator_optimizer", "iterations.N.producer: first, and again after iterations.N.evaluator (while no draft"),
        ("routing", "routes.billing.steps.0: after router (if billing), the agent clerk works on: "),
        ("parallel", "reduce: after branches.cost.steps.0 and branches.use.steps.0, the agent editor works on: "),
        ("orchestrator_workers", "workers.N: after orchestrator, the agent worker works on: "),
    ],
)
def test_every_pattern_says_what_waits_for_what(name: str, said: str, in_folder: Folder, capsys: Output) -> None:
    in_folder.examples()
    events = explained(capsys, f"examples/patterns/{name}.yaml")["What happens"]
    assert events[0].startswith(f"{name}: ")
    assert [line for line in events if line.startswith(said)] != []


def test_the_tools_that_a_tool_is_made_of_stand_below_it(in_folder: Folder, capsys: Output) -> None:
    in_folder.examples()
    lines = explained(capsys, "examples/tools-of-tools.yaml")["Who works"]
    place = next(number for number, line in enumerate(lines) if line.startswith("  Tool price_with_tax "))
    assert lines[place + 1].startswith("    Tool ")


@pytest.mark.parametrize(
    ("runtime", "said"),
    [
        ({"provider": "openai", "model_id": "m"}, "to the model of openai at api.openai.com"),
        (
            {"provider": "openai", "model_id": "m", "host": "http://127.0.0.1:9/v1"},
            "to the model of openai at 127.0.0.1:9 (this machine or a private network)",
        ),
        ({"provider": "bedrock", "model_id": "m", "region": "eu-west-1"}, "to the model of bedrock"),
    ],
)
def test_what_goes_to_a_model_is_said_with_its_host(
    runtime: dict[str, str], said: str, in_folder: Folder, capsys: Output
) -> None:
    in_folder.workflow([STEP], runtime=runtime)
    assert [line for line in leaving(capsys) if said in line] != []


def test_ways_out_of_tools_servers_traces_and_secrets_are_named(folder: Folder) -> None:
    folder.tool("silent", "return answer('x')")
    servers = [{"id": "near", "command": "python3"}, {"id": "far", "url": "https://mcp.example.com/x"}]
    services = [{"id": "bees", "base_url": "https://bees.example.com/v1"}]
    folder.workflow(
        [STEP],
        tools={"python": ["native:silent"], "mcp": servers, "http_executors": services},
        telemetry={"otel": {"endpoint": "http://collector.example.com:4318"}},
        env={"secrets": [{"key": "token", "source": "ssm"}]},
    )
    assert set(explained_apart(folder)["What leaves this machine"]) >= {
        "The tool silent does not say whether it reaches the network.",
        "The MCP server near is a program (python3): it may send what it is given.",
        "What is given to the MCP server far goes to mcp.example.com.",
        "The tool bees can reach bees.example.com.",
        "The secret token is asked for at ssm; its value is not shown.",
        "Traces go to collector.example.com:4318.",
    }


def test_limits_of_the_run_and_of_agents_are_said(in_folder: Folder, capsys: Output) -> None:
    agents = {"writer": {"prompt": "p", "limits": {"turns": 3}, "budgets": {"max_tokens": 9000}}}
    runtime = {
        "provider": "replay", "recording": "flow.recording.yaml", "failure_policy": {"retries": 0},
        "budgets": {"max_duration_s": 60, "max_model_calls": 5},
    }  # fmt: skip
    in_folder.workflow([STEP], agents=agents, runtime=runtime)
    assert explained(capsys)["What limits it"] == [
        "The run: at most 1 step, at most 1 model call, at most 0 tool calls, at most 60 s.",
        "One step of writer: at most 3 model calls.",
        "All steps of writer: at most 9,000 tokens.",
        "A model call that fails is not tried again.",
    ]


def test_what_keeps_it_from_running_is_part_of_the_answer(in_folder: Folder, capsys: Output) -> None:
    in_folder.workflow([STEP], runtime={"provider": "openai", "model_id": "m"})
    (first, *_) = explained(capsys)["What to look at first"]
    assert first.startswith("It cannot run here: ")
    assert "export OPENAI_API_KEY=" in first


def test_what_cannot_be_planned_is_not_passed_over_in_silence(in_folder: Folder, capsys: Output) -> None:
    in_folder.workflow([STEP], tools={"python": ["native:nowhere"]})
    assert leaving(capsys)[-1] == "What cannot be planned is not counted here: see below."


def test_a_denied_tool_is_said_to_be_denied_and_leads_nowhere(folder: Folder) -> None:
    folder.tool("silent", "return answer('x')")
    folder.write("policy.yaml", {"version": 1, "rules": [{"deny": "silent"}]})
    folder.workflow([STEP], tools={"python": ["native:silent"]})
    sections = explained_apart(folder, "--policy", "policy.yaml")
    assert "  Tool silent (strands-tool-silent 1.0) is denied: " in "\n".join(sections["Who works"])
    assert sections["What leaves this machine"][0] == "Nothing that is known of."


def test_a_code_stays_a_code_and_anything_else_that_exists_is_a_workflow(in_folder: Folder, capsys: Output) -> None:
    text = in_folder.workflow([STEP], TURNS).read_text()
    in_folder.write("bad-var", text)
    in_folder.write("plain", text)
    assert run_program(["explain", "bad-var"]) == 0
    assert capsys.readouterr().out.startswith("bad-var  (exit code 2)")
    assert explained(capsys, "plain")["Who works"] != []
    assert run_program(["explain", "plian"]) == 2
    assert "there is no code 'plian'" in capsys.readouterr().err
    assert run_program(["explain", "nowhere.yaml"]) == 2
    assert "nowhere.yaml" in capsys.readouterr().err


def test_a_wrong_workflow_is_reported_as_everywhere(in_folder: Folder, capsys: Output) -> None:
    in_folder.write("wrong.yaml", "version: 1\nname: x\nagnets: {}\n")
    assert run_program(["explain", "wrong.yaml", "--json"]) == 3
    printed = capsys.readouterr()
    assert json.loads(printed.out)["findings"]
    assert "wrong.yaml:3:1" in printed.err


SPOKEN: dict[str, list[str]] = {
    "run": ["--quiet"],
    "validate": [],
    "plan": [],
    "explain": [],
}


def as_yaml(folder: Folder) -> str:
    return yaml.safe_dump(json.loads(folder.workflow([STEP], TURNS).read_text()))


def as_json(folder: Folder) -> str:
    return json.dumps(json.loads(folder.workflow([STEP], TURNS).read_text()), indent=1)


@pytest.mark.parametrize("command", SPOKEN)
def test_a_command_reads_json_from_a_file_and_either_form_from_standard_input(command: str, folder: Folder) -> None:
    def ran(spec: str, given: str | None = None) -> str:
        result = folder.strands(command, spec, *SPOKEN[command], given=given)
        assert (result.code, result.err) == (0, "")
        return result.out.replace(spec, "SPEC").replace("<stdin>", "SPEC")

    text: Any = as_yaml(folder)
    Path(folder.work / "flow.yaml").write_text(text)
    folder.write("flow.json", as_json(folder))
    from_yaml = ran("flow.yaml")
    assert ran("flow.json") == from_yaml
    assert ran("-", as_json(folder)) == from_yaml
    assert ran("-", text) == from_yaml


@pytest.mark.parametrize("command", SPOKEN)
def test_a_mistake_in_json_is_reported_at_its_line(command: str, folder: Folder) -> None:
    wrong = as_json(folder).replace('"prompt"', '"promt"')
    folder.write("wrong.json", wrong)
    line = next(number for number, text in enumerate(wrong.splitlines(), 1) if "promt" in text)
    for spec, shown in (("wrong.json", "wrong.json"), ("-", "<stdin>")):
        ran = folder.strands(command, spec, given=wrong)
        assert ran.code == 3
        assert f"{shown}:{line}:" in ran.err
