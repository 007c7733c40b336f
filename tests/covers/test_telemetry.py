"""What `telemetry` does, by what a collector on loopback received."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from strands_cli import Workflow
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.templates import regular_expressions
from strands_cli.yaml_files.document_reader import read_document
from tests.covers.kit import World, covers
from tests.fakes.collector import Collector, collecting
from tests.fakes.model_server import Turn
from tests.yaml_texts import write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

# The answer is long: a trace has random ids and times, and these have any five digits once in a hundred runs.
GIVEN, ANSWERED = "6 * 70010007001", "420060042006"


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


def test_the_name_of_the_service_is_redacted_too(world: World, collector: Collector) -> None:
    service = run(world, collector, ", service_name: bees of ann@example.org", "pii: true").one("run").service
    assert service == "bees of [e-mail]"


@pytest.mark.parametrize(
    ("endpoint", "code", "meant"),
    [
        ("grpc://collector:4317", "bad-value", "http://collector:4318"),
        ("collector:4317", "bad-value", "http://collector:4318"),
        ("ftp://collector", "bad-value", "http://localhost:4318"),
        ("https://collector:4317/", "grpc-port", "https://collector:4318/"),
    ],
)
def test_an_address_that_no_trace_reaches_is_found_with_the_file(endpoint: str, code: str, meant: str) -> None:
    flow = {
        "version": 2,
        "name": "flow",
        "pattern": {"type": "chain", "config": {"steps": [{"type": "hitl", "prompt": "?"}]}},
        "telemetry": {"otel": {"endpoint": endpoint}},
    }
    (finding,) = load_spec(read_document("flow.yaml", write_yaml(flow))).findings
    assert (finding.code, str(finding.fix).endswith(meant)) == (code, True), finding


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


def test_what_tools_answer_is_kept_where_that_is_asked_for(world: World, collector: Collector) -> None:
    assert ANSWERED in run(world, collector, redact="tool_outputs: false").text


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


@covers("/telemetry/redact/custom_patterns")
def test_what_patterns_find_is_not_in_spans(world: World, collector: Collector) -> None:
    world.turns = [Turn(calls=[("calculator", {"expression": "6 * 7001"})]), Turn("ACME-1234 is done.")]
    redact = {"custom_patterns": [r"ACME-\d{4}", "7001", "42006", r"steps\.\d"], "tool_inputs": False}
    telemetry = {"telemetry": {"otel": {"endpoint": collector.endpoint}, "redact": redact}}
    agents = "agents: {a: {prompt: 'You pack ACME-5678.', tools: [calculator]}}"
    ran = world.run(f"{write_yaml(telemetry)}{agents}")
    assert ran.response == "ACME-1234 is done.", "only traces are without it"
    assert collector.named("step [left out]"), "names of spans too"
    text = re.sub(r"time_unix_nano: \d+", "", collector.text)  # which may have any digits
    for found in ("ACME-1234", "ACME-5678", "7001", "42006", "steps.0"):
        assert found not in text


@covers("/telemetry/redact/custom_patterns")
def test_a_text_that_takes_a_pattern_too_long_is_not_in_spans(
    world: World, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regular_expressions, "SECONDS", 0.01)
    world.turns = [Turn(f"{'a' * 60}b")]
    telemetry = {
        "telemetry": {
            "otel": {"endpoint": collector.endpoint},
            "redact": {"custom_patterns": [r"(a|aa)+$"]},
        }
    }
    ran = world.run(f"{write_yaml(telemetry)}agents: {{a: {{prompt: Say much.}}}}")
    assert ran.response.startswith("aaa")
    assert "aaa" not in collector.text
    assert "[left out]" in collector.text


BAD = {"(": "unterminated", "a" * 1001: "1,000 characters", "x*": "empty text", "(?=a)": "empty text"}


@pytest.mark.parametrize("pattern", BAD)
def test_a_pattern_that_is_none_or_slow_is_an_error_at_its_place(pattern: str) -> None:
    text = f"telemetry:\n  redact:\n    custom_patterns:\n      - good\n      - '{pattern}'\n"
    (one,) = [one for one in load_spec(read_document("f", text)).findings if one.code == "bad-regex"]
    assert one.where is not None
    assert (one.severity, one.where.line, one.where.column) == ("error", 5, 9)
    assert BAD[pattern] in one.message


def test_a_port_of_grpc_is_found_when_the_file_is_checked(world: World) -> None:
    text = "telemetry: {otel: {endpoint: 'https://h:4317/v1/traces'}}\n"
    (one,) = [one for one in load_spec(read_document("f", text)).findings if one.code == "grpc-port"]
    assert one.where is not None
    assert (one.severity, one.where.line, one.where.column) == ("warning", 1, 30)
    assert "https://h:4318/v1/traces" in str(one.fix)


AMONG = {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
OF_TRACES = {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}
AT_GRPC = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4317"}


@pytest.mark.parametrize(
    ("environ", "otel", "fixes"),
    [
        (AMONG, {}, ["OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"]),
        (AMONG, {"endpoint": "http://h:9"}, ["OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"]),
        ({"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, {}, ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf"]),
        (AT_GRPC, {}, ["OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318"]),
        (AMONG | AT_GRPC, {}, ["OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318"]),
        (AMONG, {"endpoint": "http://h:4317"}, ["http://h:4318"]),
        (AMONG, {"endpoint": "http://h:4318"}, []),
        (AMONG | OF_TRACES, {}, []),
        (AT_GRPC, {"endpoint": "http://h:9"}, []),
        (AMONG, {"endpoint": "console"}, []),
        (AMONG | {"OTEL_SDK_DISABLED": "true"}, {}, []),
    ],
)
def test_what_the_environment_says_of_grpc_is_found_before_a_run(
    world: World, environ: dict[str, str], otel: dict[str, str], fixes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    file = world.folder / "flow.yaml"
    file.write_text(write_yaml(world.document(write_yaml({"telemetry": {"otel": otel}}))))
    found = [str(one.fix) for one in Workflow.from_file(file).plan().findings if str(one.code) == "grpc-port"]
    assert [re.findall(r"(?:OTEL_\w+=|http:)[^\s,]+", fix)[0] for fix in found] == fixes


@pytest.mark.parametrize(("port", "codes"), [(4317, ["grpc-port"]), (4318, [])])
def test_a_port_of_grpc_is_found_before_a_run(world: World, port: int, codes: list[str]) -> None:
    file = world.folder / "flow.yaml"
    otel = {"otel": {"endpoint": f"http://collector.example:{port}"}}
    file.write_text(write_yaml(world.document(write_yaml({"telemetry": otel}))))
    found = [one for one in Workflow.from_file(file).plan().findings if str(one.code) == "grpc-port"]
    assert [str(one.code) for one in found] == codes
    assert all(one.severity == "warning" and "http://collector.example:4318" in str(one.fix) for one in found)


def test_an_address_of_the_environment_that_is_none_stops_no_plan(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:99999")
    file = world.folder / "flow.yaml"
    file.write_text(write_yaml(world.document("telemetry: {otel: {}}")))
    assert "grpc-port" not in [str(one.code) for one in Workflow.from_file(file).plan().findings]
