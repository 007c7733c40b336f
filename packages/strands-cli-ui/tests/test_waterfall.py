"""The waterfall of a run: rows of effects, with bars on an axis where long stretches without work are short."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.events import Usage
from strands_cli.run_views.opened_runs import OpenedRun
from strands_cli_ui.pages.effect_rows import linked_rows, opening_rows
from strands_cli_ui.pages.run_page import RunPage, run_page_of
from strands_cli_ui.pages.run_parts import cause_of
from strands_cli_ui.pictures.waterfall import Waterfall, waterfall_of
from tests.parsed_page import Parsed


def opened(tmp_path: Path, rows: Sequence[Row], status: str) -> SqliteJournal:
    """Return the journal of a run that has these rows; it began at second 100."""
    journal = SqliteJournal.create(tmp_path / "run")

    async def fill() -> None:
        for row in rows:
            journal.note(row)

    asyncio.run(fill())
    journal.put(status=status, started_at=100.0, file="flow.yaml", text="", base_dir=str(tmp_path), worked_s=2.0)
    return journal


def waterfall(tmp_path: Path, rows: Sequence[Row], status: str, now: float | None = None) -> Waterfall:
    with contextlib.closing(opened(tmp_path, rows, status)) as journal:
        run = OpenedRun(journal)
        summary = run.summary()
        return waterfall_of(summary, run.tree(summary), now)


def page_of(tmp_path: Path, rows: Sequence[Row], status: str) -> RunPage:
    with contextlib.closing(opened(tmp_path, rows, status)) as journal:
        return run_page_of(OpenedRun(journal))


def step(number: int, start: float, end: float | None, status: str = "done", **more: object) -> Iterator[Row]:
    """Yield the rows of a step with one model turn."""
    times = {"started_at": start, "ended_at": end, "detail": {"agent": "one", "model": "m", **more}}
    yield Row(f"steps.{number}", "step", status, "d", output={"response": "Done."}, **times)  # type: ignore[arg-type]
    output, usage = {"events": []}, Usage(30, 10)
    yield Row(f"steps.{number}/model.0", "model", status, "d", output=output, usage=usage, cost=0.25, **times)  # type: ignore[arg-type]


def spans(drawn: Waterfall) -> list[tuple[str, float, bool] | None]:
    """Return the key, the end and whether it is open of each bar."""
    bars = [(branch.key, drawn.bar(branch)) for _, branch in drawn.rows]
    return [(key, bar.seconds, bar.is_open) if bar else None for key, bar in bars]


def test_the_time_between_two_sessions_is_drawn_short_and_stated(tmp_path: Path) -> None:
    asked = Row("steps.1", "human", "done", "d", output={"text": "yes"}, started_at=101, ended_at=5101, detail={})
    rows = [*step(0, 100, 101), asked, *step(2, 5101, 5102), *step(3, 9000, 9002)]
    scale = waterfall(tmp_path, rows, "completed").scale
    assert [(gap.seconds, gap.is_waiting) for gap in scale.gaps] == [(5000.0, True), (3898.0, False)]
    assert all(gap.width < 0.15 for gap in scale.gaps)
    places = [scale.place_of(time) for time in (100, 101, 5101, 5102, 9000, 9002)]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0.0, 1.0)
    assert places[1] - places[0] > 0.1, "the work has most of the width"
    marks = [mark.place for mark in scale.marks()]
    assert marks == sorted(marks)


def test_an_effect_without_an_end_is_drawn_until_now_or_until_the_last_that_is_known(tmp_path: Path) -> None:
    rows = [*step(0, 100, 104), *step(1, 101, None, "started")]
    keys = ("steps.0", "steps.0/model.0", "steps.1", "steps.1/model.0")
    running = spans(waterfall(tmp_path, rows, "waiting", now=200.0))
    assert running == list(zip(keys, (4.0, 4.0, 99.0, 99.0), (False, False, True, True), strict=True))
    stopped = spans(waterfall(tmp_path / "other", rows, "failed", now=200.0))
    assert [span[1] for span in stopped if span] == [4.0, 4.0, 3.0, 3.0]


def test_what_another_run_has_done_has_no_bar(tmp_path: Path) -> None:
    drawn = waterfall(tmp_path, [*step(0, 1, 2, reused=True), *step(1, 100, 101)], "completed")
    assert [span is None for span in spans(drawn)] == [True, True, False, False]
    assert drawn.scale.times[0] == 100.0


def test_a_part_of_a_long_run_has_an_axis_of_its_own(tmp_path: Path) -> None:
    rows = [row for number in range(500) for row in step(number, 100 + number, 101 + number)]
    drawn = waterfall(tmp_path, rows, "completed")
    part = drawn.part(drawn.rows[600:660])
    assert (part.scale.times[0], part.scale.times[-1]) == (400.0, 430.0)
    bar = part.bar(part.rows[-1][1])
    assert bar is not None
    assert (round(bar.place + bar.width, 3), bar.width > 0.03) == (1.0, True)


def test_rows_lead_to_their_effects_and_say_what_needs_a_look(tmp_path: Path) -> None:
    rows = [*step(0, 100, 101), *step(1, 101, 102, "failed", error="it broke")]
    page = page_of(tmp_path, rows, "failed")
    assert cause_of(page) == "steps.1/model.0"
    assert [branch.key for _, branch in page.waterfall.problems()] == ["steps.1", "steps.1/model.0"]
    text = linked_rows(page, page.waterfall.rows, lambda key: f"?{key}", "steps.1")
    parsed = Parsed(text)
    links = [address for address in parsed.links if address.startswith("?")]
    assert links == [f"?{branch.key}" for _, branch in page.waterfall.rows]
    assert parsed.text.count("model turn, failed") == 1
    assert text.count('aria-current="true"') == 1


def test_a_run_that_has_done_nothing_has_no_rows(tmp_path: Path) -> None:
    page = page_of(tmp_path, [], "failed")
    assert (page.waterfall.rows, "waterfall" in opening_rows(page), cause_of(page)) == ((), False, None)
