"""Runs that go on with a corrected workflow, in the program that began them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from strands import tool

from strands_cli import Workflow, app
from strands_cli.api import Event, RunResult
from strands_cli.errors import (
    BudgetExceeded,
    FileAtFault,
    InvalidInput,
    RunRecordError,
    StrandsCliError,
    UsageError,
)
from strands_cli.events import RunStarted, RunWarning
from strands_cli.metadata import tool_metadata
from strands_cli.workflow.builder import branch, call, chain, parallel

CALLS: list[str] = []
ONE = call("echo", {"word": "one"})
FAILING = "{{ steps[0].output.nope }}"


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    CALLS.clear()


@tool
@tool_metadata(read_only=True)
def echo(word: str) -> str:
    """Repeat a word.

    Args:
        word: The word.
    """
    CALLS.append(word)
    return word


def words(*said: str, **sections: Any) -> Workflow:
    """Return a workflow that says words one after another."""
    steps = chain(*(call("echo", {"word": word}) for word in said))
    return Workflow.build(**{"name": "words", "pattern": steps, **sections})


def begun(workflow: Workflow) -> str:
    """Begin a run that fails, and return its id."""
    started: list[Event] = []
    with pytest.raises(StrandsCliError):
        workflow.run(tools=[echo], on_event=started.append)
    return next(event.run_id for event in started if isinstance(event, RunStarted))


def corrected(run_id: str, workflow: Workflow | str | Path, **choices: Any) -> RunResult:
    return Workflow.resume(run_id, spec=workflow, tools=[echo], **choices)


def facts(run_id: str) -> Mapping[str, Any]:
    with closing(app.open_run(run_id, hold=False)) as journal:
        return {name: journal.get(name) for name in ("text", "file", "budgets", "corrections", "status")}


def test_the_steps_that_are_done_are_not_repeated_and_the_changes_are_reported() -> None:
    run_id = begun(words("one", FAILING))
    events: list[Event] = []
    result = corrected(run_id, words("one", "{{ steps[0].response }} two", "three"), on_event=events.append)
    assert (result.run_id, result.response, CALLS) == (run_id, "three", ["one", "one two", "three"])
    lines = [event.message for event in events if isinstance(event, RunWarning)]
    assert any("/pattern/config/steps/1/input/word, /pattern/config/steps/2" in line for line in lines)
    assert any("added steps.2; changed steps.1" in line for line in lines)
    assert facts(run_id)["corrections"] == [["/pattern/config/steps/1/input/word", "/pattern/config/steps/2"]]


def test_a_later_resume_has_the_corrected_text_and_a_second_correction_is_taken() -> None:
    run_id = begun(words("one", FAILING))
    half = words("one", "two", FAILING)
    with pytest.raises(FileAtFault):
        corrected(run_id, half)
    assert facts(run_id)["text"] == half.source[1]
    with pytest.raises(FileAtFault):
        Workflow.resume(run_id, tools=[echo])
    assert corrected(run_id, words("one", "two", "three")).response == "three"
    assert CALLS == ["one", "two", "three"]
    assert len(facts(run_id)["corrections"]) == 2


def test_a_template_that_still_fails_leaves_the_run_as_it_was() -> None:
    run_id = begun(words("one", FAILING))
    before = facts(run_id)
    with pytest.raises(FileAtFault):
        corrected(run_id, words("one", "{{ steps[0].output.other }}"))
    assert facts(run_id) == before


@pytest.mark.parametrize(
    ("workflow", "error", "named"),
    [
        (words("other", "two"), RunRecordError, "steps.0"),
        (words("one", "two", name="others"), UsageError, "others"),
        (words("one", "{{ nowhere"), InvalidInput, "bad-template"),
        (words("one", "two", inputs={"required": {"x": "string"}}), UsageError, "missing-input"),
        (
            words(
                pattern=parallel(branch("a", call("echo", {"word": "one"})), branch("b", call("echo", {"word": "b"})))
            ),
            RunRecordError,
            "parallel",
        ),
    ],
    ids=["a step that is done", "another name", "not valid", "a new input", "another pattern"],
)
def test_a_correction_with_which_the_run_cannot_continue_changes_nothing(
    workflow: Workflow, error: type[StrandsCliError], named: str
) -> None:
    run_id = begun(words("one", FAILING))
    before = facts(run_id)
    with pytest.raises(error) as raised:
        corrected(run_id, workflow)
    assert named in f"{raised.value} {raised.value.fix} {[one.code for one in raised.value.findings]}"
    assert (facts(run_id), CALLS) == (before, ["one"])


def test_branches_are_all_compared_before_one_of_them_goes_on() -> None:
    def branches(other: str, *more: str, last: str = "end") -> Workflow:
        first = branch("a", *(call("echo", {"word": word}) for word in ("a", *more)))
        both = first, branch("b", call("echo", {"word": other}))
        return words(pattern=parallel(*both, reduce=call("echo", {"word": last})))

    run_id = begun(branches("b", last="{{ branches.a.output.nope }}"))
    with pytest.raises(RunRecordError) as raised:
        corrected(run_id, branches("other", "new"))
    assert "branches.b.steps.0" in str(raised.value)
    assert corrected(run_id, branches("b", "new")).response == "end"
    assert sorted(CALLS) == ["a", "b", "end", "new"]


def test_a_complete_run_has_nothing_to_correct() -> None:
    run_id = words("one").run(tools=[echo]).run_id
    with pytest.raises(UsageError) as raised:
        corrected(run_id, words("two"))
    assert f"strands runs rerun {run_id}" in str(raised.value.fix)


def test_a_limit_that_was_raised_stays_unless_the_file_has_a_larger_one() -> None:
    def limited(number: int, *more: str) -> Workflow:
        return words("one", "two", *more, runtime={"provider": "replay", "budgets": {"max_tool_calls": number}})

    run_id = begun(limited(1))
    with pytest.raises(BudgetExceeded):
        corrected(run_id, limited(1, "three"), budgets={"max_tool_calls": 2})
    assert corrected(run_id, limited(2, "three"), budgets={"max_tool_calls": 3}).response == "three"
    run_id = begun(limited(1))
    with pytest.raises(BudgetExceeded):
        corrected(run_id, limited(1, "three"), budgets={"max_tool_calls": 2})
    assert corrected(run_id, limited(9, "three")).response == "three"
    assert facts(run_id)["budgets"] == {}


def test_a_file_elsewhere_has_the_folder_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"type": "string"}')
    run_id = begun(words("one", FAILING))
    (tmp_path / "elsewhere").mkdir()
    file = tmp_path / "elsewhere" / "words.yaml"
    agents = {"a": {"prompt": "p", "output_schema": "schema.json"}}
    file.write_text(words("one", "two", agents=agents, runtime={"provider": "replay", "recording": "r.yaml"}).source[1])
    (tmp_path / "r.yaml").write_text("recording: 1\nsteps: {}\n")
    assert corrected(run_id, file).response == "two"
    assert facts(run_id)["file"] == str(file)
