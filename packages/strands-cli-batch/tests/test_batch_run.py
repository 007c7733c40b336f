"""The work on a batch over a scripted engine: how many rows at a time, at which rate, in which order, how far."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.effects.provider_limits import Rate, Turns
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.errors import ArtifactError
from strands_cli.events import Usage
from strands_cli.run_views.run_end import RunEnd
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli_batch.batch_choices import BatchChoices
from strands_cli_batch.batch_journal import BatchJournal, RowOrder
from strands_cli_batch.batch_progress import LONGEST_S, SHORTEST_S, BatchProgress
from strands_cli_batch.batch_run import BatchRun, Ended
from strands_cli_batch.batch_tally import MOST_MESSAGES, BatchSpending, BatchTally
from strands_cli_batch.checked_rows import CheckedRows
from strands_cli_batch.result_file import ResultFile
from strands_cli_batch.result_lines import ResultLines, line_of
from strands_cli_batch.row_checks import CheckedRow
from tests.fakes.ports import FakeClock


@dataclass
class Scripted:
    """Runs rows by a script; each takes as many turns of the event loop as `turns` has for it."""

    clock: FakeClock
    turns: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, RunEnd] = field(default_factory=dict)
    began: list[tuple[str, float]] = field(default_factory=list)
    running: int = 0
    most: int = 0
    redactor: Redactor = HIDE_NOTHING

    async def run(self, run_id: str, inputs: Mapping[str, Any], ended: Ended, *, again: bool = False) -> None:
        topic = str(inputs["topic"])
        self.began.append((topic, self.clock.monotonic()))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            for _ in range(self.turns.get(topic, 1)):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            ended(RunEnd("interrupted"))
            raise
        finally:
            self.running -= 1
        spent = RunEnd("completed", usage=Usage(10, 1), cost_usd=0.5, steps=1, model_calls=1, response=topic.upper())
        ended(self.outcomes.get(topic, spent))


@dataclass
class Work:
    """A batch in a folder of its own."""

    folder: Path
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.engine = Scripted(self.clock)
        self.tally = BatchTally()

    def run(self, topics: list[str], **choices: Any) -> list[Any]:
        """Run rows to the end, and return their lines."""
        asyncio.run(self.work(topics, **choices))
        return [json.loads(line) for line in (self.folder / "out").read_text().splitlines()]

    async def work(self, topics: list[str], *, rate: str | None = None, **choices: Any) -> None:
        chosen = BatchChoices(out=str(self.folder / "out"), **choices)
        with opened(self.folder, self.clock) as batch, CheckedRows() as checked:
            for number, topic in enumerate(topics, 1):
                checked.add(CheckedRow(number, number + 1, f"{int(topic.encode().hex(), 16):016x}", {"topic": topic}))
            await batch.enter(checked, "rows.csv")
            order = batch.order()
            lines = ResultLines(batch, order, ResultFile(chosen.out), chosen.order)
            turns = Turns(self.clock, rate=Rate.parse(rate) if rate else None)
            run = BatchRun(batch, order, self.engine, lines, chosen, turns, self.tally)
            run.count()
            await run.run()


@contextlib.contextmanager
def opened(folder: Path, clock: FakeClock) -> Iterator[BatchJournal]:
    store = FolderStore(folder / "runs")
    journal = store.open("b-1") if (folder / "runs" / "b-1").exists() else store.create("b-1")
    with contextlib.closing(journal):
        yield BatchJournal(journal, clock.now)


def test_so_many_rows_run_at_a_time(tmp_path: Path) -> None:
    work = Work(tmp_path)
    lines = work.run([f"t{number}" for number in range(40)], concurrency=7)
    assert work.engine.most == 7
    assert [line["response"] for line in lines] == [f"T{number}" for number in range(40)]


def test_a_number_that_was_chosen_is_the_one_of_every_engine() -> None:
    assert [BatchChoices(engine=engine).at_a_time for engine in ("", "dbos")] == [4, 1000]
    assert [BatchChoices(engine=engine, concurrency=4).at_a_time for engine in ("", "dbos")] == [4, 4]


def test_rows_begin_at_their_rate(tmp_path: Path) -> None:
    work = Work(tmp_path)
    work.run(list("abcdefg"), rate="3/m", concurrency=5)
    times = [at for _, at in work.engine.began]
    assert times[:3] == [times[0]] * 3
    assert [round(at - times[0]) for at in times[3:]] == [60, 60, 60, 120]
    assert work.clock.elapsed == 120


def test_a_slow_row_holds_back_lines_and_not_rows(tmp_path: Path) -> None:
    work = Work(tmp_path)
    work.engine.turns = {"a": 200}
    lines = work.run(list("abcdefgh"), concurrency=2)
    assert [topic for topic, _ in work.engine.began] == list("abcdefgh")
    assert [line["row"] for line in lines] == [1, 2, 3, 4, 5, 6, 7, 8]
    other = Work(tmp_path / "other")
    other.engine.turns = {"a": 200}
    assert [line["row"] for line in other.run(list("abca"), concurrency=2, order="done")] == [2, 3, 1, 4]


def test_what_has_ended_is_in_the_results_when_the_work_is_cancelled(tmp_path: Path) -> None:
    work = Work(tmp_path)
    work.engine.turns = {"b": 10**9}

    async def cancelled() -> None:
        task = asyncio.create_task(work.work(list("abcbd"), concurrency=2))
        while work.engine.running != 1 or len(work.engine.began) < 4:
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert [json.loads(line)["row"] for line in (tmp_path / "out").read_text().splitlines()] == [1, 3, 5]
    work.engine.turns = {}
    assert [line["row"] for line in work.run(list("abcbd"))] == [1, 2, 3, 4, 5]
    assert [topic for topic, _ in work.engine.began] == ["a", "b", "c", "d", "b"]
    work.engine.turns = {}


def test_results_stay_whole_while_earlier_lines_are_written_again(tmp_path: Path) -> None:
    work = Work(tmp_path)
    work.run(list("abc"))
    before = (tmp_path / "out").read_text()
    file = ResultFile(str(tmp_path / "out"))
    file.begin()
    file.write("half of them")
    assert (tmp_path / "out").read_text() == before
    file.settle()
    assert (tmp_path / "out").read_text() == "half of them\n"
    file.close()


def test_a_full_disk_ends_the_batch_with_an_error_of_its_results(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no full device")
    file = ResultFile("/dev/full")
    file.begin()
    with pytest.raises(ArtifactError):
        file.write("a line")
    file.write("another one")
    file.close()


def test_a_tally_counts_rows_and_adds_what_runs_spent_once(tmp_path: Path) -> None:
    work = Work(tmp_path)
    work.engine.outcomes = {"b": RunEnd("failed", 10, error={"message": "no", "exit_code": 10})}
    work.run(["a", "b", "b", "c"])
    tally = work.tally
    assert (tally.total, tally.done, tally.failed, tally.left) == (4, 2, 2, 0)
    assert (tally.failures["no"].count, len(tally.failures["no"].runs)) == (2, 1)
    assert (tally.spent.usage, tally.spent.cost_usd) == (Usage(20, 2), 1.0)
    again = Work(tmp_path)
    again.run(["a", "b", "b", "c"])
    assert (again.tally.reused, again.tally.spent, again.engine.began) == (2, tally.spent, [])
    many = BatchTally(total=100)
    for number in range(50):
        many.add(f"r{number}", RunEnd("failed", 10, error={"message": f"no {number}"}), 1)
    assert (len(many.failures), many.other_failures, many.failed) == (MOST_MESSAGES, 50 - MOST_MESSAGES, 50)


def test_spent_is_not_known_where_a_part_is_not() -> None:
    unpriced = RunEnd("completed", usage=Usage(2, 2), cost_usd=None)
    whole = BatchSpending(Usage(1, 1), 0.25).plus(unpriced)
    assert (whole.cost_usd, whole.usage) == (None, Usage(3, 3))
    assert whole.plus(unpriced, -1) == BatchSpending(Usage(1, 1), 0.25)


def test_progress_estimates_the_rest_and_comes_now_and_then() -> None:
    now = [0.0]
    tally = BatchTally(total=100)
    progress = BatchProgress("b-1", tally, lambda: now[0])
    assert progress.due() is None
    for _ in range(50):
        tally.add("r", RunEnd("completed"), 1)
        tally.ended_here += 1
    now[0] = SHORTEST_S / 2
    assert progress.due() is None, "not more often than after some seconds"
    now[0] = 30.0
    text = progress.due()
    assert text is not None
    assert "50 of 100" in text
    assert "100 rows/min" in text
    assert "30.0 s" in text
    now[0] = 31.0 + SHORTEST_S
    assert progress.due() is None, "no further tenth is done"
    now[0] = 30.0 + LONGEST_S
    assert progress.due() is not None
    assert progress.drawn() == f"b-1: {progress.text()}"
    assert BatchProgress("b-1", BatchTally()).drawn() == ""


@pytest.mark.parametrize(
    ("ended", "seconds", "rate"),
    [
        (5130, 60, "5,130"),
        (1_234_567, 1, "74,074,020"),
        (25, 120, "12.5"),
        (1, 3600, "0.0167"),
        (2, 10_000_000, "0.000012"),
    ],
)
def test_a_rate_of_any_size_is_written_without_an_exponent(ended: int, seconds: float, rate: str) -> None:
    now = [0.0]
    tally = BatchTally(total=10 * ended, ended_here=ended)
    progress = BatchProgress("b-1", tally, lambda: now[0])
    now[0] = seconds
    assert f", {rate} rows/min, " in progress.text()


def test_an_order_has_each_row_in_a_few_bytes(tmp_path: Path) -> None:
    order = RowOrder()
    for number in range(5):
        order.add(number + 1, number + 2, f"{number % 3:016x}")
    assert [order[place] for place in range(len(order))] == [
        (number + 1, number + 2, f"{number % 3:016x}") for number in range(5)
    ]
    assert (list(order.distinct()), order.count) == ([f"{number:016x}" for number in range(3)], 3)
    assert (order.places(f"{1:016x}"), f"{7:016x}" in order) == ([1, 4], False)


def test_a_line_is_one_line_for_every_reader() -> None:
    document = {"response": "a\u2028b\x85c\u2029\ud800", "more": "\u00e9\n"}
    line = line_of(document)
    assert line.splitlines() == [line]
    assert json.loads(line) == document
    assert "\u00e9" in line_of({"response": "\u00e9"})
