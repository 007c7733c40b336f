"""The calls of one turn: those that touch one thing come one after another, the others run together."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strands_cli.agents.agent_runner import SdkAgentRunner
from strands_cli.agents.model.structured_output import TOOL
from strands_cli.engine.effects.budget import Budget, StepLimits
from strands_cli.engine.effects.effect import EffectSpec, NeedsDecision
from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.ports import AgentAnswer, AgentRequest, SystemClock
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.engine.waiting.questions import open_decisions, redo_call, skip_call
from strands_cli.errors import BudgetExceeded, StrandsCliError, WaitingForPerson
from strands_cli.events import HumanAsked
from strands_cli.planning.plan_values import PlannedTool
from strands_cli.policy.rule import Rule
from strands_cli.tools.calls.ordering import CALLS_AT_ONCE
from strands_cli.tools.tool_loading import load_tools
from strands_cli.workflow.agent_sections import AgentLimits
from strands_cli.workflow.sections import Budgets
from tests.agents.kit import YES, RunContext, Script, Site, agent_of, asking, error, gate_of, run, text
from tests.agents.world import WORLD, install_world, ticking
from tests.tools.ordered import going, made_in

Call = tuple[str, Any]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def tools(site: Site) -> Iterator[tuple[PlannedTool, ...]]:
    WORLD.reset()
    yield site.plan(*install_world(site))
    WORLD.reset()


def asked(host: RunContext, tools: tuple[PlannedTool, ...], *calls: Call, **options: Any) -> Script:
    """Let a model ask for these calls in one turn, and then end."""
    model = Script(list(calls), "done")
    asking(model, *tools, host=host, **options)
    return model


def on(name: str, path: str = "", **more: Any) -> Call:
    return name, {"path": path, **more}


def numbered(*calls: Call) -> list[Call]:
    return [(name, {**given_, "number": number}) for number, (name, given_) in enumerate(calls)]


# What a loaded machine may need; the tests wait for events.
LIMIT_S = 120


class Meeting:
    """Holds the calls of these numbers back until all of them are at work at the same time."""

    def __init__(self, *numbers: int) -> None:
        self._awaited = set(numbers)
        self._all = asyncio.Event()

    async def __call__(self, _name: str, given_: Mapping[str, Any]) -> None:
        if given_["number"] in self._awaited:
            self._awaited.discard(given_["number"])
            if not self._awaited:
                self._all.set()
            await asyncio.wait_for(self._all.wait(), LIMIT_S)


# -- together, and one after another


@pytest.mark.parametrize(
    "calls",
    [
        [on("look", "a"), on("look", "b")],
        [on("look", "a"), on("look", "a")],
        [on("note", "a"), on("look", "b")],
        [on("note", "a"), on("note", "b")],
        [on("act"), on("sums")],
        [on("peek"), on("look", "a"), on("peek")],
        [on("note", "ab"), on("look", "a"), on("sums"), on("note", "a.b")],
    ],
    ids=lambda calls: " ".join("-".join((name, given["path"])) for name, given in calls),
)
def test_calls_that_touch_different_things_or_only_read_are_at_work_together(
    tools: tuple[PlannedTool, ...], calls: list[Call]
) -> None:
    barrier = asyncio.Barrier(len(calls))

    async def meet(_name: str, _given: Mapping[str, Any]) -> None:
        await asyncio.wait_for(barrier.wait(), LIMIT_S)

    WORLD.reset(meet)
    host = RunContext()
    model = asked(host, tools, *calls)
    assert [result["status"] for result in model.results] == ["success"] * len(calls)
    assert WORLD.most == len(calls)


SYNC = """
TOOL_SPEC = {'name': 'echo', 'description': 'E.', 'inputSchema': {'json': {'type': 'object'}},
             'annotations': {'readOnlyHint': True}}
import threading
BARRIER = threading.Barrier(2)
def echo(tool, **kwargs):
    BARRIER.wait(120)
    return {'status': 'success', 'content': [{'text': threading.current_thread().name}]}
"""


def test_synchronous_tools_that_only_read_run_in_threads_at_the_same_time(site: Site) -> None:
    site.install(SYNC, manifest=False)
    model = Script([("echo", {}), ("echo", {})], "done")
    asking(model, *site.plan("native:echo"))
    assert [text(result) for result in model.results] == ["strands-tool"] * 2


def test_read_only_when_lets_two_calls_meet_and_keeps_a_third_apart(site: Site) -> None:
    claims = {"read_only_when": {"properties": {"method": {"const": "GET"}}}}
    spec = {"name": "ask", "description": "A.", "inputSchema": {"json": {"type": "object"}}, "strands_cli": claims}
    site.install(
        f"TOOL_SPEC = {spec!r}\nasync def ask(tool, **kwargs):\n    from tests.agents.world import WORLD\n"
        "    return await WORLD.call(tool['input']['method'], tool['input'])\n",
        name="ask",
        manifest=False,
    )
    WORLD.reset(Meeting(0, 1))
    calls = numbered(*(("ask", {"method": method}) for method in ("GET", "GET", "POST")))
    asked(RunContext(), site.plan("native:ask"), *calls)
    assert [what for what, _ in WORLD.log] == ["begin", "begin", "end", "end", "begin", "end"]
    assert WORLD.log[-1] == ("end", 2)


def touch(name: str, path: str) -> tuple[str, bool, str]:
    """Return what a call touches as this test understands it: which part of the world, whether it writes, its path."""
    if name in ("act", "peek"):
        return "all", name == "act", ""
    return ("none" if name == "sums" else "file"), name == "note", "" if path == "." else path


def conflict(one: tuple[str, bool, str], other: tuple[str, bool, str]) -> bool:
    (kind, writes, path), (kind2, writes2, path2) = one, other
    if "none" in (kind, kind2) or not (writes or writes2):
        return False
    if "all" in (kind, kind2):
        return True
    return not path or not path2 or f"{path}/".startswith(f"{path2}/") or f"{path2}/".startswith(f"{path}/")


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["look", "look", "note", "note", "act", "sums", "peek"]),
        st.sampled_from(["a", "a/b", "b", ".", "a/b/c"]),
        st.integers(0, 12),
    ),
    min_size=2,
    max_size=7,
)


@pytest.mark.hostile
@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CALLS)
def test_any_turn_gives_what_one_call_after_another_gives(
    tools: tuple[PlannedTool, ...], batch: list[tuple[str, str, int]]
) -> None:
    calls = numbered(*(on(name, path, ticks=ticks) for name, path, ticks in batch))
    WORLD.reset()
    expected = [text(run(WORLD.call(name, given_))) for name, given_ in calls]
    files = WORLD.files
    WORLD.reset()
    host = RunContext()
    model = asked(host, tools, *calls)

    assert [text(result) for result in model.results] == expected
    assert WORLD.files == files
    assert sorted(host.rows("tool")) == [f"steps.0/tool.{n}.{name}" for n, (name, _) in enumerate(calls)]
    for later, (name, path, _) in enumerate(batch):
        for earlier, (name2, path2, _) in enumerate(batch[:later]):
            if conflict(touch(name, path), touch(name2, path2)):
                assert WORLD.log.index(("end", earlier)) < WORLD.log.index(("begin", later))


def test_a_name_that_no_tool_has_is_a_call_that_holds_no_other_up(tools: tuple[PlannedTool, ...]) -> None:
    calls = [("no_such_tool", {}), on("act"), ("my tool!", {}), ("look", '{"path": '), on("act")]
    host = RunContext()
    model = asked(host, tools, *calls)
    assert [result["status"] for result in model.results] == ["error", "success", "error", "error", "success"]
    names = ["no_such_tool", "act", "my_tool_", "look", "act"]
    rows = host.rows("tool")
    assert list(rows) == [f"steps.0/tool.{place}.{name}" for place, name in enumerate(names)]
    failed = [error(row.output)["code"] for row in rows.values() if row.output["status"] == "error"]
    assert failed == ["unknown_tool", "unknown_tool", "invalid_input"]
    assert host.budget.tool_calls == 5


def test_no_more_calls_than_the_cap_are_at_work_at_once(tools: tuple[PlannedTool, ...]) -> None:
    gathered = asyncio.Event()

    async def gather(_name: str, _given: Mapping[str, Any]) -> None:
        if WORLD.at_work == CALLS_AT_ONCE:
            gathered.set()
        await asyncio.wait_for(gathered.wait(), LIMIT_S)
        await asyncio.sleep(0)

    WORLD.reset(gather)
    model = asked(RunContext(), tools, *[on("look", f"{n}") for n in range(3 * CALLS_AT_ONCE)])
    assert len(model.results) == 3 * CALLS_AT_ONCE
    assert WORLD.most == CALLS_AT_ONCE


# -- people


# What says nothing of itself, `note` among it, is put to a person where no rule allows it.
ASKING: list[Rule] = []


class Person(RunContext):
    """Answers yes, and logs each question."""

    before: Any = None

    async def ask(self, question: Question) -> Answer:
        WORLD.log.append(("ask", int(question.key.split("tool.")[1].partition(".")[0])))
        if self.before is not None:
            await self.before()
        return Answer("answered", "yes")


def test_while_a_person_is_asked_the_calls_that_do_not_depend_on_it_go_on(tools: tuple[PlannedTool, ...]) -> None:
    looked = asyncio.Event()

    async def look(name: str, _given: Mapping[str, Any]) -> None:
        if name == "look":
            looked.set()

    WORLD.reset(look)
    host = Person()
    host.before = lambda: asyncio.wait_for(looked.wait(), LIMIT_S)
    asked(host, tools, *numbered(on("note", "a"), on("look", "b"), on("look", "a")), rules=ASKING)
    assert WORLD.log.index(("end", 0)) < WORLD.log.index(("begin", 2))
    assert WORLD.begun == [1, 0, 2]


def test_questions_are_put_one_at_a_time_in_request_order(tools: tuple[PlannedTool, ...]) -> None:
    host = Person()
    calls = numbered(on("note", "a", ticks=9), on("look", "z", ticks=30), on("note", "b"), on("note", "c"))
    asked(host, tools, *calls, rules=ASKING)
    assert [entry for entry in WORLD.log if entry[1] != 1] == [
        entry for number in (0, 2, 3) for entry in (("ask", number), ("begin", number), ("end", number))
    ]
    assert WORLD.log.index(("end", 1)) < WORLD.log.index(("ask", 2)), "the question waits for all earlier calls"
    assert [event.key for event in host.of(HumanAsked)] == [f"steps.0/tool.{n}.note/approval" for n in (0, 2, 3)]


def test_denied_and_invalid_calls_hold_no_one_up(tools: tuple[PlannedTool, ...]) -> None:
    rules = [YES, Rule("deny", "act", "project", "policy.yaml:1")]
    calls = numbered(on("act"), ("note", {"path": 7}), on("note", "a"), on("act"), on("peek"))
    model = asked(RunContext(), tools, *calls, rules=rules)
    codes = [error(result)["code"] if result["status"] == "error" else None for result in model.results]
    assert codes == ["denied", "invalid_input", None, "denied", None]
    assert WORLD.begun == [2, 4]


INTERRUPTING = """
from strands import tool, ToolContext
from strands_cli.metadata import tool_metadata
@tool_metadata(read_only=True)
@tool(context=True)
async def echo(number: int, ticks: int, tool_context: ToolContext) -> str:
    'Asks.'
    from tests.agents.world import WORLD
    await WORLD.during('echo', {'ticks': ticks})
    return tool_context.interrupt('which', reason=f'{number}')
"""


def test_what_tools_at_work_ask_is_put_in_request_order_whichever_asks_first(site: Site) -> None:
    WORLD.reset()
    site.install(INTERRUPTING, manifest=False, entry=":echo")
    host = RunContext(lambda question: Answer("answered", question.prompt[-1]))
    model = Script([("echo", {"number": n, "ticks": 30 - 10 * n}) for n in range(3)], "done")
    asking(model, *site.plan("native:echo"), host=host)
    assert [question.prompt[-1] for question in host.questions] == ["0", "1", "2"]
    assert [text(result) for result in model.results] == ["0", "1", "2"]


def test_the_answer_in_form_may_be_beside_calls_in_one_turn(tools: tuple[PlannedTool, ...]) -> None:
    wrong, right = [(TOOL, {"score": "x"})], [(TOOL, {"score": 7})]
    model = Script(numbered(on("look", "a"), on("note", "a")) + wrong, numbered(on("act"), on("look", "b")) + right)

    async def work() -> AgentAnswer:
        runner = SdkAgentRunner(lambda _agent, _key: model, await load_tools(tools), gate_of())
        schema = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}
        request = AgentRequest(agent_of(*tools), "go", "be brief", tools, schema)
        return await runner.run_agent(request, host.scope())

    host = RunContext()
    assert run(work()).output == {"score": 7}
    assert [result["status"] for result in model.results] == ["success", "success", "error"]
    assert sorted(host.rows("tool")) == [f"steps.0/tool.{n}" for n in ("0.look", "1.note", "3.act", "4.look")]


# -- the end of the run in the middle of a turn


def stopping(host: RunContext, tools: tuple[PlannedTool, ...], *calls: Call, **options: Any) -> StrandsCliError:
    with pytest.raises(StrandsCliError) as caught:
        asked(host, tools, *calls, **options)
    return caught.value


def test_a_question_that_waits_keeps_calls_that_need_it_from_beginning_and_lets_the_others_end_or_ask(
    tools: tuple[PlannedTool, ...],
) -> None:
    calls = numbered(
        on("look", "x", ticks=20), on("note", "a"), on("look", "b", ticks=40), on("look", "a"), on("note", "c")
    )
    host = RunContext([Answer("waiting")])
    assert isinstance(stopping(host, tools, *calls, rules=ASKING), WaitingForPerson)
    assert WORLD.begun == [0, 2]
    assert [entry for entry in WORLD.log if entry[0] == "end"] == [("end", 0), ("end", 2)]
    assert [asked.key for asked in host.questions] == ["steps.0/tool.1.note/approval", "steps.0/tool.4.note/approval"]
    rows = {key: row.status for key, row in host.rows().items() if row.kind in ("tool", "human")}
    assert rows == {
        "steps.0/tool.0.look": "done",
        "steps.0/tool.2.look": "done",
        "steps.0/tool.1.note/approval": "waiting",
    }

    again = Person(journal=host.journal)
    model = Script("done")
    asking(model, *tools, host=again, rules=ASKING)
    assert sorted(WORLD.begun) == [0, 1, 2, 3, 4], "nothing is made twice"
    assert [result["status"] for result in model.results] == ["success"] * 5
    assert text(model.results[3]) == str([("a", WORLD.files["a"])]), "it saw what the call before it wrote"


@pytest.mark.parametrize("limit", range(6))
@pytest.mark.parametrize("kind", ["run", "agent"])
def test_a_limit_lets_the_same_calls_through_as_one_after_another(
    tools: tuple[PlannedTool, ...], limit: int, kind: str
) -> None:
    calls = numbered(
        on("note", "a", ticks=30), on("note", "a"), on("look", "b"), ("note", {"path": 1}), on("act", ticks=3)
    )
    host = RunContext(budgets=Budgets(max_tool_calls=limit) if kind == "run" else None)
    terms = StepLimits(AgentLimits(tool_calls=limit)) if kind == "agent" else None
    model = Script(calls, "done")
    if limit < len(calls):
        with pytest.raises(BudgetExceeded, match=f"{limit}"):
            stepping(model, tools, host, terms)
    else:
        stepping(model, tools, host, terms)
    assert sorted(host.rows("tool")) == [f"steps.0/tool.{n}.{name}" for n, (name, _) in enumerate(calls[:limit])]
    assert host.budget.tool_calls == limit if limit < len(calls) else len(calls)
    assert places_held(host.budget) == 0


def places_held(budget: Budget) -> int:
    """Return how many calls hold a place: by how much a limit exceeds what was counted when one more may begin."""
    for held in range(100):
        budget.limits = Budgets(max_tool_calls=budget.tool_calls + held + 1)
        with contextlib.suppress(BudgetExceeded):
            budget.require("tool")
            return held
    raise AssertionError("a hundred calls hold a place")


def stepping(model: Script, tools: tuple[PlannedTool, ...], host: RunContext, terms: StepLimits | None) -> None:
    """Run one agent in a step with these terms."""

    async def work() -> None:
        scope = host.scope()
        scope.limits = terms or scope.limits
        runner = SdkAgentRunner(lambda _agent, _key: model, await load_tools(tools), gate_of())
        await runner.run_agent(AgentRequest(agent_of(*tools), "go", "be brief", tools), scope)

    run(work())


def test_the_place_of_a_call_that_never_began_is_given_back(tools: tuple[PlannedTool, ...]) -> None:
    host = RunContext([Answer("waiting")], budgets=Budgets(max_tool_calls=9))
    stopping(host, tools, *numbered(on("note", "a"), on("note", "a"), on("look", "a")), rules=ASKING)
    assert places_held(host.budget) == 1, "the call that waits keeps its own"


def test_the_first_reason_in_request_order_counts(tools: tuple[PlannedTool, ...]) -> None:
    host = RunContext([Answer("waiting")], budgets=Budgets(max_tool_calls=3))
    calls = numbered(on("look", "x", ticks=20), on("note", "a", ticks=3), on("look", "b"), on("look", "c"))
    assert isinstance(stopping(host, tools, *calls, rules=ASKING), WaitingForPerson)


def begun_before(*calls: tuple[str, str]) -> MemoryJournal:
    """Return what a process leaves that was killed inside these calls."""
    journal = MemoryJournal()

    async def leave() -> None:
        host = RunContext(journal=journal)
        for number, (name, path) in enumerate(calls):
            given_ = {"tool": name, "input": {"path": path, "number": number}}
            effect = host.effect(EffectSpec(f"steps.0/tool.{number}.{name}", "tool", given_, repeatable=False))
            await effect.start()

    run(leave())
    return journal


def test_all_calls_of_which_no_one_knows_the_end_are_named_and_none_is_made(tools: tuple[PlannedTool, ...]) -> None:
    journal = begun_before(("note", "a"), ("note", "b"), ("note", "c"))
    calls = numbered(on("note", "a"), on("note", "b"), on("note", "c"), on("look", "d"), on("note", "e"))
    stopped = stopping(RunContext(journal=journal), tools, *calls)
    assert isinstance(stopped, NeedsDecision)
    assert all(f"steps.0/tool.{n}.note" in stopped.message for n in range(3))
    assert [row.key for row in open_decisions(journal)] == [f"steps.0/tool.{n}.note" for n in range(3)]
    assert WORLD.begun == []


CANCELLED = """
from strands import tool, ToolContext
from strands_cli.metadata import tool_metadata
@tool_metadata(read_only=True)
@tool(context=True)
async def echo(tool_context: ToolContext) -> str:
    'Waits a while.'
    from tests.agents.world import WORLD
    await WORLD.during('echo', {'ticks': 50})
    return 'told to give up' if tool_context.cancel_signal.is_set() else 'whole'
"""


def test_a_call_at_work_continues_when_an_earlier_one_waits_for_a_person(
    site: Site, tools: tuple[PlannedTool, ...]
) -> None:
    entered = asyncio.Event()

    async def echo(name: str, given_: Mapping[str, Any]) -> None:
        entered.set()
        await ticking(name, given_)

    class Later(RunContext):
        async def ask(self, question: Question) -> Answer:
            await asyncio.wait_for(entered.wait(), LIMIT_S)
            return Answer("waiting")

    site.install(CANCELLED, manifest=False, entry=":echo")
    WORLD.reset(echo)
    host = Later()
    planned = (*site.plan("native:echo"), *tools)
    assert isinstance(stopping(host, planned, on("sums"), ("echo", {}), rules=ASKING), WaitingForPerson)
    assert host.rows("tool")["steps.0/tool.1.echo"].output["content"] == [{"text": "whole"}]


def test_a_step_that_is_broken_off_ends_all_its_calls_and_begins_no_other(tools: tuple[PlannedTool, ...]) -> None:
    entered = asyncio.Event()

    async def hang(_name: str, given_: Mapping[str, Any]) -> None:
        if given_["number"] == 1:
            entered.set()
        await asyncio.Event().wait()

    WORLD.reset(hang)
    host = RunContext()
    calls = numbered(on("look", "a"), on("look", "b"), on("note", "a"), on("act"))
    model = Script(calls, "never")

    async def work() -> None:
        runner = SdkAgentRunner(lambda _agent, _key: model, await load_tools(tools), gate_of())
        step = asyncio.create_task(
            runner.run_agent(AgentRequest(agent_of(*tools), "go", "be brief", tools), host.scope())
        )
        await asyncio.wait_for(entered.wait(), LIMIT_S)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step

    run(work())
    assert WORLD.begun == [0, 1]
    assert WORLD.at_work == 0
    assert {row.status for row in host.rows("tool").values()} == {"started"}


# -- the death of the process


@pytest.mark.kills
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_process_killed_amid_several_calls_leaves_each_of_them_to_be_judged_by_itself(site: Site) -> None:
    directory = site.directory.parent
    dead = subprocess.run([sys.executable, "-m", "tests.tools.ordered", str(directory)], cwd=ROOT, check=False)
    assert dead.returncode == -signal.SIGKILL
    assert sorted(made_in(directory)) == [0, 1, 2, 3]

    with pytest.raises(NeedsDecision) as undecided:
        going(site, directory, "never")
    assert re.findall(r"steps\.0/tool\.\d\.\w+", undecided.value.message) == [
        "steps.0/tool.1.note",
        "steps.0/tool.2.note",
    ]
    assert sorted(made_in(directory)) == [0, 1, 2, 3], "what comes after the undecided waits with them"

    with contextlib.closing(SqliteJournal.open(directory / "run")) as journal:
        first, second = open_decisions(journal)
        run(redo_call(journal, first))
        run(skip_call(journal, SystemClock(), second, "given"))
    model = going(site, directory, "done")
    assert sorted(made_in(directory)) == [0, 1, 1, 2, 3, 3, 4]
    assert [text(result) for result in model.results] == ["[]", "[]", "given", "[]", str([("a", "1 after 2")])]
