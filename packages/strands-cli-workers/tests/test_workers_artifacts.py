"""The files of runs in a database: fetched where no worker was, once beside their row, and gone with their run."""

from __future__ import annotations

import hashlib
import platform
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest
from worker_sites import GATE, Site

from tests.cli.strands import Ran

pytestmark = pytest.mark.postgres

LONG = "a long text, " * 20_000
FILES = {"artifacts": [{"path": "sub/out.txt", "from": "{{ last_response }}"}, {"path": "long.txt", "from": LONG}]}


def elsewhere(site: Site, *words: str) -> Ran:
    """Run a command about the store in a folder that has nothing to do with any run."""
    place = site.folder.root / "elsewhere"
    place.mkdir(exist_ok=True)
    return site.folder.strands(*words, "--store", site.address, cwd=place)


def outputs_of(site: Site, run_id: str) -> list[int]:
    """Return the lengths of what is stored beside the rows of a run."""
    statement = """
    SELECT length(o.value) FROM strands.outputs o JOIN strands.runs r ON r.number = o.run WHERE r.id = %s
    """
    with psycopg.connect(site.address) as connection:
        return [length for (length,) in connection.execute(statement, [run_id]).fetchall()]


@pytest.fixture(scope="module")
def made(site: Site) -> dict[str, Any]:
    """A run that a worker has completed whose folder is gone: the worker's line about its end, its id and its place."""
    flow = site.flow("writes", outputs=FILES)
    run_id = site.submit("bees", flow=flow)
    worker = site.worker("--drain", "--name", "one")
    assert worker.end() == 0
    files, started, finished = worker.files(run_id), worker.wait_for("started"), worker.wait_for("finished", run_id)
    folder = worker.folder_of(run_id)
    shutil.rmtree(worker.data)
    return {"run": run_id, "files": files, "id": started["worker"], "line": finished, "at": folder}


def test_the_files_of_a_worker_are_fetched_from_where_it_never_was(site: Site, made: dict[str, Any]) -> None:
    assert made["files"] == ["artifacts/long.txt", "artifacts/sub/out.txt"]
    listed = elsewhere(site, "runs", "artifacts", made["run"], "--json").document

    fetched = elsewhere(site, "runs", "artifacts", made["run"], "-o", "fetched")

    assert fetched.code == 0, fetched.err
    place = site.folder.root / "elsewhere" / "fetched"
    assert (place / "sub" / "out.txt").read_text() == "(second (first bees))"
    assert (place / "long.txt").read_text() == LONG
    for one in listed["artifacts"]:
        content = (place / Path(one["path"]).relative_to("artifacts")).read_bytes()
        assert (one["stored"], one["digest"]) == (True, hashlib.sha256(content).hexdigest())
    assert elsewhere(site, "runs", "artifacts", made["run"], "sub/out.txt").out == "(second (first bees))"


def test_a_run_says_on_which_machine_by_which_worker_and_where_it_was_worked_on(
    site: Site, made: dict[str, Any]
) -> None:
    shown = site.json("runs", "show", made["run"])

    assert shown["worked_on"] == {"machine": platform.node(), "folder": str(made["at"]), "worker": made["id"]}
    assert made["id"] in site.strands("runs", "show", made["run"]).out


def test_the_line_about_the_end_of_a_run_names_its_files(made: dict[str, Any]) -> None:
    assert made["line"]["artifacts"] == ["artifacts/sub/out.txt", "artifacts/long.txt"]


def test_a_submitted_run_says_how_its_files_are_fetched(site: Site) -> None:
    ran = site.strands("workers", "submit", "writes.yaml", "--var", "topic=later", "--at", "2999-01-01T00:00")

    assert f"strands runs artifacts {ran.out.strip()} -o DIR" in ran.err
    refused = elsewhere(site, "runs", "artifacts", ran.out.strip())
    assert refused.code == 12


def test_a_long_file_is_stored_once_and_deleted_with_its_run(site: Site) -> None:
    ran = site.strands("run", "writes.yaml", "--var", "topic=ants", "--json", OPENAI_API_KEY="of-the-person")
    run_id = ran.document["run"]

    (length,) = outputs_of(site, run_id)
    assert len(LONG) < length < 2 * len(LONG)

    assert site.strands("runs", "delete", run_id).code == 0
    assert outputs_of(site, run_id) == []


def test_the_files_of_a_run_in_a_terminal_are_in_the_database_too(site: Site) -> None:
    words = ("run", "writes.yaml", "--var", "topic=wasps", "--out", "own")
    run_id = site.strands(*words, "--json", OPENAI_API_KEY="of-the-person").document["run"]
    shutil.rmtree(site.folder.work / "own")

    assert elsewhere(site, "runs", "artifacts", run_id, "own/sub/out.txt").out == "(second (first wasps))"


def test_a_file_with_personal_data_comes_from_the_database_as_it_was_written(site: Site) -> None:
    guarded = {"guardrails": {"pii_redaction": True}}
    text = 'To "Ada" <ada@example.com>, 4111 1111 1111 1111\n'
    flow = site.flow("personal", security=guarded, outputs={"artifacts": [{"path": "to.txt", "from": text}]})
    words = ("run", flow, "--var", "topic=mail", "--out", "private", "--json")
    run_id = site.strands(*words, OPENAI_API_KEY="of-the-person").document["run"]
    written = (site.folder.work / "private" / "to.txt").read_text()
    (site.folder.work / "private" / "to.txt").unlink()

    fetched = elsewhere(site, "runs", "artifacts", run_id, "to.txt")

    assert (fetched.code, fetched.out) == (0, written)
    assert "ada@example.com" not in fetched.out


def test_the_files_of_a_batch_on_workers_are_fetched_with_one_command(site: Site) -> None:
    site.folder.write("rows.jsonl", '{"topic": "flies"}\n{"topic": "moths"}\n')
    worker, flow = site.worker("--queue", "rows"), site.flow("writes", outputs=FILES)
    words = ("batch", "run", flow, "rows.jsonl", "-o", "rows.out.jsonl", "--engine", "dbos", "--queue", "rows")
    ran = site.strands(*words, "--json")
    assert ran.code == 0, ran.err
    shutil.rmtree(worker.data)

    fetched = elsewhere(site, "batch", "artifacts", ran.document["batch"], "-o", "of-rows")

    assert fetched.code == 0, fetched.err
    texts = sorted(one.read_text() for one in (site.folder.root / "elsewhere" / "of-rows").glob("*/sub/out.txt"))
    assert texts == ["(second (first flies))", "(second (first moths))"]


def test_an_answer_from_another_folder_lets_a_worker_go_on_when_that_of_the_submission_is_gone(site: Site) -> None:
    flow = site.flow("gated", pattern={"type": "chain", "config": {"steps": GATE}}, outputs=FILES)
    run_id = site.submit("gone", "--queue", "moved", flow=flow)
    worker = site.worker("--queue", "moved")
    worker.wait_for("finished", run_id)
    moved = site.folder.work.rename(site.folder.root / "moved")
    try:
        refused = elsewhere(site, "approve", run_id, "--answer", "yes", "--here")
        assert refused.code == 17

        answered = elsewhere(site, "approve", run_id, "--answer", "yes")
        assert answered.code == 0, answered.err

        worker.wait_for("finished", run_id, times=2)
        assert elsewhere(site, "runs", "artifacts", run_id, "sub/out.txt").out == "(after yes gone)"
    finally:
        moved.rename(site.folder.work)


def test_the_folder_of_a_run_goes_when_the_run_is_deleted(site: Site) -> None:
    flow = site.flow("leaves", outputs=FILES)
    stays, goes = (site.submit(topic, "--queue", "leaves", flow=flow) for topic in ("one", "two"))
    first = site.worker("--queue", "leaves", "--drain")
    assert first.end() == 0
    of_other_store = first.data / "strands-cli" / "worker" / "0123456789ab" / "runs" / goes
    of_other_store.mkdir(parents=True)
    assert site.strands("runs", "delete", goes).code == 0

    second = site.worker("--queue", "leaves", "--drain", XDG_DATA_HOME=str(first.data))

    assert second.end() == 0
    assert second.events("removed")[0]["runs"] == [goes]
    assert second.files(stays) == ["artifacts/long.txt", "artifacts/sub/out.txt"]
    assert not second.folder_of(goes).exists()
    assert of_other_store.is_dir()
