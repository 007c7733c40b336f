"""The address of a store: the parameters for Postgres's client, and the schema with the tables."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass, field
from importlib.metadata import version
from urllib.parse import unquote

from strands_cli.api import RunRecordError, StorePlace

SCHEMA = "strands"
# A name that needs no quotes anywhere; short enough for the name of the channel made of it.
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}")
# The client takes the text after an @, / or ? of an unencoded password for a host, and its messages show it.
_USER = re.compile(r"[^:]+://(?:[^@/?#]*@)?[^@]*")
# When a connection counts as lost. Without these a process would wait two hours for a vanished machine, and the server
# would keep the runs of a process on such a machine as long.
IDLE_S, INTERVAL_S, COUNT, USER_TIMEOUT_MS = 10, 5, 3, 20_000
# How long a reply may not come until the connection counts as lost, although both ends are there.
REPLY_S = 20.0
_OWN = ("schema", "pooler", "reply_timeout")
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
        has_pooler: Whether the address says that a pooler is between, which keeps one connection for each of ours.
        reply_s: After how many silent seconds a statement's reply counts as lost; None waits for good.
    """

    conninfo: str = field(repr=False)
    schema: str
    has_pooler: bool = False
    reply_s: float | None = REPLY_S


def target_of(place: StorePlace, address: str) -> Target:
    """Return the target of an address; missing parameters get defaults.

    Raises:
        RunRecordError: It is not an address of a Postgres database.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    address, own = _without_own(address)
    schema = own.get("schema", SCHEMA)
    if _NAME.fullmatch(schema) is None:
        raise RunRecordError(
            f"the store {place} cannot be used: {schema!r} is not the name of a schema",
            fix="name it with up to 48 letters a to z, digits and underscores: ?schema=strands_test",
        )
    try:
        parameters = conninfo_to_dict(f"postgresql://{address.partition('://')[2]}")
    except ProgrammingError:
        # The client's message may have a part of the password.
        raise _unreadable(place) from None
    ports = str(parameters.get("port") or "").split(",")
    if not _USER.fullmatch(address) or not all(port.isdecimal() for port in ports if port):
        raise _unreadable(place)
    conninfo = make_conninfo("", **{**_DEFAULTS, "application_name": _own_name(), **parameters}, client_encoding="UTF8")
    if own.get("pooler", "session") != "session":
        raise RunRecordError(
            f"the store {place} cannot be used with pooler={own['pooler']}",
            fix="have the pooler keep a connection for the whole session, and write pooler=session",
        )
    return Target(conninfo, schema, "pooler" in own, _reply_s(place, own.get("reply_timeout")))


def _reply_s(place: StorePlace, text: str | None) -> float | None:
    if text is None:
        return REPLY_S
    if not re.fullmatch(r"[0-9]{1,6}", text):
        raise RunRecordError(
            f"the store {place} cannot be used with reply_timeout={text}",
            fix="write whole seconds, or 0 for no limit: reply_timeout=20",
        )
    return float(text) or None


def _unreadable(place: StorePlace) -> RunRecordError:
    return RunRecordError(
        f"the address of the store {place} cannot be read",
        fix="write postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require, with %40 for @, %2F for /, "
        "%3F for ?, %23 for # and %25 for % in the password, and parameters that libpq knows",
    )


def _without_own(address: str) -> tuple[str, dict[str, str]]:
    """Return the address without the parameters that libpq does not know, and their values."""
    before, mark, query = address.partition("?")
    parts = [word.partition("=") for word in query.split("&") if word]
    own = {name: unquote(value) for name, _, value in parts if name in _OWN}
    others = "&".join("".join(part) for part in parts if part[0] not in _OWN)
    return before + (mark + others if others else ""), own


def _own_name() -> str:
    """Return the name of this process in the server's list of connections, of at most 63 bytes."""
    return f"strands-cli/{version('strands-cli-postgres')} {os.getpid()}@{platform.node()}"[:63]
