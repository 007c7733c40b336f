"""The plan for more machines is simulated: the simulation obeys the laws of queues, and the page has what it prints."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from bench.scale_events import simulate
from bench.scale_model import Costs, Deployment, Load, bounds, measured, part_of
from tests.docs.pages import CLONE, blocks

# It takes seconds, for a page.
pytestmark = pytest.mark.docs

PAGE = CLONE / "docs" / "explanation" / "scale.md"
# Short calls and little work: a steady state comes within seconds.
QUICK = Load(runs=40, calls=4, latency=0.05)
SHORT = Load(runs=2_500, calls=1, latency=1)
BUSY = Load(runs=400, calls=4, latency=0.5)


@pytest.fixture(scope="module")
def costs() -> Costs:
    return measured()


def test_runs_present_are_arrivals_times_their_stay(costs: Costs) -> None:
    at = Deployment(workers=8, slots=40, poll_s=0.1, max_connections=1_000)
    seen = simulate(costs, QUICK, at, seconds=60, warm_up=10)
    assert seen.present == pytest.approx(seen.finished * seen.stay, rel=0.05)
    assert seen.finished == pytest.approx(QUICK.arrivals, rel=0.05)


def test_a_worker_is_busy_for_as_long_as_its_calls_and_runs_take(costs: Costs) -> None:
    seen = simulate(costs, BUSY, Deployment(workers=8, slots=200, max_connections=1_000), seconds=30, warm_up=5)
    least = seen.calls * (costs.call_cpu + costs.run_cpu / BUSY.calls) / 8
    assert least < seen.busy["worker CPU"] < 1.3 * least


@pytest.mark.parametrize(
    ("part", "load", "at"),
    [
        # As many slots as are worked through several times while it is measured.
        ("worker CPU", replace(BUSY, runs=2_000), Deployment(workers=2, slots=200)),
        ("slots", BUSY, Deployment(workers=2, slots=20)),
        ("provider", replace(BUSY, per_minute=3_000), Deployment(workers=4, slots=400)),
        ("queue", SHORT, Deployment(workers=30, slots=200, cores=64, max_connections=999)),
        ("Postgres CPU", SHORT, Deployment(30, 200, queues=16, cores=1, max_connections=999)),
    ],
)
def test_more_than_a_part_can_give_never_ends(part: str, load: Load, at: Deployment, costs: Costs) -> None:
    most = bounds(costs, load, at)
    assert min(most, key=most.__getitem__) == part, "the load is chosen so that this part is the first limit"
    seen = simulate(costs, load, at, seconds=15, warm_up=60)
    assert seen.calls / load.calls <= 1.03 * most[part] < load.arrivals
    assert seen.calls / load.calls > 0.5 * most[part], "a limit is reached, not only obeyed"


def test_more_workers_never_do_less(costs: Costs) -> None:
    load = replace(BUSY, runs=1_500)
    done = [
        simulate(costs, load, Deployment(workers, 250, max_connections=1_000), seconds=20, warm_up=10).calls
        for workers in (1, 2, 4, 8)
    ]
    assert all(more >= 0.98 * fewer for fewer, more in pairwise(done)), done
    assert done[1] > 1.9 * done[0]


def test_workers_without_a_connection_do_nothing(costs: Costs) -> None:
    few = Deployment(workers=50, slots=100, max_connections=int(2 * costs.connections))
    assert few.connected(costs) == 2
    seen = simulate(costs, BUSY, few, seconds=10, warm_up=10)
    assert seen.working <= 200


def test_one_of_many_equal_servers_is_as_all_of_them(costs: Costs) -> None:
    load, at = replace(BUSY, runs=1_600), Deployment(workers=16, slots=200, servers=4, max_connections=1_000)
    whole = simulate(costs, load, at, seconds=20, warm_up=5)
    part = simulate(costs, *part_of(load, at), seconds=80, warm_up=5)
    assert 4 * part.calls == pytest.approx(whole.calls, rel=0.03)
    assert part.busy["worker CPU"] == pytest.approx(whole.busy["worker CPU"], rel=0.03)


def test_rows_are_written_in_larger_groups_when_the_disk_is_slower(costs: Costs) -> None:
    at = Deployment(workers=12, slots=200, poll_s=0.1, max_connections=1_000)
    fast, slow = (simulate(replace(costs, flush=flush), BUSY, at, seconds=20, warm_up=10) for flush in (0.000_2, 0.02))
    assert slow.group > 2 * fast.group
    assert slow.calls == pytest.approx(fast.calls, rel=0.1), "a slower disk delays a run by milliseconds"


def test_one_deployment_can_be_asked_about() -> None:
    words = [sys.executable, "-m", "bench.scale_simulation", "--runs", "200", "--latency", "1", "--workers", "3"]
    printed = subprocess.run(words, cwd=CLONE, capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in printed.splitlines()] == ["needed", "simulated"]


def test_the_page_has_the_tables_that_the_script_prints() -> None:
    words = [sys.executable, "-m", "bench.scale_simulation"]
    printed = subprocess.run(words, cwd=CLONE, capture_output=True, text=True, check=True).stdout
    assert shown_in(PAGE) == printed


def shown_in(page: Path) -> str:
    """Return the tables of the page, which has each in a block of its own."""
    return "\n".join(block.text for block in blocks(page) if block.text.startswith("What "))
