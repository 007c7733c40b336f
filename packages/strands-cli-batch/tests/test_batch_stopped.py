"""Processes that work on a batch are stopped and killed: no finished call is repeated, and the results become right."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from batch_kit import STEPS, Rows

from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import DATABASE
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli_batch.batch_journal import BatchJournal
from strands_cli_batch.checked_rows import CheckedRows
from strands_cli_batch.row_checks import CheckedRow

if sys.platform == "win32":
    pytest.skip("signals as POSIX has them", allow_module_level=True)

pytestmark = pytest.mark.kills


def hold(rows: Rows, *topics: str) -> None:
    """Let the model keep silent about topics until `release`."""
    rows.model.held = {topic: threading.Event() for topic in topics}


def release(rows: Rows) -> None:
    for event in rows.model.held.values():
        event.set()


def test_after_a_kill_only_calls_that_were_cut_off_are_made_again(rows: Rows) -> None:
    hold(rows, "moths", "flies")
    rows.csv("bees", "ants", "moths", "gnats", "flies", "wasps", "bees")
    started = rows.start("--concurrency", "2")
    rows.model.wait_for("moths")
    rows.model.wait_for("flies")
    started.send(signal.SIGKILL)
    started.end()
    assert rows.responses() == ["BEES", "ANTS"], "each line was there at once, and none out of its order"
    release(rows)
    ran = rows.strands("batch", "resume", "last")
    assert ran.code == 0, ran.err
    assert rows.responses() == ["BEES", "ANTS", "MOTHS", "GNATS", "FLIES", "WASPS", "BEES"]
    assert rows.asked == {"bees": 1, "ants": 1, "gnats": 1, "wasps": 1, "moths": 2, "flies": 2}


@pytest.mark.parametrize("moment", [1, 2, 5, 9, 14, 18, 20])
def test_a_kill_at_any_request_leaves_a_batch_that_completes(rows: Rows, moment: int) -> None:
    topics = [f"topic {number}" for number in range(10)]
    rows.flow([*STEPS, {"agent": "writer", "input": "About second {{ topic }}."}])
    rows.csv(*topics)
    count = 0
    killed = threading.Event()

    def answer(request: dict[str, object]) -> object:
        nonlocal count
        count += 1
        if count == moment:
            started.send(signal.SIGKILL)
            killed.set()
        return rows.model(request)

    rows.server.script = answer  # type: ignore[assignment]
    started = rows.start("--concurrency", "3")
    started.end()
    assert killed.is_set()
    ran = rows.batch("--concurrency", "3")
    assert ran.code == 0, ran.err
    assert rows.responses() == [f"SECOND {topic.upper()}" for topic in topics]
    repeated = Counter(rows.model.asked)
    repeated.subtract(dict.fromkeys(repeated, 1))
    assert set(repeated.values()) <= {0, 1}
    assert repeated.total() <= 3, "at most what was in flight"


class _Killed(BatchJournal):
    """Kills its process when it writes the part with this number."""

    deadly = 0

    def _part(self, number: int, index: int, part: list[list[object]]) -> Row:
        if part and index == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._part(number, index, part)


@pytest.mark.parametrize("deadly", [0, 1, 2])
def test_a_kill_while_rows_are_stored_leaves_no_half_of_them(rows: Rows, deadly: int, tmp_path: Path) -> None:
    """A process that dies then has sent nothing; the same command again stores the rest."""
    store = FolderStore(tmp_path / "runs")

    def entered(kind: type[BatchJournal], digests: list[str]) -> None:
        with CheckedRows() as checked:
            for number, digest in enumerate(digests, 1):
                checked.add(CheckedRow(number, number + 1, digest, {"topic": digest}))
            journal = store.open("b-1") if (tmp_path / "runs" / "b-1").exists() else store.create("b-1")
            try:
                asyncio.run(kind(journal).enter(checked, "rows.csv"))
            finally:
                journal.close()

    def order() -> list[str]:
        journal = store.open("b-1", hold=False)
        try:
            found = BatchJournal(journal).order()
            return [found[place][2] for place in range(len(found))]
        finally:
            journal.close()

    digests = [f"{number % 900:016x}" for number in range(1200)]
    child = os.fork()
    if child == 0:
        _Killed.deadly = deadly
        try:
            entered(_Killed, digests)
        finally:
            os._exit(3)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    with pytest.raises(Exception, match="b-1"):
        order()
    entered(BatchJournal, digests)
    assert order() == digests
    # The rows are edited, and the process dies again: the order before counts still.
    child = os.fork()
    if child == 0:
        try:
            entered(_Killed, digests[::-1])
        finally:
            os._exit(3)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert order() == digests


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_stops_cleanly_and_the_results_have_what_is_done(
    rows: Rows, number: signal.Signals, code: int
) -> None:
    hold(rows, "bees", "gnats")
    rows.csv("bees", "ants", "moths", "bees", "gnats")
    started = rows.start("--concurrency", "2", "--json")
    rows.model.wait_for("bees")
    rows.model.wait_for("gnats")
    started.send(number)
    ran = started.end()
    assert ran.code == code, ran.err
    assert (ran.document["status"], ran.document["error"]["exit_code"]) == ("interrupted", code)
    assert [line["row"] for line in rows.lines()] == [2, 3]
    assert re.search(r"strands batch resume \S+", ran.err)
    (run,) = rows.strands("runs", "list", "--json").document["runs"]
    assert run["status"] == "interrupted"
    release(rows)
    assert rows.batch().code == 0
    assert rows.responses() == ["BEES", "ANTS", "MOTHS", "BEES", "GNATS"]
    assert rows.asked == {"bees": 2, "ants": 1, "moths": 1, "gnats": 2}


def test_the_second_ctrl_c_ends_the_process_at_once(rows: Rows) -> None:
    slow = (
        "TOOL_SPEC = {'name': 'hang', 'description': 'Hangs.', 'inputSchema': {'json': {'type': 'object'}},"
        " 'annotations': {'readOnlyHint': True}}\n"
        "import asyncio, sys\n\n\nasync def hang(tool, **kwargs):\n    print('hanging', file=sys.stderr, flush=True)\n"
        "    while True:\n        try:\n            await asyncio.sleep(60)\n"
        "        except asyncio.CancelledError:\n            print('no', file=sys.stderr, flush=True)\n"
    )
    rows.folder.tool("hang", "return answer('never')")
    (rows.folder.site / "strands_tool_hang" / "__init__.py").write_text(slow)
    rows.flow([{"tool": "native:hang", "input": {}}])
    rows.csv("bees", "ants")
    started = rows.start()
    started.wait_for("hanging")
    started.send(signal.SIGINT)
    started.wait_for("no")
    started.send(signal.SIGINT)
    assert started.end().code == 130


def test_two_processes_cannot_work_on_one_batch(rows: Rows) -> None:
    hold(rows, "bees")
    rows.csv("bees")
    started = rows.start()
    rows.model.wait_for("bees")
    assert rows.batch().code == 17
    assert rows.strands("batch", "resume", "last").code == 17
    assert rows.strands("runs", "delete", "last").code == 17
    status = rows.strands("batch", "status", "flow", "--json").document
    assert (status["status"], status["rows"]["left"]) == ("running", 1)
    row = rows.strands("runs", "list", "--parts", "flow", "--json").document["runs"][0]["id"]
    assert rows.strands("runs", "cancel", row).code == 2, "its process works on all rows"
    started.send(signal.SIGKILL)
    started.end()
    assert rows.strands("batch", "status", "flow", "--json").document["status"] == "interrupted"
    release(rows)
    assert rows.batch().code == 0


def test_a_batch_that_runs_is_cancelled_for_good(rows: Rows) -> None:
    hold(rows, "ants")
    rows.csv("bees", "ants", "moths")
    started = rows.start("--concurrency", "1")
    rows.model.wait_for("ants")
    ran = rows.strands("batch", "cancel", "flow", "--json")
    assert (ran.code, ran.document["cancelled_rows"]) == (0, 2), ran.err
    assert started.end().code == 143
    rows.model.held = {}
    status = rows.strands("batch", "status", "flow", "--json").document
    assert (status["status"], status["rows"]["completed"], status["rows"]["cancelled"]) == ("cancelled", 1, 2)
    assert rows.batch().code == 2
    assert rows.strands("batch", "resume", "flow").code == 2
    assert rows.strands("batch", "cancel", "flow").code == 2
    assert "moths" not in rows.asked
    assert rows.responses() == ["BEES"]
    assert rows.batch("--again", "--force").code == 0


def made_folder(path: Path) -> None:
    path.mkdir()


def made_empty_database(path: Path) -> None:
    path.mkdir()
    (path / DATABASE).touch()


def made_tables(path: Path) -> None:
    FolderStore(path.parent).create(path.name).close()


@pytest.mark.parametrize("left", [made_folder, made_empty_database, made_tables])
def test_a_kill_while_a_journal_is_made_leaves_nothing_that_prevents_the_run(
    rows: Rows, left: Callable[[Path], None]
) -> None:
    rows.csv("bees", "ants")
    batch = rows.id_of(rows.batch())
    first = rows.lines()[0]["run"]
    for run in (first, batch):
        shutil.rmtree(rows.folder.runs / run)
        left(rows.folder.runs / run)
    ran = rows.batch()
    assert ran.code == 0, ran.err
    assert rows.responses() == ["BEES", "ANTS"]
    assert rows.asked == {"bees": 2, "ants": 1}, "the other row is a run that has ended"


def test_a_call_that_was_cut_off_and_may_not_be_repeated_waits_for_a_decision(rows: Rows) -> None:
    body = "import threading\nprint('hanging', flush=True)\nthreading.Event().wait()"
    rows.folder.tool("pay", body, annotations={"readOnlyHint": False})
    rows.flow([*STEPS, {"tool": "native:pay", "input": {"text": "{{ topic }}"}}])
    rows.csv("bees")
    started = rows.start("--allow", "pay", "--verbose")
    started.wait_for("hanging")
    started.send(signal.SIGKILL)
    started.end()
    rows.folder.tool("pay", "return answer('paid')", annotations={"readOnlyHint": False})
    ran = rows.batch("--allow", "pay")
    assert ran.code == 19, ran.err
    (line,) = rows.lines()
    assert (line["status"], line["questions"][0]["kind"]) == ("needs-decision", "decision")
    commands = [command.split()[1:] for command in line["questions"][0]["commands"]]
    redo = next(words for words in commands if any("redo" in word for word in words))
    assert rows.strands(*redo).code == 0
    assert rows.strands("batch", "resume", "last").code == 0
    assert [line["response"] for line in rows.lines()] == ["paid"]
    assert rows.asked == {"bees": 1}


@pytest.mark.parametrize(
    ("words", "code", "responses"),
    [
        (("--redo", "pay"), 0, ["paid", "paid"]),
        (("--skip", "pay", "--result", '"by hand"'), 0, ["by hand", "by hand"]),
        (("--fail", "pay"), 10, [None, None]),
    ],
)
def test_many_calls_that_were_cut_off_are_decided_by_one_command_that_is_printed(
    rows: Rows, words: tuple[str, ...], code: int, responses: list[str | None]
) -> None:
    body = "import threading\nprint('hanging', flush=True)\nthreading.Event().wait()"
    rows.folder.tool("pay", body, annotations={"readOnlyHint": False})
    rows.flow([*STEPS, {"tool": "native:pay", "input": {"text": "{{ topic }}"}}])
    rows.csv("bees", "ants")
    started = rows.start("--allow", "pay", "--verbose", "--concurrency", "2")
    for _ in range(2):
        started.wait_for("hanging")
    started.send(signal.SIGKILL)
    started.end()
    rows.folder.tool("pay", "return answer('paid')", annotations={"readOnlyHint": False})
    ran = rows.batch("--allow", "pay")
    assert ran.code == 19, ran.err
    printed = [line.split() for line in ran.err.splitlines() if line.strip().startswith("strands batch resume")]
    assert [line[-2:] for line in printed] == [[way, "pay"] for way in ("--redo", "--skip", "--fail")]
    chosen = next(line for line in printed if line[-2] == words[0])
    unknown = rows.strands("batch", "resume", "last", "--redo", "play")
    assert (unknown.code, "pay" in unknown.err) == (2, True)
    ended = rows.strands(*chosen[1:], *words[2:])
    assert ended.code == code, ended.err
    assert [line.get("response") for line in rows.lines()] == responses
    assert not [line for line in ended.err.splitlines() if "cut off in" in line]
    assert rows.asked == {"bees": 1, "ants": 1}
