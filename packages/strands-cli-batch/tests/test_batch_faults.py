"""Full disks, signals and processes that begin one batch at once: no finished call is repeated, and it completes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_kit import OUT, Rows

from tests.fakes.model_server import Turn

if sys.platform == "win32":
    pytest.skip("signals and mounts as POSIX has them", allow_module_level=True)

pytestmark = pytest.mark.kills


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Mount a disk of this size at a place."""
    if os.geteuid():
        pytest.skip("only root may mount a small disk")
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def enlarge(place: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], check=True)


class Gate:
    """Holds the answers to all topics, or those that are named, until it is opened."""

    def __init__(self, rows: Rows, *topics: str) -> None:
        self._rows, self._topics, self._open = rows, topics, threading.Event()
        rows.server.script = self._answer

    def _answer(self, request: dict[str, Any]) -> Turn:
        answer = self._rows.model(request)
        topic = re.findall(r"About (.*)\.", json.dumps(request["messages"][-1]))[0]
        is_held = not self._topics or topic in self._topics
        return Turn(answer.text, usage=answer.usage, after=self._open if is_held else None)

    def open(self) -> None:
        self._open.set()


def test_of_processes_that_begin_one_batch_at_once_one_works(rows: Rows) -> None:
    gate = Gate(rows)
    topics = [f"topic {number}" for number in range(6)]
    rows.csv(*topics)
    started = [rows.start() for _ in range(4)]
    # The one that works waits for answers.
    rows.until(lambda: len([one for one in started if one.process.poll() is not None]) == 3)
    rows.model.wait_for(topics[0])
    gate.open()
    assert sorted(one.end().code for one in started) == [0, 17, 17, 17]
    assert rows.asked == dict.fromkeys(topics, 1)
    assert rows.responses() == [topic.upper() for topic in topics]


def test_what_two_ctrl_c_leave_is_completed(rows: Rows) -> None:
    gate = Gate(rows, "moths", "gnats")
    topics = ["bees", "ants", "moths", "gnats", "wasps"]
    rows.csv(*topics)
    started = rows.start("--concurrency", "2")
    for topic in ("moths", "gnats"):
        rows.model.wait_for(topic)
    started.send(signal.SIGINT)
    started.send(signal.SIGINT)
    assert started.end().code == 130
    gate.open()
    assert rows.batch().code == 0
    assert rows.responses() == [topic.upper() for topic in topics]
    assert rows.asked == {"bees": 1, "ants": 1, "moths": 2, "gnats": 2, "wasps": 1}


def test_results_that_no_longer_fit_on_the_disk_end_the_batch_and_are_written_when_they_do(rows: Rows) -> None:
    topics = [f"{number:04}" + "x" * 2000 for number in range(40)]
    rows.csv(*topics)
    with small_disk(rows.folder.work / "small", "64k") as disk:
        ran = rows.batch(out="small/out.jsonl")
        assert ran.code == 12, ran.err
        asked = dict(rows.asked)
        assert 0 < len(asked) < len(topics)
        assert rows.batch(out="small/out.jsonl").code == 12
        assert {topic for topic in asked if rows.asked[topic] > asked[topic]} == set()
        kept = rows.lines("small/out.jsonl")
        assert [line["response"] for line in kept] == [topic.upper() for topic in topics[: len(kept)]]
        enlarge(disk, "1m")
        assert rows.batch(out="small/out.jsonl").code == 0
        assert [line["response"] for line in rows.lines("small/out.jsonl")] == [topic.upper() for topic in topics]
    assert set(rows.asked.values()) <= {1, 2}


def test_results_to_a_device_that_is_full_end_the_batch_and_go_elsewhere_then(rows: Rows) -> None:
    rows.csv("bees", "ants", "moths", "gnats", "wasps", "hornets")
    assert rows.batch("--concurrency", "1", out="/dev/full").code == 12
    assert len(rows.asked) < 6
    done = set(rows.asked)
    ran = rows.strands("batch", "resume", "last", "-o", OUT)
    assert ran.code == 0, ran.err
    assert len(rows.lines()) == 6
    assert {rows.asked[topic] for topic in rows.asked if topic not in done} == {1}
    assert sum(rows.asked.values()) <= 7


@pytest.mark.parametrize("size", ["160k", "320k", "640k"])
def test_journals_that_no_longer_fit_on_the_disk_end_the_batch_and_no_call_is_made_for_nothing(
    rows: Rows, size: str
) -> None:
    topics = [f"{number:04}" + "x" * 500 for number in range(40)]
    rows.csv(*topics)
    with small_disk(rows.folder.runs, size) as disk:
        ran = rows.batch("--concurrency", "2")
        assert ran.code == 17, ran.err
        first = dict(rows.asked)
        assert len(first) < len(topics)
        enlarge(disk, "64m")
        ran = rows.batch("--concurrency", "2")
        assert ran.code == 0, ran.err
        assert rows.responses() == [topic.upper() for topic in topics]
        repeated = [topic for topic in topics if rows.asked[topic] > 1]
        assert len(repeated) <= 2, "at most those whose answers could not be stored"
