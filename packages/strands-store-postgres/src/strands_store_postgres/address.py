"""The address of a store: what Postgres's client gets of it, and the schema that has the tables."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass, field
from importlib.metadata import version
from urllib.parse import unquote

from strands_cli.errors import RunRecordError
from strands_cli.stores import StorePlace

SCHEMA = "strands"
# A name that needs no quotes anywhere; short enough for the name of the channel that is made of it.
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}")
# When a connection counts as lost. Without these a process would wait two hours for a machine that has vanished, and
# the server would keep the runs of a process whose machine has vanished as long.
IDLE_S, INTERVAL_S, COUNT, USER_TIMEOUT_MS = 10, 5, 3, 20_000
_DEFAULTS = {
    "connect_timeout": "10",
    "keepalives": "1",
    "keepalives_idle": str(IDLE_S),
    "keepalives_interval": str(INTERVAL_S),
    "keepalives_count": str(COUNT),
    "tcp_user_timeout": str(USER_TIMEOUT_MS),
}


@dataclass(frozen=True, slots=True)
class Target:
    """A database and the schema in it.

    Attributes:
        conninfo: The parameters of a connection; they may have a password.
        schema: The name of the schema, which needs no quotes.
    """

    conninfo: str = field(repr=False)
    schema: str


def target_of(place: StorePlace, address: str) -> Target:
    """Return what an address names; parameters that it does not have get defaults.

    Raises:
        RunRecordError: It is not an address of a Postgres database.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    address, schema = _without_schema(address)
    if _NAME.fullmatch(schema) is None:
        raise RunRecordError(
            f"the store {place} cannot be used: {schema!r} is not the name of a schema",
            fix="name it with up to 48 letters a to z, digits and underscores: ?schema=strands_test",
        )
    try:
        given = conninfo_to_dict(f"postgresql://{address.partition('://')[2]}")
    except ProgrammingError:
        # The client's message may have a part of the password.
        raise RunRecordError(
            f"the address of the store {place} cannot be read",
            fix="write postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require, with %40 for @, %2F for / and "
            "%25 for % in the password, and parameters that libpq knows",
        ) from None
    return Target(
        make_conninfo("", **{**_DEFAULTS, "application_name": _own_name(), **given}, client_encoding="UTF8"), schema
    )


def _without_schema(address: str) -> tuple[str, str]:
    """Return the address without the parameter `schema`, which libpq does not know, and its value."""
    before, mark, query = address.partition("?")
    others = [one for one in query.split("&") if one and not one.startswith("schema=")]
    named = [unquote(one.partition("=")[2]) for one in query.split("&") if one.startswith("schema=")]
    return before + (mark + "&".join(others) if others else ""), named[-1] if named else SCHEMA


def _own_name() -> str:
    """Return the name of this process in the server's list of connections, which has 63 bytes."""
    return f"strands-cli/{version('strands-store-postgres')} {os.getpid()}@{platform.node()}"[:63]
