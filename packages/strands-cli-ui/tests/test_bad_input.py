"""What the local page does with runs that are damaged, deleted, killed or long, and with too many readers."""

from __future__ import annotations

import http.client
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from served import Browser, Served

from tests.cli.strands import Folder

pytestmark = pytest.mark.hostile


@pytest.fixture
def copied(folder: Folder) -> Iterator[Path]:
    """Return a copy of the run that waits, to be damaged."""
    run = next(path for path in folder.runs.iterdir() if not path.name.startswith("20200101"))
    copy = folder.runs / "20200101-000000-aaaaaa"
    shutil.copytree(run, copy)
    yield copy
    shutil.rmtree(copy, ignore_errors=True)


def _stream(browser: Browser, path: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(browser.place, timeout=60)
    connection.request("GET", path, headers={"Cookie": browser.cookie})
    return connection, connection.getresponse()


def test_one_run_with_an_odd_name_hides_no_other(browser: Browser, copied: Path) -> None:
    odd = shutil.copytree(copied, copied.with_name(os.fsdecode(b"20200101-000000-\xff")))
    listed = browser.get("/")
    inbox = browser.get("/inbox")
    shutil.rmtree(odd)
    assert f'href="/runs/{copied.name}"' in listed.text
    assert "\\udcff" in listed.shown
    assert f'id="r-{copied.name}"' in inbox.text


def test_a_run_that_is_deleted_while_looked_at_is_gone_and_its_stream_says_that_it_changed(
    browser: Browser, copied: Path
) -> None:
    assert browser.get(f"/runs/{copied.name}").status == 200
    first, events = _stream(browser, f"/runs/{copied.name}/events")
    with closing(first):
        shutil.rmtree(copied)
        assert events.readline() == b"event: changed\n"
    gone = browser.get(f"/runs/{copied.name}")
    assert gone.status == 404
    assert browser.get(f"/runs/{copied.name}/events").status == 404
    assert browser.get("/").status == 200
    assert browser.get("/inbox").status == 200


@pytest.mark.parametrize(
    "statement",
    ["UPDATE effects SET output = 'not json', detail = '{'", "PRAGMA user_version = 9999", "DROP TABLE effects"],
)
def test_a_damaged_journal_leaves_a_page_that_says_so(browser: Browser, copied: Path, statement: str) -> None:
    with closing(sqlite3.connect(copied / "journal.sqlite")) as connection:
        connection.execute(statement)
        connection.commit()
    for path in (f"/runs/{copied.name}", "/", "/inbox", f"/runs/{copied.name}/effects?key=steps.0"):
        page = browser.get(path)
        assert page.status in (200, 404)
        assert "bug" not in page.shown


def test_a_journal_without_bytes_leaves_a_page_that_says_so(browser: Browser, copied: Path) -> None:
    for file in copied.iterdir():
        if file.is_file():
            file.write_bytes(b"")
    assert browser.get(f"/runs/{copied.name}").status == 404
    assert copied.name in browser.get("/").text


def test_so_many_tabs_follow_changes_and_others_say_so(browser: Browser) -> None:
    with ExitStack() as stack:
        for _ in range(64):
            connection, events = _stream(browser, "/events")
            stack.enter_context(closing(connection))
            assert events.readline() == b"event: changed\n"
        connection, events = _stream(browser, "/events")
        stack.enter_context(closing(connection))
        assert events.readline() == b"event: full\n"
        assert browser.get("/").status == 200
    # Places are free again once the server has seen that their readers are gone.
    while _first_event(browser) == b"event: full\n":
        pass


def _first_event(browser: Browser) -> bytes:
    connection, events = _stream(browser, "/events")
    with closing(connection):
        return events.readline()


def test_a_cookie_of_an_earlier_process_is_worth_nothing(folder: Folder) -> None:
    one = Served(folder)
    browser = Browser.admitted(one.address())
    assert one.end()[0] == 0
    two = Served(folder, "--port", browser.place.rpartition(":")[2])
    two.address()
    assert browser.get("/").status == 401
    assert two.end()[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_run_shows_as_interrupted_and_resumes_from_the_page(browser: Browser, folder: Folder) -> None:
    mark, blocked = folder.root / "begun", folder.root / "blocked"
    blocked.touch()
    body = (
        f"import pathlib, time\npathlib.Path({str(mark)!r}).touch()\n"
        f"while pathlib.Path({str(blocked)!r}).exists():\n    time.sleep(0.02)\nreturn answer('slept')"
    )
    folder.tool("sleeper", body)
    folder.write(
        "sleeps.yaml",
        {
            "version": 2,
            "name": "sleeps",
            "runtime": {"provider": "replay"},
            "pattern": {"type": "chain", "config": {"steps": [{"tool": "sleeper", "input": {"text": "x"}}]}},
        },
    )
    started = folder.start("run", "sleeps.yaml", "--detach")
    while not mark.exists():
        assert started.process.poll() is None, started.end().err
    run = str(folder.strands("runs", "list", "--json").document["runs"][0]["id"])
    assert "running" in browser.get(f"/runs/{run}").shown
    connection, events = _stream(browser, f"/runs/{run}/events")
    with closing(connection):
        started.process.kill()
        started.end()
        while "interrupted" not in (page := browser.get(f"/runs/{run}")).shown:
            assert events.readline()
        blocked.unlink()
        assert browser.post(f"/runs/{run}/resume", {"csrf": page.csrf}).status == 303
        while "completed" not in browser.get(f"/runs/{run}").shown:
            assert events.readline()
