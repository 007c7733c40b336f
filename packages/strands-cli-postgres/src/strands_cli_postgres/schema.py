"""The tables of a store: made, brought to this version, and recognised where they are those of others."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from strands_cli.api import RunRecordError, StorePlace
from strands_cli_postgres.address import Target
from strands_cli_postgres.connections import backend_of, connected, lock_key
from strands_cli_postgres.failures import unusable, words_of
from strands_cli_postgres.server_facts import is_read_only, server_facts

if TYPE_CHECKING:
    import psycopg

PROGRAM = "strands-cli"
# Each step makes the next format of the one before. A step only adds: processes of the version before go on writing
# while it is done, and until they end. Texts are JSON as SQLite's journals have it, in `text` columns: `jsonb` refuses
# \u0000 and half a surrogate pair, which models and tools do answer.
STEPS = (
    """
    CREATE TABLE {schema}.meta (name text PRIMARY KEY, value text NOT NULL);
    INSERT INTO {schema}.meta VALUES ('program', 'strands-cli'), ('format', '0');
    CREATE SEQUENCE {schema}.listed;
    CREATE TABLE {schema}.runs (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        lock bigint NOT NULL, fence bigint NOT NULL DEFAULT 1, stop_fence bigint NOT NULL DEFAULT 0, holder text,
        changes bigint NOT NULL DEFAULT 0, listed bigint NOT NULL DEFAULT nextval('{schema}.listed'),
        workflow text, pattern text, file text, status text, reason text,
        started_at double precision, ended_at double precision, worked_s double precision,
        session_started_at double precision, latest_at double precision
    ) WITH (fillfactor = 70);
    CREATE TABLE {schema}.facts (
        run bigint NOT NULL REFERENCES {schema}.runs ON DELETE CASCADE, name text NOT NULL, value text NOT NULL,
        PRIMARY KEY (run, name)
    );
    CREATE TABLE {schema}.effects (
        run bigint NOT NULL REFERENCES {schema}.runs ON DELETE CASCADE, key text COLLATE "C" NOT NULL,
        kind text NOT NULL, status text NOT NULL, digest text NOT NULL, attempt bigint NOT NULL,
        output text, output_digest text, usage text NOT NULL, cost double precision, detail text NOT NULL,
        started_at double precision NOT NULL, ended_at double precision, position bigint NOT NULL,
        PRIMARY KEY (run, key)
    ) WITH (fillfactor = 85);
    CREATE INDEX effects_in_order ON {schema}.effects (run, position);
    CREATE TABLE {schema}.outputs (
        run bigint NOT NULL REFERENCES {schema}.runs ON DELETE CASCADE, digest text NOT NULL, value text NOT NULL,
        PRIMARY KEY (run, digest)
    );
    """,
    """
    CREATE INDEX runs_newest ON {schema}.runs (started_at DESC NULLS LAST, id DESC);
    """,
)
FORMAT = len(STEPS)
TABLES = ("meta", "runs", "facts", "effects", "outputs")
# A migration that waits for a long query makes all others wait behind it; an address may have another limit.
_LIMIT_WAITING = "SELECT set_config('lock_timeout', '10s', true) WHERE current_setting('lock_timeout') = '0'"
_FOUND = """
SELECT count(*) > 0, count(*) FILTER (WHERE c.relname = 'meta' AND c.relkind = 'r') > 0, count(c.oid) > 0
FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind <> 'i' WHERE n.nspname = %s
"""


def require_format(connection: psycopg.Connection[Any], place: StorePlace, schema: str) -> None:
    """Check that the schema has the tables of this version.

    Raises:
        RunRecordError: It has none, those of another version or another program, or the role may not use it.
    """
    stored_format = found_format(connection, place, schema)
    if stored_format == 0:
        raise RunRecordError(
            f"the store {place} has not been initialised: the database has no tables for runs in the schema {schema}",
            fix=_command("init", place),
        )
    if stored_format < FORMAT:
        raise RunRecordError(
            f"the store {place} has format {stored_format}; this version of strands-cli-postgres needs format {FORMAT}",
            fix=_command("migrate", place),
        )
    if stored_format > FORMAT:
        raise _newer(place, stored_format)


def found_format(connection: psycopg.Connection[Any], place: StorePlace, schema: str) -> int:
    """Return the format of the tables in a schema, 0 where it has none or does not exist.

    Raises:
        RunRecordError: The tables are those of another program, or the role may not use them.
    """
    import psycopg

    exists, has_meta, has_tables = connection.execute(_FOUND, (schema,)).fetchone() or (False, False, False)
    if not exists or not has_tables:
        return 0
    try:
        rows = connection.execute(f"SELECT name, value FROM {schema}.meta").fetchall() if has_meta else []  # noqa: S608 - a name of letters
        facts = dict(rows)
        if facts.get("program") == PROGRAM:
            return int(facts["format"])
    except psycopg.errors.InsufficientPrivilege as error:
        raise unusable(error, place, schema) from error
    except (psycopg.errors.UndefinedColumn, KeyError, ValueError):
        pass
    mark = "&" if "?" in str(place) else "?"
    raise RunRecordError(
        f"the schema {schema} of the store {place} belongs to another program: it has tables that are not for runs",
        fix=f"use another schema: {_command('init', f'{place}{mark}schema=strands_runs')}",
    )


def make_schema(place: StorePlace, target: Target) -> list[str]:
    """Make the schema and its tables where they are missing, and return the actions."""
    with _changing(place, target) as connection:
        stored_format = found_format(connection, place, target.schema)
        if stored_format > FORMAT:
            raise _newer(place, stored_format)
        if stored_format:
            require_format(connection, place, target.schema)
            return [f"the store {place} is initialised already (schema {target.schema}, format {FORMAT})"]
        _require_unicode(connection, place)
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {target.schema}")
        _apply(connection, target.schema, 0)
    return [f"initialised the store {place}: schema {target.schema}, format {FORMAT}"]


def migrated_schema(place: StorePlace, target: Target) -> list[str]:
    """Bring the tables to this version, and return the actions.

    Raises:
        RunRecordError: There are none, or a newer version made them.
    """
    with _changing(place, target) as connection:
        stored_format = found_format(connection, place, target.schema)
        if not 0 < stored_format < FORMAT:
            require_format(connection, place, target.schema)
            return [f"the store {place} has format {FORMAT} already"]
        _apply(connection, target.schema, stored_format)
    return [f"migrated the store {place} from format {stored_format} to format {FORMAT}"]


def checked_schema(place: StorePlace, target: Target) -> list[str]:
    """Return facts of the server, the tables and the role's rights.

    Raises:
        RunRecordError: The store cannot be used.
    """
    import psycopg

    schema = target.schema
    with connected(place, target) as connection:
        require_format(connection, place, schema)
        try:
            rights = {
                right: _has_right(connection, schema, right) for right in ("SELECT", "INSERT", "UPDATE", "DELETE")
            }
            if not rights["SELECT"]:
                connection.execute(f"SELECT FROM {schema}.runs LIMIT 0")
            (runs,) = connection.execute(f"SELECT count(*) FROM {schema}.runs").fetchone() or (0,)  # noqa: S608
        except psycopg.Error as error:
            raise unusable(error, place, schema) from error
        may_write = all(rights.values()) and not is_read_only(connection)
        lines = [
            f"server: {connection.info.parameter_status('server_version')}, "
            f"{'with' if connection.pgconn.ssl_in_use else 'without'} TLS",
            f"schema: {schema}, format {FORMAT}, {runs} runs",
            f"role: {connection.info.user}, may {'read and write' if may_write else 'only read'}",
        ]
        if backend_of(connection) != connection.info.backend_pid:
            lines.append("pooler: there is one between; it has to keep a server connection for the whole session")
        return [*lines, *server_facts(connection)]


def _has_right(connection: psycopg.Connection[Any], schema: str, right: str) -> bool:
    names = [f"{schema}.{name}" for name in TABLES[1:]]
    statement = "SELECT bool_and(has_table_privilege(name, %s)) FROM unnest(%s::text[]) AS name"
    return bool((connection.execute(statement, (right, names)).fetchone() or (False,))[0])


def _require_unicode(connection: psycopg.Connection[Any], place: StorePlace) -> None:
    (encoding,) = connection.execute("SHOW server_encoding").fetchone() or ("",)
    if encoding != "UTF8":
        raise RunRecordError(
            f"the store {place} cannot be initialised: the database has the encoding {encoding}",
            fix="make one that has every character: createdb --encoding UTF8 --template template0 NAME",
        )


@contextmanager
def _changing(place: StorePlace, target: Target) -> Iterator[psycopg.Connection[Any]]:
    """Connect, and wait until no other process makes or migrates the schema; everything is done or nothing."""
    import psycopg

    # To index a large table takes its time, and waiting has a limit of its own.
    with connected(place, replace(target, reply_s=None)) as connection:
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(target.schema, ""),))
                connection.execute(_LIMIT_WAITING)
                yield connection
        except psycopg.errors.InsufficientPrivilege as error:
            raise RunRecordError(
                f"the store {place} cannot be changed: {words_of(error)}",
                fix="as the owner of the database: GRANT CREATE ON DATABASE NAME TO ROLE; of a schema that is there: "
                f"ALTER SCHEMA {target.schema} OWNER TO ROLE",
            ) from error
        except psycopg.Error as error:
            raise unusable(error, place, target.schema) from error


def _apply(connection: psycopg.Connection[Any], schema: str, stored_format: int) -> None:
    for step in STEPS[stored_format:]:
        connection.execute(step.format(schema=schema))
    connection.execute(f"UPDATE {schema}.meta SET value = %s WHERE name = 'format'", (str(FORMAT),))  # noqa: S608


def _command(name: str, store: object) -> str:
    return shlex.join(["strands", "runs", "store", name, "--store", str(store)])


def _newer(place: StorePlace, stored_format: int) -> RunRecordError:
    return RunRecordError(
        f"the store {place} has format {stored_format}; this version of strands-cli-postgres knows formats to {FORMAT}",
        fix="pip install --upgrade strands-cli-postgres",
    )
