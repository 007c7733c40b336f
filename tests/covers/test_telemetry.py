"""What `telemetry` does, by what a collector on loopback received."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from strands_cli import Workflow
from tests.covers.kit import World, covers
from tests.fakes.collector import Collector, collecting
from tests.fakes.model_server import Turn

GIVEN, ANSWERED = "6 * 7001", "42006"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    for name in ("TRACEPARENT", "OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"):
        monkeypatch.delenv(name, raising=False)
    with collecting() as collector:
        yield collector


def run(world: World, collector: Collector, otel: str = "", redact: str = "") -> Any:
    world.turns = [Turn(calls=[("calculator", {"expression": GIVEN})]), Turn("It is done.")]
    world.run(
        f"telemetry: {{otel: {{endpoint: '{collector.endpoint}' {otel}}}, redact: {{{redact}}}}}\n"
        "agents: {a: {prompt: p, tools: [calculator]}}"
    )
    return collector


@covers("/telemetry/otel/endpoint")
def test_spans_go_to_the_endpoint(world: World, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    assert run(world, collector).one("run").service == "strands-cli"


@covers("/telemetry/otel/service_name")
def test_the_service_has_its_name(world: World, collector: Collector) -> None:
    assert run(world, collector, ", service_name: bees").one("run").service == "bees"


@covers("/telemetry/otel/sample_ratio")
def test_only_so_many_runs_are_traced(world: World, collector: Collector) -> None:
    assert run(world, collector, ", sample_ratio: 0").requests == []
    assert world.requests


@covers("/telemetry/redact/tool_inputs")
def test_what_tools_are_given_is_kept_where_that_is_asked_for(world: World, collector: Collector) -> None:
    assert GIVEN in run(world, collector, redact="tool_inputs: false").text


@covers("/telemetry/redact/tool_outputs")
def test_what_tools_answer_is_left_out_where_that_is_asked_for(world: World, collector: Collector) -> None:
    assert ANSWERED not in run(world, collector, redact="tool_outputs: true").text


@covers("/telemetry/redact/pii")
def test_personal_data_is_not_in_spans_where_that_is_asked_for(world: World, collector: Collector) -> None:
    world.turns = [Turn(calls=[("calculator", {"expression": GIVEN})]), Turn("Write to ada@example.com.")]
    ran = world.run(
        f"telemetry: {{otel: {{endpoint: '{collector.endpoint}'}}, redact: {{pii: true}}}}\n"
        "agents: {a: {prompt: 'You are grace@example.com.', tools: [calculator]}}"
    )
    assert ran.response == "Write to ada@example.com.", "only traces are without it"
    assert collector.spans
    assert "@example.com" not in collector.text


@pytest.mark.parametrize(("port", "codes"), [(4317, ["grpc-port"]), (4318, [])])
def test_a_port_of_grpc_is_found_before_a_run(world: World, port: int, codes: list[str]) -> None:
    file = world.folder / "flow.yaml"
    otel = {"otel": {"endpoint": f"http://collector.example:{port}"}}
    file.write_text(yaml.safe_dump(world.document(yaml.safe_dump({"telemetry": otel}))))
    found = [one for one in Workflow.from_file(file).plan().findings if str(one.code) == "grpc-port"]
    assert [str(one.code) for one in found] == codes
    assert all(one.severity == "warning" and "http://collector.example:4318" in str(one.fix) for one in found)


def test_an_address_of_the_environment_that_is_none_stops_no_plan(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:99999")
    file = world.folder / "flow.yaml"
    file.write_text(yaml.safe_dump(world.document("telemetry: {otel: {}}")))
    assert "grpc-port" not in [str(one.code) for one in Workflow.from_file(file).plan().findings]
