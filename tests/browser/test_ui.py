"""`strands ui` in a real browser: runs are started, watched, answered, killed, resumed and compared there."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.run_views.whole_effect import effect_of
from tests.browser.chromium import WIDTHS, Chromium
from tests.browser.local_page import LocalPage, row_link, served
from tests.browser.made_runs import folder_in, run_id, write_hostile, write_ordinary

pytestmark = pytest.mark.browser

WAITS = 19
NUMBERS = itertools.count()
FIRST_PAINT = 100_000
PLACES = (
    *("/", "/inbox", "/workflows", "/workflows/flow.yaml", "/tools", "/tool?name=look", "/runs/{run}"),
    *("/runs/{run}?effect=steps.0/tool.0.look", *(f"/runs/{{run}}?tab={tab}" for tab in ("graph", "costs", "raw"))),
)


@pytest.fixture(scope="module")
def local(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPage]:
    with folder_in(tmp_path_factory.mktemp("ui")) as folder:
        write_ordinary(folder)
        with served(folder, chromium) as page:
            yield page


def waiting(local: LocalPage) -> str:
    """Make a run that waits for the answer to its question, and return its id."""
    write_ordinary(local.folder)
    # Each has a place of its own for its artifact.
    ran = local.folder.strands("run", "flow.yaml", "--out", f"out-{next(NUMBERS)}")
    assert ran.code == WAITS, ran.err
    return run_id(local.folder)


def test_the_gate_of_a_run_is_answered_and_its_end_appears_by_itself(local: LocalPage) -> None:
    run = waiting(local)
    with local.window() as window:
        page = window.page
        page.locator(row_link(run)).click()
        page.get_by_role("button", name="Approve").click()
        page.locator("h1 .badge.completed").wait_for()
        assert page.get_by_role("cell", name="20", exact=True).is_visible()
        page.get_by_role("link", name="Artifacts 1").click()
        page.get_by_role("cell", name="answer.md").wait_for()
        assert window.complaints == []


def test_of_two_browsers_that_answer_one_gate_one_wins_and_the_other_hears_of_it(local: LocalPage) -> None:
    run = waiting(local)
    with local.window() as first, local.window() as second:
        # Without the stream of events, which would take the question away in time.
        second.page.route("**/events", lambda route: route.abort())
        for window in (first, second):
            window.page.locator(row_link(run)).click()
            window.page.get_by_role("button", name="Approve").wait_for()
        first.page.get_by_role("button", name="Approve").click()
        first.page.locator("h1 .badge.completed").wait_for()
        second.page.get_by_label("Answer").fill("no")
        second.page.get_by_role("button", name="Answer").click()
        second.page.locator(".error").wait_for()
        assert "steps.1" in second.page.locator(".error").inner_text()
        assert answers(local, run) == ["yes"]


def answers(local: LocalPage, run: str) -> list[str | None]:
    """Return what was answered in a run, once it has ended."""
    with local.window() as window:
        page = window.page
        page.locator(row_link(run)).click()
        page.locator("h1 .badge.completed").wait_for()
    with contextlib.closing(SqliteJournal.open(local.folder.runs / run, hold=False)) as journal:
        asked = effect_of(journal, "steps.1").question
    assert asked is not None
    return [asked.answer]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_its_window_and_has_no_barriers(width: int, local: LocalPage) -> None:
    run = waiting(local)
    with local.window(width, dark=width == WIDTHS[0]) as window:
        found = {}
        base = window.page.url.rstrip("/")
        for place in PLACES:
            window.open("about:blank").forget()
            window.page.goto(base + place.format(run=run))
            found[place] = (window.beyond(), window.barriers(), window.complaints[:])
        assert found == dict.fromkeys(found, (0, [], []))


def test_a_page_is_one_request_of_less_than_100_kilobytes(local: LocalPage) -> None:
    run = waiting(local)
    with local.window() as window:
        base = window.page.url.rstrip("/")
        for place in PLACES:
            address = base + place.format(run=run)
            window.forget()
            answer = window.page.goto(address)
            assert answer is not None
            assert len(answer.body()) < FIRST_PAINT
            assert window.drawn_from == [address]


def test_a_page_without_script_answers_a_gate_too(local: LocalPage) -> None:
    run = waiting(local)
    with local.window(javascript=False) as window:
        page = window.page
        page.get_by_role("link", name="Inbox").click()
        page.locator(f"#r-{run}").get_by_role("button", name="Approve").click()
        page.get_by_role("link", name="Load again").wait_for()
    assert answers(local, run) == ["yes"]


def test_a_killed_run_shows_as_interrupted_and_resumes_from_the_page(local: LocalPage, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    folder = local.folder
    folder.tool("hold", f"print('holding', flush=True)\nopen({str(gate)!r}).read()\nreturn answer('held')")
    folder.workflow([{"tool": "native:hold", "input": {}}], name="held")
    started = folder.start("run", "flow.yaml")
    started.wait_for("| holding")
    with local.window() as window:
        page = window.page
        page.locator(row_link(run_id(folder))).click()
        page.locator("h1 .badge.running").wait_for()
        started.send(signal.SIGKILL)
        started.end()
        page.locator("h1 .badge.interrupted").wait_for()
        threading.Thread(target=gate.write_text, args=("",), daemon=True).start()
        page.get_by_role("button", name="Resume").click()
        page.locator("h1 .badge.completed").wait_for()
        assert window.complaints == []


def test_a_hostile_run_changes_nothing_of_the_page(local: LocalPage) -> None:
    write_hostile(local.folder)
    assert local.folder.strands("run", "flow.yaml").code == WAITS
    with local.window(WIDTHS[0]) as window:
        page = window.page
        page.locator(row_link(run_id(local.folder))).click()
        page.get_by_role("heading", name="It waits for you").wait_for()
        window.unfold()
        assert (window.beyond(), window.barriers(), window.complaints) == (0, [], [])
        assert "changed" not in page.title()
        assert page.locator("main script, main img").count() == 0


def test_filters_act_at_once_and_the_way_back_leads_to_the_list_before(local: LocalPage) -> None:
    run = waiting(local)
    with local.window() as window:
        page = window.page
        rows = page.locator("tr[id^=r-]")
        rows.first.wait_for()
        page.get_by_role("searchbox", name="Text").fill("no run has this in it")
        page.get_by_text("No run fits").wait_for()
        page.get_by_role("searchbox", name="Text").fill(run)
        page.locator(row_link(run)).wait_for()
        assert rows.count() == 1
        page.get_by_role("link", name="failed").click()
        page.get_by_text("No run fits").wait_for()
        page.go_back()
        page.locator(row_link(run)).wait_for()
        assert (window.drawn_from, window.complaints) == ([], []), "nothing is loaded again"


def test_an_effect_is_shown_beside_the_steps_with_its_conversation_and_without_loading_the_page(
    local: LocalPage,
) -> None:
    run = waiting(local)
    with local.window(WIDTHS[2]) as window:
        page = window.page
        page.locator(row_link(run)).click()
        beside = page.get_by_role("complementary", name="Selected step")
        beside.get_by_text("Publish it?").wait_for()
        window.forget()
        page.get_by_role("link", name="step: steps.0 writer").press("Enter")
        for words in ("How many jars of honey?", "I look first.", "the hives", "I see the hives", "There are 32."):
            beside.get_by_text(words, exact=True).first.wait_for()
        assert "steps.0 writer" in window.focused()
        page.get_by_role("link", name="tool call: look").click()
        beside.get_by_text("allow: the tool is read-only").wait_for()
        page.get_by_role("link", name="Graph").click()
        page.locator(".picture.pattern").get_by_role("link", name="steps.0").click()
        beside.get_by_text("I look first.").first.wait_for()
        page.go_back()
        page.locator(".picture.pattern").wait_for()
        assert (window.drawn_from, window.complaints) == ([], []), "nothing is loaded again"


def test_the_question_of_a_run_is_on_the_first_screen_of_a_phone(local: LocalPage) -> None:
    run = waiting(local)
    with local.window(390) as window:
        page = window.page
        page.set_viewport_size({"width": 390, "height": 844})
        page.locator(row_link(run)).click()
        box = page.get_by_role("button", name="Approve").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 844
