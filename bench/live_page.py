"""Measures what a live page adds to a run that it shows: CPU time of the run's process, watched against alone.

Usage: python -m bench.live_page --pairs N

The page is that of a real `strands ui`; its reader keeps the stream of events open, and loads the page of the run again
after each event, as the script of the page does.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from bench.measure import Command, spend, spread_of

STEPS = 400
STRANDS = str(Path(sys.executable).with_name("strands"))
HEADER = """version: 2
name: bench-live
runtime: {provider: replay, recording: live.recording.yaml}
agents:
  one: {prompt: Answer., tools: []}
pattern:
  type: chain
  config:
    steps:
"""


def write_workflow(folder: Path) -> None:
    """Write a chain and what its model says."""
    steps = "".join("      - {agent: one, input: Go on.}\n" for _ in range(STEPS))
    (folder / "live.yaml").write_text(HEADER + steps, encoding="utf-8")
    turns = "".join(f"  steps.{number}: [{{text: A river bends.}}]\n" for number in range(STEPS))
    (folder / "live.recording.yaml").write_text(f"recording: 1\nsteps:\n{turns}", encoding="utf-8")


class Reader:
    """A browser that is admitted to the page and shows the newest run."""

    def __init__(self, address: str, runs: Path) -> None:
        self._place, self._runs = urlsplit(address).netloc, runs
        self._cookie = ""
        self.is_done = threading.Event()
        self.has_shown = threading.Event()
        response = self._get(f"/?{urlsplit(address).query}")
        self._cookie = (response.getheader("set-cookie") or "").partition(";")[0]
        response.read()

    def _get(self, path: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self._place, timeout=60)
        connection.request("GET", path, headers={"Cookie": self._cookie} if self._cookie else {})
        return connection.getresponse()

    def follow(self, known: set[str]) -> None:
        """Wait for a run that is not known, and read its events until `is_done`."""
        run = None
        while run is None and not self.is_done.wait(0.02):
            run = next(iter(run_names(self._runs) - known), None)
        if run is None:
            return
        stream = self._get(f"/runs/{run}/events")
        while not self.is_done.is_set() and (line := stream.readline()):
            if line.startswith(b"event: changed"):
                page = self._get(f"/runs/{run}")
                page.read()
                if page.status == 200:
                    self.has_shown.set()
        stream.close()


def run_names(runs: Path) -> set[str]:
    """Return the names of the runs there are; what else is in their folder has a dot before its name."""
    return {one.name for one in runs.glob("[!.]*") if one.is_dir()}


@contextlib.contextmanager
def served(folder: Path, runs: Path) -> Iterator[str]:
    """Yield the address of a page of these runs."""
    command = [STRANDS, "ui", "--port", "0", "--runs-dir", str(runs)]
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.send_signal(signal.SIGINT)


def run_ms(folder: Path, runs: Path) -> float:
    """Return the CPU milliseconds of the process of one run."""
    command = [STRANDS, "run", "live.yaml", "--runs-dir", str(runs), "--out", str(folder / "out")]
    return spend(Command(command, folder, os.environ)).ms


def watched_ms(folder: Path, runs: Path, address: str) -> float:
    """Return the same of a run that a page shows; raise `RuntimeError` where the page has shown nothing of it."""
    reader, known = Reader(address, runs), run_names(runs)
    following = threading.Thread(target=reader.follow, args=(known,), daemon=True)
    following.start()
    spent = run_ms(folder, runs)
    # On a busy machine the page may take longer than the run.
    is_shown = reader.has_shown.wait(60)
    reader.is_done.set()
    if not is_shown:
        raise RuntimeError("the page has shown nothing of the run")
    return spent


def main(arguments: list[str]) -> int:
    """Print one figure as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.live_page", description=__doc__)
    parser.add_argument("--pairs", type=int, default=9)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        runs = folder / "runs"
        runs.mkdir()
        write_workflow(folder)
        run_ms(folder, runs)
        costs = []
        for turn in range(chosen.pairs):
            # The first of a pair may find the machine busier, so they take turns.
            alone = run_ms(folder, runs) if turn % 2 else None
            with served(folder, runs) as address:
                watched = watched_ms(folder, runs, address)
            costs.append((watched, alone if alone is not None else run_ms(folder, runs)))
    ratios = [watched / alone for watched, alone in costs]
    figure = {"ms": statistics.median(watched for watched, _ in costs), "ratio": statistics.median(ratios)}
    print(json.dumps({**figure, "spread": spread_of(ratios)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
