"""Connections on which no statement waits for its reply for good: after some silent seconds the connection is closed.

TCP tells when a peer is gone. It does not tell when something between (a proxy, a pooler, a sidecar) has lost a reply:
then both ends are well, and the client would wait forever. The server's `statement_timeout` does not help either, since
its message is one more reply. So the client counts: a request without a reply in time is lost, as if the connection had
been cut, and the process takes a new one.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import psycopg
from psycopg import pq

from strands_cli_postgres.address import REPLY_S


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that closes itself when a reply does not come.

    Attributes:
        reply_s: How many seconds may pass without a byte of a reply; None sets no limit.
    """

    reply_s: float | None = REPLY_S

    def wait(self, gen: Any, *how: Any, **named: Any) -> Any:
        """Consume a generator of the client, but no longer than a reply may take."""
        return super().wait(gen if self.reply_s is None else self._limited(gen, self.reply_s), *how, **named)

    def _limited(self, gen: Any, limit_s: float) -> Generator[Any, Any, Any]:
        """Pass on the generator's waits. Between replies, as when it listens, nothing is counted."""
        deadline = time.monotonic() + limit_s
        try:
            waiting_for = next(gen)
            while True:
                ready = yield waiting_for
                now = time.monotonic()
                if ready or self.pgconn.transaction_status != pq.TransactionStatus.ACTIVE:
                    deadline = now + limit_s
                elif now > deadline:
                    raise self._silent(limit_s)
                waiting_for = gen.send(ready)
        except StopIteration as end:
            return end.value

    def _silent(self, limit_s: float) -> psycopg.OperationalError:
        self.close()  # the socket is closed here: a server that still works on the statement learns it later
        return psycopg.OperationalError(f"the server has not answered for {limit_s:g} seconds")
