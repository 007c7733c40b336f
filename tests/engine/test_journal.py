from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Journal, Row
from strands_cli.engine.journal.sqlite_journal import DATABASE, FORMAT, LARGE_OUTPUT_BYTES, SqliteJournal
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import ExitCode, RunRecordError
from strands_cli.events import Usage
from tests.wordings import Wording

ROW = Row("steps.0/model.2", "model", "started", "d1", started_at=12.5)
DONE = replace(
    ROW, status="done", output={"text": "café"}, usage=Usage(3, 4, 5, 6), cost=0.25, ended_at=13.5, detail={"n": [1]}
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r1"


@pytest.fixture
def journal(directory: Path) -> Iterator[SqliteJournal]:
    journal = SqliteJournal.create(directory)
    yield journal
    journal.close()


def write(journal: SqliteJournal, *rows: Row) -> None:
    async def all_of_them() -> None:
        await asyncio.gather(*(journal.write(row) for row in rows))

    asyncio.run(all_of_them())


def alter(directory: Path, statement: str) -> None:
    """Change the database as another program would."""
    with contextlib.closing(sqlite3.connect(directory / DATABASE, isolation_level=None)) as connection:
        connection.execute(statement)


def commits(directory: Path) -> int:
    """Return how many transactions the write-ahead log holds (https://www.sqlite.org/fileformat.html#walformat)."""
    log = (directory / f"{DATABASE}-wal").read_bytes()
    frame = 24 + int.from_bytes(log[8:12], "big")
    return sum(log[start + 4 : start + 8] != bytes(4) for start in range(32, len(log), frame))


@pytest.mark.parametrize("kind", ["sqlite", "memory"])
def test_a_journal_gives_back_what_was_written(kind: str, directory: Path) -> None:
    journal: Journal = SqliteJournal.create(directory) if kind == "sqlite" else MemoryJournal()

    async def use() -> None:
        journal.note(ROW)
        assert journal.row(ROW.key) == ROW, "a noted row is seen at once"
        await journal.write(replace(ROW, key="steps.0/tool.0.x", kind="tool"))
        await journal.write(DONE)

    asyncio.run(use())
    journal.put(status="completed", inputs={"topic": "bees", "n": None})
    assert journal.row(ROW.key) == DONE
    assert journal.row("steps.9") is None
    assert [row.key for row in journal.rows()] == [ROW.key, "steps.0/tool.0.x"], "in the order of first start"
    assert [row.key for row in journal.rows("tool")] == ["steps.0/tool.0.x"]
    assert journal.get("inputs") == {"topic": "bees", "n": None}
    assert journal.get("nothing") is None
    journal.put(status="failed")
    assert journal.get("status") == "failed"
    journal.close()


def test_the_database_layout_is_compatibility_data(directory: Path, journal: SqliteJournal) -> None:
    journal.put(status="running")
    write(journal, DONE)
    with contextlib.closing(sqlite3.connect(directory / "journal.sqlite")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (1,)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        columns = {
            table: [(name, kind) for _, name, kind, *_ in database.execute(f"PRAGMA table_info({table})")]
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        }
        values = database.execute("SELECT * FROM effects").fetchone()
        facts = database.execute("SELECT * FROM facts").fetchall()
    database.close()
    assert columns == {
        "effects": [
            ("key", "TEXT"),
            ("kind", "TEXT"),
            ("status", "TEXT"),
            ("digest", "TEXT"),
            ("attempt", "INTEGER"),
            ("output", "TEXT"),
            ("output_file", "TEXT"),
            ("usage", "TEXT"),
            ("cost", "REAL"),
            ("detail", "TEXT"),
            ("started_at", "REAL"),
            ("ended_at", "REAL"),
            ("position", "INTEGER"),
        ],
        "facts": [("name", "TEXT"), ("value", "TEXT")],
    }
    usage = '{"input_tokens": 3, "output_tokens": 4, "cache_read_tokens": 5, "cache_write_tokens": 6}'
    assert values == (
        "steps.0/model.2",
        "model",
        "done",
        "d1",
        1,
        '{"text": "café"}',
        None,
        usage,
        0.25,
        '{"n": [1]}',
        12.5,
        13.5,
        1,
    )
    assert facts == [("status", '"running"')]


def test_concurrent_writes_share_one_transaction(journal: SqliteJournal) -> None:
    before = commits(journal.directory)
    write(journal, *(replace(ROW, key=f"tasks.{n}") for n in range(50)))
    assert commits(journal.directory) == before + 1
    write(journal, ROW)
    assert commits(journal.directory) == before + 2
    assert len(list(journal.rows())) == 51


def test_a_write_returns_only_when_it_is_committed(directory: Path, journal: SqliteJournal) -> None:
    async def use() -> list[Any]:
        await journal.write(DONE)
        other = sqlite3.connect(directory / DATABASE)
        try:
            return other.execute("SELECT key FROM effects").fetchall()
        finally:
            other.close()

    assert asyncio.run(use()) == [(DONE.key,)]


def test_a_noted_row_is_committed_when_the_journal_is_closed(directory: Path) -> None:
    journal = SqliteJournal.create(directory)

    async def use() -> None:
        journal.note(ROW)
        journal.close()

    asyncio.run(use())
    with contextlib.closing(SqliteJournal.open(directory, hold=False)) as again:
        assert again.row(ROW.key) == ROW


@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_large_output_lies_in_a_file_named_by_its_digest(
    letter: str, directory: Path, journal: SqliteJournal
) -> None:
    small = letter * (LARGE_OUTPUT_BYTES // len(letter.encode()) - 2)
    write(journal, replace(DONE, key="small", output=small))
    assert not (directory / "outputs").exists()
    write(journal, replace(DONE, key="large", output=small + "xxx"), replace(DONE, key="same", output=small + "xxx"))
    (file,) = (directory / "outputs").iterdir()
    assert len(file.stem) == 64
    assert file.suffix == ".json"
    assert [row.output for row in journal.rows()] == [small, small + "xxx", small + "xxx"]


def test_a_large_output_that_was_changed_or_lost_is_an_error_and_not_an_answer(
    directory: Path, journal: SqliteJournal, wording: Wording
) -> None:
    write(journal, replace(DONE, output="x" * LARGE_OUTPUT_BYTES))
    (file,) = (directory / "outputs").iterdir()
    file.write_text('"something else"')
    with pytest.raises(RunRecordError) as raised:
        journal.row(DONE.key)
    wording(raised.value)
    file.unlink()
    with pytest.raises(RunRecordError) as refused:
        journal.row(DONE.key)
    wording(refused.value)


def test_half_a_surrogate_pair_survives(journal: SqliteJournal) -> None:
    output = {"text": "half \ud83d pair"}
    write(journal, replace(DONE, output=output), replace(DONE, key="b", output=[output, "y" * LARGE_OUTPUT_BYTES]))
    journal.put(inputs=output)
    assert [row.output for row in journal.rows()] == [output, [output, "y" * LARGE_OUTPUT_BYTES]]
    assert journal.get("inputs") == output


def test_a_row_that_json_cannot_hold_fails_alone_and_at_once(journal: SqliteJournal) -> None:
    async def use() -> list[Any]:
        rows = [replace(DONE, key="good"), replace(DONE, key="bad", output={"image": b"..."})]
        async with asyncio.timeout(5):
            return await asyncio.gather(*(journal.write(row) for row in rows), return_exceptions=True)

    good, bad = asyncio.run(use())
    assert good is None
    assert isinstance(bad, RunRecordError)
    assert "bytes" in bad.message
    assert [row.key for row in journal.rows()] == ["good"]


def test_a_failed_commit_reaches_all_who_wait_and_everyone_after(journal: SqliteJournal) -> None:
    async def use() -> list[Any]:
        alter(journal.directory, "DROP TABLE effects")
        first = await asyncio.gather(*(journal.write(replace(ROW, key=k)) for k in "ab"), return_exceptions=True)
        return [*first, *await asyncio.gather(journal.write(ROW), return_exceptions=True)]

    errors = asyncio.run(use())
    assert len(errors) == 3
    assert all(isinstance(error, RunRecordError) and "no such table" in error.message for error in errors)


def test_a_cancelled_writer_does_not_stop_the_others(journal: SqliteJournal) -> None:
    async def use() -> None:
        first, second = (asyncio.ensure_future(journal.write(replace(ROW, key=key))) for key in "ab")
        await asyncio.sleep(0)
        first.cancel()
        await second

    asyncio.run(use())
    assert {row.key for row in journal.rows()} == {"a", "b"}


def test_the_format_of_another_version_is_refused(directory: Path, journal: SqliteJournal, wording: Wording) -> None:
    journal.close()
    alter(directory, f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(RunRecordError) as raised:
        SqliteJournal.open(directory)
    wording(raised.value)
    assert raised.value.exit_code == ExitCode.RUN_RECORD == 17


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda file: file.write_bytes(b"not a database at all, but long enough to be one" * 100), "not a database"),
        (lambda file: file.write_bytes(file.read_bytes()[:2000]), "malformed"),
        (lambda file: file.write_bytes(b""), "empty"),
        (lambda file: file.unlink(), "journal"),
    ],
    ids=["other bytes", "truncated", "empty", "absent"],
)
@pytest.mark.parametrize("hold", [True, False])
def test_a_damaged_record_is_named_and_not_held(damage: Any, says: str, hold: bool, directory: Path) -> None:
    journal = SqliteJournal.create(directory)
    write(journal, *(replace(DONE, key=f"steps.{n}") for n in range(200)))
    journal.close()
    damage(directory / DATABASE)
    # The exception is kept, as a handler keeps it: the second try shows that the first one released the lock.
    errors: list[RunRecordError] = []
    for _ in range(2):
        with pytest.raises(RunRecordError, match=says) as raised:
            list(SqliteJournal.open(directory, hold=hold).rows())
        errors.append(raised.value)
    assert all(str(directory) in error.message for error in errors)


def test_a_damaged_row_is_an_error(directory: Path, journal: SqliteJournal) -> None:
    write(journal, DONE)
    alter(directory, "UPDATE effects SET output = '{'")
    with pytest.raises(RunRecordError):
        journal.row(DONE.key)
    alter(directory, "UPDATE facts SET value = '{'")
    journal.put(status="x")
    alter(directory, "UPDATE facts SET value = '{'")
    with pytest.raises(RunRecordError):
        journal.get("status")


def test_a_reader_needs_no_lock_and_cannot_write(directory: Path, journal: SqliteJournal) -> None:
    write(journal, DONE)
    reader = SqliteJournal.open(directory, hold=False)
    assert reader.row(DONE.key) == DONE
    with pytest.raises(RunRecordError, match="readonly"):
        reader.put(status="failed")
    with pytest.raises(RunRecordError, match="readonly"):
        write(reader, ROW)
    reader.close()
    write(journal, replace(ROW, key="still mine"))


def test_looking_at_a_record_leaves_nothing_behind(directory: Path) -> None:
    journal = SqliteJournal.create(directory)
    write(journal, DONE)
    journal.close()
    before = sorted(path.name for path in directory.iterdir())
    reader = SqliteJournal.open(directory, hold=False)
    assert reader.row(DONE.key) == DONE
    reader.close()
    assert sorted(path.name for path in directory.iterdir()) == before == ["journal.sqlite", "lock"]


def test_the_record_of_a_killed_process_can_be_read_before_anyone_goes_on_with_it(directory: Path) -> None:
    journal = SqliteJournal.create(directory)
    write(journal, DONE)
    for name in ("journal.sqlite", "journal.sqlite-wal"):
        (directory.parent / name).write_bytes((directory / name).read_bytes())
    with contextlib.closing(SqliteJournal.open(directory.parent, hold=False)) as again:
        assert again.row(DONE.key) == DONE
    journal.close()


def test_a_place_that_cannot_be_made_is_an_error_with_a_way_out(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunRecordError) as raised:
        SqliteJournal.create(tmp_path / "file" / "r1")
    wording(raised.value)
    assert "--runs-dir" in str(raised.value.fix)
    SqliteJournal.create(tmp_path / "r1").close()
    with pytest.raises(RunRecordError, match="File exists"):
        SqliteJournal.create(tmp_path / "r1")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
def test_a_record_is_for_its_owner_only(directory: Path, journal: SqliteJournal) -> None:
    assert directory.stat().st_mode & 0o077 == 0


HOLDER = """
import sys, time
from pathlib import Path
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
journal = SqliteJournal.open(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
journal.close()
"""


def hold_elsewhere(directory: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("kill", [True, False], ids=["killed", "ended"])
def test_only_one_process_may_hold_a_run_and_its_death_frees_it(kill: bool, directory: Path, wording: Wording) -> None:
    SqliteJournal.create(directory).close()
    other = hold_elsewhere(directory)
    try:
        with pytest.raises(RunRecordError) as raised:
            SqliteJournal.open(directory)
        wording(raised.value)
        SqliteJournal.open(directory, hold=False).close()
        if kill:
            os.kill(other.pid, signal.SIGKILL)
        other.communicate("")
        SqliteJournal.open(directory).close()
    finally:
        other.kill()
        other.communicate()


# The kernel ends it with the signal when the file of the database has as many bytes as the limit.
CREATOR = """
import resource, signal, sys
from pathlib import Path
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
SqliteJournal.create(Path(sys.argv[1]))
"""


@pytest.mark.parametrize("written", [0, 1, 4096, 12288])
def test_a_process_that_dies_while_it_makes_a_record_leaves_none_that_looks_whole(
    directory: Path, written: int, wording: Wording
) -> None:
    died = subprocess.run([sys.executable, "-c", CREATOR, str(directory), str(written)], check=False)
    assert died.returncode == -signal.SIGXFSZ
    assert (directory / DATABASE).stat().st_size == written
    with pytest.raises(RunRecordError) as raised:
        SqliteJournal.open(directory)
    wording(raised.value)
    SqliteJournal.create(directory).close()
    SqliteJournal.open(directory).close()


def test_a_new_record_is_what_sqlite_itself_makes(directory: Path) -> None:
    SqliteJournal.create(directory).close()
    made = directory.parent / "made.sqlite"
    with contextlib.closing(sqlite3.connect(directory / DATABASE)) as copied:
        tables = [sql for (sql,) in copied.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]
        with contextlib.closing(sqlite3.connect(made, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(f"BEGIN; {'; '.join(tables)}; PRAGMA user_version = {FORMAT}; COMMIT;")
            settings = ("journal_mode", "user_version", "page_size", "encoding", "auto_vacuum", "integrity_check")
            for name in settings:
                own = copied.execute(f"PRAGMA {name}").fetchall()
                assert own == connection.execute(f"PRAGMA {name}").fetchall(), name
    # The file's counters of changes, and the version of SQLite that changed it last.
    counters = {*range(24, 28), *range(92, 100)}
    first, second = (directory / DATABASE).read_bytes(), made.read_bytes()
    assert len(first) == len(second)
    assert {place for place, (a, b) in enumerate(zip(first, second, strict=True)) if a != b} <= counters


def test_the_rows_below_a_key_are_found_without_reading_others(
    directory: Path, journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(journal, *(replace(DONE, key=f"steps.{number}/tool.0.x") for number in range(50)))
    asked: list[tuple[str, tuple[Any, ...]]] = []

    class Asked(sqlite3.Connection):
        def execute(self, query: str, values: Any = ()) -> sqlite3.Cursor:
            asked.append((query, values))
            return super().execute(query, values)

    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Asked))
    with contextlib.closing(SqliteJournal.open(directory, hold=False)) as reader:
        asked.clear()
        assert [row.key for row in reader.rows(below="steps.4")] == ["steps.4/tool.0.x"]
        [(query, values)] = asked
    with contextlib.closing(sqlite3.connect(directory / DATABASE)) as connection:
        plan = [step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
    assert "(key>? AND key<?)" in plan[0]
    assert not [step for step in plan if step.startswith("SCAN")]


def test_outputs_of_rows_are_decoded_when_they_are_read(directory: Path, journal: SqliteJournal) -> None:
    write(journal, DONE, replace(DONE, key="damaged"), replace(DONE, key="empty", output=None))
    alter(directory, "UPDATE effects SET output = '{' WHERE key = 'damaged'")
    whole, damaged, empty = journal.rows()
    assert (damaged.key, damaged.usage) == ("damaged", DONE.usage)
    with pytest.raises(RunRecordError):
        _ = damaged.output
    assert whole == DONE
    assert DONE == whole != empty
    assert replace(whole, attempt=7) == replace(DONE, attempt=7)


@pytest.mark.parametrize("is_writer", [True, False])
def test_a_row_is_the_newest_however_many_were_read_before(
    is_writer: bool, directory: Path, journal: SqliteJournal
) -> None:
    old = {n: replace(DONE, key=f"steps.{n}") for n in range(100)}
    new = {n: replace(old[n], output="new") for n in (50, 51)}
    write(journal, *old.values())
    reader = journal if is_writer else SqliteJournal.open(directory, hold=False)
    assert [reader.row(f"steps.{n}") for n in range(50)] == [old[n] for n in range(50)]
    write(journal, *new.values())
    assert reader.row("steps.50") == new[50]
    assert [reader.row(f"steps.{n}") for n in (99, 3)] == [old[99], old[3]]
    assert reader.row("steps.51") == new[51]
    reader.close()
