"""Many runs in one process: they share models, secrets and limits, and what one of them does reaches no other."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest

from strands_cli import app
from strands_cli.agents.assembly import SharedRuns
from strands_cli.agents.model.journaled_model import JournaledModel
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.engine.effects.budget import Budget
from strands_cli.engine.effects.provider_limits import ProviderLimit, ProviderLimits, Rate
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.plan_execution import RunResult
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.errors import BudgetExceeded, NotEquipped, RunFailed
from strands_cli.events import Event, ModelCallFinished, ModelCallStarted, RunWarning, Usage
from strands_cli.planning.row_planner import RowPlanner
from strands_cli.planning.run_request import RunRequest
from strands_cli.providers import ModelSettings
from strands_cli.workflow.sections import Budgets
from tests.agents.kit import RunContext, Script, Site
from tests.fakes.model_server import ModelServer, Turn
from tests.fakes.ports import FakeClock

pytestmark = pytest.mark.usefixtures("echo_and_key")
FLOW = """
version: 2
name: rows
runtime: {{provider: openai, model_id: m, host: "{host}", failure_policy: {{retries: 1, wait_min: 0, wait_max: 0}}}}
inputs: {{required: {{topic: string}}}}
{more}
agents: {{a: {{prompt: be brief, tools: {tools}{agent}}}}}
pattern: {{type: chain, config: {{steps: [{{agent: a, input: "About {{{{ topic }}}}"}}]}}}}
"""
REQUEST = RunRequest(runs_dir=Path("runs"), out_dir=Path("out"), yes=True)


def planned(site: Site, host: str, tools: str = "[]", *, agent: str = "", more: str = "") -> RowPlanner:
    Path("rows.yaml").write_text(FLOW.format(host=host, tools=tools, agent=agent, more=more))
    catalog, settings = discover_catalog([str(site.directory)]), Settings(Path("runs"), site.allowed)
    return app.plan_rows("rows.yaml", replace(REQUEST, values={"topic": "a"}), catalog=catalog, settings=settings)


class Rows:
    """Runs rows of a workflow as a batch does, and keeps what became of each."""

    def __init__(self, planner: RowPlanner, shared: SharedRuns) -> None:
        self.planner, self.shared = planner, shared
        self.events: list[Event] = []
        self.ended: dict[str, RunResult | BaseException] = {}

    async def run(self, *topics: str) -> None:
        """Run rows side by side."""
        await asyncio.gather(*map(self._row, topics))

    async def _row(self, topic: str) -> None:
        own = self.planner.plan({"topic": topic})
        request, human = REQUEST, StandaloneRun()
        try:
            run = app.run(own, request, human, self.events.append, run_id=topic, shared=self.shared)
            self.ended[topic] = await run
        except Exception as error:
            self.ended[topic] = error

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]


def completed(ended: Any) -> bool:
    return isinstance(ended, RunResult) and ended.status == "completed"


def texts(server: ModelServer) -> list[str]:
    """Return the user's message of each request, in the order of arrival."""
    return [request["messages"][1]["content"][0]["text"] for request in server.model_requests]


def rows_in(run: str) -> list[Any]:
    journal = SqliteJournal.open(Path("runs") / run, hold=False)
    try:
        return [
            (row.key, row.kind, row.status, row.digest, row.output, dict(row.detail), row.usage)
            for row in journal.rows()
        ]
    finally:
        journal.close()


async def settled() -> None:
    """Let every task go as far as it can without an answer from outside."""
    for _ in range(500):
        await asyncio.sleep(0)


# -- what they share


def test_rows_run_as_each_of_them_would_alone(site: Site) -> None:
    async def work(planner: RowPlanner) -> None:
        async with app.shared_runs(planner.planned) as shared:
            rows = Rows(planner, shared)
            await rows.run("bees", "wasps")
            assert all(map(completed, rows.ended.values()))
            assert rows.ended["bees"].response == "The user said: About bees"  # type: ignore[union-attr]
        alone = planner.plan({"topic": "bees"})
        await app.run(alone, REQUEST, StandaloneRun(), lambda event: None, run_id="alone")

    with ModelServer() as server:
        asyncio.run(work(planned(site, server.url)))
    assert rows_in("bees") == rows_in("alone")
    assert rows_in("bees") != rows_in("wasps")


def test_runs_with_the_same_settings_have_one_client_which_is_closed_after_them(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Counted(openai.AsyncOpenAI):
        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            made.append(arguments["http_client"])

    monkeypatch.setattr(openai, "AsyncOpenAI", Counted)

    async def work(planner: RowPlanner) -> None:
        async with app.shared_runs(planner.planned) as shared:
            rows = Rows(planner, shared)
            await rows.run("a", "b", "c")
            await rows.run("d")
            assert [client.is_closed for client in made] == [False]
            assert all(map(completed, rows.ended.values()))
        assert [client.is_closed for client in made] == [True]

    with ModelServer() as server:
        asyncio.run(work(planned(site, server.url)))


def secret_that_counts(site: Site) -> str:
    """Return a workflow's section with a secret that a program prints, which notes each time."""
    Path("secret.py").write_text("open('asked', 'a').write('x'); print('the-secret-0123456789')")
    site.install(
        "TOOL_SPEC = {'name': 'echo', 'description': 'E.', 'inputSchema': {'json': {'type': 'object'}},"
        " 'strands_cli': {'capabilities': {'secrets': ['token']}}}\n"
        "def echo(tool, **kwargs):\n    return {'status': 'success', 'content': []}\n",
        {"strands_cli": {"capabilities": {"secrets": ["token"]}}, "input_schema": {"type": "object"}},
    )
    command = json.dumps(f"{sys.executable} {Path('secret.py').absolute()}")
    return f"env: {{secrets: [{{key: token, source: command, path: {command}}}]}}"


def test_the_secrets_of_a_plan_that_is_known_are_read_once_and_hidden_in_every_row(site: Site) -> None:
    more = secret_that_counts(site)

    async def work(planner: RowPlanner, *known: RowPlanner) -> None:
        async with app.shared_runs(*(one.planned for one in known)) as shared:
            rows = Rows(planner, shared)
            await rows.run("a")
            await rows.run("b", "c")
            assert all(map(completed, rows.ended.values())), rows.ended
            assert "[secret]" in rows.ended["a"].response  # type: ignore[union-attr]

    with ModelServer(lambda request: Turn("it is the-secret-0123456789")) as server:
        planner = planned(site, server.url, "[native:echo]", more=more)
        asyncio.run(work(planner, planner))
        assert Path("asked").read_text() == "x"
        for run in ("a", "b", "c"):
            assert "the-secret" not in json.dumps([row[4] for row in rows_in(run)])
        Path("asked").unlink()
        for run in ("a", "b", "c"):
            Path(f"runs/{run}").rename(f"runs/{run}-before")
        asyncio.run(work(planner))
    assert Path("asked").read_text() == "xxx"


def test_a_secret_without_a_value_is_reported_before_the_first_row(site: Site) -> None:
    more = "env: {secrets: [{key: token, source: env}]}"
    secret_that_counts(site)

    async def work(planner: RowPlanner) -> None:
        async with app.shared_runs(planner.planned):
            raise AssertionError("no row may begin")

    with pytest.raises(NotEquipped) as raised:
        asyncio.run(work(planned(site, "http://127.0.0.1:9/v1", "[native:echo]", more=more)))
    assert [finding.code for finding in raised.value.findings] == ["missing-secret"]


def test_a_secret_in_the_input_of_a_row_stops_that_row_alone(site: Site) -> None:
    more = secret_that_counts(site)

    async def work(planner: RowPlanner) -> Rows:
        async with app.shared_runs(planner.planned) as shared:
            rows = Rows(planner, shared)
            await rows.run("a", "with the-secret-0123456789 in it", "b")
            return rows

    with ModelServer() as server:
        rows = asyncio.run(work(planned(site, server.url, "[native:echo]", more=more)))
        assert len(server.model_requests) == 2
    stopped = rows.ended.pop("with the-secret-0123456789 in it")
    assert [finding.code for finding in stopped.findings] == ["written-secret"]  # type: ignore[union-attr]
    assert all(map(completed, rows.ended.values()))


# -- what each has for itself


STATEFUL = """
from strands import tool
class Box:
    made = 0
    def __init__(self):
        Box.made += 1
        self.calls = 0
    @tool
    def echo(self, text: str) -> str:
        "Echo."
        self.calls += 1
        return f'call {self.calls}'
"""


def test_each_run_has_its_own_tools_with_state(site: Site) -> None:
    site.install(STATEFUL, name="box", entry=":Box", manifest=False)

    def answer(request: dict[str, Any]) -> Turn:
        last = request["messages"][-1]
        return Turn(str(last["content"])) if last["role"] == "tool" else Turn(calls=[("echo", {"text": "x"})])

    async def work(planner: RowPlanner) -> Rows:
        async with app.shared_runs(planner.planned) as shared:
            rows = Rows(planner, shared)
            await rows.run("a", "b")
            await rows.run("c")
            return rows

    with ModelServer(answer) as server:
        rows = asyncio.run(work(planned(site, server.url, "[native:box]")))
    import strands_tool_box

    assert strands_tool_box.Box.made == 3
    assert all("call 1" in ended.response for ended in rows.ended.values())  # type: ignore[union-attr]


CHANGING = """
from strands import tool, ToolContext
@tool(context=True)
def changer(tool_context: ToolContext) -> str:
    "Change the model."
    tool_context.agent.model.update_config(model_id='changed')
    return 'done'
"""


def test_a_model_that_a_tool_changes_is_changed_for_its_run_alone(site: Site) -> None:
    site.install(CHANGING, name="changer", manifest=False)

    def answer(request: dict[str, Any]) -> Turn:
        asked = request["messages"][1]["content"][0]["text"]
        wants = asked == "About change" and request["messages"][-1]["role"] != "tool"
        return Turn(calls=[("changer", {})]) if wants else Turn("ok")

    async def work(planner: RowPlanner) -> None:
        async with app.shared_runs(planner.planned) as shared:
            rows = Rows(planner, shared)
            for topic in ("first", "change", "last"):
                await rows.run(topic)
            assert all(map(completed, rows.ended.values())), rows.ended

    with ModelServer(answer) as server:
        asyncio.run(work(planned(site, server.url, "[native:changer]")))
        assert [request["model"] for request in server.model_requests] == ["m", "m", "changed", "m"]


# -- what they may spend together


def of_many(**limits: float) -> Budget:
    fix = "strands batch resume B --budget {limit}=N"
    return Budget.of_many(limits, SystemClock(), "the batch", fix)


@pytest.mark.parametrize(
    ("limits", "requests"),
    [({"max_model_calls": 3}, 3), ({"max_steps": 2}, 2), ({"max_tokens": 1}, 1), ({"max_duration_s": 1e-9}, 0)],
)
def test_the_rows_spend_one_budget_and_those_after_its_end_ask_nothing(
    site: Site, limits: dict[str, float], requests: int
) -> None:
    budget = of_many(**limits)

    async def work(planner: RowPlanner) -> Rows:
        async with app.shared_runs(planner.planned, budget=budget) as shared:
            rows = Rows(planner, shared)
            for topic in "abcde":
                await rows.run(topic)
            return rows

    with ModelServer() as server:
        rows = asyncio.run(work(planned(site, server.url)))
        assert len(server.model_requests) == requests
    assert [completed(rows.ended[topic]) for topic in "abcde"] == [number < requests for number in range(5)]
    (name,) = limits
    for topic in "abcde"[requests:]:
        error = rows.ended[topic]
        assert isinstance(error, BudgetExceeded)
        assert error.fix == f"strands batch resume B --budget {name}=N"
        assert error.limit is None, "a row alone has no such limit to raise"
        assert name in error.message


def test_calls_side_by_side_do_not_exceed_the_budget_together_and_one_warning_is_given(site: Site) -> None:
    budget = of_many(max_model_calls=5)

    async def work(planner: RowPlanner) -> Rows:
        async with app.shared_runs(planner.planned, budget=budget) as shared:
            rows = Rows(planner, shared)
            await rows.run(*"abcdefgh")
            return rows

    with ModelServer() as server:
        rows = asyncio.run(work(planned(site, server.url)))
        assert len(server.model_requests) == 5
    assert sum(map(completed, rows.ended.values())) == 5
    assert budget.model_calls == 5
    assert len(rows.of(RunWarning)) == 1


def test_a_row_that_goes_on_counts_what_it_spent_before_once(site: Site) -> None:
    def answer(request: dict[str, Any]) -> Turn:
        return Turn(status=400) if len(server.model_requests) == 2 else Turn("ok", usage=(10, 5))

    async def first(planner: RowPlanner) -> None:
        async with app.shared_runs(planner.planned) as shared:
            rows = Rows(planner, shared)
            await rows.run("a")
            await rows.run("b")
            assert isinstance(rows.ended["b"], RunFailed)

    async def second(planner: RowPlanner) -> Budget:
        budget = of_many(max_tokens=1000)
        budget.count_run("a", Usage(10, 5), None, steps=1, model_calls=1)
        budget.count_run("a", Usage(10, 5), None, steps=1, model_calls=1)
        async with app.shared_runs(planner.planned, budget=budget) as shared:
            for _ in range(2):
                journal = app.open_run("b", planner.planned.store)
                budget.count_journal(journal)
                own, request = app.plan_resume(journal, {"runs_dir": Path("runs")}, catalog=catalog)
                result = await app.resume(own, journal, request, StandaloneRun(), lambda event: None, shared)
                assert result.status == "completed"
        return budget

    catalog = discover_catalog([str(site.directory)])
    with ModelServer(answer) as server:
        planner = planned(site, server.url)
        asyncio.run(first(planner))
        budget = asyncio.run(second(planner))
    assert (budget.model_calls, budget.usage.total_tokens) == (2, 30)


# -- how often they may ask


def test_no_more_requests_are_at_a_provider_than_it_may_get_at_a_time(site: Site) -> None:
    limits = ProviderLimits.of({"openai": ProviderLimit(at_once=2)}, SystemClock())
    may_answer = threading.Event()

    async def work(planner: RowPlanner) -> Rows:
        async with app.shared_runs(planner.planned, provider_limits=limits) as shared:
            rows = Rows(planner, shared)
            running = asyncio.create_task(rows.run(*"abcdef"))
            while len(server.model_requests) < 2:
                await asyncio.sleep(0)
            while not all(Path(f"runs/{run}/journal.sqlite").exists() for run in "abcdef"):
                await asyncio.sleep(0)
            await settled()
            assert len(server.model_requests) == 2
            assert len(rows.of(ModelCallStarted)) == 2, "a call that waits has not begun"
            may_answer.set()
            await running
            return rows

    with ModelServer(lambda request: Turn("ok", after=may_answer)) as server:
        rows = asyncio.run(work(planned(site, server.url)))
    assert all(map(completed, rows.ended.values()))
    assert sorted(texts(server)) == [f"About {topic}" for topic in "abcdef"]


def test_the_others_do_not_ask_when_the_budget_was_spent_while_they_waited(site: Site) -> None:
    limits = ProviderLimits.of({"openai": ProviderLimit(at_once=1)}, SystemClock())
    budget = of_many(max_tokens=1)

    async def work(planner: RowPlanner) -> Rows:
        async with app.shared_runs(planner.planned, provider_limits=limits, budget=budget) as shared:
            rows = Rows(planner, shared)
            await rows.run(*"abc")
            return rows

    with ModelServer() as server:
        rows = asyncio.run(work(planned(site, server.url)))
        assert len(server.model_requests) == 1
    assert [type(ended).__name__ for ended in rows.ended.values()].count("BudgetExceeded") == 2
    assert budget.model_calls == 1
    budget.limits = Budgets(max_model_calls=2)
    budget.require("model")
    assert [row[2] for row in rows_in("b") if row[1] == "model"] == [], "its request has not begun"


ANSWER = ", output_schema: {type: object, properties: {n: {type: integer}}, required: [n]}"


@pytest.mark.parametrize(
    ("turns", "agent", "requests"),
    [
        ([Turn("ok")], "", 1),
        ([Turn(status=503), Turn("ok")], "", 2),
        ([Turn('{"n": 1}')], ANSWER, 1),
        (
            [Turn("no number"), Turn(calls=[("final_answer", {"n": "x"})]), Turn(calls=[("final_answer", {"n": 1})])],
            ANSWER,
            3,
        ),
    ],
    ids=["plain", "tried again", "structured", "structured and corrected"],
)
def test_each_request_has_its_turn_and_one_that_the_journal_answers_needs_none(
    site: Site, turns: Sequence[Turn], agent: str, requests: int
) -> None:
    clock = FakeClock()
    limits = ProviderLimits.of({"openai": ProviderLimit(rate=Rate(1, 60))}, clock)

    async def work(planner: RowPlanner) -> None:
        async with app.shared_runs(planner.planned, provider_limits=limits) as shared:
            rows = Rows(planner, shared)
            await rows.run("a")
            assert completed(rows.ended["a"]), rows.ended
            assert clock.elapsed == 60 * (requests - 1)
            journal = app.open_run("a", planner.planned.store)
            own, request = app.plan_resume(journal, {"runs_dir": Path("runs")}, catalog=catalog)
            await app.resume(own, journal, request, StandaloneRun(), lambda event: None, shared)
            assert clock.elapsed == 60 * (requests - 1)
            await rows.run("b")
            assert clock.elapsed == 60 * (2 * requests - 1)

    catalog = discover_catalog([str(site.directory)])
    with ModelServer(turns, repeat=True) as server:
        asyncio.run(work(planned(site, server.url, agent=agent)))
        assert len(server.model_requests) == 2 * requests


def test_the_time_that_a_request_waits_for_its_turn_is_not_the_models() -> None:
    clock, host = FakeClock(), RunContext()
    host.clock = clock  # type: ignore[assignment]
    host.provider_limits = ProviderLimits.of({"openai": ProviderLimit(rate=Rate(1, 60))}, clock)

    class Slow(Script):
        async def stream(self, *args: Any, **kwargs: Any) -> Any:
            clock.advance(3)
            async for event in super().stream(*args, **kwargs):
                yield event

    async def ask(model: JournaledModel) -> None:
        messages = [{"role": "user", "content": [{"text": "go"}]}]
        async for _ in model.stream(messages, [], None):
            pass

    model = JournaledModel(Slow("one", "two"), ModelSettings("openai", "m"), host.scope())
    asyncio.run(ask(model))
    asyncio.run(ask(model))
    assert [event.seconds for event in host.of(ModelCallFinished)] == [3, 3]
    first, second = host.rows("model").values()
    assert second.started_at - first.started_at == 60
    assert second.ended_at is not None
    assert second.ended_at - second.started_at == 3


def test_a_row_that_is_cancelled_while_it_waits_for_its_turn_leaves_it_to_the_others(site: Site) -> None:
    limits = ProviderLimits.of({"openai": ProviderLimit(at_once=1)}, SystemClock())
    budget = of_many(max_model_calls=2)

    async def work(planner: RowPlanner) -> Rows:
        async with app.shared_runs(planner.planned, provider_limits=limits, budget=budget) as shared:
            rows = Rows(planner, shared)
            async with limits.turn("openai"):
                waiting = asyncio.create_task(rows.run("a"))
                while not Path("runs/a/journal.sqlite").exists():
                    await asyncio.sleep(0)
                await settled()
                waiting.cancel()
                await asyncio.wait([waiting])
            await rows.run("b")
            await rows.run("c")
            return rows

    with ModelServer() as server:
        rows = asyncio.run(work(planned(site, server.url)))
        assert texts(server) == ["About b", "About c"]
    assert all(map(completed, rows.ended.values()))
