"""Programs that go on with stored runs: tools given again, answers, budgets, other places, other processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from strands import tool

from strands_cli import Workflow
from strands_cli.api import Event, RunResult
from strands_cli.engine.effects.effect import NeedsDecision
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.errors import (
    BudgetExceeded,
    InvalidInput,
    NotEquipped,
    RunFailed,
    RunRecordError,
    StrandsCliError,
    UsageError,
    WaitingForPerson,
)
from strands_cli.events import RunStarted, StepStarted
from strands_cli.metadata import tool_metadata
from strands_cli.workflow.builder import agent, branch, call, chain, gate, parallel, step
from tests.cli.strands import SECONDS
from tests.distributions import sound
from tests.warm import run_warm
from tests.wordings import Wording

CALLS: list[str] = []


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    CALLS.clear()


@tool
@tool_metadata(read_only=True)
def double(number: str) -> str:
    """Double a number.

    Args:
        number: The number.
    """
    CALLS.append(f"double {number}")
    return str(int(number) * 2)


@tool
@tool_metadata(read_only=True)
def unused() -> str:
    """Do nothing."""
    return ""


def counting(*more: Any, agents: Any = None, **sections: Any) -> Workflow:
    """Return a workflow that doubles 4, asks, and doubles the answer."""
    Path("turns.yaml").write_text("recording: 1\nsteps: {}\n")
    return Workflow.build(
        "counting",
        runtime={"provider": "replay", "recording": "turns.yaml", **sections.pop("runtime", {})},
        agents=agents or {"a": agent("You act.", tools=[])},
        pattern=chain(
            call("double", {"number": "4"}), gate("And then?"), call("double", {"number": "{{ hitl_response }}"}), *more
        ),
        base_dir=Path.cwd(),
        **sections,
    )


def waiting(**choices: Any) -> str:
    """Run the workflow until it waits and return its id."""
    with pytest.raises(WaitingForPerson) as waits:
        counting().run(tools=[double], **choices)
    return waits.value.run_id


def strands(*words: str) -> subprocess.CompletedProcess[str]:
    return run_warm(words, Path.cwd(), os.environ, "", SECONDS)


def test_a_program_goes_on_with_the_run_it_began_and_gives_its_tools_again() -> None:
    run = waiting()
    events: list[Event] = []
    result = Workflow.resume(run, tools=[double], answer=lambda question: "6", on_event=events.append)
    assert (result.run_id, result.status, result.response) == (run, "completed", "12")
    assert CALLS == ["double 4", "double 6"], "what was done is not done again"
    assert isinstance(events[0], RunStarted)
    assert events[0].resumed


class Shelf:
    """It keeps what it got."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    @tool
    def double(self, number: str) -> str:
        """Keep a number.

        Args:
            number: The number.
        """
        self.seen.append(number)
        return str(len(self.seen))


def test_a_program_that_goes_on_with_its_own_object_decides_nothing_and_with_a_new_one_it_does() -> None:
    shelf = Shelf()
    ids = []
    for tools in (shelf, Shelf()):
        with pytest.raises(WaitingForPerson) as waits:
            counting().run(tools=[tools.double], yes=True)
        ids.append(waits.value.run_id)
    asked: dict[str, Any] = {"answer": lambda question: "6", "yes": True}
    assert Workflow.resume(ids[0], tools=[shelf.double], **asked).response == "2"
    with pytest.raises(NeedsDecision):
        Workflow.resume(ids[1], tools=[Shelf().double], **asked)


def test_resuming_needs_no_object_of_the_workflow_and_works_in_a_running_loop(wording: Wording) -> None:
    run = waiting()

    async def program() -> RunResult:
        with pytest.raises(UsageError) as raised:
            Workflow.resume(run)
        wording(raised.value)
        assert raised.value.fix == "write `await workflow.resume_async(...)`"
        return await Workflow.resume_async(run, tools=[double], answer=lambda question: "1")

    assert asyncio.run(program()).response == "2"


def resume(run: str) -> RunResult:
    return Workflow.resume(run, answer=lambda question: "6")


def rerun(run: str) -> RunResult:
    return Workflow.rerun(run, "steps.1")


@pytest.mark.parametrize("go_on", [resume, rerun])
def test_a_program_that_forgets_the_tools_learns_which_and_from_where(
    go_on: Callable[[str], RunResult], wording: Wording
) -> None:
    run = waiting()
    with pytest.raises(NotEquipped) as raised:
        go_on(run)
    wording(str(raised.value))
    assert f"Workflow.resume('{run}', tools=[double])" in str(raised.value.fix)
    assert raised.value.exit_code == 18
    assert [run] == [path.name for path in Path("runs").iterdir()], "and no other run was begun"


@pytest.mark.parametrize("words", [["resume"], ["runs", "rerun", "--from", "steps.1"]])
def test_the_command_says_which_tools_it_lacks_and_where_they_come_from(words: list[str], wording: Wording) -> None:
    run = waiting()
    ran = strands(*words, run)
    assert (ran.returncode, ran.stdout) == (18, "")
    assert f"double (of {__file__})" in ran.stderr
    wording(ran.stderr)
    assert f"tools:     double (of {__file__})" in strands("runs", "show", run).stdout


def test_an_answer_given_by_the_command_is_kept_for_the_program() -> None:
    run = waiting()
    refused = strands("approve", run, "--answer", "7")
    assert refused.returncode == 18
    assert f"strands approve {run} --no-resume" in refused.stderr
    approved = strands("approve", run, "--answer", "7", "--no-resume")
    assert approved.returncode == 0
    assert "steps.1: 7" in approved.stderr
    assert Workflow.resume(run, tools=[double]).response == "14"


def test_an_object_that_no_step_may_call_is_not_asked_for_again() -> None:
    with pytest.raises(WaitingForPerson):
        counting().run(tools=[double, unused])
    (run,) = Path("runs").iterdir()
    journal = SqliteJournal.open(run, hold=False)
    kept = journal.get("given")
    journal.close()
    assert kept == {"double": __file__}
    assert Workflow.resume(run.name, tools=[double], answer=lambda question: "1").response == "2"


def test_a_tool_that_wants_other_input_is_refused_before_anything_is_done() -> None:
    with pytest.raises(WaitingForPerson):
        counting(agents={"a": agent("You act.")}).run(tools=[double])
    (run,) = Path("runs").iterdir()

    @tool(name="double")
    def other(text: str) -> str:
        """Do something else.

        Args:
            text: What.
        """
        return text

    with pytest.raises(InvalidInput) as raised:
        Workflow.resume(run.name, tools=[other], answer=lambda question: "1")
    assert {finding.code for finding in raised.value.findings} == {"tool-input"}
    assert CALLS == ["double 4"]


@pytest.mark.parametrize("steps", [chain(gate("One?")), parallel(branch("x", gate("One?")), branch("y", gate("Two?")))])
def test_an_error_has_the_id_of_the_run_that_it_stops(steps: Any) -> None:
    flow = Workflow.build("asks", pattern=steps)
    with pytest.raises(WaitingForPerson) as waits:
        flow.run()
    assert (Path("runs") / waits.value.run_id).is_dir()
    with pytest.raises(WaitingForPerson) as still:
        Workflow.resume(waits.value.run_id)
    assert still.value.run_id == waits.value.run_id


def test_a_run_that_fails_is_continued_by_the_id_in_its_error() -> None:
    with pytest.raises(RunFailed) as failed:
        counting().run(tools=[double], answer=lambda question: "six")
    with pytest.raises(RunFailed) as again:
        Workflow.resume(failed.value.run_id, tools=[double])
    assert again.value.run_id == failed.value.run_id


def test_an_error_before_the_run_has_begun_has_no_id() -> None:
    with pytest.raises(InvalidInput) as refused:
        Workflow.from_text("version: 2").run()
    assert refused.value.run_id == ""


def test_an_exception_in_the_callback_leaves_a_run_that_can_be_resumed() -> None:
    run = waiting()

    def fail(event: Event) -> None:
        if isinstance(event, StepStarted) and event.key == "steps.2":
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        Workflow.resume(run, tools=[double], answer=lambda question: "5", on_event=fail)
    assert Workflow.resume(run, tools=[double]).response == "10"


def test_a_budget_is_raised_by_name_and_number(wording: Wording) -> None:
    limited = counting(runtime={"budgets": {"max_tool_calls": 1}})
    with pytest.raises(BudgetExceeded):
        limited.run(tools=[double], answer=lambda question: "1")
    (run,) = Path("runs").iterdir()
    with pytest.raises(UsageError) as raised:
        Workflow.resume(run.name, tools=[double], budgets={"max_tool_calls": 1})
    wording(raised.value)
    assert Workflow.resume(run.name, tools=[double], budgets={"max_tool_calls": 2}).response == "2"


def test_a_program_elsewhere_learns_where_the_run_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    run = waiting()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(UsageError) as raised:
        Workflow.resume(run, tools=[double])
    wording(raised.value)
    assert raised.value.fix == f"call os.chdir({os.fspath(tmp_path)!r}) first"


def test_a_record_is_let_go_of_after_every_refusal(wording: Wording) -> None:
    run = waiting()
    for choices in ({}, {"tools": [double], "budgets": {"max_calls": 3}}):
        with pytest.raises(StrandsCliError):
            Workflow.resume(run, **choices)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="model"):
        Workflow.resume(run, tools=[double], model="x")  # type: ignore[call-arg]
    with pytest.raises(RunRecordError) as raised:
        Workflow.resume("20000101-000000-ffffff")
    wording(raised.value)
    assert Workflow.resume(run, tools=[double], answer=lambda question: "1").status == "completed"


def test_a_rerun_takes_over_what_was_done_and_other_inputs() -> None:
    inputs = {"optional": {"n": {"type": "string", "default": "1"}}}
    workflow = Workflow.build(
        "two",
        runtime={"provider": "replay", "recording": "turns.yaml"},
        agents={"a": agent("You act.", tools=[])},
        pattern=chain(call("double", {"number": "4"}), call("double", {"number": "{{ n }}"})),
        base_dir=Path.cwd(),
        inputs=inputs,
    )
    Path("turns.yaml").write_text("recording: 1\nsteps: {}\n")
    first = workflow.run(tools=[double])
    second = Workflow.rerun(first.run_id, "steps.1", {"n": "8"}, tools=[double])
    assert (second.response, second.run_id != first.run_id) == ("16", True)
    assert CALLS == ["double 4", "double 1", "double 8"]
    journal = SqliteJournal.open(Path("runs") / second.run_id, hold=False)
    origin = journal.get("rerun_of")
    journal.close()
    assert origin == {"run": first.run_id, "from": "steps.1"}


def test_a_new_run_may_have_from_an_installed_tool_what_the_old_one_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("turns.yaml").write_text("recording: 1\nsteps:\n  steps.0: [{text: one}]\n  steps.1: [{text: two}]\n")

    @tool(name="alpha")
    @tool_metadata(read_only=True)
    def alpha(text: str) -> str:
        """Say it.

        Args:
            text: What.
        """
        return text

    workflow = Workflow.build(
        "prototype",
        runtime={"provider": "replay", "recording": "turns.yaml"},
        agents={"a": agent("You act.", tools=["alpha"])},
        pattern=chain(step("a", "go"), step("a", "on")),
        base_dir=Path.cwd(),
    )
    run = workflow.run(tools=[alpha]).run_id
    site = tmp_path / "site"
    site.mkdir()
    sound(site, "alpha")
    monkeypatch.syspath_prepend(str(site))
    assert Workflow.rerun(run, "steps.1").response == "two"
    with pytest.raises(NotEquipped):
        Workflow.resume(run)


def test_a_tool_of_an_interactive_session_has_a_module_instead_of_a_file(wording: Wording) -> None:
    program = (
        "from strands import tool\nfrom strands_cli.tools.tool_forms import code_place_of\n"
        "@tool\ndef here() -> str:\n    'Here.'\n    return ''\nprint(code_place_of(here))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    wording(ran.stdout)
