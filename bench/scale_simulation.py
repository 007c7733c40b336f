"""Prints where the first limit of a deployment is: calculated for each part, and simulated event by event.

Usage: python -m bench.scale_simulation [--calls N --latency S --per-minute N --runs N --workers N --slots N ...]

Without options it prints the tables of `docs/explanation/scale.md`; with options the two lines of one deployment.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace

from bench.scale_events import Outcome, simulate
from bench.scale_model import Costs, Deployment, Load, bounds, measured, part_of, usage

# A share of the arriving runs from which on a deployment does what is asked of it; the rest is chance.
ENOUGH = 0.94
# As many calls as are simulated at least, so that chance moves the second digit little.
CALLS = 12_000
SECONDS = 6.0

SMALL = Deployment(workers=1, slots=20)
ONE = Deployment(workers=1, slots=1_500)
FOUR = Deployment(workers=4, slots=400)
MANY = Deployment(workers=320, slots=500)
PLENTY = 10_000
# What is printed: how many runs, on what.
STEPS = (
    (Load(10), SMALL),
    (Load(1_000), ONE),
    (Load(1_000), FOUR),
    (Load(1_000, per_minute=10_000), FOUR),
    (Load(25_000), replace(MANY, workers=80)),
    (Load(25_000), replace(MANY, workers=80, max_connections=PLENTY)),
    (Load(60_000), replace(MANY, workers=192, max_connections=PLENTY)),
    (Load(100_000), replace(MANY, servers=8, queues=2, max_connections=PLENTY)),
    (Load(100_000), replace(MANY, servers=16, max_connections=PLENTY)),
    (Load(100_000, per_minute=100_000), replace(MANY, servers=16, max_connections=PLENTY)),
)
PARTITIONS = ((1, 1, 2), (1, 4, 2), (1, 4, 16), (4, 1, 2), (8, 1, 2), (16, 1, 2), (8, 4, 16))


def simulated(costs: Costs, load: Load, at: Deployment) -> tuple[float, Outcome]:
    """Simulate one Postgres with its share, and return which share of the arriving calls is made."""
    share, part = part_of(load, at)
    asked = share.arrivals * share.calls
    # Until a full worker has gone round twice.
    warm_up = max(2 * load.latency, 3 * at.slots * costs.call_cpu)
    outcome = simulate(costs, share, part, seconds=max(SECONDS, CALLS / asked), warm_up=warm_up)
    return outcome.calls / asked, outcome


def limit_of(shares: dict[str, float]) -> str:
    """Return the part that is needed most, and which share of it."""
    name = max(shares, key=shares.__getitem__)
    return f"{name} {percent(shares[name])}"


def percent(share: float) -> str:
    """Return a share for people."""
    return f"{share:.0%}" if share < 10 else f"{share:.0f} x"


def needs(costs: Costs) -> Iterator[tuple[str, ...]]:
    """Yield how many of each part the runs need, a line for each part."""
    loads = [Load(runs, per_minute=10_000) for runs in (10, 1_000, 100_000)]
    one = Deployment(workers=1, slots=500)
    yield ("part", "one gives", *(f"{load.runs:,.0f} runs" for load in loads))
    most = bounds(costs, loads[0], one)
    shares = [usage(costs, load, one) for load in loads]
    for name, unit in UNITS.items():
        gives = f"{most[name]:,.1f} runs/s" if name in most else "100 connections"
        yield (f"{name} ({unit})", gives, *(f"{share[name]:,.3f}" for share in shares))


UNITS = {
    "worker CPU": "processes",
    "connections": f"of {Deployment().max_connections}, for one worker",
    "Postgres CPU": f"servers of {Deployment().cores} cores",
    "Postgres disk": "servers",
    "queue": "queues",
    "provider": "limits of 10,000 requests a minute",
}


def steps(costs: Costs) -> Iterator[tuple[str, ...]]:
    """Yield what deployments do: the share of the runs that they keep up with, calculated and simulated, and why."""
    yield ("runs", "requests/min", "workers x slots", "servers x queues", "calculated", "simulated", "most needed")
    for load, at in STEPS:
        share, _ = simulated(costs, load, at)
        calculated = min(1.0, *(most / load.arrivals for most in bounds(costs, load, at).values()))
        kept = "all" if share >= ENOUGH else percent(share)
        most = limit_of(usage(costs, load, at))
        yield (
            f"{load.runs:,.0f}",
            f"{load.per_minute:,.0f}" if load.per_minute else "any",
            f"{at.workers} x {at.slots}",
            f"{at.servers} x {at.queues}",
            "all" if calculated >= 1 else percent(calculated),
            kept,
            most,
        )


def partitions(costs: Costs) -> Iterator[tuple[str, ...]]:
    """Yield how many runs servers and queues carry, whatever the number of workers, and which part ends it."""
    yield ("servers", "queues each", "cores each", "runs in flight", "limit")
    for servers, queues, cores in PARTITIONS:
        at = Deployment(workers=40 * servers, slots=10_000, servers=servers, queues=queues, cores=cores)
        at = replace(at, max_connections=PLENTY)
        parts = {
            name: most * Load(1).run_s
            for name, most in bounds(costs, Load(1), at).items()
            if name not in ("slots", "worker CPU")
        }
        name = min(parts, key=parts.__getitem__)
        yield (str(servers), str(queues), str(cores), f"{round(parts[name], -2):,.0f}", name)


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Return rows as aligned columns."""
    lines = list(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def page(costs: Costs) -> str:
    """Return all tables."""
    parts = {
        "What runs need": needs(costs),
        "What deployments do": steps(costs),
        "What Postgres servers carry": partitions(costs),
    }
    return "\n\n".join(f"{title}\n{table(rows)}" for title, rows in parts.items())


def main(arguments: list[str]) -> int:
    """Print the tables, or one deployment."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale_simulation", description=__doc__)
    for each in (*fields(Load), *fields(Deployment)):
        kind = float if each.type == "float" else int
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=kind)
    chosen = {name: value for name, value in vars(parser.parse_args(arguments)).items() if value is not None}
    costs = measured()
    if not chosen:
        print(page(costs))
        return 0
    load = Load(**{"runs": 1_000.0, **{each.name: chosen[each.name] for each in fields(Load) if each.name in chosen}})
    at = Deployment(**{each.name: chosen[each.name] for each in fields(Deployment) if each.name in chosen})
    share, outcome = simulated(costs, load, at)
    parts = usage(costs, load, at)
    print("needed     " + ", ".join(f"{name} {percent(part)}" for name, part in parts.items()))
    busy = ", ".join(f"{name} {percent(part)}" for name, part in outcome.busy.items())
    print(f"simulated  {percent(share)} of the calls that arrive, {outcome.group:.1f} rows at once; busy: {busy}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
