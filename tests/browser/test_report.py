"""The file of a report in a real browser: no script, no request, any width and colours, the keyboard."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import WIDTHS, Chromium, Window
from tests.browser.made_runs import QUOTED, folder_in, run_id, write_hostile, write_ordinary
from tests.cli.strands import CLONE, Folder

pytestmark = pytest.mark.browser

WAITS = 19
EFFECTS = 10_000
LONG_ANSWER = 10_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    with folder_in(tmp_path_factory.mktemp("reports")) as made:
        yield made


def written(folder: Folder, *runs: str) -> Path:
    """Write the report of a run, or of two."""
    path = folder.root / f"{'-'.join(runs)}.html"
    ran = folder.strands("runs", "report", *runs, "-o", path)
    assert ran.code == 0, ran.err
    return path


@pytest.fixture(scope="module")
def ordinary(folder: Folder) -> Path:
    write_ordinary(folder)
    assert folder.strands("run", "flow.yaml").code == WAITS
    return written(folder, approved(folder))


def approved(folder: Folder) -> str:
    """Answer the question of the newest run, which then comes to its end, and return its id."""
    ran = folder.strands("approve", "last", "steps.1", "--answer", "yes")
    assert ran.code == 0, ran.err
    return run_id(folder)


@pytest.fixture(scope="module")
def hostile(folder: Folder) -> Path:
    write_hostile(folder)
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == WAITS, ran.err
    return written(folder, approved(folder))


@pytest.fixture(scope="module")
def compared(folder: Folder, ordinary: Path) -> Path:
    write_ordinary(folder)
    ran = folder.strands("run", "flow.yaml", "--var", "what=wax", "--out", "out-wax")
    assert ran.code == WAITS, ran.err
    return written(folder, ordinary.stem, run_id(folder))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["ordinary", "hostile", "compared"])
def test_a_report_fits_its_window_without_script_and_asks_for_nothing(
    name: str, width: int, chromium: Chromium, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(name)
    with chromium.window(width, javascript=False) as window:
        window.open(path)
        window.unfold()
        assert (window.beyond(), window.requests, window.complaints) == (0, [path.as_uri()], [])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["ordinary", "hostile", "compared"])
def test_a_report_has_no_barriers_in_either_colours(
    name: str, dark: bool, chromium: Chromium, request: pytest.FixtureRequest
) -> None:
    with chromium.window(WIDTHS[0], dark=dark) as window:
        window.open(request.getfixturevalue(name))
        window.unfold()
        assert window.barriers() == []


def test_the_colours_are_those_that_the_person_has_chosen(ordinary: Path, chromium: Chromium) -> None:
    with chromium.window() as light, chromium.window(dark=True) as dark:
        assert lightness(light.open(ordinary)) > 600
        assert lightness(dark.open(ordinary)) < 200


def lightness(window: Window) -> int:
    """Return the sum of red, green and blue of the paper."""
    colour = window.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return sum(int(part) for part in colour.strip("rgb()").split(","))


def test_what_was_asked_answered_and_done_is_shown(ordinary: Path, window: Window) -> None:
    page = window.open(ordinary).page
    assert page.locator("h1").inner_text().startswith("jars")
    assert page.get_by_role("cell", name="20", exact=True).is_visible()
    assert page.get_by_role("link", name="link", exact=True).get_attribute("href") == "https://example.com/"
    window.unfold()
    text = page.locator("main").inner_text()
    assert [
        part for part in ("I look first.", "the hives", "I see the hives", "answer.md", "yes") if part not in text
    ] == []


def test_the_keyboard_reaches_every_effect_and_opens_it(ordinary: Path, window: Window) -> None:
    page = window.open(ordinary).page
    page.keyboard.press("Tab")
    assert window.focused() == page.locator("a.skip").inner_text()
    seen = set()
    for _ in range(100):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            seen.add(window.focused())
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.parentElement.open") is True
        elif seen and page.evaluate("document.activeElement === document.body"):
            break
    assert len(seen) >= 4, "a step, two turns of the model, and a call"
    assert page.locator("details:not([open])").count() == 0


def test_nothing_of_a_hostile_run_runs_or_turns_round(hostile: Path, window: Window) -> None:
    page = window.open(hostile).page
    window.unfold()
    text, source = page.locator("main").inner_text(), page.content()
    assert "changed" not in page.title()
    assert page.locator("main script, main img, main iframe").count() == 0
    assert page.locator('a[href^="javascript"]').count() == 0
    assert [hidden for hidden in "\x1b\x00\x07\u202e\u2066" if hidden in source] == []
    assert [
        shown
        for shown in ("<script>document.title", "onerror=", QUOTED, "\\x1b[31mred", "\\u202e")
        if shown not in text
    ] == []
    assert (window.requests, window.complaints) == ([hostile.as_uri()], [])


def test_a_report_of_an_answer_of_10_megabytes_is_small_and_says_so(folder: Folder, window: Window) -> None:
    folder.workflow([{"agent": "writer", "input": "Go on."}], {"steps.0": [{"text": "honey " * (LONG_ANSWER // 6)}]})
    assert folder.strands("run", "flow.yaml").code == 0
    path = written(folder, run_id(folder))
    assert path.stat().st_size < 2_000_000
    window.open(path)
    assert window.page.locator(".cut").count() > 0
    assert (window.beyond(), window.complaints) == (0, [])


def test_a_report_of_10_000_effects_opens_and_its_last_one_is_found(folder: Folder, window: Window) -> None:
    # In a process of its own, since a loop runs here: Playwright's.
    make = "import pathlib, sys; from bench import long_run; long_run.make(pathlib.Path(sys.argv[1]), int(sys.argv[2]))"
    folder.runs.mkdir(exist_ok=True)
    words = [sys.executable, "-c", make, str(folder.runs), str(EFFECTS // 2)]
    subprocess.run(words, cwd=CLONE, env={**os.environ, "HOME": str(folder.root)}, check=True)
    path = written(folder, "long")
    assert path.stat().st_size < 15_000_000
    page = window.open(path).page
    assert page.locator("h1").inner_text().startswith("bench-long")
    assert page.locator("main details").count() > EFFECTS // 100
    assert (window.beyond(), window.requests, window.complaints) == (0, [path.as_uri()], [])
