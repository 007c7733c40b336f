"""The commands on runs work on a store in Postgres as on a folder, and show no password of its address."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from store_kit import opened, until

from strands_cli.api import ExitCode
from tests.cli.strands import EXAMPLES, Folder, Ran, empty_folder
from tests.fakes.model_server import ModelServer, Turn
from tests.postgres.postgres_server import PASSWORD, PostgresServer

pytestmark = pytest.mark.postgres

QUICKSTART = str(EXAMPLES / "quickstart.yaml")
APPROVE = str(EXAMPLES / "approve-and-write.yaml")
MARKS = (PASSWORD, "p%40ss", "ss%2Fword")


class Commands:
    """Runs commands on one store; no output of any of them has the password."""

    def __init__(self, folder: Folder, address: str) -> None:
        self.folder, self.address = folder, address

    def run(self, *words: str, store: str | None = None, **env: str) -> Ran:
        places = {"STRANDS_RUNS_DIR": "", "STRANDS_STORE": store or self.address}
        ran = self.folder.strands(*words, **places, **env)
        assert not any(mark in ran.out + ran.err for mark in MARKS), ran.out + ran.err
        return ran

    def json(self, *words: str) -> Any:
        ran = self.run(*words, "--json")
        assert ran.code == ExitCode.OK, ran.err
        return ran.document


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with empty_folder(tmp_path) as made:
        made.trusts_every_workflow()
        yield made


@pytest.fixture
def commands(folder: Folder, address: str) -> Commands:
    return Commands(folder, address)


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """What the model waits for before it answers."""
    event = threading.Event()
    yield event
    event.set()


def live_workflow(folder: Folder, server: ModelServer) -> str:
    """Write a workflow of two steps whose model is a server here."""
    spec = {
        "version": 2,
        "name": "live",
        "runtime": {"provider": "openai", "model_id": "m", "host": server.url},
        "agents": {"writer": {"prompt": "You write."}},
        "pattern": {"type": "chain", "config": {"steps": [{"agent": "writer", "input": one} for one in ("a", "b")]}},
    }
    return str(folder.write("live.yaml", spec))


def test_a_store_is_made_checked_and_migrated(folder: Folder, database: str) -> None:
    commands = Commands(folder, database)
    for words in (("runs", "list"), ("runs", "store", "check"), ("runs", "store", "migrate"), ("run", QUICKSTART)):
        ran = commands.run(*words)
        assert ran.code == ExitCode.RUN_RECORD
        assert "strands runs store init --store " in ran.err
    # An engine that is installed adds what it has done.
    for words in (("runs", "store", "init"), ("runs", "store", "init"), ("runs", "store", "migrate")):
        assert database.rpartition("/")[2] in commands.json(*words)["done"][0]
    facts = [fact.partition(":")[0] for fact in commands.json("runs", "store", "check")["facts"]]
    assert {"server", "schema", "role"} <= {*facts}
    assert commands.json("runs", "list")["runs"] == []


def test_a_run_is_searched_and_reported(commands: Commands) -> None:
    pytest.importorskip("strands_cli_ui")
    assert commands.run("run", QUICKSTART).code == ExitCode.OK
    assert commands.run("runs", "report", "last").code == ExitCode.OK
    assert "honey" in commands.run("runs", "search", "honey").out


def test_a_run_is_listed_shown_and_pruned(commands: Commands) -> None:
    assert commands.run("run", QUICKSTART).code == ExitCode.OK
    (run,) = commands.json("runs", "list")["runs"]
    assert (run["workflow"], run["status"]) == ("quickstart", "completed")
    shown = commands.json("runs", "show", run["id"][:-2])
    assert shown["id"] == run["id"]
    assert shown["record"] == run["record"]
    assert commands.json("runs", "prune", "--older-than", "1d")["deleted"] == []
    assert commands.json("runs", "prune", "--older-than", "0d", "--dry-run")["deleted"] == [run["id"]]
    assert commands.json("runs", "prune", "--older-than", "0d")["deleted"] == [run["id"]]
    assert commands.json("runs", "list")["runs"] == []


def test_a_run_that_waits_is_answered(commands: Commands) -> None:
    assert commands.run("run", APPROVE, "--detach").code == ExitCode.WAITING
    assert commands.run("approve", "last").code == ExitCode.WAITING
    assert commands.run("approve", "last").code == ExitCode.OK
    assert (commands.folder.work / "artifacts").exists() or (commands.folder.work / "notice.md").exists()
    assert [run["status"] for run in commands.json("runs", "list")["runs"]] == ["completed"]


def test_a_killed_run_is_resumed_and_repeats_no_finished_call(commands: Commands, hanging: threading.Event) -> None:
    with ModelServer([Turn("first"), Turn("second", after=hanging), Turn("second")]) as server:
        flow, env = live_workflow(commands.folder, server), {"OPENAI_API_KEY": "key-of-tests"}
        place = {"STRANDS_RUNS_DIR": "", "STRANDS_STORE": commands.address}
        started = commands.folder.start("run", flow, **place, **env)
        until(lambda: len(server.requests) == 2)
        started.send(signal.SIGKILL)
        started.end()
        with opened(commands.address) as found:
            until(lambda: found.read(found.find("last")).status == "interrupted")
        assert commands.run("resume", "last", **env).code == ExitCode.OK
        # Only the call that was in flight is made again.
        assert len(server.requests) == 3
    assert [run["status"] for run in commands.json("runs", "list")["runs"]] == ["completed"]


def test_a_run_is_cancelled_from_another_process(commands: Commands, hanging: threading.Event) -> None:
    with ModelServer([Turn("first", after=hanging)]) as server:
        flow, env = live_workflow(commands.folder, server), {"OPENAI_API_KEY": "key-of-tests"}
        place = {"STRANDS_RUNS_DIR": "", "STRANDS_STORE": commands.address}
        started = commands.folder.start("run", flow, **place, **env)
        until(lambda: len(server.requests) == 1)
        assert commands.run("runs", "cancel", "last").code == ExitCode.OK
        ended = started.end()
        assert (ended.code, "strands resume" in ended.err) == (ExitCode.RUN_RECORD, False), ended.err
        assert len(server.requests) == 1
    (run,) = commands.json("runs", "list")["runs"]
    assert run["status"] == "cancelled"
    assert f"strands runs show {run['id']} --store " in ended.err


def test_a_run_whose_connection_is_cut_says_so_and_how_it_goes_on(
    commands: Commands, hanging: threading.Event, postgres_server: PostgresServer
) -> None:
    with ModelServer([Turn("first", after=hanging), Turn("first"), Turn("second")]) as server:
        flow, env = live_workflow(commands.folder, server), {"OPENAI_API_KEY": "key-of-tests"}
        place = {"STRANDS_RUNS_DIR": "", "STRANDS_STORE": commands.address}
        started = commands.folder.start("run", flow, "--log", "json", **place, **env)
        until(lambda: len(server.requests) == 1)
        cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s"
        postgres_server.run(cut, commands.address.rpartition("/")[2], superuser=True)
        ended = started.end()
        assert ended.code == ExitCode.RUN_RECORD
        lines = [json.loads(line) for line in ended.err.splitlines()]
        (event,) = (line["event"] for line in lines if (line.get("event") or {}).get("event") == "RunFinished")
        assert event["status"] == "interrupted"
        assert "connection" in event["reason"]
        assert event["reason"] in lines[-1]["message"]
        assert commands.run("resume", event["run_id"], **env).code == ExitCode.OK
        assert f"strands resume {event['run_id']}" in lines[-1]["message"]


def test_a_wrong_store_ends_a_run_before_anything_is_sent(
    commands: Commands, postgres_server: PostgresServer, database: str
) -> None:
    wrong = {
        database.replace("p%40ss", "wrong"): ExitCode.RUN_RECORD,
        database + "_none": ExitCode.RUN_RECORD,
        database.replace("127.0.0.1:", "127.0.0.1:1"): ExitCode.RUN_RECORD,
        database.replace("postgresql://", "postgresq://"): ExitCode.USAGE,
        "postgresql": ExitCode.USAGE,
    }
    with ModelServer([Turn("first"), Turn("second")]) as server:
        flow = live_workflow(commands.folder, server)
        for store, code in wrong.items():
            ran = commands.run("run", flow, store=store, OPENAI_API_KEY="key-of-tests")
            assert (ran.code, "fix: " in ran.err) == (code, True), ran.err
        postgres_server.run(
            "UPDATE strands.meta SET value = '99' WHERE name = 'format'", database=database.split("/")[-1]
        )
        assert commands.run("run", flow, OPENAI_API_KEY="key-of-tests").code == ExitCode.RUN_RECORD
        assert server.requests == []


def test_a_secret_takes_the_place_of_the_password(commands: Commands, address: str) -> None:
    secret = commands.folder.write("secret", PASSWORD)
    encoded = address.partition("strands:")[2].partition("@")[0]
    for reference in ("{env:STORE_PASSWORD}", f"{{file:{secret}}}", f"{{command:cat {secret}}}"):
        store = address.replace(encoded, reference)
        assert commands.run("runs", "list", store=store, STORE_PASSWORD=PASSWORD).code == ExitCode.OK
    assert commands.run("runs", "list", store=address.replace(encoded, "{env:NOT_SET}")).code == ExitCode.USAGE
