"""`worker --dev`: a store that starts by itself, is made ready once, and is named for other commands."""

from __future__ import annotations

import fcntl
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_cli_postgres.dev_server import dev_server
from tests.cli.strands import Folder, Ran, empty_folder

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(sys.platform == "win32", reason="the server has a Unix socket"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with empty_folder(tmp_path) as made:
        yield made
        wait_for_stop(tmp_path)


def wait_for_stop(root: Path) -> None:
    """Return when no server that has its data below the folder runs."""
    for lock in root.rglob("server.lock"):
        with lock.open("rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)


def drained(folder: Folder, **env: str) -> list[dict[str, str]]:
    """Let a worker take what waits, and return its log."""
    ran = folder.strands("workers", "start", "--dev", "--drain", "--log", "json", **env)
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.err.splitlines()]


def address_in(log: list[dict[str, str]]) -> str:
    (found,) = [line["address"] for line in log if line["event"] == "store"]
    return found


def test_a_store_is_started_and_named_and_stays_for_the_next_time(folder: Folder) -> None:
    # What is exported for other commands does not change what `--dev` means.
    first, second = (
        drained(folder),
        drained(folder, STRANDS_STORE="postgresql://nowhere.invalid/x", STRANDS_RUNS_DIR=""),
    )
    address = address_in(first)
    assert address == address_in(second)
    assert address.startswith("postgresql://strands@/strands?host=/")
    wait_for_stop(folder.root)
    shown = folder.strands("runs", "list", "--store", address)
    assert shown.code == 17, "the server ends with its last worker"
    assert "strands workers start --dev" in shown.err


def test_a_store_that_starts_and_one_that_is_named_are_two(folder: Folder) -> None:
    ran: Ran = folder.strands("workers", "start", "--dev", "--store", "postgresql://strands@db/strands")
    assert ran.code == 2
    assert "omit" in ran.err


def test_the_doctor_checks_the_queues_too(folder: Folder) -> None:
    address = address_in(drained(folder))
    with dev_server(folder.root / "home" / ".local" / "share" / "strands-cli" / "dev-server"):
        ran = folder.strands("doctor", "--no-engines", "--json", STRANDS_STORE=address, STRANDS_RUNS_DIR="")
    lines = {line["name"]: line["status"] for line in ran.document["checks"]}
    assert (lines["store"], lines["workers"]) == ("ok", "ok")
