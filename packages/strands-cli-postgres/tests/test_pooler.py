"""A pooler that gives the connection with the locks to others is recognised: no run is worked on through it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest
from store_kit import WAIT_S, done, initialised, opened, refused, until, write

from strands_cli.api import RunRecordError, StorePlace
from strands_cli_postgres import store
from tests.postgres.postgres_server import PASSWORD

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
pytestmark = [pytest.mark.postgres, pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")]

Pooled = Callable[[str], str]


@pytest.fixture
def pooled(address: str, tmp_path: Path) -> Iterator[Pooled]:
    """Return a function that starts a pgbouncer of a mode, and returns the address through it."""
    with ExitStack() as stack:

        def start(mode: str) -> str:
            with socket.socket() as unused:
                unused.bind(("127.0.0.1", 0))
                port = unused.getsockname()[1]
            before, _, database = address.rpartition("/")
            server = before.rpartition(":")[2]
            (tmp_path / "users").write_text(f'"strands" "{PASSWORD}"\n')
            (tmp_path / "ini").write_text(
                f"[databases]\n{database} = host=127.0.0.1 port={server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
                f"listen_port = {port}\nunix_socket_dir =\nauth_type = plain\nauth_file = users\n"
                f"pool_mode = {mode}\n"
            )
            as_user: dict[str, int] = {}
            if not os.geteuid():
                as_user = {"user": 65534, "group": 65534}
                for path in (tmp_path, tmp_path / "users", tmp_path / "ini"):
                    os.chown(path, 65534, 65534)
            process = subprocess.Popen([str(PROGRAM), "ini"], cwd=tmp_path, stderr=subprocess.DEVNULL, **as_user)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            until(lambda: _listens(port))
            return address.replace(f":{server}/", f":{port}/")

        yield start


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_runs_are_read_through_any_pooler_and_worked_on_through_none_that_is_not_named(pooled: Pooled) -> None:
    address = pooled("transaction")
    assert "pooler" in str(store.check(StorePlace(address=address), address))
    with opened(address) as found:
        assert found.runs() == ([], [])
        assert "pooler=session" in str(refused(lambda: found.create("run")).fix)
        assert found.runs() == ([], [])
    refused(lambda: store.open(StorePlace(address=address), f"{address}?pooler=transaction"))


def test_runs_are_worked_on_through_a_pooler_that_keeps_the_connection(pooled: Pooled, address: str) -> None:
    with opened(f"{pooled('session')}?pooler=session") as found:
        with closing(found.create("run")) as journal:
            assert write(journal, done(1)) == [None]
            with opened(address) as direct:
                refused(lambda: direct.open("run"))
        found.open("run").close()


def test_a_pooler_that_was_named_wrongly_stops_the_runs(pooled: Pooled) -> None:
    address = pooled("transaction")
    with opened(f"{address}?pooler=session") as found:
        journal = found.create("run")
        stopped = threading.Event()
        journal.on_stop(stopped.set)
        # A transaction of another client has the connection that has the lock.
        with psycopg.connect(address) as other:
            other.execute("SELECT 1")
            assert isinstance(write(journal, done(1))[0], RunRecordError)
        assert stopped.wait(WAIT_S)
        journal.close()


def test_a_store_is_initialised_through_a_pooler(pooled: Pooled, address: str) -> None:
    schema = "?schema=strands_other"
    initialised(pooled("transaction") + schema)
    with opened(address + schema) as found:
        assert found.runs() == ([], [])
