"""Measures what eight processes get from a model's server that counts requests, to what it allows.

Usage: python -m bench.governed [PERIOD_S]     (60 requests in so many seconds; 60 is what services count)
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import Figure
from tests.fakes.limited_models import LimitedModel
from tests.fakes.model_server import ModelServer

CLONE = Path(__file__).resolve().parent.parent
MOST, PROCESSES, LANES, PERIODS, LATENCY_S = 60, 8, 2, 4, 0.05


def allowed_to_answered(folder: Path, pairs: int, period_s: float = 10.0) -> Figure:
    """Measure the requests that are allowed after the first period, to those that are answered; none may be refused."""
    del pairs
    model = LimitedModel(MOST, period_s, delay_s=LATENCY_S)
    # Only what a person would have beside the cache that the processes share.
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "OPENAI_API_KEY": "sk-bench-0123456789abcdef"}
    environment.pop("STRANDS_SHARED_RATES", None)
    with ModelServer(model) as server:
        seconds = str(period_s * (PERIODS + 0.5))
        program = [sys.executable, "-m", "tests.fakes.many_callers", server.url, str(PROCESSES), str(LANES), seconds]
        failed = subprocess.run(program, cwd=CLONE, env=environment, capture_output=True, text=True, check=True).stdout
    of_periods = [model.within(period, period + 1) for period in range(PERIODS + 1)]
    print(f"  answered and refused in each period {of_periods}, failed runs {failed.strip()}")
    answered, refused = model.within(1, PERIODS)
    if refused or int(failed):
        raise SystemExit(f"{refused} requests were refused after the first period, and {failed.strip()} runs failed")
    ratio = MOST * (PERIODS - 1) / answered
    return Figure(period_s * 1000, None, ratio, (ratio, ratio))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(allowed_to_answered(Path(name), 1, float((sys.argv[1:] or ["60"])[0])))
