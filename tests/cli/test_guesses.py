"""What a mistyped command or an option of another program is answered with."""

from __future__ import annotations

import pytest

from tests.cli.strands import Folder


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        (("batch", "run", "a", "b", "--max-parallel", "3"), "--concurrency"),
        (("run", "a", "--input", "x=1"), "--var"),
        (("run", "a", "-o", "out"), "--out"),
        (("plan", "a", "--set", "x=1"), "--var"),
        (("runs", "list", "-n", "3"), "--limit"),
    ],
)
def test_an_option_of_another_program_is_answered_with_the_one_here(
    folder: Folder, command: tuple[str, ...], meant: str
) -> None:
    ran = folder.strands(*command)
    assert ran.code == 2
    assert f"`{meant}`" in ran.err


def test_what_is_not_here_is_answered_with_the_command_that_does_it(folder: Folder) -> None:
    ran = folder.strands("login")
    assert (ran.code, "strands models keys set" in ran.err) == (2, True)


@pytest.mark.parametrize("words", [("exit", "18"), ("exit-code", "18"), ("18",)])
def test_an_exit_code_is_explained_however_it_is_asked(folder: Folder, words: tuple[str, ...]) -> None:
    ran = folder.strands("explain", *words)
    assert ran.code == 0
    assert ran.out.startswith("exit code 18")


def test_a_list_of_runs_tells_them_apart(folder: Folder) -> None:
    turns = {"steps.0": [{"text": "honey and bees"}]}
    inputs = {"required": {"topic": "string"}}
    folder.workflow([{"agent": "writer", "input": "{{ topic }}"}], turns, inputs=inputs)
    for topic in ("bees", "wasps"):
        assert folder.strands("run", "flow.yaml", "--var", f"topic={topic}").code == 0
    folder.workflow([{"tool": "native:file_read", "input": {"path": "{{ topic }}"}}], inputs=inputs)
    folder.strands("run", "flow.yaml", "--var", "topic=none.txt")
    failed, wasps, bees = folder.strands("runs", "list").out.splitlines()[1:]
    assert ("topic=bees" in bees, "topic=wasps" in wasps, "topic=none.txt" in failed) == (True, True, True)
    assert "none.txt" in failed.partition("topic=none.txt")[2]


def test_inputs_of_a_workflow_that_hides_values_are_not_listed(folder: Folder) -> None:
    folder.workflow(
        [{"agent": "writer", "input": "{{ topic }}"}],
        {"steps.0": [{"text": "x"}]},
        inputs={"required": {"topic": "string"}},
        security={"guardrails": {"pii_redaction": True}},
    )
    folder.strands("run", "flow.yaml", "--var", "topic=ann@example.org")
    assert "ann@example.org" not in folder.strands("runs", "list").out
