"""`--export NAME=FILE`: an exporter of a distribution writes a run that has ended, and cannot harm it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.strands import Folder
from tests.distributions import make_distribution

MODULE = """
import sys

class Exporter:
    mark = "made: "

    def __init__(self, content):
        self.content = content

    def export(self, run):
        return self.content(run)

def raises(run):
    raise KeyError("no shelf")

def leaves(run):
    sys.exit("no shelf")

status = Exporter(lambda run: f"made: {run.summary().run.status}")
raw = Exporter(lambda run: b"\\xff")
odd = Exporter(lambda run: None)
surrogate = Exporter(lambda run: "\\ud800")
raising = Exporter(raises)
leaving = Exporter(leaves)
lacking = object()
"""
NAMES = ("status", "raw", "odd", "surrogate", "raising", "leaving", "lacking", "absent")
POINTS = "[strands_cli.exporters]\n" + "".join(f"{name} = strands_cli_yours:{name}\n" for name in NAMES)
GATE = {"type": "hitl", "prompt": "Go?"}


@pytest.fixture
def plugin(folder: Folder) -> Folder:
    make_distribution(folder.site, "strands-cli-yours", "1.0", POINTS, {"strands_cli_yours/__init__.py": MODULE})
    folder.workflow([{"agent": "writer", "input": "go"}], {"steps.0": [{"text": "done"}]})
    return folder


def exported(folder: Folder, *exports: str, code: int = 0) -> str:
    words = [word for export in exports for word in ("--export", export)]
    ran = folder.strands("run", "flow.yaml", *words)
    assert ran.code == code, ran.err
    return ran.err


def test_a_run_is_written_by_each_exporter_that_is_named(plugin: Folder) -> None:
    shown = exported(plugin, "status=a.txt", "raw=b", "status=c.txt")
    assert [(plugin.work / name).read_bytes() for name in ("a.txt", "b", "c.txt")] == [
        b"made: completed",
        b"\xff",
        b"made: completed",
    ]
    assert "status a.txt (15 bytes)" in shown
    if sys.platform != "win32":
        assert (plugin.work / "b").stat().st_mode & 0o777 == 0o600


def test_a_run_that_waits_or_is_continued_elsewhere_is_written_too(plugin: Folder, tmp_path: Path) -> None:
    plugin.workflow([GATE])
    exported(plugin, "status=a.txt", code=19)
    assert (plugin.work / "a.txt").read_text() == "made: waiting"
    ran = plugin.strands("approve", "last", "--export", "status=a.txt")
    assert (ran.code, (plugin.work / "a.txt").read_text()) == (0, "made: completed")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--export", "lacking=a"), 18),
        (("--export", "absent=a"), 18),
        (("--export", "status=no/folder/a"), 12),
        (("--events", "no/folder/a"), 12),
    ],
)
def test_an_answer_is_not_stored_where_the_run_cannot_be_written(
    plugin: Folder, words: tuple[str, str], code: int
) -> None:
    plugin.workflow([GATE])
    exported(plugin, code=19)
    for command in ("approve", "reject"):
        assert plugin.strands(command, "last", *words).code == code
    assert plugin.strands("approve", "last").code == 0  # the question waits still


def test_an_earlier_file_of_the_same_kind_is_overwritten_and_another_only_with_force(plugin: Folder) -> None:
    place = plugin.work / "a.txt"
    place.write_text("made: long ago")
    exported(plugin, "status=a.txt")
    place.write_text("mine")
    assert "is not a status" in exported(plugin, "status=a.txt", code=12)
    assert place.read_text() == "mine"
    assert plugin.strands("run", "flow.yaml", "--force", "--export", "status=a.txt").code == 0
    assert place.read_text() == "made: completed"


@pytest.mark.parametrize(
    ("export", "code"),
    [
        ("status", 2),
        ("status=", 2),
        ("=a.txt", 2),
        ("status=-", 2),
        ("statis=a.txt", 2),
        ("status=flow.yaml", 12),
        ("status=nowhere/a.txt", 12),
        ("absent=a.txt", 18),
        ("lacking=a.txt", 18),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_run_begins(export: str, code: int, plugin: Folder) -> None:
    exported(plugin, export, code=code)
    assert not plugin.runs.exists()


def test_two_exports_have_two_files(plugin: Folder) -> None:
    exported(plugin, "status=a.txt", "raw=a.txt", code=12)
    assert not plugin.runs.exists()


@pytest.mark.parametrize("name", ["odd", "surrogate", "raising", "leaving"])
def test_an_exporter_that_fails_does_not_fail_the_run(name: str, plugin: Folder) -> None:
    shown = exported(plugin, f"{name}=a.txt", "status=b.txt")
    assert f"the exporter `{name}` of strands-cli-yours failed" in shown
    assert not (plugin.work / "a.txt").exists()
    assert (plugin.work / "b.txt").read_text() == "made: completed"
