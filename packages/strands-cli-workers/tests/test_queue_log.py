"""What DBOS logs, in the log of a worker."""

from __future__ import annotations

import logging

import pytest

from strands_cli_workers.queue_log import QUIET_S, QueueLog

pytestmark = pytest.mark.postgres
REFUSED = 'connection failed: connection to server at "db", port 5432 failed: Connection refused'


def logged(log: QueueLog, message: str, error: BaseException | None = None) -> None:
    info = None if error is None else (type(error), error, None)
    log.handle(logging.LogRecord("dbos", logging.WARNING, "", 0, message, (), info))


def test_a_database_that_is_gone_is_one_line_for_a_while_without_names_of_exceptions() -> None:
    lines: list[str] = []
    now = [0.0]
    log = QueueLog(lines.append, lambda: now[0])
    for _ in range(3):
        logged(log, f"Exception encountered in queue thread for default: (psycopg.OperationalError) {REFUSED}\nhint")
        logged(log, f"Exception reloading queue default from database: (psycopg.OperationalError) {REFUSED}")
        logged(log, "poll failed", RuntimeError(f"(psycopg.OperationalError) {REFUSED}\n(Background on this error)"))
        logged(
            log,
            "Exception polling schedules: Traceback (most recent call last):\n"
            '  File "pool.py", line 1, in connect\n'
            f"psycopg.OperationalError: {REFUSED}\n\nThe above exception was the cause:\n\n"
            f"sqlalchemy.exc.OperationalError: (psycopg.OperationalError) connection failed: {REFUSED}\n"
            "(Background on this error at: https://sqlalche.me/e/20/e3q8)",
        )
        now[0] += 1
    (line,) = lines
    assert line.endswith(f": {REFUSED}")
    assert line.count("connection failed") == 1
    assert "psycopg" not in line
    now[0] += QUIET_S
    logged(log, f"Database connection failed: (psycopg.OperationalError) {REFUSED}")
    assert len(lines) == 2


def test_other_lines_come_whole_and_what_a_stop_causes_does_not() -> None:
    lines: list[str] = []
    log = QueueLog(lines.append)
    logged(log, "Asyncio task cancelled for workflow or step <function run at 0x7f>")
    logged(log, "Error executing workflow a:1", ValueError())
    logged(log, "x" * 10_000)
    assert lines == ["Error executing workflow a:1: ValueError", "x" * 500]
