"""The doctor and `store check` say what a store is, what will be a problem, and why one cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from store_kit import initialised

from strands_cli.api import ExitCode
from strands_cli_postgres.server_facts import is_this_machine
from tests.cli.strands import Folder, empty_folder
from tests.postgres.postgres_server import PASSWORD, PostgresServer

pytestmark = pytest.mark.postgres


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with empty_folder(tmp_path) as made:
        yield made


def lines_of(folder: Folder, address: str) -> list[dict[str, Any]]:
    """Return the doctor's lines about the store."""
    ran = folder.strands("doctor", "--no-engines", "--json", STRANDS_RUNS_DIR="", STRANDS_STORE=address)
    assert PASSWORD not in ran.out + ran.err
    assert "ss%2Fword" not in ran.out + ran.err
    lines = [line for line in ran.document["checks"] if line["name"] == "store"]
    failed = [line for line in ran.document["checks"] if line["status"] == "failed"]
    assert ran.code == (ExitCode.NOT_EQUIPPED if failed else ExitCode.OK)
    assert not [line for line in ran.document["checks"] if line["name"] in ("runs", "disk")], "no directory is used"
    return lines


def warnings_of(folder: Folder, address: str) -> list[dict[str, Any]]:
    return [line for line in lines_of(folder, address) if line["status"] == "warning"]


def test_the_doctor_describes_a_store_that_works(folder: Folder, address: str) -> None:
    lines = lines_of(folder, address)
    assert {line["status"] for line in lines} == {"ok"}
    names = {line["message"].partition(":")[0] for line in lines[1:]}
    assert names >= {"server", "schema", "role", "clock", "connections"}


def test_a_directory_has_its_own_lines_and_none_of_a_store(folder: Folder) -> None:
    ran = folder.strands("doctor", "--no-engines", "--json")
    names = {line["name"] for line in ran.document["checks"]}
    assert "runs" in names
    assert "store" not in names


@pytest.mark.parametrize("fault", ["stopped", "password", "uninitialised"])
def test_a_store_that_cannot_be_used_is_a_failed_line_with_a_fix(
    folder: Folder, fault: str, make_postgres: Callable[..., PostgresServer]
) -> None:
    server = make_postgres()
    address = server.address(password="wrong" if fault == "password" else PASSWORD)
    if fault == "stopped":
        server.stop()
    (line,) = lines_of(folder, address)
    assert line["status"] == "failed"
    assert line["fix"]
    assert ("strands runs store init" in line["fix"]) == (fault == "uninitialised")


def test_a_server_with_another_time_is_a_warning(folder: Folder, address: str) -> None:
    # As a server whose clock is an hour ahead answers; the client's own clock stays what it is.
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA ahead")
        connection.execute(
            "CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql "
            "AS $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$"
        )
    (line,) = warnings_of(folder, f"{address}?options=-csearch_path%3Dahead%2Cpg_catalog")
    assert "3600 s ahead" in line["message"]
    assert "NTP" in line["fix"]


def test_few_connections_that_are_left_are_a_warning(
    folder: Folder, make_postgres: Callable[..., PostgresServer]
) -> None:
    server = make_postgres({"max_connections": "8", "superuser_reserved_connections": "1"})
    server.run("CREATE DATABASE few")
    address = initialised(server.address("few"))
    held = [psycopg.connect(address) for _ in range(5)]
    try:
        (line,) = warnings_of(folder, address)
    finally:
        for connection in held:
            connection.close()
    assert "6 of 7" in line["message"]
    assert "max_connections" in line["fix"]


def test_a_role_with_all_rights_is_a_warning(folder: Folder, postgres_server: PostgresServer, address: str) -> None:
    name = address.rpartition("/")[2]
    (line,) = warnings_of(folder, postgres_server.address(name, superuser=True))
    assert "superuser" in line["message"]
    checked = folder.strands(
        "store", "check", "--store", postgres_server.address(name, superuser=True), STRANDS_RUNS_DIR=""
    )
    assert checked.code == ExitCode.OK, "a warning keeps nothing from working"
    assert "warning: role: " in checked.out


def test_a_server_whose_transactions_only_read_is_a_warning_with_the_statement_that_ends_it(
    folder: Folder, address: str
) -> None:
    name = address.rpartition("/")[2]
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    (line,) = warnings_of(folder, address)
    checked = folder.strands("runs", "store", "check", "--store", address, STRANDS_RUNS_DIR="")
    assert (checked.code, "may only read" in checked.out, line["fix"] in checked.out) == (0, True, True)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(line["fix"])
    assert warnings_of(folder, address) == []
    assert "may read and write" in folder.strands("runs", "store", "check", "--store", address, STRANDS_RUNS_DIR="").out


@pytest.mark.parametrize(
    ("host", "address", "here"),
    [
        ("/run/postgresql", "", True),
        ("@abstract", "", True),
        ("localhost", "127.0.0.1", True),
        ("localhost", "::1", True),
        ("db", "10.0.0.5", False),
        ("db.example.org", "2001:db8::1", False),
    ],
)
def test_connections_that_leave_the_machine_are_known(host: str, address: str, here: bool) -> None:
    assert is_this_machine(host, address) == here
