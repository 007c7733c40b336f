"""Runs that are started from the page, watched there while they work, and compared."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_cli_ui.pages.html_text import anchor_of
from tests.browser.chromium import WIDTHS, Chromium
from tests.browser.local_page import LocalPage, row_link, served
from tests.browser.made_runs import folder_in, run_id, write_ordinary

pytestmark = pytest.mark.browser

WAITS = 19
# A name that ends an attribute, a tag or a shell's word.
QUOTED = "it's \"<b>&amp;.yaml"


@pytest.fixture(scope="module")
def local(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPage]:
    with folder_in(tmp_path_factory.mktemp("ui")) as folder, served(folder, chromium) as page:
        yield page


def test_a_run_is_started_from_a_form_answered_and_leaves_its_artifact(local: LocalPage) -> None:
    write_ordinary(local.folder).rename(local.folder.work / QUOTED)
    with local.window() as window:
        page = window.page
        page.get_by_role("link", name="Workflows", exact=True).click()
        page.get_by_role("listitem").filter(has_text=QUOTED).get_by_role("link").click()
        page.get_by_role("textbox", name="what").fill("wax </textarea>")
        page.get_by_role("button", name="Start").click()
        page.get_by_role("button", name="Approve").click()
        page.locator("h1 .badge.completed").wait_for()
        assert "wax </textarea>" in page.locator("main").inner_text()
        page.get_by_role("link", name="Artifacts 1").click()
        page.get_by_role("cell", name="artifacts/answer.md").wait_for()
        assert window.complaints == []
    assert (local.folder.work / "artifacts" / "answer.md").read_text(encoding="utf-8").startswith("# What I found")


def test_a_workflow_with_errors_shows_them_in_place_of_its_form(local: LocalPage) -> None:
    local.folder.write("broken.yaml", "version: 2\nname: x\npattern: {type: chian}\n")
    with local.window(WIDTHS[0]) as window:
        page = window.page
        page.get_by_role("link", name="Workflows", exact=True).click()
        page.get_by_role("listitem").filter(has_text="broken.yaml").get_by_role("link").click()
        page.get_by_role("heading", name="Findings").wait_for()
        assert page.get_by_role("button", name="Start").count() == 0
        assert (window.beyond(), window.barriers()) == (0, [])


def test_what_a_running_run_does_appears_while_it_is_watched(local: LocalPage, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    folder = local.folder
    folder.tool("hold", f"print('holding', flush=True)\nopen({str(gate)!r}).read()\nreturn answer('held')")
    folder.workflow([{"tool": "native:look", "input": {"text": "x"}}, {"tool": "native:hold", "input": {}}])
    run = folder.start("run", "flow.yaml")
    run.wait_for("| holding")
    with local.window() as window:
        page = window.page
        page.locator(row_link(run_id(folder))).click()
        page.locator("h1 .badge.running").wait_for()
        page.locator(f"#{anchor_of('steps.0')} a").click()
        beside = page.get_by_role("complementary", name="Selected step")
        beside.get_by_text("I see x").first.wait_for()
        threading.Thread(target=gate.write_text, args=("",), daemon=True).start()
        page.locator("h1 .badge.completed").wait_for()
        assert beside.get_by_text("I see x").first.is_visible(), "what was chosen stays chosen"
        assert window.complaints == []
    assert run.end().code == 0


def test_two_runs_are_compared_by_their_boxes_in_the_list(local: LocalPage) -> None:
    write_ordinary(local.folder)
    for number, what in enumerate(("honey", "wax")):
        ran = local.folder.strands("run", "flow.yaml", "--var", f"what={what}", "--out", f"out-{number}")
        assert ran.code == WAITS, ran.err
    runs = [run_id(local.folder, at) for at in (0, 1)]
    with local.window() as window:
        page = window.page
        for run in runs:
            page.get_by_role("checkbox", name=f"Compare {run}").check()
        page.get_by_role("button", name=re.compile("^Compare the two")).click()
        page.get_by_role("heading", level=1).wait_for()
        text = page.locator("main").inner_text()
        assert [part for part in (*runs, "honey", "wax") if part not in text] == []
        window.unfold()
        assert (window.beyond(), window.barriers(), window.complaints) == (0, [], [])


def test_the_keyboard_alone_answers_a_gate(local: LocalPage) -> None:
    write_ordinary(local.folder)
    assert local.folder.strands("run", "flow.yaml", "--out", "out-keys").code == WAITS
    with local.window() as window:
        page = window.page
        page.locator(row_link(run_id(local.folder))).press("Enter")
        page.get_by_role("button", name="Approve").wait_for()
        for _ in range(30):
            page.keyboard.press("Tab")
            if window.focused() == "Approve":
                break
        page.keyboard.press("Enter")
        page.locator("h1 .badge.completed").wait_for()
