"""A store is made explicitly, once, and never of what belongs to others; a newer version is left alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg
import pytest
from store_kit import FACTS, done, initialised, opened, refused, write

from strands_cli.api import StorePlace
from strands_cli_postgres import store
from strands_cli_postgres.schema import FORMAT, STEPS
from tests.postgres.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

USES: dict[str, Callable[[StorePlace, str], Any]] = {
    "open": lambda place, address: store.open(place, address).close(),
    "check": store.check,
    "init": store.init,
    "migrate": store.migrate,
}
TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema LIKE 'strands%' ORDER BY 1, 2"
)
BELONGS_TO_OTHERS = {
    "another table": "CREATE TABLE strands.customers (name text)",
    "a table of this name": "CREATE TABLE strands.meta (version int)",
    "a view": "CREATE VIEW strands.meta AS SELECT 1 AS name, 2 AS value",
    "a table of these columns": "CREATE TABLE strands.meta AS SELECT 'format' AS name, '1' AS value",
}


def run(address: str, *statements: str) -> list[Any]:
    rows: list[Any] = []
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
            rows = cursor.fetchall() if cursor.description else []
    return rows


def use(name: str, address: str) -> Any:
    return USES[name](StorePlace(address=address), address)


def make_older(address: str) -> None:
    """Make a store as the version before made it, with one run."""
    run(address, "CREATE SCHEMA strands", STEPS[0].format(schema="strands"))
    run(address, "UPDATE strands.meta SET value = '1' WHERE name = 'format'")
    run(address, "INSERT INTO strands.runs (id, lock, status, started_at) VALUES ('old', 1, 'completed', 5)")


def test_a_store_is_made_once(database: str) -> None:
    assert len(use("init", database)) == 1
    tables = run(database, TABLES)
    assert ("strands", "effects") in tables
    with opened(database) as found:
        found.create("a").close()
    assert len(use("init", database)) == 1
    assert run(database, TABLES) == tables
    with opened(database) as found:
        assert found.find("a") == "a"


def test_a_database_without_a_store_names_the_command_that_makes_one(database: str) -> None:
    for name in ("open", "check", "migrate"):
        error = refused(lambda name=name: use(name, database))
        assert str(error.fix).startswith("strands runs store init --store postgresql://strands@")
    assert run(database, TABLES) == []


@pytest.mark.parametrize("others", BELONGS_TO_OTHERS)
def test_what_belongs_to_another_program_is_left_as_it_is(others: str, database: str) -> None:
    run(database, "CREATE SCHEMA strands", BELONGS_TO_OTHERS[others])
    before = run(database, TABLES)
    for name in USES:
        error = refused(lambda name=name: use(name, database))
        assert "schema=strands_runs" in str(error.fix)
    assert run(database, TABLES) == before
    store.init(StorePlace(address=database), f"{database}?schema=strands_runs")
    with opened(f"{database}?schema=strands_runs") as found:
        assert found.runs() == ([], [])


def test_a_store_of_a_newer_version_is_left_as_it_is(database: str) -> None:
    initialised(database)
    run(database, "UPDATE strands.meta SET value = '99' WHERE name = 'format'")
    for name in USES:
        error = refused(lambda name=name: use(name, database))
        assert "pip install --upgrade strands-cli-postgres" in str(error.fix)
    assert run(database, "SELECT value FROM strands.meta WHERE name = 'format'") == [("99",)]


def test_a_store_of_an_older_version_is_only_changed_by_migrate(database: str) -> None:
    make_older(database)
    for name in ("open", "check", "init"):
        error = refused(lambda name=name: use(name, database))
        assert str(error.fix).startswith("strands runs store migrate --store postgresql://strands@")
    assert run(database, "SELECT value FROM strands.meta WHERE name = 'format'") == [("1",)]


def test_migrate_keeps_the_runs(database: str) -> None:
    make_older(database)
    assert len(use("migrate", database)) == 1
    assert run(database, "SELECT value FROM strands.meta WHERE name = 'format'") == [(str(FORMAT),)]
    with opened(database) as found:
        assert [one.id for one in found.runs()[0]] == ["old"]
    assert len(use("migrate", database)) == 1


@pytest.mark.parametrize("name", ["init", "migrate"])
def test_two_at_once_are_right(name: str, database: str) -> None:
    if name == "migrate":
        make_older(database)
    barrier, failures = threading.Barrier(4), []

    def work() -> None:
        barrier.wait()
        try:
            use(name, database)
        except Exception as error:  # noqa: BLE001 - whatever it is
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with opened(database) as found:
        found.create("a").close()


def test_a_migration_that_cannot_have_the_tables_gives_up_and_changes_nothing(database: str) -> None:
    make_older(database)
    with psycopg.connect(database) as connection:
        connection.execute("LOCK TABLE strands.runs IN SHARE ROW EXCLUSIVE MODE")
        refused(lambda: use("migrate", f"{database}?options=-c%20lock_timeout%3D100"))
    assert run(database, "SELECT value FROM strands.meta WHERE name = 'format'") == [("1",)]
    use("migrate", database)


def test_schemas_of_one_database_are_stores_of_their_own(database: str) -> None:
    one, other = f"{database}?schema=strands_a", f"{database}?schema=strands_b&connect_timeout=5"
    with opened(initialised(one)) as first, opened(initialised(other)) as second:
        with closing(first.create("run")) as mine, closing(second.create("run")) as theirs:
            assert (mine.is_held(), theirs.is_held()) == (True, True)
        assert [len(found.runs()[1]) for found in (first, second)] == [1, 1]


def test_a_schema_with_another_name_is_refused(database: str) -> None:
    for schema in ("Strands", "a-b", "a b", "", "x" * 49, "strands;drop", "%22"):
        refused(lambda schema=schema: use("init", f"{database}?schema={schema}"))
    assert run(database, TABLES) == []


def test_a_database_without_unicode_is_refused(postgres_server: PostgresServer, database: str) -> None:
    name = database.rpartition("/")[2] + "_latin"
    postgres_server.run(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0")
    try:
        assert "UTF8" in str(refused(lambda: use("init", postgres_server.address(name))).fix)
    finally:
        postgres_server.run(f"DROP DATABASE {name} WITH (FORCE)")


def test_rights_are_asked_for_by_name(postgres_server: PostgresServer, database: str) -> None:
    name, role = database.rpartition("/")[2], "worker_" + database.rpartition("/")[2]
    theirs = database.replace("strands:", f"{role}:", 1)
    owner = postgres_server.address(name, superuser=True)
    run(owner, f"CREATE ROLE {role} LOGIN PASSWORD 'marked-p@ss/word:1'")
    try:
        error = refused(lambda: use("init", theirs))
        assert "GRANT CREATE ON DATABASE" in str(error.fix)
        initialised(database)
        commands = [str(refused(lambda: use("check", theirs)).fix).partition(": ")[2].replace("ROLE", role)]
        run(database, commands[0].partition(";")[0])
        commands.append(str(refused(lambda: use("check", theirs)).fix).partition(": ")[2].replace("ROLE", role))
        assert commands[0] == commands[1]
        run(database, commands[0].replace(", INSERT, UPDATE, DELETE", ""))
        assert "only read" in str(use("check", theirs))
        with opened(theirs) as found:
            assert found.runs() == ([], [])
            refused(lambda: found.create("a"))
        run(database, commands[0])
        assert "read and write" in str(use("check", theirs))
        with opened(theirs) as found:
            with closing(found.create("a")) as journal:
                journal.put(**FACTS)
                assert write(journal, done(1)) == [None]
            found.delete("a")
    finally:
        run(owner, f"DROP OWNED BY {role}", f"DROP ROLE {role}")
