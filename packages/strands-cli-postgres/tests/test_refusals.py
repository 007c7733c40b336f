"""A store that cannot be reached is one clear error with something to do, and shows no password."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest
from store_kit import initialised, opened, refused

from strands_cli.api import RunRecordError, StorePlace
from strands_cli_postgres import failures, store
from strands_cli_postgres.address import REPLY_S, target_of
from tests.postgres.postgres_server import PASSWORD, PostgresServer

pytestmark = pytest.mark.postgres


def open_at(address: str) -> None:
    store.open(StorePlace(address=address), address).close()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def answering(message: str) -> tuple[int, threading.Thread]:
    """Return the port of a server that refuses one connection with a message, and its thread."""
    listening = socket.create_server(("127.0.0.1", 0))
    fields = b"".join(
        name + text.encode() + b"\0" for name, text in ((b"S", "FATAL"), (b"C", "28000"), (b"M", message))
    )

    def serve() -> None:
        with listening, listening.accept()[0] as one:
            one.recv(1000)
            one.sendall(b"E" + struct.pack("!i", len(fields) + 5) + fields + b"\0")

    thread = threading.Thread(target=serve)
    thread.start()
    return listening.getsockname()[1], thread


@pytest.mark.parametrize(
    ("change", "fix"),
    [
        (lambda one: one.replace("p%40ss", "wrong"), "password"),
        (lambda one: one.replace("marked-p%40ss%2Fword%3A1", ""), "export PGPASSWORD="),
        (lambda one: one.replace("127.0.0.1", "no-such-host.invalid"), "host name"),
        (lambda one: one.rpartition("/")[0] + "/no_such_database", "createdb -h 127.0.0.1 -p "),
        (
            lambda one: one.rpartition("/")[0] + "/no_such_database",
            " no_such_database, then: strands runs store init --store ",
        ),
        (lambda one: one.replace("127.0.0.1:", "127.0.0.1:x"), "libpq"),
        (lambda one: one + "?sslmode=require", "sslmode"),
        (lambda one: one + "?sslmode=verify-full&sslrootcert=/nowhere/root.crt", "sslmode"),
        (lambda one: one + "?sslmode=perhaps", "sslmode"),
        (lambda one: one + "?color=blue", "libpq"),
        (lambda one: one.replace("p%40ss", "p%zz-p@ss"), "%25"),
        (lambda one: one.replace("p%40ss%2F", "p@ss/"), ""),
        (lambda one: one.replace("postgresql://", "postgresql://["), ""),
    ],
)
def test_each_wrong_address_says_what_to_do(change: Callable[[str], str], fix: str, database: str) -> None:
    initialised(database)
    open_at(database)
    assert fix in str(refused(lambda: open_at(change(database))).fix)


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("", REPLY_S),
        ("?reply_timeout=7", 7.0),
        ("?sslmode=prefer&reply_timeout=0&schema=other", None),
        ("?reply_timeout=999999", 999999.0),
    ],
)
def test_an_address_says_how_long_a_reply_may_not_come(query: str, seconds: float | None) -> None:
    target = target_of(StorePlace(address="postgresql://h/d"), f"postgresql://h/d{query}")

    assert target.reply_s == seconds
    assert "reply_timeout" not in target.conninfo, "libpq knows no such parameter"


@pytest.mark.parametrize("given", ["", "-1", "2.5", "1e3", "20s", "%D9%A3", "1000000"])
def test_a_reply_timeout_that_is_not_whole_seconds_is_refused(given: str) -> None:
    with pytest.raises(RunRecordError) as raised:
        target_of(StorePlace(address="postgresql://h/d"), f"postgresql://h/d?reply_timeout={given}")

    assert "reply_timeout=20" in str(raised.value.fix)


@pytest.mark.parametrize(("encryption", "fix"), [("no encryption", "sslmode=verify-full"), ("SSL encryption", "")])
def test_a_server_that_admits_no_such_connection_is_asked_with_tls_next(encryption: str, fix: str) -> None:
    words = 'no pg_hba.conf entry for host "10.0.0.1", user "ann", database "runs", '
    port, thread = answering(words + encryption)
    error = refused(lambda: open_at(f"postgresql://ann@127.0.0.1:{port}/runs?sslmode=disable&gssencmode=disable"))
    thread.join()
    assert fix in str(error.fix)
    assert "pg_hba.conf" in str(error.fix)


@pytest.mark.parametrize("password", ["a@hidden", "a/hidden", "a?hidden", "a#hidden", "a:@hidden/x"])
def test_a_password_that_is_not_encoded_is_not_shown_as_the_name_of_a_host(password: str) -> None:
    error = refused(lambda: open_at(f"postgresql://ann:{password}@127.0.0.1/runs"))
    assert "hidden" not in f"{error} {error.fix}"
    assert "%40" in str(error.fix)


def test_a_port_without_a_server_names_the_command_that_looks(database: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        address = f"postgresql://strands:marked-p%40ss%2Fword%3A1@127.0.0.1:{port}/db"
        assert f"pg_isready -h 127.0.0.1 -p {port}" in str(refused(lambda: open_at(address)).fix)


def test_an_address_without_a_password_is_shown_with_one_and_its_port(database: str) -> None:
    address = database.replace(":marked-p%40ss%2Fword%3A1", "")
    server = address.partition("@")[2]
    assert ":" in server
    assert f"{{env:PGPASSWORD}}@{server}" in str(refused(lambda: open_at(address)).fix)


@pytest.mark.parametrize(("host", "is_of_worker"), [("/tmp/strands-0123456789abcdef", True), ("db.example.com", False)])
def test_a_server_that_stops_with_its_last_worker_is_not_waited_for(host: str, is_of_worker: bool) -> None:
    place = StorePlace(address="postgresql://strands@db.example.com/strands")
    stops = psycopg.OperationalError("FATAL:  the database system is shutting down")
    error = failures.refused(stops, place, f"host={host} dbname=strands")
    assert ("strands workers start --dev" in str(error.fix)) is is_of_worker


def test_a_server_that_does_not_answer_ends_the_wait(silent_port: int) -> None:
    address = f"postgresql://strands:marked-p%40ss%2Fword%3A1@127.0.0.1:{silent_port}/db?connect_timeout=2"
    assert "firewalls" in str(refused(lambda: open_at(address)).fix)


def test_a_server_without_a_free_connection_says_so(make_postgres: Callable[..., PostgresServer]) -> None:
    server = make_postgres({"max_connections": "6", "superuser_reserved_connections": "1"})
    server.run("CREATE DATABASE small")
    address = initialised(server.address("small"))
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(psycopg.OperationalError):
            while True:
                stack.enter_context(contextlib.closing(psycopg.connect(address)))
        assert "max_connections" in str(refused(lambda: open_at(address)).fix)
    with opened(address):
        pass


def test_no_object_of_a_store_shows_its_password(address: str) -> None:
    with opened(address) as found, contextlib.closing(found.create("run")) as journal:
        with contextlib.closing(found.open("run", hold=False)) as reader:
            for one in (found, journal, reader, found.place, journal.place):
                seen = f"{one!r} {one!s} {getattr(one, 'record', '')}"
                assert not any(part in seen for part in (PASSWORD, "p%40ss", "p@ss")), seen
        refused(lambda: found.create("run"))
        refused(lambda: reader.put(status="x"))
        assert "run" in journal.record
