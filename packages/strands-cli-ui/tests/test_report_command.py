"""`strands runs report` and `--report`: where a report is written, what it overwrites, and when it is refused."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_cli_ui.pages.html_text import anchor_of
from strands_cli_ui.pages.page_frame import MARK
from tests.cli.strands import Folder
from tests.parsed_page import Parsed
from tests.wordings import Wording

STEP = {"agent": "writer", "input": "Write about {{ topic }}."}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    """Make two runs of one workflow that differ in an input and in an answer."""
    made = Folder(tmp_path_factory.mktemp("report"))
    made.work.mkdir()
    made.site.mkdir()
    for topic, answer in (("bees", "**Bees** hum."), ("ants", "Ants walk.")):
        made.workflow(
            [STEP],
            {"steps.0": [{"text": answer}]},
            inputs={"values": {"topic": topic}},
            outputs={"artifacts": [{"path": "notes.md", "from": "{{ last_response }}"}]},
        )
        ran = made.strands("run", "flow.yaml", "--force", "--report", f"{topic}.html")
        assert ran.code == 0, ran.err
    yield made
    made.end_started()


def report(folder: Folder, name: str) -> Parsed:
    text = (folder.work / name).read_text("utf-8")
    assert text.startswith(MARK)
    return Parsed(text)


def test_a_run_leaves_its_report_which_only_its_user_may_read(folder: Folder) -> None:
    page = report(folder, "bees.html")
    assert (page.faults, page.headings[0]) == ([], 1)
    assert "strong" in page.tags
    assert "Bees hum." in page.text
    assert "notes.md" in page.text
    if sys.platform != "win32":
        assert stat.S_IMODE((folder.work / "bees.html").stat().st_mode) == 0o600


def test_the_report_of_a_stored_run_has_its_id_as_name_and_can_be_written_again(folder: Folder) -> None:
    first = folder.strands("runs", "report", "last", "--json").document
    again = folder.strands("runs", "report", "last")
    (run,) = first["runs"]
    assert first["report"] == f"{run}.html"
    assert (again.code, again.out) == (0, "")
    assert f"{run}.html" in again.err
    assert (folder.work / f"{run}.html").stat().st_size == first["bytes"]


def test_two_runs_are_compared_from_the_first_effect_that_differs(folder: Folder) -> None:
    names = [one["id"] for one in folder.strands("runs", "list", "--json").document["runs"]]
    assert folder.strands("runs", "report", *names, "-o", "both.html").code == 0
    page = report(folder, "both.html")
    assert page.faults == []
    assert f"#{anchor_of('steps.0/model.0')}" in page.links
    assert [one for one in ("Bees", "Ants", "input topic", *names) if one not in page.text] == []


def test_stdout_is_a_place_too(folder: Folder) -> None:
    ran = folder.strands("runs", "report", "last", "-o", "-")
    assert (ran.code, ran.err, Parsed(ran.out).faults) == (0, "", [])
    assert folder.strands("runs", "report", "last", "-o", "-", "--json").code == 2


def test_another_file_is_overwritten_only_with_force(folder: Folder, wording: Wording) -> None:
    folder.write("mine.html", "<!doctype html>mine")
    ran = folder.strands("runs", "report", "last", "-o", "mine.html")
    assert (ran.code, (folder.work / "mine.html").read_text()) == (12, "<!doctype html>mine")
    wording(ran.err)
    assert folder.strands("runs", "report", "last", "-o", "mine.html", "--force").code == 0
    assert report(folder, "mine.html").faults == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a named pipe")
def test_what_is_not_a_file_is_never_replaced(folder: Folder, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    ran = folder.strands("runs", "report", "last", "-o", str(tmp_path / "pipe"), "--force")
    assert (ran.code, (tmp_path / "pipe").is_fifo()) == (12, True)


def test_a_run_with_no_place_for_its_report_does_not_begin(folder: Folder, wording: Wording) -> None:
    before = sorted(folder.runs.iterdir())
    refused = {}
    for place in ("nowhere/run.html", ".", "flow.yaml", "flow.recording.yaml", "artifacts/notes.md", "-"):
        ran = folder.strands("run", "flow.yaml", "--out", "artifacts", "--force", "--report", place)
        refused[place] = ran.code
        wording(f"{place}:\n{ran.err}")
    assert refused == {
        "nowhere/run.html": 12,
        ".": 12,
        "flow.yaml": 12,
        "flow.recording.yaml": 12,
        "artifacts/notes.md": 12,
        "-": 2,
    }
    assert sorted(folder.runs.iterdir()) == before


@pytest.mark.parametrize(("step", "code"), [({"type": "hitl", "prompt": "Go?"}, 19), (STEP, 10)])
def test_a_run_that_waits_or_fails_leaves_its_report_too(
    folder: Folder, tmp_path: Path, step: dict[str, str], code: int
) -> None:
    folder.workflow(
        [step], {"steps.0": [{"calls": [{"nothing": {}}]}]} if code == 10 else {}, inputs={"values": {"topic": "x"}}
    )
    ran = folder.strands("run", "flow.yaml", "--report", str(tmp_path / "run.html"))
    assert ran.code == code, ran.err
    page = Parsed((tmp_path / "run.html").read_text("utf-8"))
    assert (page.faults, ("waiting" if code == 19 else "failed") in page.text) == ([], True)


def test_a_report_that_cannot_be_written_any_more_is_a_warning(folder: Folder) -> None:
    body = "import shutil\nshutil.rmtree('gone')\nreturn answer('done')"
    folder.tool("remover", body)
    folder.workflow([{"tool": "native:remover", "input": {}}])
    (folder.work / "gone").mkdir()
    ran = folder.strands("run", "flow.yaml", "--report", "gone/run.html")
    assert ran.code == 0, ran.err
    assert "warning: " in ran.err
