"""The pictures of a run as values: its pattern with states, its costs, its budget."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from strands_cli import app
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.errors import WaitingForPerson
from strands_cli.events import Usage
from strands_cli.planning.run_request import RunRequest
from strands_cli.run_views.opened_runs import OpenedRun
from strands_cli_ui.pictures.run_pictures import Pictures, pictures_of
from tests.cli.strands import EXAMPLES

PATTERNS = ("chain", "evaluator_optimizer", "graph", "orchestrator_workers", "parallel", "routing", "workflow")
CHAIN = """version: 2
name: made
runtime: {provider: ollama, budgets: {max_tokens: 100, max_cost_usd: 1.0, max_tool_calls: 0}}
agents: {one: {prompt: Answer.}}
pattern:
  type: chain
  config: {steps: [%s]}
"""


@pytest.fixture(scope="module")
def of_examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pictures]:
    """Return the pictures of real runs of the examples, by their pattern; one waits for a person."""
    folder = tmp_path_factory.mktemp("pictures")
    options = RunRequest(runs_dir=folder / "runs", out_dir=folder / "out")
    for name in (*(f"patterns/{one}.yaml" for one in PATTERNS), "gates/route.yaml"):
        planned = app.plan(EXAMPLES / name, options)
        # As a detached run does: its gates wait.
        with contextlib.suppress(WaitingForPerson):
            asyncio.run(app.run(planned, options, StandaloneRun(), lambda event: None))
    found = {}
    for run in FolderStore(folder / "runs").runs()[0]:
        with contextlib.closing(SqliteJournal.open(folder / "runs" / run.id, hold=False)) as journal:
            name = "waiting" if run.status == "waiting" else run.pattern
            found[name] = _pictures_of(journal)
    return found


def _pictures_of(journal: SqliteJournal) -> Pictures:
    run = OpenedRun(journal)
    return pictures_of(run, run.summary(), run.tree())


def drawn(pictures: Pictures) -> tuple[dict[str, tuple[str, int]], list[tuple[str, str, str, bool]]]:
    """Return the state of each node with how often it ran, and the edges."""
    graph = pictures.pattern
    assert graph is not None
    nodes = {node.name: (node.state, node.times) for node in graph.nodes}
    names = {node.id: node.name for node in graph.nodes}
    return nodes, [(names[edge.before], names[edge.after], edge.label, edge.is_taken) for edge in graph.edges]


def test_each_pattern_is_a_graph_whose_nodes_lead_to_effects(of_examples: dict[str, Pictures]) -> None:
    assert of_examples.keys() == {*PATTERNS, "waiting"}
    for name in PATTERNS:
        graph = of_examples[name].pattern
        assert graph is not None
        assert graph.type == name
        assert all((node.key is not None) == (node.times > 0) for node in graph.nodes)
        assert {node.state for node in graph.nodes} <= {"done", "skipped"}


def test_a_loop_leads_back_and_says_how_often_its_steps_ran(of_examples: dict[str, Pictures]) -> None:
    nodes, edges = drawn(of_examples["evaluator_optimizer"])
    assert nodes == {"producer": ("done", 2), "evaluator": ("done", 2)}
    assert edges[-1] == ("evaluator", "producer", "revise", True)
    nodes, edges = drawn(of_examples["graph"])
    assert nodes["write"] == ("done", 2)
    assert ("review", "write", "else", True) in edges


def test_each_worker_is_a_node_and_further_rounds_lead_back(of_examples: dict[str, Pictures]) -> None:
    nodes, edges = drawn(of_examples["orchestrator_workers"])
    assert {"workers.0", "workers.1"} <= nodes.keys()
    assert ("orchestrator", "workers.1", "", True) in edges
    assert ("workers.1", "orchestrator", "next round", True) in edges


def test_the_routes_that_are_not_chosen_are_skipped(of_examples: dict[str, Pictures]) -> None:
    nodes, edges = drawn(of_examples["routing"])
    assert nodes == {"router": ("done", 1), "billing.0": ("done", 1), "shipping.0": ("skipped", 0)}
    assert [edge[2:] for edge in edges] == [("billing", True), ("shipping", False)]


def test_branches_and_tasks_meet_in_the_step_that_waits_for_them(of_examples: dict[str, Pictures]) -> None:
    assert [edge[:2] for edge in drawn(of_examples["parallel"])[1]] == [("cost.0", "reduce"), ("use.0", "reduce")]
    assert [edge[:2] for edge in drawn(of_examples["workflow"])[1]] == [("outline", "article"), ("facts", "article")]


def test_a_run_that_waits_shows_the_person_and_what_has_not_begun(of_examples: dict[str, Pictures]) -> None:
    nodes, edges = drawn(of_examples["waiting"])
    assert nodes["router.review"] == ("waiting", 1)
    assert nodes["orders.0"] == ("not-begun", 0)
    assert not any(edge[3] for edge in edges if edge[0] == "router.review")


def pictures(tmp_path: Path, rows: Sequence[Row], status: str, *, text: str = "") -> Pictures:
    """Return the pictures of a run that has these rows; it began at second 100."""
    with contextlib.closing(SqliteJournal.create(tmp_path / "run")) as journal:

        async def fill() -> None:
            for row in rows:
                journal.note(row)

        asyncio.run(fill())
        facts = {"file": "flow.yaml", "text": text, "base_dir": str(tmp_path), "worked_s": 2.0}
        journal.put(status=status, started_at=100.0, **facts)
        return _pictures_of(journal)


def chain_of(length: int) -> str:
    return CHAIN % ", ".join(["{agent: one, input: Go.}"] * length)


def step(number: int, start: float, end: float | None, status: str = "done", **more: object) -> Iterator[Row]:
    """Yield the rows of a step with one model turn."""
    output = {"response": "Done.", "agent": "one"}
    detail = {"agent": "one", "model": "m", **more}
    yield Row(f"steps.{number}", "step", status, "d", output=output, started_at=start, ended_at=end, detail=more)  # type: ignore[arg-type]
    yield Row(
        f"steps.{number}/model.0",
        "model",
        status,  # type: ignore[arg-type]
        "d",
        output={"events": []},
        usage=Usage(30, 10),
        cost=0.25,
        started_at=start,
        ended_at=end,
        detail=detail,
    )


def test_what_another_run_has_done_has_no_cost(tmp_path: Path) -> None:
    found = pictures(tmp_path, [*step(0, 1, 2, reused=True), *step(1, 100, 101)], "completed", text=chain_of(2))
    assert [line.calls for line in found.costs.by_agent] == [1]
    assert drawn(found)[0]["steps.0"] == ("reused", 1)


def test_of_a_run_of_many_steps_a_part_is_drawn(tmp_path: Path) -> None:
    rows = [row for number in range(1000) for row in step(number, 100 + number, 101 + number)]
    found = pictures(tmp_path, rows, "completed", text=chain_of(1000))
    assert found.pattern is not None
    assert (len(found.pattern.nodes), found.pattern.steps) == (60, 1000)


def test_of_many_steps_those_are_drawn_that_failed(tmp_path: Path) -> None:
    rows = [*step(0, 100, 101), *step(900, 101, 102, "failed", error="it broke")]
    found = pictures(tmp_path, rows, "failed", text=chain_of(1000))
    assert drawn(found)[0]["steps.900"] == ("failed", 1)
    assert drawn(found)[0]["steps.1"] == ("not-begun", 0)


def test_costs_are_summed_by_agent_model_and_tool_and_an_unknown_one_is_not_zero(tmp_path: Path) -> None:
    failed = {"status": "error", "content": [{"json": {"error": {"code": "denied", "message": "no"}}}]}
    rows = [
        *step(0, 100, 101),
        Row("steps.0/model.1", "model", "done", "d", output={}, usage=Usage(1, 2), detail={"agent": "one"}),
        Row(
            "steps.0/tool.0.look",
            "tool",
            "done",
            "d",
            output=failed,
            started_at=1,
            ended_at=4,
            detail={"error_code": "denied"},
        ),
        Row("steps.0/tool.1.look", "tool", "done", "d", output={"status": "success", "content": []}),
    ]
    costs = pictures(tmp_path, rows, "completed").costs
    (agent,) = costs.by_agent
    assert (agent.name, agent.calls, agent.usage, agent.cost, agent.known_cost) == ("one", 2, Usage(31, 12), None, 0.25)
    assert [(line.name, line.cost) for line in costs.by_model] == [("m", 0.25), ("not known", None)]
    (tool,) = costs.by_tool
    assert (tool.name, tool.calls, tool.failures, tool.seconds) == ("look", 2, 1, 3.0)


def test_each_limit_has_beside_it_what_is_used_of_it(tmp_path: Path) -> None:
    bars = pictures(tmp_path, [*step(0, 100, 101), *step(1, 101, 102)], "completed", text=chain_of(2)).budgets
    assert [(bar.name, bar.used, bar.limit) for bar in bars] == [
        ("max_tokens", 80.0, 100),
        ("max_tool_calls", 0.0, 0),
        ("max_cost_usd", 0.5, 1.0),
    ]
    assert [bar.share for bar in bars] == [0.8, 1.0, 0.5]


@pytest.mark.parametrize("text", ["", "- no workflow", "a: [", "version: 2\nname: x\n", "\x00"])
def test_a_workflow_that_does_not_load_has_no_graph_and_no_limits(tmp_path: Path, text: str) -> None:
    found = pictures(tmp_path, list(step(0, 100, 101)), "completed", text=text)
    assert (found.pattern, found.budgets) == (None, ())


def test_a_run_that_has_done_nothing_has_empty_pictures(tmp_path: Path) -> None:
    found = pictures(tmp_path, [], "failed", text=chain_of(1))
    assert drawn(found)[0] == {"steps.0": ("not-begun", 0)}
    assert found.costs.by_model == ()
