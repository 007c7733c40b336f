"""Workers whose server restarts, answers nothing, or which are frozen: they go on, and no finished call is repeated."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from swallowing_proxy import SwallowingProxy
from worker_sites import Site, site_at

from tests.postgres.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres


@pytest.fixture
def proxy(postgres_server: PostgresServer) -> Iterator[SwallowingProxy]:
    """Return a proxy before the server that all tests share."""
    made = SwallowingProxy(postgres_server.port)
    yield made
    made.close()


def through(site: Site, server: PostgresServer, proxy: SwallowingProxy, **parameters: str) -> str:
    """Return the address of the site's store by the proxy."""
    address = site.address.replace(f":{server.port}/", f":{proxy.port}/")
    return f"{address}?{'&'.join(f'{name}={value}' for name, value in parameters.items())}"


def test_workers_and_the_client_of_a_batch_survive_three_restarts_of_the_server(
    make_postgres: Callable[[], PostgresServer], tmp_path: Path
) -> None:
    """Each restart comes while all three lanes wait in their second call: their first ones are finished and stay so."""
    server = make_postgres()
    with site_at(server, tmp_path) as site:
        workers = [site.worker("--name", name) for name in ("one", "two")]
        topics = [f"restart{number}" for number in range(9)]
        site.folder.write("rows.csv", "topic\n" + "".join(f"{topic}\n" for topic in topics))
        groups = [topics[:3], topics[3:6], topics[6:]]
        holds = [[site.model.hold(f"second (first {topic}") for topic in group] for group in groups]
        words = ("batch", "run", "flow.yaml", "rows.csv", "-o", "out.jsonl", "--engine", "dbos", "--concurrency", "3")
        client = site.folder.start(*words, "--store", site.address)
        for number, (group, held) in enumerate(zip(groups, holds, strict=True)):
            site.model.wait_for(*(f"second (first {topic})" for topic in group))
            server.restart("immediate" if number else "fast")
            for worker in workers:
                worker.wait_for("started", times=number + 2)
            for event in held:
                event.set()
        ran = client.end()
        assert ran.code == 0, ran.err
        lines = [json.loads(line) for line in (site.folder.work / "out.jsonl").read_text().splitlines()]
        assert [line["response"] for line in lines] == [f"(second (first {topic}))" for topic in topics]
        assert {site.model.asked[f"first {topic}"] for topic in topics} == {1}
        assert [worker.process.poll() for worker in workers] == [None, None]


def test_a_worker_and_a_client_that_begin_before_the_server_wait_for_it_or_end_after_their_time(
    make_postgres: Callable[[], PostgresServer], tmp_path: Path
) -> None:
    server = make_postgres()
    with site_at(server, tmp_path) as site:
        site.folder.write("rows.csv", "topic\nearly\n")
        server.stop("fast")
        waits, ends = site.worker("--name", "waits"), site.worker("--name", "ends", "--connect-timeout", "1s")
        words = ("batch", "run", "flow.yaml", "rows.csv", "-o", "out.jsonl", "--engine", "dbos")
        client = site.folder.start(*words, "--store", site.address)
        assert ends.end() == 17
        assert waits.wait_for("warning")["level"] == "warning"
        server.start()
        assert waits.wait_for("started")
        assert client.end().code == 0


def test_replies_that_are_lost_while_tcp_stays_up_hang_nothing(
    clean: Site, proxy: SwallowingProxy, postgres_server: PostgresServer
) -> None:
    site = clean
    held = site.model.hold("second (first swallowed")
    address = through(site, postgres_server, proxy, reply_timeout="2")
    worker = site.worker("--name", "behind", "--concurrency", "3", "--store", address)
    runs = [site.submit(f"swallowed{number}") for number in range(3)]
    site.model.wait_for(*(f"second (first swallowed{number})" for number in range(3)))
    proxy.loses.set()
    site.until(lambda: proxy.lost > 200)
    held.set()
    worker.wait_for("ended")
    proxy.loses.clear()
    for run in runs:
        site.until(lambda run=run: site.status(run) == "completed")
    assert [site.model.asked[f"first swallowed{number}"] for number in range(3)] == [1] * 3
    worker.send(signal.SIGTERM)
    assert worker.end() == 0


@pytest.mark.parametrize("number", [1, 2])
def test_a_worker_that_gets_no_answer_ends_in_its_time_after_a_signal(
    clean: Site, proxy: SwallowingProxy, postgres_server: PostgresServer, number: int
) -> None:
    """Without a limit for replies, so that nothing but the end of the process helps."""
    site = clean
    site.model.hold("first silent")
    address = through(site, postgres_server, proxy, reply_timeout="0")
    worker = site.worker("--name", "silent", "--drain-timeout", "0s" if number == 1 else "10m", "--store", address)
    site.submit(f"silent{number}")
    site.model.wait_for(f"first silent{number}")
    proxy.loses.set()
    site.until(lambda: proxy.lost > 0)
    began = time.monotonic()
    worker.send(signal.SIGTERM)
    if number == 2:
        worker.wait_for("draining")
        worker.send(signal.SIGINT)
    assert worker.end() == (143 if number == 1 else 130)
    assert time.monotonic() - began < 60
    assert "did not end in its time" in worker.log[-1]["message"]


def test_others_take_over_the_runs_of_a_worker_that_is_frozen(clean: Site) -> None:
    site = clean
    held = site.model.hold("first iced")
    frozen = site.worker("--name", "frozen", "--queue", "of-iced", "--frozen-after", "2s")
    run = site.submit("iced", "--queue", "of-iced")
    site.model.wait_for("first iced")
    (shown,) = site.json("workers")["workers"]
    assert (shown["state"], shown["frozen_after_s"], shown["runs"]) == ("alive", 2.0, [run])
    assert shown["heartbeat_s"] < 60
    frozen.send(signal.SIGSTOP)
    site.until(lambda: site.json("workers")["workers"][0]["state"] == "frozen")
    other = site.worker("--name", "other", "--queue", "of-iced")
    site.model.wait_for("first iced", times=2)
    held.set()
    other.wait_for("finished", run)
    frozen.send(signal.SIGCONT)
    frozen.wait_for("started", times=2)
    assert site.status(run) == "completed"
    assert site.model.asked["second (first iced)"] == 1
    assert {one["state"] for one in site.json("workers")["workers"]} == {"alive"}


def test_a_worker_whose_event_loop_hangs_is_frozen_too_and_its_signal_ends_it(clean: Site, tmp_path: Path) -> None:
    """A tool that blocks the loop: the process answers the server, and works on nothing."""
    site, blocked = clean, tmp_path / "blocked"
    source = f"""
import pathlib
import time

TOOL_SPEC = {{"name": "block", "description": "Blocks.", "inputSchema": {{"json": {{"type": "object"}}}}}}


async def block(tool, **kwargs):
    pathlib.Path({str(blocked)!r}).touch()
    time.sleep(600)
"""
    from tests.distributions import make_distribution

    make_distribution(
        site.folder.site,
        "strands-tool-block",
        "1.0",
        {"block": "strands_tool_block"},
        {"strands_tool_block/__init__.py": source},
    )
    flow = site.flow(
        "blocks", pattern={"type": "chain", "config": {"steps": [{"tool": "native:block", "input": {}}]}}, inputs={}
    )
    queue = ("--queue", "of-hangs")
    worker = site.worker("--name", "hangs", *queue, "--frozen-after", "2s", "--drain-timeout", "0s")
    ran = site.strands("workers", "submit", flow, "--yes", *queue)
    assert ran.code == 0, ran.err
    # A slow import can look frozen too, and a signal then ends the worker in order.
    site.until(blocked.exists)
    site.until(lambda: [one["state"] for one in site.json("workers")["workers"]] == ["frozen"])
    worker.send(signal.SIGTERM)
    worker.send(signal.SIGINT)
    assert worker.end() in (130, 143), worker.log


@pytest.mark.parametrize("is_cached", [False, True])
def test_a_place_that_is_taken_refuses_a_run_before_its_model_is_asked(
    clean: Site, tmp_path: Path, is_cached: bool
) -> None:
    """In a queue of its own: the run that is refused stays queued, and writes the same file."""
    site, topic = clean, f"taken{is_cached}"
    queue = ("--queue", f"of-{topic.lower()}")
    flow = site.flow("writes", outputs={"artifacts": [{"path": "report.md", "from": "{{ last_response }}"}]})
    words = ("--name", "writes", *queue, "--workspace", str(tmp_path))
    worker = site.worker(*words)
    first = site.submit(f"{topic}1", *queue, flow=flow)
    worker.wait_for("finished", first)
    assert site.status(first) == "completed"
    if not is_cached:
        worker.kill()
        worker = site.worker(*words)
    second = site.submit(f"{topic}2", *queue, flow=flow)
    assert "report.md" in worker.wait_for("refused", second)["message"]
    assert site.status(second) == "queued"
    assert not site.model.asked[f"first {topic}2"]
