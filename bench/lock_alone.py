"""Measures the check of a lock inside a process: three small distributions that one workflow uses.

Usage: python -m bench.lock_alone each|first --pairs N

`each` prints what one distribution costs when everything is imported, against reading and hashing its files; `first`
what the whole check adds to the first plan of a process, imports included, against that plan.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.measure import collect_as_the_command_does
from bench.rows import made_manifest

TOOLS = ("first", "second", "third")
CHECKS = 20


@dataclass(frozen=True)
class Spent:
    """CPU milliseconds: of a process's first plan, of each check after it, and of hashing the checked files once."""

    plan: float
    checks: list[float]
    hashing: float


def main() -> None:
    """Print the median and its ratio as JSON with the fields of `Figure`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["each", "first", "child"])
    parser.add_argument("--pairs", type=int, default=7)
    chosen = parser.parse_args()
    if chosen.what == "child":
        print(json.dumps(asdict(spent())))
        return
    child = [sys.executable, "-m", "bench.lock_alone", "child"]
    runs = [subprocess.run(child, capture_output=True, text=True, check=True) for _ in range(chosen.pairs)]
    measured = [Spent(**json.loads(run.stdout)) for run in runs]
    if chosen.what == "first":
        costs = [(one.checks[0], one.checks[0] / one.plan) for one in measured]
    else:
        checks = [(statistics.median(one.checks[1:]), one.hashing) for one in measured]
        costs = [(check / len(TOOLS), check / hashing) for check, hashing in checks]
    ms, ratio = (statistics.median(column) for column in zip(*costs, strict=True))
    print(json.dumps({"ms": ms, "ratio": ratio}))


def spent() -> Spent:
    """Return what a first plan, and then one check after the other, cost."""
    from strands_cli import app
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.planning.machine import lock_check as lock

    collect_as_the_command_does()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_out(folder)
        catalog = discover_catalog([str(folder / "site")])
        before = time.process_time()
        planned = app.plan(folder / "flow.yaml", catalog=catalog)
        plan = (time.process_time() - before) * 1000
        # Written by a child: what makes a lock must not be imported before the first check.
        write = "from bench.lock_alone import write_lock; import sys; write_lock(sys.argv[1])"
        subprocess.run([sys.executable, "-c", write, name], check=True)
        costs = []
        for _ in range(CHECKS):
            before = time.process_time()
            held = lock.compare_with_lock(planned, planned.findings, catalog)
            costs.append((time.process_time() - before) * 1000)
            if len(held.locked) != len(TOOLS):
                raise RuntimeError(f"the lock vouches for {sorted(held.locked)}")
        return Spent(plan, costs, hashing_ms(folder / "site"))


def hashing_ms(site: Path) -> float:
    """Return the CPU milliseconds in which every file of the distributions is read and hashed."""
    files = [path for path in site.rglob("*") if path.is_file()]
    before = time.process_time()
    for _ in range(CHECKS):
        for path in files:
            hashlib.sha256(path.read_bytes()).hexdigest()
    return (time.process_time() - before) * 1000 / CHECKS


def lay_out(folder: Path) -> None:
    """Install three distributions of five files each, and write a workflow that uses them."""
    for tool in TOOLS:
        distribution, package = f"strands-tool-{tool}", f"strands_tool_{tool}"
        dist = folder / "site" / f"{package}-1.0.dist-info"
        home = folder / "site" / package
        dist.mkdir(parents=True)
        home.mkdir()
        files = {
            dist / "METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n",
            dist / "entry_points.txt": f"[strands_cli.tools]\n{tool} = {package}\n",
            home / "__init__.py": '"""A tool made for a measurement."""\n' * 200,
            home / "_inner.py": "CODE = 1\n" * 500,
            home / "strands_tools.json": json.dumps(made_manifest(distribution, tool, package)),
        }
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
        lines = [f"{path.relative_to(folder / 'site').as_posix()},," for path in (*files, dist / "RECORD")]
        (dist / "RECORD").write_text("\n".join(lines) + "\n", encoding="utf-8")
    step = {"agent": "one", "input": "Say a word about rivers."}
    spec = {
        "version": 2,
        "name": "bench",
        "runtime": {"provider": "openai", "model_id": "bench"},
        "agents": {"one": {"prompt": "Answer.", "tools": list(TOOLS)}},
        "pattern": {"type": "chain", "config": {"steps": [step]}},
    }
    (folder / "flow.yaml").write_text(json.dumps(spec), encoding="utf-8")


def write_lock(name: str) -> None:
    """Write the lock of a folder that `lay_out` has filled."""
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.config import read_settings
    from strands_cli.lock.lock_writer import render_lock
    from strands_cli.planning.machine.installation import without_policy
    from strands_cli.planning.machine.lock_check import lock_of
    from strands_cli.planning.workflow_folder import plan_folder

    folder = Path(name)
    catalog = discover_catalog([str(folder / "site")])
    plans = plan_folder(folder, without_policy(catalog, read_settings())).plans
    (folder / "strands.lock").write_text(render_lock(lock_of(plans, catalog)), encoding="utf-8")


if __name__ == "__main__":
    main()
