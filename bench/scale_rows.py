"""The budgets beyond one process: steps a second, rows of a batch, more workers, and workers that are killed."""

from __future__ import annotations

import contextlib
import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.governed import allowed_to_answered
from bench.measure import Command, Cost, Figure, clean_environment, spend, spread_of
from bench.rows import CLONE, Row
from bench.scale_calibration import Server, server
from bench.scale_runs import QUEUE, SLOTS, STEPS, flow, json_serializer

RUNS, WARM = 120, 24
SLOW_RUNS, SLOW_STEPS, LATENCY_S = 24, 2, 1.0
# How long the submission of these may take: they all begin then.
SUBMIT_S = 10.0
KILLS = 20
FEW, SOME, MANY = 20, 220, 5_000
PROGRAM = [sys.executable, "-m", "bench.scale_runs"]
LIMIT_S = 300


@dataclass(frozen=True)
class Place:
    """A store with queues in a database of its own."""

    at: Server
    name: str
    folder: Path

    @property
    def address(self) -> str:
        """The address of the store."""
        return self.at.url(self.name)

    def query(self, statement: str) -> Any:
        """Return the first row of a statement."""
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            return connection.execute(statement).fetchone()

    def until(self, statement: str) -> Any:
        """Return the first row of a statement as soon as its first column is true."""
        import psycopg

        end = time.monotonic() + LIMIT_S
        with psycopg.connect(self.address, autocommit=True) as connection:
            while time.monotonic() < end:
                row = connection.execute(statement).fetchone()
                if row and row[0]:
                    return row
                time.sleep(0.01)
        raise RuntimeError(f"it did not come to this: {statement}")


_numbers = iter(range(1, 1_000_000))


@contextlib.contextmanager
def place(at: Server, folder: Path) -> Iterator[Place]:
    """Make a store with queues."""
    import psycopg

    from strands_cli.engine.stored_runs.opened_store import open_store, opener_of
    from strands_cli.engine.stored_runs.run_owners import run_owner
    from strands_cli.store_place import StorePlace

    name = f"bench_{next(_numbers)}"
    with psycopg.connect(at.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    made = Place(at, name, folder)
    stored = StorePlace(address=made.address)
    opener, address = opener_of(stored)
    opener.init(stored, address)
    with contextlib.closing(open_store(stored)) as store:
        run_owner("workers").prepare(store)
    yield made


def submit(
    at: Place, steps: int, count: int, host: str = "http://127.0.0.1:9/v1", delay_s: float | None = None
) -> list[str]:
    """Submit runs of a workflow, all of which wait for one moment, and return their ids."""
    from strands_cli import app
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.store_place import StorePlace
    from strands_cli_workers.open_queue import opened_queue
    from strands_cli_workers.queue_values import Ticket
    from strands_cli_workers.submission import Submission, submittable

    (at.folder / "flow.yaml").write_text(flow(steps, host), encoding="utf-8")
    stored = StorePlace(address=at.address)
    with opened_queue(stored) as (store, queue):
        runs = []
        moment = None if delay_s is None else time.time() + delay_s
        for number in range(count):
            request = RunRequest(values={"topic": f"river {number}"}, store=at.address, out_dir=Path("out"))
            run = submittable(app.plan(at.folder / "flow.yaml", request), request)
            runs.append(Submission(store, queue).submit(run, Ticket("", QUEUE, at=moment)).run_id)
        return runs


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a program of this package."""
    return clean_environment(HOME=str(folder), PYTHONPATH=str(CLONE), OPENAI_API_KEY="not-a-key", **more)


@contextlib.contextmanager
def started(commands: Sequence[Sequence[str]], folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start programs, and kill them at the end."""
    processes = []
    try:
        for command in commands:
            process = subprocess.Popen(
                command, cwd=folder, env=environment(folder), stdin=-1, stdout=-3, stderr=subprocess.DEVNULL
            )
            processes.append(process)
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def worker(at: Place, slots: int, *, in_process: bool) -> list[str]:
    """Return the command of a worker."""
    program = [*PROGRAM, "strands"] if in_process else [sys.executable, "-m", "strands_cli"]
    return [*program, "workers", "start", "--queue", QUEUE, "--concurrency", str(slots), "--store", at.address]


OURS = "SELECT count(*) >= {}, clock_timestamp() FROM strands.runs WHERE status = 'completed'"
RAW = "SELECT count(*) >= {}, clock_timestamp() FROM dbos.workflow_status WHERE status = 'SUCCESS'"


def rate(at: Place, done: str) -> float:
    """Return the steps a second from the moment when all workers are at work to the end."""
    began, ended = (at.until(done.format(count))[1] for count in (WARM, RUNS))
    return (RUNS - WARM) * STEPS / float((ended - began).total_seconds())


def ours_per_s(at: Server, folder: Path) -> float:
    """Return the steps a second of two workers of ours, whose runs are in the queue before they start."""
    with place(at, folder) as made:
        submit(made, STEPS, RUNS)
        with started([worker(made, SLOTS, in_process=True)] * 2, folder):
            return rate(made, OURS)


def raw_per_s(at: Server, folder: Path) -> float:
    """Return the steps a second of two workers of plain DBOS with the same steps."""
    import psycopg
    from dbos import DBOS, DBOSClient

    made = Place(at, f"raw_{next(_numbers)}", folder)
    with psycopg.connect(at.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {made.name}")
    DBOS.migrate(made.address)
    client = DBOSClient(system_database_url=made.address, serializer=json_serializer())
    for number in range(RUNS):
        options: Any = {"workflow_name": "chain", "queue_name": QUEUE, "workflow_id": f"run-{number}"}
        client.enqueue(options | {"app_version": "1"}, f"river {number}")
    client.destroy()
    with started([[*PROGRAM, "raw-worker", made.address, f"w{number}"] for number in range(2)], folder):
        return rate(made, RAW)


def steps_against_raw(folder: Path, pairs: int) -> Figure:
    """Measure how long a step of ours takes with 2 workers, to one of plain DBOS."""
    with server() as at:
        found = [(1000 / ours_per_s(at, folder), 1000 / raw_per_s(at, folder)) for _ in range(pairs)]
    ratios = [ours / raw for ours, raw in found]
    print(f"  steps/s ours {[round(1000 / a, 1) for a, _ in found]} raw {[round(1000 / b, 1) for _, b in found]}")
    return Figure(statistics.median(a for a, _ in found), None, statistics.median(ratios), spread_of(ratios))


def batch(
    folder: Path, rows: int, name: str, *, in_process: bool, url: str = "http://127.0.0.1:9/v1", steps: int = 1
) -> Command:
    """Return the command of a batch of so many rows."""
    (folder / f"{name}.yaml").write_text(flow(steps, url), encoding="utf-8")
    (folder / f"{name}.csv").write_text("topic\n" + "".join(f"river {n}\n" for n in range(rows)), encoding="utf-8")
    program = [*PROGRAM, "strands"] if in_process else [sys.executable, "-m", "strands_cli"]
    words = ["batch", f"{name}.yaml", f"{name}.csv", "-o", f"{name}.jsonl", "--name", name, "--quiet"]
    runs = ["--runs-dir", str(folder / f"runs-{name}")]
    return Command([*program, *words, *runs], folder, environment(folder))


def steps_on_sqlite(folder: Path, pairs: int) -> Figure:
    """Measure a step of the same runs with journals of SQLite in one process, as a batch."""
    costs = []
    for number in range(pairs):
        times = []
        for rows in (WARM, RUNS):
            began = time.perf_counter()
            spend(batch(folder, rows, f"b{number}-{rows}", in_process=True, steps=STEPS))
            times.append(time.perf_counter() - began)
        costs.append((times[1] - times[0]) * 1000 / ((RUNS - WARM) * STEPS))
    return Figure(statistics.median(costs))


@contextlib.contextmanager
def scripted_model(folder: Path, answer: str = "Rivers bend.", delay_s: float = 0.0) -> Iterator[str]:
    """Serve a model that answers each request with a text, a token of four characters at a time, after some seconds."""
    script = folder / "turns.json"
    script.write_text(json.dumps([{"text": answer, "delay_s": delay_s}]), encoding="utf-8")
    words = ["--script", str(script), "--repeat", "--max-seconds", "600", "--chunk-chars", "4"]
    command = [sys.executable, "-m", "tests.fakes.model_server", *words]
    with subprocess.Popen(command, cwd=CLONE, env=environment(folder), stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.stdout.readline().split()[-1]
        process.stdin.close()


def row_against_bare(tokens: int) -> Callable[[Path, int], Figure]:
    """Return what measures the CPU of a row of the whole command, without its start, to a bare loop with one client.

    Args:
        tokens: How long the answers are. What a row costs beside its call is the same for short and long ones.
    """

    def measure(folder: Path, pairs: int) -> Figure:
        found = []
        with scripted_model(folder, "word" * tokens) as url:
            for number in range(pairs + 1):
                few, some = (
                    spend(batch(folder, rows, f"r{number}-{rows}", in_process=False, url=url)) for rows in (FEW, SOME)
                )
                bare = [
                    spend(Command([*PROGRAM, "bare", url, str(rows)], folder, environment(folder)))
                    for rows in (FEW, SOME)
                ]
                found.append((_per_row(few, some), _per_row(*bare)))
        ratios = [ours / theirs for ours, theirs in found[1:]]
        return Figure(statistics.median(a for a, _ in found[1:]), None, statistics.median(ratios), spread_of(ratios))

    return measure


def _per_row(few: Cost, some: Cost) -> float:
    return (some.ms - few.ms) / (SOME - FEW)


def memory_of_rows(folder: Path, pairs: int) -> Figure:
    """Measure the peak memory of 5,000 rows to that of 1,000.

    Before, the peak grows by what the SDK's agents leave for the garbage collector, which looks at all of it only when
    it has become a quarter of what lives.
    """
    del pairs
    few, many = (spend(batch(folder, rows, f"m{rows}", in_process=True)) for rows in (MANY // 5, MANY))
    return Figure(many.ms / MANY, many.mb - few.mb, many.mb / few.mb, (many.mb / few.mb,) * 2)


ALIVE = "SELECT count(*) = {} FROM strands_dbos.strands_workers"


WORKED = """
SELECT max(r.ended_at) - (SELECT min(e.started_at) FROM strands.effects e JOIN strands.runs w ON w.number = e.run
    WHERE w.id = ANY({ids})) FROM strands.runs r WHERE r.id = ANY({ids})"""


def two_workers_to_one(folder: Path, pairs: int) -> Figure:
    """Measure the time of slow runs with two workers, to that with one, which all have made a call before."""
    found: list[list[float]] = []
    with server() as at, scripted_model(folder, delay_s=LATENCY_S) as url:
        for _ in range(max(1, pairs // 2)):
            times = [_worked(at, folder, url, count) for count in (2, 1)]
            found.append(times)
    ratios = [two / one for two, one in found]
    return Figure(statistics.median(two for two, _ in found) * 1000, None, statistics.median(ratios), spread_of(ratios))


def _worked(at: Server, folder: Path, url: str, count: int) -> float:
    """Return the seconds from the first call of slow runs to the end of the last one."""
    done = "SELECT count(*) = {} FROM strands.runs WHERE status = 'completed'"
    with place(at, folder) as made, started([worker(made, 4, in_process=False)] * count, folder):
        made.until(ALIVE.format(count))
        submit(made, 1, 4 * count, url)
        made.until(done.format(4 * count))
        runs = submit(made, SLOW_STEPS, SLOW_RUNS, url, delay_s=SUBMIT_S)
        made.until(done.format(4 * count + SLOW_RUNS))
        return float(made.query(WORKED.format(ids=f"ARRAY{runs}"))[0])


def recovery(folder: Path, pairs: int) -> Figure:
    """Measure how long after SIGKILL of a worker another one continues its run: the 95th percentile, to 5 s."""
    del pairs
    times = []
    with (
        server() as at,
        scripted_model(folder, delay_s=3600) as url,
        place(at, folder) as made,
        contextlib.ExitStack() as stack,
    ):
        (first,) = stack.enter_context(started([worker(made, 2, in_process=False)], folder))
        made.until(ALIVE.format(1))
        (run,) = submit(made, 1, 1, url)
        holds = f"SELECT holder::jsonb->>'pid' = '{{}}' FROM strands.runs WHERE id = '{run}'"
        made.until(holds.format(first.pid))
        for _ in range(KILLS):
            (second,) = stack.enter_context(started([worker(made, 2, in_process=False)], folder))
            made.until("SELECT count(*) >= 2 FROM strands_dbos.strands_workers")
            first.send_signal(signal.SIGKILL)
            began = time.perf_counter()
            made.until(holds.format(second.pid))
            times.append(time.perf_counter() - began)
            first = second
    times.sort()
    high = statistics.quantiles(times, n=20, method="inclusive")[18]
    print(f"  seconds {[round(one, 2) for one in times]}")
    return Figure(high * 1000, None, high / 5.0, (times[len(times) // 4] / 5, times[3 * len(times) // 4] / 5))


SCALE_ROWS = [
    Row("scale-steps", "a step, 2 workers, to raw DBOS (0.9 of its steps/s)", steps_against_raw, ratio=1.11),
    Row("scale-sqlite", "the same steps, SQLite in one process", steps_on_sqlite),
    Row("scale-row", "CPU of a row of a batch, 200 tokens, to a bare loop", row_against_bare(200), ratio=1.3),
    Row("scale-row-short", "the same with answers of 3 tokens", row_against_bare(3)),
    Row("scale-memory", "peak of 5,000 rows, to 1,000; MB more", memory_of_rows, ratio=1.1, mb=20),
    Row("scale-two", "2 workers, slow model, to 1 (1.8 times as fast)", two_workers_to_one, ratio=0.556),
    Row(
        "scale-governor", "60 requests in 10 s, to those that 8 processes get (95 %)", allowed_to_answered, ratio=1.053
    ),
    Row("scale-recovery", "SIGKILL to continued: p95 of 20, to 5 s", recovery, ratio=1.0),
]
