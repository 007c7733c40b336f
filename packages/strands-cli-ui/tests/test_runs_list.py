"""The list of runs: one line for each, with what it was about, why it failed, and what it cost."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator

import pytest
from served import Browser

from strands_cli_ui.pages.html_text import ago, short_id
from tests.cli.strands import Folder
from tests.parsed_page import Parsed

ASKED = "Why do bees dance on <the> comb?"
INPUTS = {"required": {"tone": "string", "question": "string"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    """Return a folder with a run that is complete and one that failed."""
    made = Folder(tmp_path_factory.mktemp("list"))
    made.work.mkdir()
    made.site.mkdir()
    words = ["run", "flow.yaml", "--var", "tone=dry", "--var"]
    turns = {"steps.0": [{"text": "To show the way.", "usage": [12, 5]}]}
    made.workflow([{"agent": "writer", "input": "{{ question }}"}], turns, inputs=INPUTS)
    assert made.strands(*words, f"question={ASKED}").code == 0
    made.tool("look", "raise ValueError('the hive is shut')")
    made.workflow([{"tool": "native:look", "input": {"text": "x"}}], name="looks", inputs=INPUTS)
    assert made.strands(*words, "question=Who?").code == 10
    yield made
    made.end_started()


def lines(browser: Browser, address: str = "/") -> list[str]:
    """Return the text of each line of the list."""
    rows = re.findall(r'<tr id="r-.*?</tr>', browser.get(address).text, re.DOTALL)
    return [" ".join(Parsed(row.replace("</td>", " </td>")).text.split()) for row in rows]


def test_a_line_has_status_workflow_subject_reason_and_the_end_of_the_id(browser: Browser, folder: Folder) -> None:
    failed, completed = folder.strands("runs", "list", "--json").document["runs"]
    first, second = lines(browser)
    shown = [part in first for part in ("failed", "looks", "Who?", "the hive is shut", failed["id"].rpartition("-")[2])]
    assert shown == [True] * 5
    assert [part in second for part in ("completed", "flow", ASKED, "ago")] == [True, True, True, "now" not in second]
    assert completed["id"] not in second
    assert f'data-copy="{completed["id"]}"' in browser.get("/").text


def test_a_subject_can_be_searched_and_each_status_says_how_many_there_are(browser: Browser) -> None:
    browser.get("/")
    assert len(lines(browser, "/?text=DANCE")) == 1
    page = browser.get("/?status=failed")
    counts = dict(re.findall(r'class="(\w*)">\w+ <b>(\d+)</b>', page.text))
    assert (counts["failed"], counts["completed"], counts[""]) == ("1", "1", "2")
    assert len(lines(browser, "/?status=failed")) == 1
    assert 'href="/">Show all runs' in browser.get("/?text=nothing+like+it").text


def test_the_money_of_a_run_is_shown_and_an_unknown_sum_never_as_zero(browser: Browser, folder: Folder) -> None:
    run = folder.strands("runs", "list", "--json").document["runs"][-1]["id"]
    for cost, shown in ((0.25, "$0.2500"), (None, "?")):
        with contextlib.closing(sqlite3.connect(folder.runs / run / "journal.sqlite")) as journal, journal:
            journal.execute("UPDATE effects SET cost = ? WHERE kind = 'model'", [cost])
            journal.execute("REPLACE INTO facts SELECT 'worked_s', ?", [str(1.0 + (cost or 0))])
        assert shown in lines(browser)[-1].split()


def test_times_are_relative_and_ids_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_000_000.0)
    ages = {4: "now", 59: "59 s ago", 3599: "59 min ago", 86_399: "23 h ago", 200_000: "2 d ago"}
    assert [Parsed(ago(1_000_000.0 - age)).text for age in ages] == list(ages.values())
    assert 'title="1970-01-12 13:46:40 UTC"' in ago(1_000_000.0)
    assert Parsed(short_id("20261129-160656-865d57")).text == "865d57"
