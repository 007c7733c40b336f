"""The page of one run: what it has, that it loads nothing, and that no text of a run becomes a part of its HTML."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.run_views.opened_runs import OpenedRun
from strands_cli_ui.pages.html_text import anchor_of
from strands_cli_ui.pages.page_frame import stylesheet
from strands_cli_ui.pages.run_page import RunPage, run_page_of
from strands_cli_ui.pages.run_parts import run_body, run_html
from strands_cli_ui.pages.safe_markdown import markdown_html
from tests.cli.strands import Folder
from tests.parsed_page import Parsed

GATE = {"type": "hitl", "prompt": "Publish </details><script>alert(1)</script> \u202e it?"}
TOKEN = "tok-correct-horse-battery"
HOSTILE = "# Title\n\n</pre></details><script>alert(1)</script> \x1b[31mred \u202etxt.exe \x00 <img src=x onerror=y>"
LOOK = {"calls": [{"look": {"text": "<b>at</b>"}}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    """Make one run that waits, in which a model has written and called hostile things."""
    made = Folder(tmp_path_factory.mktemp("pages"), environ={"FIRM_TOKEN": TOKEN})
    made.work.mkdir()
    made.tool("look", "return answer('seen </td>')")
    made.workflow(
        [{"agent": "writer", "input": "Write </summary>."}, GATE],
        {"steps.0": [LOOK, {"text": HOSTILE}]},
        agents={"writer": {"prompt": "You write.", "tools": ["look"]}},
        env={"secrets": [{"key": "FIRM_TOKEN"}]},
    )
    assert made.strands("run", "flow.yaml").code == 19
    yield made
    made.end_started()


@pytest.fixture(scope="module")
def page(folder: Folder) -> RunPage:
    return page_of(folder.runs / FolderStore(folder.runs).find("last"))


def test_a_page_has_no_secret_that_only_the_reader_of_the_run_knows(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = folder.runs / FolderStore(folder.runs).find("last")
    monkeypatch.setenv("FIRM_TOKEN", "alert(1)")
    text = run_html(page_of(directory))
    assert "alert(1)" not in text
    assert "[secret]" in text


def page_of(directory: Path) -> RunPage:
    with contextlib.closing(SqliteJournal.open(directory, hold=False)) as journal:
        return run_page_of(OpenedRun(journal))


def test_a_page_is_sound_html_that_loads_nothing_whatever_a_model_has_written(page: RunPage) -> None:
    text = run_html(page)
    parsed = Parsed(text)
    assert parsed.faults == []
    assert [one for one in parsed.links if not one.startswith("#")] == []
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", text)
    shown = ("<script>alert(1)</script>", "\\x1b[31mred", "\\u202etxt.exe", "\\x00", "<b>at</b>", "seen </td>")
    assert [one for one in shown if one not in parsed.text] == []


def test_the_policy_of_a_file_has_the_hash_of_its_style_and_allows_nothing_else() -> None:
    text = stylesheet()
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert "url(" not in text
    assert "@import" not in text
    assert digest in run_frame()


def run_frame() -> str:
    from strands_cli_ui.pages.page_frame import document

    frame = document("<t>", "<h1>x</h1>")
    assert Parsed(frame).faults == []
    assert "default-src 'none'" in frame
    assert "script-src" not in frame
    return frame


def test_every_effect_has_its_anchor_and_the_tree_is_folded(page: RunPage) -> None:
    parsed = Parsed(run_html(page))
    keys = ["steps.0", "steps.0/model.0", "steps.0/tool.0.look", "steps.0/model.1", "steps.1"]
    assert [one for one in parsed.ids if one.startswith("e-")] == [anchor_of(key) for key in keys]
    assert "<details open" not in run_html(page)


def test_a_page_that_waits_has_the_question_and_the_commands_that_answer_it(page: RunPage) -> None:
    text = Parsed(run_html(page)).text
    assert f"strands approve {page.summary.run.id} steps.1" in text
    assert f"strands reject {page.summary.run.id} steps.1" in text
    assert "<dt>waits since</dt>" in run_body(page)
    assert "<dt>ended</dt>" not in run_body(page)


def test_a_page_has_pictures_that_lead_to_effects_and_the_decisions_with_their_rules(page: RunPage) -> None:
    text = run_html(page)
    parsed = Parsed(text)
    assert text.count('class="picture ') == 1
    assert f"#{anchor_of('steps.1')}" in parsed.links
    (decision,) = re.findall(r"<td><bdi>look</bdi></td><td>(\w+)</td><td class=\"number\">1</td>", text)
    assert decision == "allow"


def test_rows_that_cannot_be_read_are_shown_as_such(page: RunPage, tmp_path: Path) -> None:
    run = Path(shutil.copytree(page.summary.run.record, tmp_path / "spoiled"))
    with contextlib.closing(sqlite3.connect(run / "journal.sqlite")) as database, database:
        database.execute("UPDATE effects SET output = '{' WHERE key = 'steps.0/tool.0.look'")
        database.execute("UPDATE effects SET detail = '[', usage = 7 WHERE key = 'steps.0/model.1'")
    parsed = Parsed(run_html(page_of(run)))
    assert parsed.faults == []
    warned = parsed.text.partition("Warnings")[2].partition("Steps")[0]
    assert [key for key in ("steps.0/tool.0.look", "steps.0/model.1") if key not in warned] == []


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>x</script>",
        "[x](javascript:alert(1))",
        "[x](java\nscript:alert(1))",
        "[x]( JAVASCRIPT:alert(1))",
        "[x](data:text/html,x)",
        "[x](vbscript:x)",
        "[x](//evil.example)",
        "[x](file:///etc/passwd)",
        "![x](https://evil.example/a.png)",
        "![x](javascript:alert(1))",
        "<javascript:alert(1)>",
        "[x]: javascript:alert(1)\n\n[x]",
        "<img src=x onerror=y>",
        '[x](https://a.example "t\\" onclick=x")',
        "```<b> onclick\nx\n```",
        "# a\n\n##### b\n\n| a |\n| - |\n| <td> |",
    ],
)
def test_no_markdown_makes_a_tag_or_a_link_that_does_more_than_open_a_page(hostile: str) -> None:
    parsed = Parsed(f"<h1>x</h1><h2>x</h2>{markdown_html(hostile)}")
    assert parsed.faults == []
    assert [one for one in parsed.links if not one.startswith("https://a.example")] == []


def test_links_of_markdown_tell_no_other_host_where_they_were() -> None:
    assert 'rel="noreferrer noopener nofollow"' in markdown_html("[x](https://a.example)")


ELSEWHERE = {"host": "other-machine", "folder": "/srv/runs/1", "worker": "one-1"}


def text_of(tmp_path: Path, *rows: Row, **facts: object) -> str:
    """Return what is shown of a run that has these rows and facts."""
    with contextlib.closing(SqliteJournal.create(tmp_path / "run")) as journal:

        async def fill() -> None:
            for row in rows:
                journal.note(row)

        asyncio.run(fill())
        journal.put(**{"file": "f", "base_dir": str(tmp_path), "started_at": 1.0, "status": "completed", **facts})
    return Parsed(run_html(page_of(tmp_path / "run"))).text


def test_a_page_says_where_a_run_was_worked_on_if_that_was_not_here(tmp_path: Path) -> None:
    assert "other-machine, in /srv/runs/1" in text_of(tmp_path, worked_on=ELSEWHERE)


def test_a_page_says_which_calls_were_cut_off(tmp_path: Path) -> None:
    begun = Row("steps.0/model.0", "model", "started", "d")
    assert "cut off" in text_of(tmp_path, begun, status="running", session_started_at=1.0)


def test_a_page_does_not_show_a_key_of_a_provider_in_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", TOKEN)
    text = text_of(tmp_path, inputs={"topic": f"the {TOKEN}"})
    assert ("the [secret]" in text, TOKEN in text) == (True, False)
