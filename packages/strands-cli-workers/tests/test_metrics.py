"""The metrics of a worker, by what a collector on loopback received."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping

import pytest

from strands_cli.errors import NotEquipped
from strands_cli.events import ModelCallFinished, StepStarted, ToolCallFinished, Usage
from strands_cli_workers.measures import UNMEASURED
from strands_cli_workers.metrics import measured_worker, metrics_exporter
from strands_cli_workers.queue_values import QueueLimits, QueueState
from tests.fakes.collector import Collector, Point, collecting

OFF = {"OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_METRICS_EXPORTER"}
ANSWERED = ModelCallFinished(1.0, "steps.0/model.0", "clerk", "gpt", Usage(900, 100, 50, 0), 2.0, (), False, 0.25)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    for name in OFF:
        monkeypatch.delenv(name, raising=False)
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
        # Only what is left at the end is sent, so that each test has one request.
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "3600000")
        yield collector


def environment(collector: Collector, **more: str) -> Mapping[str, str]:
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, **more}


def value(collector: Collector, metric: str, **attributes: str) -> float:
    (point,) = points(collector, metric, **attributes)
    return point.value


def points(collector: Collector, metric: str, **attributes: str) -> list[Point]:
    return [one for one in collector.newest if one.metric == metric and attributes.items() <= one.attributes.items()]


def test_queues_and_runs_are_seen_by_a_collector(collector: Collector) -> None:
    with measured_worker("w1.ab12", environment(collector), pytest.fail) as measures:
        assert measures.is_on
        measures.see(
            [QueueState("default", QueueLimits(), 9, 4, 1, 61.5), QueueState("night", QueueLimits())],
            {"queued": 9, "waiting": 2},
        )
    assert value(collector, "strands.queue.runs", queue="default", state="waiting") == 9
    assert value(collector, "strands.queue.runs", queue="default", state="running") == 4
    assert value(collector, "strands.queue.runs", queue="night", state="delayed") == 0
    assert value(collector, "strands.queue.oldest", queue="default") == 61.5
    assert value(collector, "strands.queue.oldest", queue="night") == 0, "an empty queue is not a missing one"
    assert value(collector, "strands.runs", status="waiting") == 2
    (point,) = points(collector, "strands.queue.oldest", queue="default")
    assert (point.unit, point.resource["service.name"]) == ("s", "strands-cli")
    assert point.resource["service.instance.id"] == "w1.ab12"


def test_tokens_and_money_are_counted_once(collector: Collector) -> None:
    with measured_worker("w1", environment(collector), pytest.fail) as measures:
        for event in (ANSWERED, ANSWERED, StepStarted(1.0, "steps.0", "agent", "clerk")):
            measures.take(event)
        replayed = ModelCallFinished(1.0, "steps.0/model.0", "clerk", "gpt", Usage(900, 100), 0.0, (), True, 0.25)
        measures.take(replayed)
        measures.take(ToolCallFinished(1.0, "steps.0/tool.0.add", "add", "error", 0.1))
        measures.finish("completed", 4.0)
        measures.finish("failed", 3.0)
    assert value(collector, "strands.model.calls", model="gpt") == 2
    assert value(collector, "strands.model.tokens", model="gpt", kind="input") == 1800
    assert value(collector, "strands.model.tokens", model="gpt", kind="cache_read") == 100
    assert points(collector, "strands.model.tokens", kind="cache_write") == []
    assert value(collector, "strands.model.cost", model="gpt") == 0.5
    assert value(collector, "strands.tool.calls", tool="add", status="error") == 1
    assert value(collector, "strands.runs.finished", status="completed") == 1
    assert value(collector, "strands.run.duration", status="failed") == 3.0


def test_a_call_whose_price_is_unknown_costs_nothing_that_is_known(collector: Collector) -> None:
    with measured_worker("w1", environment(collector), pytest.fail) as measures:
        measures.take(ModelCallFinished(1.0, "steps.0/model.0", "clerk", "own", Usage(900, 100), 2.0))
    assert value(collector, "strands.model.calls", model="own") == 1
    assert points(collector, "strands.model.cost") == []


def test_the_service_has_the_name_of_the_environment(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "bees")
    with measured_worker("w1", environment(collector), pytest.fail) as measures:
        measures.finish("completed", 1.0)
    assert {point.resource["service.name"] for point in collector.newest} == {"bees"}


def test_a_collector_that_refuses_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []
    refused = threading.Event()

    def warn(line: str) -> None:
        warned.append(line)
        refused.set()

    with collecting(400) as refusing:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", refusing.endpoint)
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
        with measured_worker("w1", environment(refusing), warn) as measures:
            measures.finish("completed", 1.0)
            assert refused.wait(300)
    assert len(refusing.metric_requests) > 1, "and again at the end"
    assert len(warned) == 1


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c:4318/v1/metrics"}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, None),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, "otlp"),
        ({"OTEL_METRICS_EXPORTER": "Console"}, "console"),
        ({"OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, None),
        ({"OTEL_METRICS_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "TRUE"}, None),
    ],
)
def test_variables_of_opentelemetry_name_the_destination(environ: dict[str, str], expected: str | None) -> None:
    assert metrics_exporter(environ) == expected


def test_without_a_destination_nothing_is_measured_and_nothing_imported() -> None:
    program = (
        "import sys; from strands_cli_workers.metrics import measured_worker\n"
        "with measured_worker('w1', {}, print) as measures: measures.see([], {})\n"
        "print(sorted(name for name in sys.modules if name.startswith('opentelemetry')))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
    with measured_worker("w1", {"OTEL_METRICS_EXPORTER": "none"}, pytest.fail) as measures:
        assert measures is UNMEASURED
        assert not measures.is_on


def test_without_the_exporter_the_fix_installs_it() -> None:
    program = (
        "import sys; sys.modules['opentelemetry.exporter.otlp.proto.http'] = None\n"
        "from strands_cli.errors import NotEquipped\n"
        "from strands_cli_workers.metrics import measured_worker\n"
        "try:\n"
        "    with measured_worker('w1', {'OTEL_METRICS_EXPORTER': 'otlp'}, print): pass\n"
        "except NotEquipped as error: print(error.fix)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("pip install 'strands-cli[otel]'")
    assert NotEquipped.exit_code == 18


def test_the_console_has_one_object_for_all_metrics(
    collector: Collector, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with measured_worker("w1", {"OTEL_METRICS_EXPORTER": "console"}, pytest.fail) as measures:
        measures.finish("completed", 1.0)
    (line,) = capsys.readouterr().err.splitlines()
    assert "strands.runs.finished" in line
    assert collector.metric_requests == []
