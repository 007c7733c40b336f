"""The Postgres of the tests starts, restarts, and ends with the process that started it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.postgres.postgres_server import PASSWORD, PostgresServer

pytestmark = pytest.mark.postgres

CLONE = Path(__file__).parent.parent.parent
STARTING = """
import os, signal, sys
from tests.postgres.postgres_server import PostgresServer
server = PostgresServer().__enter__()
print(server.port, server.folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_each_test_has_a_database_of_its_own(database: str) -> None:
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)
        connection.execute("CREATE TABLE mine (number int)")


def test_a_wrong_password_is_refused(postgres_server: PostgresServer) -> None:
    with pytest.raises(psycopg.OperationalError) as raised:
        psycopg.connect(postgres_server.address(password="wrong"))
    assert "password" in str(raised.value)
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_has_its_port_and_what_it_stored_after_a_restart(
    mode: str, make_postgres: Callable[[], PostgresServer]
) -> None:
    server = make_postgres()
    port, pid = server.port, server.pid
    server.run("CREATE TABLE stored AS SELECT 1 AS number", superuser=True)
    server.restart(mode)  # type: ignore[arg-type]
    assert (server.port, server.pid != pid) == (port, True)
    assert server.run("SELECT number FROM stored", superuser=True) == [(1,)]


def test_a_server_ends_with_the_process_that_was_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTING], cwd=CLONE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        port, folder = started.stdout.readline().split()
        # Its watch has the errors of the killed process open until the server is gone.
        assert (started.stderr.read(), started.wait()) == ("", -signal.SIGKILL)
    assert not Path(folder).exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)))
