"""`strands plan`: what a run would do, in three forms, with the exit code that `run` would give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strands_cli.cli.program import run_program
from tests.cli.strands import EXAMPLES, Folder
from tests.golden import check_golden

Output = pytest.CaptureFixture[str]
ONE_STEP = [{"agent": "writer", "input": "Write on {{ topic }}."}]


def plan(capsys: Output, *arguments: str | Path) -> tuple[int, str, str]:
    """Run `plan` in this process."""
    code = run_program(["plan", *map(str, arguments)])
    return (code, *capsys.readouterr())


@pytest.fixture
def in_folder(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Work in the folder, without a key in the environment."""
    monkeypatch.chdir(folder.work)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(folder.runs))
    return folder


@pytest.mark.parametrize("name", ["quickstart", "approve-and-write"])
def test_the_plan_of_an_example_is_pinned(name: str, in_folder: Folder, capsys: Output) -> None:
    in_folder.examples()
    code, out, err = plan(capsys, f"examples/{name}.yaml")
    assert (code, err) == (0, "")
    check_golden(f"plan-{name}.txt", out)


def test_the_plan_as_json_is_pinned(in_folder: Folder, capsys: Output) -> None:
    in_folder.examples()
    code, out, err = plan(capsys, "examples/quickstart.yaml", "--format", "json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert len(document["digest"]) == 64
    check_golden("plan-quickstart.json", json.dumps({**document, "digest": "..."}, indent=2) + "\n")


def test_a_diagram_has_a_node_for_each_step_and_quotes_its_conditions(in_folder: Folder, capsys: Output) -> None:
    in_folder.examples()
    assert plan(capsys, "examples/approve-and-write.yaml", "--format", "mermaid")[1] == (
        "flowchart TD\n"
        '  n_steps_2e_0["steps.0: writer"]\n'
        '  n_steps_2e_1{{"steps.1: person"}}\n'
        '  n_steps_2e_2[["steps.2: native:file_write"]]\n'
        "  n_steps_2e_0 --> n_steps_2e_1\n"
        "  n_steps_2e_1 --> n_steps_2e_2\n"
    )
    graph = {
        "nodes": {"a": {"agent": "writer"}, "b": {"agent": "writer"}},
        "edges": [{"from": "a", "choose": [{"when": '{{ nodes.a.response == "x|y" }}', "to": "b"}]}],
    }
    in_folder.workflow([], pattern={"type": "graph", "config": graph})
    code, out, _ = plan(capsys, "flow.yaml", "--format", "mermaid")
    assert code == 0
    assert '-->|"{{ nodes.a.response == #34;x#124;y#34; }}"| n_nodes_2e_b_23_N' in out


def test_a_plan_shows_the_model_that_the_command_line_chooses(in_folder: Folder, capsys: Output) -> None:
    in_folder.examples()
    code, out, err = plan(capsys, "examples/quickstart.yaml", "--provider", "openai", "--model", "gpt-x")
    assert code == 18
    assert "agent     analyst: openai/gpt-x" in out
    assert "error[missing-api-key]" in err
    assert "export OPENAI_API_KEY=" in err


@pytest.mark.parametrize(
    ("arguments", "permission"),
    [([], "ask"), (["--allow", "file_write"], "allow"), (["--yes"], "allow")],
)
def test_a_plan_shows_what_each_tool_may_do(
    arguments: list[str], permission: str, in_folder: Folder, capsys: Output
) -> None:
    in_folder.examples()
    _, out, _ = plan(capsys, "examples/approve-and-write.yaml", "--format", "json", *arguments)
    (tool,) = json.loads(out)["step_tools"]
    assert (tool["name"], tool["distribution"], tool["permission"]) == ("file_write", "strands-tool-files", permission)


@pytest.mark.parametrize(
    ("sections", "arguments", "code"),
    [
        ({}, [], 2),
        ({"inputs": {"required": {"topic": "string"}}}, [], 2),
        ({"inputs": {"required": {"topic": "string"}}}, ["--var", "topic=bees"], 0),
        ({}, ["--var", "topic=bees"], 0),
        ({"agents": {"writer": {"prompt": "x", "tools": ["native:nothing"]}}}, ["--var", "topic=x"], 3),
        ({"agents": {"writer": {"prompt": "x", "tools": ["os.path:join"]}}}, ["--var", "topic=x"], 21),
        ({"skills": [{"id": "a", "path": "a"}]}, ["--var", "topic=x"], 3),
        ({"env": {"mounts": {"a": "none"}}}, ["--var", "topic=x"], 18),
        ({"outputs": {"artifacts": [{"path": "there.md", "from": "x"}]}}, ["--var", "topic=x", "--out", "."], 12),
        ({"outputs": {"artifacts": [{"path": "../out.md", "from": "x"}]}}, ["--var", "topic=x"], 12),
        ({"nonsense": 1}, [], 3),
    ],
)
def test_plan_and_run_end_with_the_same_code_before_anything_happens(
    sections: dict[str, object], arguments: list[str], code: int, in_folder: Folder, capsys: Output
) -> None:
    in_folder.workflow(ONE_STEP, {"steps.0": [{"text": "hi"}]}, **sections)
    in_folder.write("there.md", "")
    found, out, err = plan(capsys, "flow.yaml", *arguments)
    assert found == code, err
    again, out, _ = plan(capsys, "flow.yaml", "--format", "json", *arguments)
    assert again == code
    document = json.loads(out)
    errors = [finding for finding in document["findings"] if finding["severity"] == "error"]
    assert bool(errors) == (code != 0)
    if code:
        assert run_program(["run", "flow.yaml", *arguments]) == code
        assert not in_folder.runs.exists()
        shown = capsys.readouterr()
        assert shown.out == ""
        assert all(f"error[{finding['code']}]" in shown.err for finding in errors)


def test_all_that_is_wrong_with_a_file_is_reported_at_once(in_folder: Folder, capsys: Output) -> None:
    sections = {"inputs": {"required": {"topic": "string", "count": "integer"}}}
    in_folder.workflow(ONE_STEP, agents={"writer": {"prompt": "x", "tools": ["native:calculatr"]}}, **sections)
    code, _, err = plan(capsys, "flow.yaml", "--var", "count=many", "--provider", "openai", "--model", "m")
    assert code == 3
    for problem in ("missing-input", "bad-input", "unknown-tool", "missing-api-key"):
        assert f"error[{problem}]" in err


def test_examples_are_where_the_tests_look_for_them() -> None:
    assert (EXAMPLES / "quickstart.yaml").exists()
