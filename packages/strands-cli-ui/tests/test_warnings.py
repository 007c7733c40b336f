"""The warnings of a page: what a reader of a run must not miss, each with the places it is about."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.events import Usage
from strands_cli.run_views.opened_runs import OpenedRun
from strands_cli_ui.pages.html_text import anchor_of
from strands_cli_ui.pages.run_page import run_page_of
from strands_cli_ui.pages.run_remarks import warnings
from tests.parsed_page import Parsed
from tests.wordings import Wording

FLOW = """version: 2
name: limits
runtime: {provider: ollama, model_id: m, budgets: {max_tokens: 100, warn_threshold: 0.5}}
agents: {one: {prompt: Answer.}}
pattern: {type: chain, config: {steps: [{agent: one, input: Go.}]}}
"""
MODEL, TOOL = "steps.0/model.0", "steps.0/tool.0.look"
STEP = Row("steps.0", "step", "done", "d", output={"response": "Done.", "agent": "one"})


def model(tokens: int, cost: float | None = 0.25, **detail: object) -> Row:
    """Return the row of a model turn that took so many tokens."""
    output: dict[str, list[object]] = {"events": []}
    return Row(MODEL, "model", "done", "d", output=output, usage=Usage(tokens), cost=cost, detail=detail)


def tool(**detail: object) -> Row:
    """Return the row of a call."""
    return Row(TOOL, "tool", "done", "d", output={"status": "success", "content": []}, detail=detail)


def warned(tmp_path: Path, rows: Sequence[Row]) -> Parsed:
    """Return the warnings on the page of a run that has these rows."""
    with contextlib.closing(SqliteJournal.create(tmp_path / "run")) as journal:

        async def fill() -> None:
            for row in [STEP, *rows]:
                journal.note(row)

        asyncio.run(fill())
        journal.put(status="completed", started_at=100.0, file="flow.yaml", text=FLOW, base_dir=str(tmp_path))
        return Parsed(warnings(run_page_of(OpenedRun(journal)), lambda key: f"#{anchor_of(key)}"))


def test_a_run_in_which_nothing_is_odd_has_no_warnings(tmp_path: Path) -> None:
    assert warned(tmp_path, [model(49), tool(arguments={"at": "c"})]).text == ""


@pytest.mark.parametrize(
    ("row", "place"),
    [
        pytest.param(model(1, failures=["it is busy"]), MODEL, id="retried"),
        pytest.param(tool(arguments={"at": "c"}, called_with={"at": "d"}), TOOL, id="changed"),
        pytest.param(model(1, cost=None), None, id="cost"),
        pytest.param(model(50), None, id="near"),
        pytest.param(model(130), None, id="over"),
    ],
)
def test_a_warning_says_what_is_odd_and_leads_to_it(
    tmp_path: Path, wording: Wording, row: Row, place: str | None
) -> None:
    found = warned(tmp_path, [row])
    wording(found.text)
    assert found.tags.count("li") == 1
    assert found.links == ([f"#{anchor_of(place)}"] if place else [])


def test_of_many_places_the_first_are_named_and_the_others_counted(tmp_path: Path) -> None:
    rows = [
        Row(f"steps.0/tool.{number}.look", "tool", "done", "d", output={}, detail={"called_with": {}})
        for number in range(25)
    ]
    found = warned(tmp_path, rows)
    assert len(found.links) == 20
    assert re.findall(r"[\d,]+ more", found.text) == ["5 more"]
