"""Warnings about a server before a fault: clock, connections, TLS, and a role with all rights."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from psycopg import Connection

# The times of a run are those of the machine that works on it: with clocks that differ, lists and ages mislead.
SKEW_S = 5.0
# The share of connections from which on a few more processes are refused.
NEARLY_ALL = 0.8


def server_facts(connection: Connection[Any]) -> Iterator[str]:
    """Yield a line for each fact; a problem as a warning with a fix."""
    for fact in (_writing, _clock, _connections, _encryption, _role):
        # Some roles may not look at all of it.
        with suppress(psycopg.errors.InsufficientPrivilege):
            yield from fact(connection)


def _warning(text: str, fix: str) -> str:
    """Return a line as `StoreOpener.check` has it for a problem that may become a fault."""
    return f"warning: {text}; fix: {fix}"


def is_read_only(connection: Connection[Any]) -> bool:
    """Return whether the server lets this session only read, whatever its role may: a standby, or a setting."""
    return connection.execute("SHOW transaction_read_only").fetchone() == ("on",)


def _writing(connection: Connection[Any]) -> Iterator[str]:
    if not is_read_only(connection):
        return
    if connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
        text = "server: it is a standby, where nothing can be written"
        yield _warning(
            text, "name the primary server; with several hosts in the address: ?target_session_attrs=read-write"
        )
    else:
        text = "server: its transactions only read (default_transaction_read_only is on)"
        role, database = (sql.Identifier(name).as_string() for name in (connection.info.user, connection.info.dbname))
        yield _warning(text, f"ALTER ROLE {role} IN DATABASE {database} SET default_transaction_read_only = off")


def _clock(connection: Connection[Any]) -> Iterator[str]:
    """Compare the clocks; the answer is from the middle of the time that the question takes."""
    before = time.time()
    (there,) = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone() or (0.0,)
    after = time.time()
    ahead = there - (before + after) / 2
    if abs(ahead) > SKEW_S + (after - before) / 2:
        word = "ahead of" if ahead > 0 else "behind"
        text = f"clock: the server's is {abs(ahead):.0f} s {word} this machine's"
        yield _warning(text, "set both by NTP: timedatectl set-ntp true")
    else:
        yield f"clock: {abs(ahead):.1f} s from this machine's"


def _connections(connection: Connection[Any]) -> Iterator[str]:
    used, most = connection.execute(
        "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), "
        "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
    ).fetchone() or (0, 1)
    text = f"connections: {used} of {most}"
    if used >= NEARLY_ALL * most:
        yield _warning(text, "raise max_connections of the server, or have fewer workers: strands workers")
    else:
        yield text


def _encryption(connection: Connection[Any]) -> Iterator[str]:
    info = connection.info
    if not connection.pgconn.ssl_in_use and not is_this_machine(info.host, info.hostaddr):
        text = "TLS: the connection to another machine is not encrypted"
        yield _warning(text, "add it to the address: ?sslmode=verify-full")


def is_this_machine(host: str, address: str) -> bool:
    """Return whether a connection stays on this machine: over a Unix socket, or to loopback."""
    with suppress(ValueError):
        return host.startswith(("/", "@")) or ipaddress.ip_address(address).is_loopback
    return True


def _role(connection: Connection[Any]) -> Iterator[str]:
    (has_all,) = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() or (False,)
    if has_all:
        text = f"role: {connection.info.user} is a superuser, which the store does not need"
        yield _warning(text, "use a role that owns only the database: createuser --pwprompt strands")
