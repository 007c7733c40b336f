"""A worker sends metrics of its queues and of what its runs spend to a collector on loopback."""

from __future__ import annotations

import pytest
from worker_sites import Site

from tests.fakes.collector import Collector, collecting

pytestmark = pytest.mark.postgres


def value(collector: Collector, metric: str, **attributes: str) -> float:
    found = [one for one in collector.newest if one.metric == metric and attributes.items() <= one.attributes.items()]
    assert len(found) <= 1
    return found[0].value if found else 0.0


def test_a_collector_sees_the_queue_and_what_runs_spend(site: Site) -> None:
    with collecting() as collector:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_METRIC_EXPORT_INTERVAL": "200"}
        held = site.model.hold("measured")
        one, two = (
            site.submit("measured one", "--queue", "measured"),
            site.submit("measured two", "--queue", "measured"),
        )
        worker = site.worker("--queue", "measured", "--concurrency", "1", **variables)
        site.until(
            lambda: (
                collector.metric_requests
                and value(collector, "strands.queue.runs", queue="measured", state="running") == 1
            )
        )
        site.until(lambda: value(collector, "strands.queue.runs", queue="measured", state="waiting") == 1)
        assert value(collector, "strands.queue.oldest", queue="measured") > 0
        assert value(collector, "strands.runs", status="running") >= 1
        held.set()
        for run in (one, two):
            worker.wait_for("finished", run)
        site.until(lambda: value(collector, "strands.runs.finished", status="completed") == 2)
        assert value(collector, "strands.model.calls") == 4
        started = worker.events("started")[0]
        assert {point.resource["service.instance.id"] for point in collector.newest} == {started["worker"]}
