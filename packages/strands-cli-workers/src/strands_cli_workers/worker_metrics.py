"""The metrics of a worker by OpenTelemetry: the numbers of queues and runs, and the usage of its own runs."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    ConsoleMetricExporter,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource

from strands_cli_workers.measures import Measures

if TYPE_CHECKING:
    from strands_cli.api import Event
    from strands_cli_workers.queue_values import QueueState

# Seconds that a worker that ends waits until its last metrics are sent.
END_WAIT_S = 2.0
SERVICE = "strands-cli"
_STATES = ("waiting", "running", "delayed")
# The names of the events of ended calls, as the files of events have them.
_CALLS = ("ModelCallFinished", "ToolCallFinished")


@contextlib.contextmanager
def open_metrics(worker: str, exporter: Literal["otlp", "console"], warn: Callable[[str], None]) -> Iterator[Measures]:
    """Send the metrics of a worker, every `OTEL_METRIC_EXPORT_INTERVAL` milliseconds (60,000) and at the end."""
    reader = PeriodicExportingMetricReader(_ReportingExporter(_exporter(exporter), warn))
    provider = MeterProvider([reader], _resource(worker), shutdown_on_exit=False)
    with _without_own_log():
        try:
            yield WorkerMeasures(provider)
        finally:
            sending = threading.Thread(target=provider.shutdown, daemon=True, name="strands-metrics")
            sending.start()
            sending.join(END_WAIT_S)


class WorkerMeasures(Measures):
    """Counts and observes with instruments of one provider."""

    is_on = True

    def __init__(self, provider: MeterProvider) -> None:
        meter = provider.get_meter("strands_cli")
        self._queues: tuple[QueueState, ...] = ()
        self._runs: dict[str, int] = {}
        observed = meter.create_observable_gauge
        observed("strands.queue.runs", [self._lengths], "{run}", "Runs in a queue, by what they wait for.")
        observed("strands.queue.oldest", [self._ages], "s", "The age of the oldest run that waits in a queue.")
        observed("strands.runs", [self._statuses], "{run}", "Runs of the store that have not ended, by status.")
        counter = meter.create_counter
        self._finished = counter("strands.runs.finished", "{run}", "Dispatches that ended, by the status of the run.")
        self._calls = counter("strands.model.calls", "{call}", "Calls of models.")
        self._tokens = counter("strands.model.tokens", "{token}", "Tokens that models report, by kind.")
        self._cost = counter("strands.model.cost", "{USD}", "What calls of models cost, where a price is known.")
        self._tools = counter("strands.tool.calls", "{call}", "Calls of tools, by how they ended.")
        self._seconds = meter.create_histogram("strands.run.duration", "s", "How long a worker works on a run.")

    def take(self, event: Event) -> None:
        """Count the cost of a call; an answer from the journal costs nothing now."""
        name = type(event).__name__
        if name not in _CALLS or (fields := event.as_dict())["replayed"]:
            return
        if name == "ToolCallFinished":
            self._tools.add(1, {"tool": fields["tool"], "status": fields["status"]})
            return
        model = {"model": fields["model"]}
        self._calls.add(1, model)
        if fields["cost_usd"] is not None:  # zero would be a price
            self._cost.add(fields["cost_usd"], model)
        for kind in ("input", "output", "cache_read", "cache_write"):
            if count := fields["usage"][f"{kind}_tokens"]:
                self._tokens.add(count, {**model, "kind": kind})

    def finish(self, status: str, seconds: float) -> None:
        """Count the end of the work on a run."""
        self._finished.add(1, {"status": status})
        self._seconds.record(seconds, {"status": status})

    def see(self, queues: Iterable[QueueState], runs: Mapping[str, int]) -> None:
        """Keep the numbers until they are sent."""
        self._queues, self._runs = tuple(queues), dict(runs)

    # The values for the exporter's thread.

    def _lengths(self, _: CallbackOptions) -> Iterator[Observation]:
        for queue in self._queues:
            for state in _STATES:
                yield Observation(getattr(queue, state), {"queue": queue.name, "state": state})

    def _ages(self, _: CallbackOptions) -> Iterator[Observation]:
        for queue in self._queues:
            yield Observation(queue.oldest_s or 0.0, {"queue": queue.name})

    def _statuses(self, _: CallbackOptions) -> Iterator[Observation]:
        for status, count in self._runs.items():
            yield Observation(count, {"status": status})


class _ReportingExporter(MetricExporter):
    """Sends metrics with another exporter, and reports once when that begins to fail."""

    def __init__(self, inner: MetricExporter, warn: Callable[[str], None]) -> None:
        super().__init__()
        self._inner, self._warn, self._fails = inner, warn, False

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **more: Any) -> MetricExportResult:
        try:
            result = self._inner.export(metrics_data, timeout_millis, **more)
        except Exception:  # noqa: BLE001 - a worker does not fail because of its metrics
            result = MetricExportResult.FAILURE
        failed = result is not MetricExportResult.SUCCESS
        if failed and not self._fails:
            self._warn("metrics cannot be sent; the worker goes on, and tries again")
        self._fails = failed
        return result

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return self._inner.force_flush(timeout_millis)

    def shutdown(self, timeout_millis: float = 30_000, **more: Any) -> None:
        self._inner.shutdown(timeout_millis, **more)


def _exporter(kind: Literal["otlp", "console"]) -> MetricExporter:
    if kind == "console":
        import sys

        return ConsoleMetricExporter(out=sys.stderr, formatter=lambda data: data.to_json(indent=None) + "\n")
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    return OTLPMetricExporter()


def _resource(worker: str) -> Resource:
    """Return the resource of the metrics; the instance tells workers of one service apart."""
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({"service.instance.id": worker, **({} if named else {"service.name": SERVICE})})


@contextlib.contextmanager
def _without_own_log() -> Iterator[None]:
    """Keep the exporter's own lines from stderr, which has the worker's; their text is reported."""
    logger = logging.getLogger("opentelemetry")
    before, nothing = logger.propagate, logging.NullHandler()
    logger.propagate = False
    logger.addHandler(nothing)
    try:
        yield
    finally:
        logger.propagate = before
        logger.removeHandler(nothing)
