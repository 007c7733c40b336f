"""The page of a run whose answer is long: its first load stays small, and the rest is one link away."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest
from served import Browser

from strands_cli_ui.pages.html_text import anchor_of
from tests.cli.strands import Folder

pytestmark = pytest.mark.hostile
FIRST_PAINT = 100_000


def test_a_long_answer_has_its_beginning_in_the_page_and_a_link_to_the_rest(browser: Browser, folder: Folder) -> None:
    answer = "\n".join(f"- **{number}** `honey` <b>{number}</b>" for number in range(2_500))
    folder.workflow([{"agent": "writer", "input": "list"}], {"steps.0": [{"text": answer}]})
    ran = folder.strands("run", "flow.yaml", "--json")
    page = browser.get(f"/runs/{ran.document['run']}")
    assert len(page.text.encode()) < FIRST_PAINT
    assert "<b>2499</b>" not in page.shown
    rest = f"/runs/{ran.document['run']}/response"
    assert f'href="{rest}"' in page.text
    assert "<b>2499</b>" in browser.get(rest).shown


def test_each_of_10_000_effects_is_reached_by_links_of_small_pages(browser: Browser, folder: Folder) -> None:
    folder.workflow([{"agent": "writer", "input": "Go."}], {"steps.0": [{"text": "gone"}]})
    run = folder.strands("run", "flow.yaml", "--json").document["run"]
    with contextlib.closing(sqlite3.connect(folder.runs / run / "journal.sqlite")) as journal, journal:
        described = journal.execute("PRAGMA table_info(effects)")
        columns = ", ".join(name for _, name, *_ in described if name not in ("key", "position"))
        copy = f"INSERT INTO effects (key, {columns}) SELECT ?, {columns} FROM effects WHERE key = 'steps.0'"
        journal.executemany(copy, [(f"steps.{number}",) for number in range(1, 9_998)])
        journal.execute("UPDATE effects SET status = 'failed' WHERE key = 'steps.7000'")
    first = browser.get(f"/runs/{run}")
    assert len(first.text.encode()) < FIRST_PAINT
    assert f'href="/runs/{run}?from=60" rel="next"' in first.text
    for address, shown in (
        (f"/runs/{run}?from=9960", "steps.9997"),
        (f"/runs/{run}?effect=steps.7000", "steps.7000"),
        (f"/runs/{run}?only=problems", "steps.7000"),
    ):
        page = browser.get(address)
        assert f'<li id="{anchor_of(shown)}"' in page.text
        assert len(page.text.encode()) < FIRST_PAINT
    assert 'rel="next"' not in browser.get(f"/runs/{run}?from=9960").text
