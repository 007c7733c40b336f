"""Rows and facts of runs in tests, and how a store is opened; imported by processes that have to start fast."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from strands_cli.api import Row, StorePlace
from strands_cli_postgres import store
from strands_cli_postgres.postgres_store import PostgresStore

ROW = Row("steps.0", "model", "started", "digest", started_at=12.5)
FACTS: dict[str, Any] = {"workflow": "w", "pattern": "chain", "file": "f.yaml", "status": "running", "started_at": 5.0}


@contextlib.contextmanager
def opened(address: str) -> Iterator[PostgresStore]:
    with contextlib.closing(store.open(StorePlace(address=address), address)) as found:
        yield found


def done(number: int, output: Any = None) -> Row:
    return replace(ROW, key=f"steps.{number}", status="done", output=output, ended_at=13.5)
