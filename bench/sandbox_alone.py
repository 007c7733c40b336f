"""Measures `print(1)` in a sandbox of python_exec against a bare interpreter: the larger of CPU and wall time.

Usage: python -m bench.sandbox_alone ahead|cold --pairs N
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from strands_tool_python_exec import _engine
from strands_tool_python_exec._pool import _started
from strands_tool_python_exec._process import Request, run
from strands_tool_python_exec._sandbox import Sandbox

PYTHON = getattr(sys, "_base_executable", None) or sys.executable
# The median of few starts of a process says little, and one takes a few milliseconds.
TURNS = 5


def main() -> None:
    """Print the figure as JSON with the fields of `Figure`; the milliseconds are those of the larger ratio's clock."""
    parser = argparse.ArgumentParser()
    parser.add_argument("start", choices=["ahead", "cold"])
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    found = _engine.verdict()
    if found.reason:
        raise SystemExit(found.reason)
    settings = _engine.settings_for(machine=found.machine, namespaces=found.namespaces)
    request = Request("print(1)", files={}, timeout_s=10, max_output=65_536, settings=settings)
    clocks: list[list[tuple[float, float]]] = [[], []]
    for _ in range(options.pairs * TURNS):
        bare_costs = spend(bare)
        ahead = _started(settings) if options.start == "ahead" else None
        before = cpu_of(ahead) if ahead else 0.0
        cpu, wall = spend(lambda ahead=ahead: run(request, ahead))  # type: ignore[misc]
        for clock, cost, reference in zip(clocks, (cpu - before, wall), bare_costs, strict=True):
            clock.append((cost / reference, cost))
    ratio, ms = max(tuple(statistics.median(column) for column in zip(*clock, strict=True)) for clock in clocks)
    print(json.dumps({"ms": ms, "ratio": ratio}))


def bare() -> None:
    """Run the same in a plain interpreter, its output taken."""
    subprocess.run([PYTHON, "-I", "-S", "-c", "print(1)"], stdin=subprocess.DEVNULL, capture_output=True, check=True)


def spend(work: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU milliseconds, of this process and of those it waited for, and the wall milliseconds."""
    cpu, wall = cpu_here(), time.perf_counter()
    work()
    return cpu_here() - cpu, (time.perf_counter() - wall) * 1000


def cpu_here() -> float:
    """Return the CPU milliseconds until now."""
    import resource  # where there is none, there is no sandbox either

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used) * 1000


def cpu_of(sandbox: Sandbox) -> float:
    """Return the CPU milliseconds of a sandbox that waits: what its start took, and no call waits for."""
    # The clock of another process, as clock_getcpuclockid(3) makes its number on Linux.
    return time.clock_gettime((~sandbox.process.pid << 3) | 2) * 1000


if __name__ == "__main__":
    main()
