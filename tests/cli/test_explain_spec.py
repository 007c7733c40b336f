"""`explain SPEC` says in sentences what a plan knows; a workflow is read alike from YAML, JSON and stdin."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from strands_cli.cli.program import run_program
from strands_cli.workflow.patterns.pattern_models import PATTERNS
from tests.cli.strands import Folder
from tests.golden import check_golden
from tests.yaml_texts import write_yaml

Output = pytest.CaptureFixture[str]
STEP = {"agent": "writer", "input": "Write."}
TURNS = {"steps.0": [{"text": "hi"}]}


@pytest.fixture
def in_folder(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Work in the folder, without keys and hosts of the test run."""
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


def sentences(sections: dict[str, list[str]]) -> list[str]:
    return [sentence for section in sections.values() for sentence in section]


def check_sentences(name: str, sections: dict[str, list[str]]) -> None:
    """Compare the explanation of a workflow with the pinned sentences."""
    lines = [line for title, section in sections.items() for line in [title, *(f"  {text}" for text in section), ""]]
    here = re.sub(r"(?<=, which is )[^ ]+", "PLACE", "\n".join(lines))
    check_golden(f"explain-{name}.txt", here)


def test_purpose_inputs_order_and_questions_are_reported_in_sentences(in_folder: Folder, capsys: Output) -> None:
    in_folder.examples()
    check_sentences("approve-and-write", explained(capsys, "examples/approve-and-write.yaml"))


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
    steps = [line for line in sentences(explained(capsys)) if line.startswith("tasks.")]
    waiting = [re.findall(r"tasks\.\w", line) for line in steps]
    assert waiting == [["tasks.a"], ["tasks.b"], ["tasks.c", "tasks.a", "tasks.b"]]
    assert all(re.search(r"\bwriter\b.*: Write\.$", line) for line in steps)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("graph", r"nodes\.write#N: .*nodes\.review#N .*\bwriter\b"),
        ("evaluator_optimizer", r"iterations\.N\.producer: .*iterations\.N\.evaluator "),
        ("routing", r"routes\.billing\.steps\.0: .*\brouter .*\bbilling\b.*\bclerk\b"),
        ("parallel", r"reduce: .*branches\.cost\.steps\.0 .*branches\.use\.steps\.0\b.*\beditor\b"),
        ("orchestrator_workers", r"workers\.N: .*\borchestrator\b.*\bworker\b"),
    ],
)
def test_every_pattern_says_what_waits_for_what(name: str, said: str, in_folder: Folder, capsys: Output) -> None:
    in_folder.examples()
    lines = sentences(explained(capsys, f"examples/patterns/{name}.yaml"))
    assert f"{name}: {PATTERNS[name].purpose}" in lines
    assert [line for line in lines if re.match(said, line)] != []


def test_the_tools_that_a_tool_is_made_of_are_below_it(in_folder: Folder, capsys: Output) -> None:
    in_folder.examples()
    lines = sentences(explained(capsys, "examples/tools-of-tools.yaml"))
    place = next(number for number, line in enumerate(lines) if re.match(r"  \w+ price_with_tax ", line))
    assert re.match(r"    \w+ \w+ ", lines[place + 1])


@pytest.mark.parametrize(
    ("runtime", "said"),
    [
        ({"provider": "openai", "model_id": "m"}, r"\bwriter\b.*\bopenai\b.*\bapi\.openai\.com\b"),
        (
            {"provider": "openai", "model_id": "m", "host": "http://127.0.0.1:9/v1"},
            r"\bwriter\b.*\bopenai\b.*\b127\.0\.0\.1:9 \(.+\)",
        ),
        ({"provider": "bedrock", "model_id": "m", "region": "eu-west-1"}, r"\bwriter\b.*\bbedrock\b(?!.*\bm\b)"),
    ],
)
def test_what_goes_to_a_model_is_reported_with_its_host(
    runtime: dict[str, str], said: str, in_folder: Folder, capsys: Output
) -> None:
    in_folder.workflow([STEP], runtime=runtime)
    assert [line for line in sentences(explained(capsys)) if re.search(said, line)] != []


def test_ways_out_of_tools_servers_traces_and_secrets_are_named(folder: Folder) -> None:
    folder.tool("silent", "return answer('x')")
    servers = [{"id": "near", "command": "python3"}, {"id": "far", "url": "https://mcp.example.com/x"}]
    headers = {"authorization": "Bearer ${secrets.token}"}
    services = [{"id": "bees", "base_url": "https://bees.example.com/v1", "headers": headers}]
    folder.workflow(
        [STEP],
        TURNS,
        tools={"python": ["native:silent"], "mcp": servers, "http_executors": services},
        telemetry={"otel": {"endpoint": "http://collector.example.com:4318"}},
        env={"secrets": [{"key": "token", "source": "ssm"}]},
    )
    check_sentences("ways-out", explained_apart(folder))


def test_limits_of_the_run_and_of_agents_are_reported(in_folder: Folder, capsys: Output) -> None:
    agents = {"writer": {"prompt": "p", "limits": {"turns": 3}, "budgets": {"max_tokens": 9000}}}
    runtime = {
        "provider": "replay",
        "recording": "flow.recording.yaml",
        "failure_policy": {"retries": 0},
        "budgets": {"max_duration_s": 60, "max_model_calls": 5},
    }
    in_folder.workflow([STEP], TURNS, agents=agents, runtime=runtime)
    check_sentences("limits", explained(capsys))


def test_what_keeps_it_from_running_is_part_of_the_answer(in_folder: Folder, capsys: Output) -> None:
    in_folder.workflow([STEP], runtime={"provider": "openai", "model_id": "m"})
    assert [line for line in sentences(explained(capsys)) if "export OPENAI_API_KEY=" in line] != []


def test_what_cannot_be_planned_is_not_passed_over_in_silence(in_folder: Folder, capsys: Output) -> None:
    in_folder.workflow([STEP], TURNS, tools={"python": ["native:nowhere"]})
    check_sentences("not-planned", explained(capsys))


SECTION = "What leaves this machine"


@pytest.mark.parametrize(
    "missing",
    [
        {"python": ["native:nowhere"]},
        {"mcp": [{"id": "far", "url": "https://mcp.example.com/x", "prefix": "a b"}]},
        {"composite": [{"id": "twice", "description": "d", "steps": [{"tool": "native:nowhere", "input": {}}]}]},
        {"python": ["workflow:./inner.yaml"]},
    ],
    ids=["tool", "server", "composite", "inner workflow"],
)
def test_only_what_cannot_be_planned_makes_the_ways_out_incomplete(
    missing: dict[str, Any], in_folder: Folder, capsys: Output
) -> None:
    in_folder.workflow([STEP], TURNS, name="inner", tools={"python": ["native:nowhere"]})
    (in_folder.work / "flow.yaml").rename(in_folder.work / "inner.yaml")
    artifacts = [{"path": "there.txt", "from": "{{ last_response }}"}]
    in_folder.write("artifacts/there.txt", "x")
    in_folder.workflow([STEP], TURNS, outputs={"artifacts": artifacts})
    planned = explained(capsys, "flow.yaml")
    assert [line for line in planned["What to look at first"] if "there.txt" in line] != []
    in_folder.workflow([STEP], TURNS, tools=missing, outputs={"artifacts": artifacts})
    assert len(explained(capsys, "flow.yaml")[SECTION]) == len(planned[SECTION]) + 1


def test_a_denied_tool_is_reported_as_denied_and_leads_nowhere(folder: Folder) -> None:
    folder.tool("silent", "return answer('x')")
    folder.write("policy.yaml", {"version": 1, "rules": [{"deny": "silent"}]})
    folder.workflow([STEP], TURNS, tools={"python": ["native:silent"]})
    sections = explained_apart(folder, "--policy", "policy.yaml")
    named = [line for line in sentences(sections) if "silent" in line]
    # Where it is not denied, another section says that it may reach the network.
    assert [line for line in named if "policy.yaml:1" not in line] == []
    assert len(named) == 2


def test_a_code_stays_a_code_and_anything_else_that_exists_is_a_workflow(in_folder: Folder, capsys: Output) -> None:
    text = in_folder.workflow([STEP], TURNS).read_text()
    in_folder.write("bad-var", text)
    in_folder.write("plain", text)
    assert run_program(["explain", "bad-var"]) == 0
    assert re.match(r"bad-var  \(.*\b2\)", capsys.readouterr().out)
    assert [line for line in sentences(explained(capsys, "plain")) if "writer" in line] != []
    assert run_program(["explain", "plian"]) == 2
    assert "'plian'" in capsys.readouterr().err
    assert run_program(["explain", "nowhere.yaml"]) == 2
    assert "nowhere.yaml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [("exits 19", "explain 19"), ("code bad-var", "explain bad-var"), ("a b", "explain policy REF")],
)
def test_the_fix_for_too_many_arguments_is_the_command_that_was_meant(words: str, meant: str, capsys: Output) -> None:
    assert run_program(["explain", *words.split()]) == 2
    assert f"fix: strands {meant}\n" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["exit", "exit-code", "code", "status"])
def test_an_exit_code_is_explained_after_a_word_for_it(word: str, capsys: Output) -> None:
    assert run_program(["explain", "19"]) == 0
    alone = capsys.readouterr().out
    assert alone.startswith("exit code 19\n")
    assert run_program(["explain", word, "19"]) == 0
    assert capsys.readouterr().out == alone


def test_a_wrong_workflow_is_reported_as_everywhere(in_folder: Folder, capsys: Output) -> None:
    in_folder.write("wrong.yaml", "version: 2\nname: x\nagnets: {}\n")
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
    return write_yaml(json.loads(folder.workflow([STEP], TURNS).read_text()))


def as_json(folder: Folder) -> str:
    return json.dumps(json.loads(folder.workflow([STEP], TURNS).read_text()), indent=1)


@pytest.mark.parametrize("command", SPOKEN)
def test_a_command_reads_json_from_a_file_and_either_form_from_standard_input(command: str, folder: Folder) -> None:
    def ran(spec: str, given: str | None = None) -> str:
        result = folder.strands(command, spec, *SPOKEN[command], given=given)
        assert (result.code, result.err) == (0, "")
        # A word of its own, so that the hyphen of a date stays.
        return re.sub(rf"(?<![\w>-]){re.escape(spec)}(?![\w>-])|<stdin>", "SPEC", result.out)

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
