"""Measures what a run costs a worker beside its model calls: to take it over, plan it, and close it.

Usage: python -m bench.scale_cost_of_runs [--write]     (needs what `nox -s bench-scale` installs)

Workers of their own process drain queues of runs with one step and with six, whose model is in the process. Of the CPU
seconds of all, those that grow with the steps are the calls, and those that grow with the runs are the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.scale_calibration import FIGURES, Server, server
from bench.scale_rows import environment, place, submit, worker

FEW, MANY, STEPS = 30, 150, 6


def cpu_of(at: Server, folder: Path, runs: int, steps: int) -> float:
    """Return the CPU seconds of a worker from its start to the end of so many runs."""
    folder = folder / f"{runs}-{steps}"
    folder.mkdir()
    with place(at, folder) as made:
        submit(made, steps, runs)
        command = [*worker(made, 16, in_process=True), "--drain"]
        process = subprocess.Popen(command, cwd=folder, env=environment(folder), stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        completed = made.query("SELECT count(*) FROM strands.runs WHERE status = 'completed'")[0]
    if process.returncode or completed != runs:
        raise RuntimeError(f"the worker ended with {process.returncode}, and {completed} of {runs} runs are complete")
    return usage.ru_utime + usage.ru_stime


def measured(at: Server, folder: Path) -> dict[str, float]:
    """Return the CPU seconds for a run and for one more step of it, in the process of a worker."""
    few, many, long = (cpu_of(at, folder, *what) for what in ((FEW, 1), (MANY, 1), (MANY, STEPS)))
    step = (long - many) / (MANY * (STEPS - 1))
    return {
        "worker_cpu_per_whole_run_s": round((many - few) / (MANY - FEW) - step, 6),
        "worker_cpu_per_step_s": round(step, 6),
    }


def main(words: list[str]) -> None:
    """Measure, print, and with `--write` keep the figures."""
    parser = argparse.ArgumentParser(prog="bench.scale_cost_of_runs")
    parser.add_argument("--write", action="store_true", help="keep the figures in the file of the others")
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="strands-runs-") as folder, server() as at:
        found = measured(at, Path(folder))
    print(json.dumps(found, indent=2))
    if given.write:
        figures = json.loads(FIGURES.read_text(encoding="utf-8")) | found
        FIGURES.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
