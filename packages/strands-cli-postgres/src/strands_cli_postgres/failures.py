"""Errors of Postgres and its client as errors that a person can act on; none has a password in it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING
from urllib.parse import quote

from strands_cli.api import RunRecordError, StorePlace, Unreachable
from strands_cli_postgres.dev_server import is_of_dev_server

if TYPE_CHECKING:
    import psycopg

# The fixes for the words of a refused connection. A server may use another language; then the last fix is given. The
# first ones hold until a person changes something; the others may pass by themselves.
_REFUSALS = (
    (
        ("no password supplied",),
        "name the password: export PGPASSWORD=..., or write USER:{{env:NAME}}@ in the address, as in {sample}",
    ),
    (("password authentication failed",), "check the user and the password in the address"),
    (
        ("no encryption",),
        "add ?sslmode=verify-full to the address if the server takes only TLS; else have this host, user and database "
        "allowed in its pg_hba.conf",
    ),
    (("no pg_hba.conf entry",), "have this host, user and database allowed in the server's pg_hba.conf"),
    (
        ("does not support ssl", "ssl error", "certificate", "ssl is not enabled", "sslrootcert", "sslmode"),
        "check sslmode, sslrootcert and sslcert in the address, and the server's `ssl` settings",
    ),
    (
        ('database "',),
        "make the database: createdb {server} {database}, then: strands runs store init --store {address}",
    ),
    (('role "',), "make the role: createuser {server} --pwprompt {user}"),
)
_PASSING = (
    (
        ("too many connections", "too many clients", "remaining connection slots"),
        "raise max_connections of the server, or start fewer processes: each holds two connections",
    ),
    (("translate host name", "resolve host", "name or service not known"), "check the host name in the address"),
    (("starting up", "shutting down", "recovery"), "wait until the server is up, then try it again"),
    (("timeout", "timed out"), "check the host, the port and the firewalls between"),
)
_OTHERWISE = "check that Postgres runs there and accepts connections: pg_isready {server}"
_DEV_SERVER = "it runs while a worker of this kind does: strands workers start --dev"
# By the code of an error; see https://www.postgresql.org/docs/current/errcodes-appendix.html
_FIXES = {
    "42501": "let the role use the schema: GRANT USAGE ON SCHEMA {schema} TO ROLE; "
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO ROLE; "
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO ROLE",
    "25006": "name the primary server, or all of them with ?target_session_attrs=read-write",
    "53100": "free space on the disk of the database, then: strands resume RUN",
    "53200": "give the server more memory, or raise max_locks_per_transaction",
    "55P03": "wait until the other transaction has ended, then try it again",
    "57014": "raise statement_timeout of the role, then try it again",
}


def refused(error: psycopg.Error, place: StorePlace, conninfo: str) -> RunRecordError:
    """Return the error for a connection that could not be made."""
    from psycopg.conninfo import conninfo_to_dict

    text = words_of(error)
    lowered = text.lower()
    is_of_worker = is_of_dev_server(str(conninfo_to_dict(conninfo).get("host") or ""))
    otherwise = _DEV_SERVER if is_of_worker else _OTHERWISE
    lasting = next((fix for words, fix in _REFUSALS if any(word in lowered for word in words)), None)
    passing = next((fix for words, fix in _PASSING if any(word in lowered for word in words)), otherwise)
    if is_of_worker and "shutting down" in lowered:  # with its last worker, and waiting does not bring it back
        passing = _DEV_SERVER
    kind = Unreachable if lasting is None else RunRecordError
    fix = (lasting or passing).format(**_names(place, conninfo))
    return kind(f"the store {place} cannot be reached: {text}", fix=fix)


def cut(error: BaseException, place: StorePlace, schema: str) -> RunRecordError:
    """Return the error for a connection that was lost while a statement was answered."""
    return Unreachable(
        f"the connection to the store {place} is lost: {words_of(error)}", fix=unusable_fix(error, schema)
    )


def _names(place: StorePlace, conninfo: str) -> dict[str, str]:
    """Return the names for the commands of a fix, quoted for a shell."""
    from psycopg.conninfo import conninfo_to_dict

    parameters = conninfo_to_dict(conninfo)
    words = [
        word
        for option, name in (("-h", "host"), ("-p", "port"))
        if parameters.get(name)
        for word in (option, parameters[name])
    ]
    place_of_server = str(parameters.get("host") or "HOST") + (
        f":{parameters['port']}" if parameters.get("port") else ""
    )
    user, database = (
        str(parameters.get("user") or "USER"),
        str(parameters.get("dbname") or parameters.get("user") or "DATABASE"),
    )
    return {
        "server": shlex.join(map(str, words)),
        "user": shlex.quote(user),
        "database": shlex.quote(database),
        "address": shlex.quote(str(place)),
        "sample": f"postgresql://{quote(user)}:{{env:PGPASSWORD}}@{place_of_server}/{quote(database)}",
    }


def unusable(error: BaseException, place: StorePlace, schema: str) -> RunRecordError:
    """Return the error for a statement that failed."""
    return RunRecordError(f"the store {place} cannot be used: {words_of(error)}", fix=unusable_fix(error, schema))


def unusable_fix(error: BaseException, schema: str) -> str:
    """Return the fix for a failed statement."""
    fix = _FIXES.get(getattr(error, "sqlstate", None) or "", "see what the store says: strands runs store check")
    return fix.format(schema=schema)


def words_of(error: BaseException) -> str:
    """Return the words of an error in one line; for one of the server its message, without values of rows."""
    diagnosis = getattr(error, "diag", None)
    text = (diagnosis and diagnosis.message_primary) or str(error)
    return "; ".join(line.strip() for line in text.splitlines() if line.strip()) or type(error).__name__


def is_lost(error: BaseException, connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    """Return whether a failed statement has ended the connection too."""
    from psycopg import pq

    return connection.closed or connection.pgconn.status == pq.ConnStatus.BAD
