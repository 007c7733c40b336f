"""Running workflows from Python: results, events, answers, tools as objects, and loops that are running already."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from strands import tool

from strands_cli import Workflow
from strands_cli.api import Answer, Event, Question, RunResult
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.errors import (
    CallDenied,
    InvalidInput,
    NotEquipped,
    RunFailed,
    StrandsCliError,
    UsageError,
    WaitingForPerson,
)
from strands_cli.events import (
    HumanAnswered,
    ModelText,
    RunFinished,
    RunStarted,
    RunWarning,
    StepStarted,
    ToolCallDecided,
)
from strands_cli.metadata import tool_metadata
from strands_cli.workflow.builder import agent, branch, call, chain, gate, parallel, step
from tests.distributions import sound
from tests.wordings import Wording

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
REPLAY = {"provider": "replay", "recording": "turns.yaml"}


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))


def recording(tmp_path: Path, text: str) -> None:
    (tmp_path / "turns.yaml").write_text(f"recording: 1\nsteps:\n{text}", encoding="utf-8")


def calling(*steps: Any, agents: Any = None, **sections: Any) -> Workflow:
    """Build a chain whose agents speak from `turns.yaml` in the current directory."""
    Path("turns.yaml").touch()
    if not Path("turns.yaml").read_text(encoding="utf-8"):
        recording(Path(), "  {}\n")
    return Workflow.build(
        "test",
        runtime=REPLAY,
        agents=agents or {"a": agent("You act.")},
        pattern=chain(*steps),
        base_dir=Path.cwd(),
        **sections,
    )


@tool
@tool_metadata(read_only=True)
def double(number: int) -> str:
    """Double a number.

    Args:
        number: The number.
    """
    return str(number * 2)


@tool
def shout(text: str) -> str:
    """Say it loudly.

    Args:
        text: What to say.
    """
    return text.upper()


OPENED: list[SqliteJournal] = []


@pytest.fixture(autouse=True)
def _records_are_closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def run_of(directory: str = "runs") -> SqliteJournal:
    (run,) = Path(directory).iterdir()
    OPENED.append(SqliteJournal.open(run, hold=False))
    return OPENED[-1]


@pytest.mark.parametrize(
    "name", ["workflow", "routing", "parallel", "evaluator_optimizer", "orchestrator_workers", "graph"]
)
def test_every_pattern_runs_from_a_file(name: str) -> None:
    result = Workflow.from_file(EXAMPLES / "patterns" / f"{name}.yaml").run()
    assert (result.status, bool(result.response)) == ("completed", True)


def test_inputs_choices_and_the_result_are_those_of_the_command(tmp_path: Path, wording: Wording) -> None:
    workflow = Workflow.from_file(EXAMPLES / "quickstart.yaml")
    result = workflow.run({}, out_dir=tmp_path / "out", runs_dir=tmp_path / "elsewhere", record="turns.yaml")
    assert [artifact["path"] for artifact in result.artifacts] == [str(tmp_path / "out" / "report.md")]
    assert (tmp_path / "elsewhere" / result.run_id).is_dir()
    assert (tmp_path / "turns.yaml").exists()
    assert result.model_calls == 4 or result.model_calls > 1
    assert workflow.run(out_dir=tmp_path / "out").status == "completed", "it overwrites"
    copied = shutil.copytree(EXAMPLES, tmp_path / "examples") / "quickstart.yaml"
    copied.write_text(copied.read_text("utf-8").replace("  overwrite: true\n", ""), "utf-8")
    keeping = Workflow.from_file(copied)
    with pytest.raises(StrandsCliError) as raised:
        keeping.run(out_dir=tmp_path / "out")
    wording(raised.value)
    assert keeping.run(out_dir=tmp_path / "out", force=True).status == "completed"


def test_a_workflow_that_is_wrong_is_reported_and_not_run(wording: Wording) -> None:
    workflow = Workflow.from_text("version: 2\nname: w\n", name="mine")
    assert {finding.code for finding in workflow.validate()} == {"missing-key"}
    for use in (workflow.run, workflow.plan, lambda: workflow.spec):
        with pytest.raises(InvalidInput) as raised:
            use()
        wording(raised.value)
        assert raised.value.findings == workflow.validate()
    with pytest.raises(UsageError) as refused:
        Workflow.from_file("missing.yaml")
    wording(refused.value)


def test_the_traceback_of_an_error_says_what_is_wrong_and_how_to_correct_it() -> None:
    with pytest.raises(StrandsCliError) as raised:
        calling(call("unheard_of")).run()
    notes = raised.value.__notes__
    assert [note.splitlines()[0].split(":")[0] for note in notes] == ["error[unknown-tool]"]
    assert "--> <workflow>:" in notes[0]


def test_inputs_are_checked_before_anything_runs(wording: Wording) -> None:
    workflow = calling(call("double", {"number": "{{ n }}"}), inputs={"required": {"n": "integer"}})
    assert "missing-input" in {finding.code for finding in workflow.plan(tools=[double]).findings}
    assert workflow.run({"n": 4}, tools=[double]).response == "8"
    with pytest.raises(StrandsCliError) as raised:
        workflow.run({"n": "four"}, tools=[double])
    wording(raised.value)
    assert len(list(Path("runs").iterdir())) == 1, "what cannot run leaves no record"


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(TypeError, match="alow"):
        calling(call("double")).run(alow=["x"])  # type: ignore[call-arg]


def test_relative_paths_are_resolved_against_the_base_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (EXAMPLES / "patterns" / "routing.yaml").read_text(encoding="utf-8")
    workflow = Workflow.from_text(text, base_dir=EXAMPLES / "patterns")
    assert workflow.run().response.startswith("We are sorry.")


def test_events_come_to_the_callback_in_order() -> None:
    events: list[Event] = []
    result = Workflow.from_file(EXAMPLES / "patterns" / "graph.yaml").run(on_event=events.append)
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert events[0].run_id == events[-1].run_id == result.run_id
    assert next(event.key for event in events if isinstance(event, StepStarted)) == "nodes.write#1"


def test_an_exception_in_the_callback_stops_the_run_and_is_raised() -> None:
    def fail(event: Event) -> None:
        if isinstance(event, StepStarted):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        Workflow.from_file(EXAMPLES / "patterns" / "graph.yaml").run(on_event=fail)
    assert run_of().get("status") == "interrupted"


def test_an_exception_at_the_last_event_is_raised_too() -> None:
    def fail(event: Event) -> None:
        if isinstance(event, RunFinished):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        Workflow.from_file(EXAMPLES / "patterns" / "graph.yaml").run(on_event=fail)


def test_an_exception_in_the_callback_is_not_lost_where_something_swallows_the_cancellation() -> None:
    class Stubborn:
        @tool
        def persist(self) -> str:
            """Persist."""
            return "persisted"

        async def close(self) -> None:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)

    def fail(event: Event) -> None:
        if isinstance(event, RunFinished):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        calling(call("persist")).run(tools=[Stubborn], yes=True, on_event=fail)


def test_a_coroutine_function_as_callback_is_refused(wording: Wording) -> None:
    async def listen(event: Event) -> None:
        """Never called."""

    with pytest.raises(UsageError) as raised:
        calling(call("double")).run(on_event=listen)
    wording(raised.value)


def test_run_refuses_inside_a_running_loop_and_run_async_works_there(wording: Wording) -> None:
    workflow = Workflow.from_file(EXAMPLES / "patterns" / "routing.yaml")

    async def program() -> RunResult:
        with pytest.raises(UsageError) as raised:
            workflow.run()
        wording(raised.value)
        assert "run_async" in str(raised.value.fix)
        return await workflow.run_async()

    assert asyncio.run(program()).status == "completed"


def test_two_workflows_run_side_by_side_in_one_loop() -> None:
    there = [threading.Event(), threading.Event()]

    def meeting(mine: int) -> Any:
        @tool(name="meet")
        async def meet() -> str:
            """Wait for the other workflow."""
            there[mine].set()
            while not there[1 - mine].is_set():
                await asyncio.sleep(0)
            return str(mine)

        return meet

    workflow = calling(call("meet"))

    async def program() -> list[RunResult]:
        return await asyncio.gather(*(workflow.run_async(tools=[meeting(mine)], yes=True) for mine in (0, 1)))

    first, second = asyncio.run(program())
    assert (first.response, second.response) == ("0", "1")
    assert first.run_id != second.run_id


def test_a_cancelled_run_says_so_in_its_record() -> None:
    workflow = calling(gate("Go on?"))
    asked = asyncio.Event()

    async def never(question: Question) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    async def program() -> None:
        task = asyncio.create_task(workflow.run_async(answer=never))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(program())
    assert run_of().get("status") == "interrupted"


def test_the_stream_yields_the_events_and_then_the_result() -> None:
    async def program() -> list[Any]:
        return [item async for item in Workflow.from_file(EXAMPLES / "patterns" / "routing.yaml").stream()]

    *events, result = asyncio.run(program())
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert any(isinstance(event, ModelText) for event in events)
    assert isinstance(result, RunResult)


def test_the_stream_of_a_failing_run_ends_with_its_error() -> None:
    seen: list[Any] = []

    async def program() -> None:
        async for item in calling(call("fail")).stream(tools=[failing], yes=True):
            seen.append(item)  # noqa: PERF401 - what came before the error is to be seen

    with pytest.raises(RunFailed, match=r"\bfail\b.*: Error: no\n"):
        asyncio.run(program())
    assert isinstance(seen[-1], RunFinished)
    assert seen[-1].status == "failed"


@tool(name="fail")
def failing() -> str:
    """Fail."""
    raise ValueError("no")


def test_a_stream_that_is_left_early_stops_its_run() -> None:
    async def program() -> None:
        stream = Workflow.from_file(EXAMPLES / "patterns" / "graph.yaml").stream()
        async with contextlib.aclosing(stream):  # type: ignore[type-var]
            async for item in stream:
                if isinstance(item, StepStarted):
                    break
        assert len(asyncio.all_tasks()) == 1, "the run's task is gone"

    asyncio.run(program())
    assert run_of().get("status") == "interrupted"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_gate_is_answered_by_the_program(is_async: bool) -> None:
    questions: list[Question] = []

    def answer(question: Question) -> str:
        questions.append(question)
        return "yes"

    async def answer_later(question: Question) -> str:
        await asyncio.sleep(0)
        return answer(question)

    events: list[Event] = []
    workflow = calling(gate("Paint it {{ colour }}?", context_display="c"), inputs={"values": {"colour": "red"}})
    result = workflow.run(answer=answer_later if is_async else answer, on_event=events.append)
    assert result.response == "yes"
    assert [(question.prompt, question.context, question.kind) for question in questions] == [
        ("Paint it red?", "c", "gate")
    ]
    assert [event.by for event in events if isinstance(event, HumanAnswered)] == ["program"]


@pytest.mark.parametrize("answer", [None, lambda question: None])
def test_an_unanswered_gate_waits(answer: Any) -> None:
    with pytest.raises(WaitingForPerson, match="Go on"):
        calling(gate("Go on?")).run(answer=answer)
    assert run_of().get("status") == "waiting"


def test_an_answer_that_does_not_fit_is_asked_for_again_but_not_for_ever(wording: Wording) -> None:
    problems: list[str | None] = []

    def learn(question: Question) -> str:
        problems.append(question.problem)
        return "maybe" if question.problem is None else "yes"

    workflow = calling(gate("Go on?", pattern="yes|no"))
    assert workflow.run(answer=learn).response == "yes"
    first, second = problems
    assert first is None
    assert "'maybe'" in str(second)
    assert "'yes|no'" in str(second)
    asked: list[Question] = []
    with pytest.raises(UsageError) as raised:
        workflow.run(answer=lambda question: asked.append(question) or "maybe")
    assert len(asked) == 3
    wording(raised.value)


@pytest.mark.parametrize(("reply", "text"), [(True, "yes"), (False, "no"), (Answer("answered", "so", "ann"), "so")])
def test_an_answer_may_be_a_truth_value_or_a_whole_answer(reply: Any, text: str) -> None:
    assert calling(gate("Go on?")).run(answer=lambda question: reply).response == text


def test_an_answer_that_takes_too_long_gives_way_to_the_default() -> None:
    async def never(question: Question) -> str:
        await asyncio.Event().wait()
        return ""

    assert calling(gate("?", timeout_seconds=0.01, default="d")).run(answer=never).response == "d"
    with pytest.raises(WaitingForPerson):
        calling(gate("?", timeout_seconds=0.01)).run(answer=never)


def test_a_function_that_fails_to_answer_ends_the_run_with_its_error() -> None:
    def fail(question: Question) -> str:
        raise ZeroDivisionError("mine")

    for workflow, given in ((calling(gate("?")), []), (calling(call("shout", {"text": "x"})), [shout])):
        with pytest.raises(UsageError, match="ZeroDivisionError: mine") as raised:
            workflow.run(answer=fail, tools=given)
        assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(UsageError, match=r"\bint\b"):
        calling(gate("?")).run(answer=lambda question: 3)  # type: ignore[arg-type, return-value]


def test_questions_of_branches_are_asked_at_the_same_time() -> None:
    both = asyncio.Barrier(2)

    async def answer(question: Question) -> str:
        async with asyncio.timeout(5):
            await both.wait()
        return question.key

    recording(Path(), "  {}\n")
    pattern = parallel(branch("x", gate("?")), branch("y", gate("?")))
    workflow = Workflow.build("w", runtime=REPLAY, agents={"a": agent("p")}, pattern=pattern, base_dir=Path.cwd())
    assert workflow.run(answer=answer).status == "completed"


def test_an_agent_calls_a_tool_that_was_given_as_an_object(tmp_path: Path) -> None:
    recording(tmp_path, "  steps.0: [{calls: [{double: {number: 21}}]}, {when: 'double: success', text: done}]\n")
    events: list[Event] = []
    result = calling(step("a", "go")).run(tools=[double], on_event=events.append)
    assert '"text": "42"' in json.dumps(run_of().row("steps.0/tool.0.double").output)  # type: ignore[union-attr]
    assert (result.response, result.tool_calls) == ("done", 1)
    (decided,) = [event for event in events if isinstance(event, ToolCallDecided)]
    assert (decided.effect, decided.distribution) == ("allow", "this program")


@pytest.mark.parametrize("listed", [["double"], None], ids=["named", "all"])
def test_a_given_tool_belongs_to_the_workflow(listed: Any, tmp_path: Path) -> None:
    recording(tmp_path, "  steps.0: [{text: done}]\n")
    workflow = calling(step("a", "go"), agents={"a": agent("p", tools=listed)})
    assert [used.name for used in workflow.plan(tools=[double]).agents["a"].tools] == ["double"]
    named_twice = calling(step("a", "go"), agents={"a": agent("p")}, tools={"python": ["double"]})
    assert [used.name for used in named_twice.plan(tools=[double]).agents["a"].tools] == ["double"]
    if listed:
        assert "unknown-tool" in {finding.code for finding in workflow.plan().findings}


def test_a_given_tool_may_have_another_name_in_the_workflow() -> None:
    renamed = agent("p", tools=[{"tool": "double", "as": "twice"}])
    planned = calling(step("a", "go"), agents={"a": renamed}).plan(tools=[double])
    assert [used.name for used in planned.agents["a"].tools] == ["twice"]
    configured = agent("p", tools=[{"tool": "double", "config": {"x": 1}}])
    planned = calling(step("a", "go"), agents={"a": configured}).plan(tools=[double])
    assert "tool-config" in {finding.code for finding in planned.findings}


def test_a_given_tool_that_hides_an_installed_one_is_reported(tmp_path: Path) -> None:
    sound(tmp_path / "site", "double")
    catalog = discover_catalog([str(tmp_path / "site")])
    workflow = calling(call("double", {"number": 3}))
    findings = workflow.plan(tools=[double], catalog=catalog).findings
    assert {finding.code for finding in findings} == {"shadowed-tool", "unused-agent"}
    assert workflow.run(tools=[double], catalog=catalog).response == "6"


@pytest.mark.parametrize(
    ("choices", "outcome"),
    [
        ({"deny": True}, "--allow shout"),
        ({"answer": lambda question: True, "deny": True}, "--allow shout"),
        ({"answer": lambda question: False}, "program"),
        ({"answer": lambda question: "No"}, "program"),
        ({"answer": lambda question: True}, "HEY"),
        ({"answer": lambda question: "Y"}, "HEY"),
        ({"allow": ["shout"]}, "HEY"),
        ({"allow": ["sh*"]}, "HEY"),
        ({"yes": True}, "HEY"),
    ],
)
def test_a_given_tool_passes_the_same_gate(choices: Any, outcome: str) -> None:
    """Nothing says that `shout` only reads, so that its calls ask."""
    workflow = calling(call("shout", {"text": "hey"}))
    if outcome == "HEY":
        assert workflow.run(tools=[shout], **choices).response == outcome
    else:
        with pytest.raises(RunFailed, match=outcome):
            workflow.run(tools=[shout], **choices)


@pytest.mark.parametrize("choices", [{}, {"answer": lambda question: None}])
def test_a_call_without_an_answer_waits_as_a_gate_does_and_may_be_allowed_later(choices: Any) -> None:
    workflow = calling(call("shout", {"text": "hey"}))
    with pytest.raises(WaitingForPerson) as raised:
        workflow.run(tools=[shout], **choices)
    with pytest.raises(CallDenied, match="--deny"):
        Workflow.resume(raised.value.run_id, tools=[shout], deny=True)
    assert Workflow.resume(raised.value.run_id, tools=[shout], allow=["shout"]).response == "HEY"


def test_what_the_workflow_denies_no_program_allows() -> None:
    workflow = calling(call("shout", {"text": "hey"}), security={"permissions": {"deny": ["shout"]}})
    with pytest.raises(StrandsCliError) as raised:
        workflow.run(tools=[shout], yes=True)
    assert "tool-denied" in {finding.code for finding in raised.value.findings}


def test_a_module_and_an_object_with_methods_are_tools_and_what_is_made_is_closed() -> None:
    module = ModuleType("given_module")
    module.TOOL_SPEC = {"name": "given_module", "description": "d", "inputSchema": {"json": {"type": "object"}}}  # type: ignore[attr-defined]
    module.given_module = lambda tool, **_: {"status": "success", "content": [{"text": "module"}]}  # type: ignore[attr-defined]
    closed: list[str] = []

    class Counting:
        @tool
        def tally(self) -> str:
            """Count."""
            return "tally"

        def close(self) -> None:
            closed.append("tally")
            raise ValueError("too late")

    assert calling(call("given_module")).run(tools=[module], yes=True).response == "module"
    events: list[Event] = []
    assert calling(call("tally")).run(tools=[Counting], yes=True, on_event=events.append).response == "tally"
    assert closed == ["tally"], "an object that the run has made is closed"
    [warned] = [event.message for event in events if isinstance(event, RunWarning)]
    assert re.search(r"\bCounting\b.*: ValueError: too late$", warned)
    assert calling(call("tally")).run(tools=[Counting()], yes=True).response == "tally"
    assert closed == ["tally"], "an object of the program is the program's"


def test_what_is_not_a_tool_is_refused_and_not_called(wording: Wording) -> None:
    called: list[str] = []

    def plain() -> list[Any]:
        called.append("plain")
        return []

    for thing in (plain, "double", 3, ModuleType("empty")):
        with pytest.raises(UsageError) as ran:
            calling(call("double")).run(tools=[thing])
        with pytest.raises(UsageError) as planned:
            calling(call("double")).plan(tools=[thing])
        assert str(ran.value) == str(planned.value)
        wording(ran.value)
    assert called == []
    with pytest.raises(UsageError) as raised:
        calling(call("double")).run(tools=[double, double])
    wording(raised.value)


def test_plan_with_tools_works_inside_a_running_loop() -> None:
    workflow = calling(call("double", {"number": 1}))

    async def program() -> Any:
        return workflow.plan(tools=[double])

    assert asyncio.run(program()).call_tools.keys() == {"double"}


def test_a_run_leaves_the_process_of_the_program_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    before = list(sys.path)
    Workflow.from_file(EXAMPLES / "patterns" / "graph.yaml").run()
    assert sys.path == before


def test_a_file_in_the_current_directory_is_not_taken_for_a_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading a plugin is not the program's own import: the current directory is closed to it all the same."""
    sound(tmp_path / "site", "echo")
    module = tmp_path / "site" / "strands_tool_echo" / "echo.py"
    module.write_text(f"import api_bait\n{module.read_text(encoding='utf-8')}", encoding="utf-8")
    (tmp_path / "api_bait.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "site"), *sys.path])
    with pytest.raises(NotEquipped, match="No module named 'api_bait'"):
        calling(call("echo", {"text": "hi"})).run(catalog=discover_catalog([str(tmp_path / "site")]))


def test_a_tool_that_hangs_does_not_hold_up_the_end_of_run(wording: Wording) -> None:
    never = threading.Event()

    @tool(name="hang")
    @tool_metadata(read_only=True)
    def hang() -> str:
        """Hang."""
        never.wait(120)
        return ""

    hang_spec: Callable[..., Any] = hang
    del hang_spec
    hang.tool_spec["strands_cli"] = {"timeout_s": 0.05}  # type: ignore[typeddict-unknown-key]
    try:
        with pytest.raises(RunFailed) as raised:
            calling(call("hang")).run(tools=[hang], yes=True)
        wording(raised.value)
        assert any(thread.name == "strands-tool" for thread in threading.enumerate())
    finally:
        never.set()


def test_importing_the_api_imports_neither_the_sdk_nor_a_tool() -> None:
    program = "import sys; from strands_cli import Workflow; print('strands' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
