"""Takes the pictures of the pages, where it is asked to: `UPDATE_PICTURES=1 nox -s browser -- -k pictures`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium
from tests.browser.local_page import row_link, served
from tests.browser.made_runs import folder_in, run_id, write_ordinary
from tests.cli.strands import CLONE, Folder

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not os.environ.get("UPDATE_PICTURES"), reason="takes pictures only with UPDATE_PICTURES=1"),
]

PICTURES = CLONE / "docs" / "pictures"
WIDTH, HEIGHT, REPORT_HEIGHT = 1180, 720, 1180
WAITS = 19


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with folder_in(tmp_path) as made:
        write_ordinary(made)
        assert made.strands("run", "flow.yaml").code == WAITS
        yield made


def test_pictures_of_a_report_are_taken_in_both_colours(folder: Folder, chromium: Chromium) -> None:
    assert folder.strands("approve", "last", "steps.1", "--answer", "yes").code == 0
    path = folder.root / "run.html"
    assert folder.strands("runs", "report", "last", "-o", path).code == 0
    for name, dark in {"report-light": False, "report-dark": True}.items():
        with chromium.window(WIDTH, dark=dark, height=REPORT_HEIGHT) as window:
            window.open(path).page.screenshot(path=PICTURES / f"{name}.png")


def test_pictures_of_the_local_page_are_taken(folder: Folder, chromium: Chromium) -> None:
    for what in ("wax", "pollen", "propolis"):
        words = ["run", "flow.yaml", "--var", f"what={what}", "--out", what]
        assert folder.strands(*words).code == WAITS
        assert folder.strands("approve", "last", "steps.1", "--answer", "yes").code == 0
    assert folder.strands("run", "flow.yaml", "--var", "what=honey in spring", "--out", "spring").code == WAITS
    with served(folder, chromium) as local, local.window(WIDTH) as window:
        page = window.page
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        page.get_by_text("Live", exact=True).wait_for()
        page.screenshot(path=PICTURES / "ui-runs.png")
        page.locator(row_link(run_id(folder))).click()
        page.get_by_text("Live", exact=True).wait_for()
        page.screenshot(path=PICTURES / "ui-run.png")
        page.get_by_role("link", name="Inbox").click()
        page.get_by_text("Live", exact=True).wait_for()
        page.screenshot(path=PICTURES / "ui-inbox.png")
