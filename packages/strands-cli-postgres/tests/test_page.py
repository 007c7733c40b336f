"""The commands and statements of the page on Postgres do what it says, one after another, on a server of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from store_kit import FACTS, done, refused, write

from strands_cli.api import StorePlace
from strands_cli_postgres import store
from tests.cli.strands import empty_folder
from tests.docs.pages import CLONE, blocks
from tests.postgres.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

PAGE = CLONE / "docs" / "how-to" / "postgres.md"
EXPORTED = {"STRANDS_STORE", "STORE_PASSWORD"}
HOST, PASSWORD = "db.example.com:5432", "choose-another"


def test_the_page_holds_on_a_new_server(make_postgres: Callable[[], PostgresServer], tmp_path: Path) -> None:
    server = make_postgres()
    server.run("DROP ROLE strands", superuser=True)
    programs = os.pathsep.join([str(Path(sys.executable).parent), str(server.programs), os.environ["PATH"]])
    environment: dict[str, str] = {}
    ran: list[str] = []
    with empty_folder(tmp_path) as folder:
        folder.examples()
        for block in blocks(PAGE):
            if "postgres" not in block.marks.get("not run", ""):
                continue
            text = block.text.replace(HOST, f"127.0.0.1:{server.port}").replace(
                "-h db.example.com -p 5432", f"-h 127.0.0.1 -p {server.port}"
            )
            if block.language == "sql":
                database = "agents" if "SCHEMA" in text else "postgres"
                for statement in filter(None, map(str.strip, text.split(";"))):
                    server.run(statement, database=database, superuser=True)
                continue
            # What a block exports is there in those after it.
            script = f"set -eu\n{text}\nenv -0 > {tmp_path}/env\n"
            done_here = folder.run(["bash", "-c", script], **{"STRANDS_RUNS_DIR": "", **environment, "PATH": programs})
            assert done_here.code == 0, f"{block}: {done_here.err}"
            names = dict(one.partition("=")[::2] for one in (tmp_path / "env").read_text().split("\0"))
            environment |= {name: names[name] for name in EXPORTED & names.keys()}
            ran.append(done_here.out)
    assert "quickstart" in ran[0]
    assert len(ran) == 3
    for role, may_write in (("worker", True), ("viewer", False)):
        address = f"postgresql://{role}:{PASSWORD}@127.0.0.1:{server.port}/agents"
        opened = store.open(StorePlace(address=address), address)
        assert opened.runs()[1] == []
        if may_write:
            journal = opened.create("run")
            journal.put(**FACTS)
            assert write(journal, done(1)) == [None]
            journal.close()
            opened.delete("run")
        else:
            refused(lambda opened=opened: opened.create("run"))
        opened.close()


def test_a_copy_restores_every_run(make_postgres: Callable[[], PostgresServer], tmp_path: Path) -> None:
    server = make_postgres()
    for name in ("agents", "restored"):
        server.run(f"CREATE DATABASE {name}")
    address, place = server.address("agents"), StorePlace(address=server.address("agents"))
    store.init(place, address)
    opened = store.open(place, address)
    journal = opened.create("run")
    journal.put(**FACTS)
    write(journal, done(1, "x" * 100_000), done(2))
    journal.close()
    opened.close()
    dump = tmp_path / "dump"
    for program, *words in (
        ("pg_dump", "-n", "strands", "-Fc", "-f", str(dump), address),
        ("pg_restore", "-d", server.address("restored"), str(dump)),
    ):
        subprocess.run([str(server.programs / program), *words], check=True)
    restored = store.open(place, server.address("restored"))
    assert restored.read("run").status == "interrupted"
    again = restored.open("run")
    assert [row.output for row in again.rows()] == ["x" * 100_000, None]
    assert write(again, done(3)) == [None]
    again.close()
    with psycopg.connect(server.address("restored")) as connection:
        assert connection.execute("SELECT count(*) FROM strands.outputs").fetchone() == (1,)
    restored.close()
