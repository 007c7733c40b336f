"""What tests with a real Postgres get: one server for a process, a new database, or a server of their own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

import pytest

from tests.postgres.postgres_server import PostgresServer

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Return a Postgres that all tests of this process share: none may stop it."""
    with PostgresServer({"max_connections": "200"}) as server:
        yield server


@pytest.fixture
def database(postgres_server: PostgresServer) -> Iterator[str]:
    """Return the address of a new, empty database, whose owner is the role in the address."""
    name = f"test_{os.getpid()}_{next(_NUMBERS)}"
    postgres_server.run(f"CREATE DATABASE {name}")
    yield postgres_server.address(name)
    postgres_server.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", superuser=True)


@pytest.fixture
def store_address(database: str) -> str:
    """Return the address of a new, empty store of runs."""
    from strands_cli.store_place import StorePlace
    from strands_cli_postgres import store

    store.init(StorePlace(address=database), database)
    return database


@pytest.fixture
def make_postgres() -> Iterator[Callable[..., PostgresServer]]:
    """Return a function that starts a server for this test alone, which may stop, kill and fill it.

    Its argument are settings of `postgresql.conf`: `make_postgres({"max_connections": "5"})`.
    """
    with ExitStack() as stack:

        def make(settings: Mapping[str, str] | None = None) -> PostgresServer:
            return stack.enter_context(PostgresServer(settings))

        yield make
