"""Traces of a run as a collector on loopback receives them: which spans, under which, and what is not in them."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event as SpanEvent
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExportResult
from opentelemetry.trace import Status, StatusCode
from strands.telemetry import get_tracer
from strands.telemetry import tracer as sdk_tracer

from strands_cli import Workflow
from strands_cli.errors import NotEquipped, RunFailed, StrandsCliError, WaitingForPerson
from strands_cli.events import Event, RunWarning
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.telemetry.span_export import RedactedExporter, SpanRedaction
from strands_cli.workflow.sections import Redact
from tests.fakes.collector import Collector, collecting
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording
from tests.yaml_texts import read_yaml, write_yaml

SECRET = "s3cr3t-value-of-a-key"
CALL = [Turn(calls=[("current_time", {"timezone": "Europe/Paris"})]), Turn("It is noon.")]
AGENT = {"prompt": "You help.", "tools": ["current_time"]}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRACEPARENT", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    # What an older test may have made the SDK's one tracer from.
    monkeypatch.setattr(sdk_tracer, "_tracer_instance", None)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


def document(model: ModelServer, otel: Any, **sections: Any) -> dict[str, Any]:
    steps = [{"agent": "a", "input": "What time is it?"}]
    runtime = {"provider": "openai", "model_id": "m", "host": model.url, "failure_policy": {"retries": 0}}
    head = {"version": 2, "name": "traced", "runtime": runtime, "agents": {"a": AGENT}}
    telemetry = {**({"otel": otel} if otel is not None else {}), **sections.pop("telemetry", {})}
    return {**head, "telemetry": telemetry, "pattern": {"type": "chain", "config": {"steps": steps}}, **sections}


def run(
    turns: list[Turn], otel: Any, inputs: Mapping[str, Any] | None = None, **sections: Any
) -> tuple[str, list[Event]]:
    events: list[Event] = []
    with ModelServer(turns) as model:
        Path("w.yaml").write_text(write_yaml(document(model, otel, **sections)), encoding="utf-8")
        result = Workflow.from_file("w.yaml").run(inputs, on_event=events.append)
    return result.response, events


def warnings_in(events: list[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, RunWarning)]


def test_model_and_tool_are_under_agent_step_and_run(collector: Collector) -> None:
    run(CALL, {"endpoint": collector.endpoint})
    assert [span.name for span in collector.spans if not span.parent] == ["run"]
    chat, tool = collector.named("chat")[0], collector.one("execute_tool current_time")
    above = ["execute_event_loop_cycle", "invoke_agent a", "step steps.0", "run"]
    assert collector.parents(chat) == above
    assert collector.parents(tool) == above
    assert tool.attributes["strands_cli.decision"] == "allow"
    assert len({span.trace for span in collector.spans}) == 1


def test_run_and_step_say_what_they_are_and_took(collector: Collector) -> None:
    turns = [Turn("Noon.", usage=(7, 2))]
    run(turns, {"endpoint": collector.endpoint})
    told, step = collector.one("run").attributes, collector.one("step steps.0").attributes
    assert (told["strands_cli.workflow"], told["strands_cli.pattern"]) == ("traced", "chain")
    assert told["strands_cli.run_id"] in [path.name for path in Path("runs").iterdir()]
    assert (told["strands_cli.status"], told["strands_cli.model_calls"]) == ("completed", 1)
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (7, 2)
    assert (step["strands_cli.key"], step["strands_cli.kind"], step["strands_cli.who"]) == ("steps.0", "agent", "a")
    assert (step["strands_cli.status"], step["gen_ai.usage.output_tokens"]) == ("completed", 2)
    assert collector.one("run").service == "strands-cli"


def test_a_step_that_fails_says_so_and_so_does_the_run(collector: Collector) -> None:
    with pytest.raises(RunFailed):
        run([Turn(status=500)], {"endpoint": collector.endpoint})
    for name in ("run", "step steps.0"):
        span = collector.one(name)
        assert (span.attributes["strands_cli.status"], span.status) == ("failed", 2)


def test_a_tool_of_a_step_without_an_agent_is_under_its_step(collector: Collector) -> None:
    pattern = {"type": "chain", "config": {"steps": [{"tool": "current_time", "input": {}}]}}
    run([], {"endpoint": collector.endpoint}, pattern=pattern, tools={"python": ["current_time"]})
    assert collector.parents(collector.one("tool:current_time")) == ["step steps.0", "run"]


@pytest.mark.parametrize("inputs", [True, False])
@pytest.mark.parametrize("outputs", [True, False])
def test_a_tool_step_sends_what_the_file_allows(collector: Collector, inputs: bool, outputs: bool) -> None:
    steps = [{"tool": "current_time", "input": {"timezone": "Europe/Paris"}}]
    pattern = {"type": "chain", "config": {"steps": steps}}
    redact = {"tool_inputs": inputs, "tool_outputs": outputs}
    run([], {"endpoint": collector.endpoint}, pattern=pattern, telemetry={"redact": redact})
    span = collector.one("tool:current_time")
    events = dict(span.events)
    assert (events["gen_ai.tool.message"]["content"] == "[left out]") is inputs
    assert (events["gen_ai.choice"]["message"] == "[left out]") is outputs
    assert ("weekday" in events["gen_ai.choice"]["message"]) is not outputs
    assert span.attributes["strands_cli.input_bytes"] > 0
    assert span.attributes["strands_cli.output_bytes"] > 0


def test_the_spans_of_a_model_name_it(collector: Collector) -> None:
    run(CALL, {"endpoint": collector.endpoint})
    for span in [*collector.named("chat"), collector.one("invoke_agent a")]:
        assert span.attributes["gen_ai.request.model"] == "m"


def test_steps_side_by_side_keep_their_own_spans(collector: Collector) -> None:
    tasks = [{"id": name, "agent": "a", "input": name} for name in "xyz"]
    pattern = {"type": "workflow", "config": {"tasks": tasks}}
    run([Turn("one"), Turn("two"), Turn("three")], {"endpoint": collector.endpoint}, pattern=pattern)
    steps = [span for span in collector.spans if span.name.startswith("step ")]
    agents = collector.named("invoke_agent a")
    assert len(steps) == 3
    assert {span.parent for span in agents} == {span.id for span in steps}
    assert {collector.parents(span)[-1] for span in steps} == {"run"}


# So long that no time or id of a span has it by chance.
GIVEN, ANSWERED = "6 * 70010007001", "420060042006"
SUM = [Turn(calls=[("calculator", {"expression": GIVEN})]), Turn("It is done.")]
LATEST = "gen_ai_latest_experimental"


def calculate(collector: Collector, **sections: Any) -> str:
    run(SUM, {"endpoint": collector.endpoint}, agents={"a": {"prompt": "p", "tools": ["calculator"]}}, **sections)
    return collector.text


def test_what_tools_are_given_is_left_out_and_what_they_answer_is_not(collector: Collector) -> None:
    text = calculate(collector)
    assert (GIVEN in text, ANSWERED in text) == (False, True)
    assert "What time is it?" in text
    assert "It is done." in text


@pytest.mark.parametrize("convention", ["", LATEST, f"{LATEST},gen_ai_span_attributes_only"])
@pytest.mark.parametrize(("inputs", "outputs"), [(True, True), (False, True), (True, False)])
def test_what_is_left_out_is_left_out_in_every_convention(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, convention: str, inputs: bool, outputs: bool
) -> None:
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", convention)
    text = calculate(collector, telemetry={"redact": {"tool_inputs": inputs, "tool_outputs": outputs}})
    assert (GIVEN in text, ANSWERED in text) == (not inputs, not outputs)


def test_texts_are_cut_when_what_is_left_out_is_out_of_them(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "120")
    turns = [Turn(calls=[("calculator", {"expression": GIVEN + " + 0" * 40})]), Turn("It is done. " * 20)]
    run(turns, {"endpoint": collector.endpoint}, agents={"a": {"prompt": "p", "tools": ["calculator"]}})
    assert GIVEN not in collector.text
    values = [value for span in collector.spans for _, told in span.events for value in told.values()]
    assert max(len(value) for value in values if isinstance(value, str)) == 120


def test_the_error_of_a_tool_is_what_it_answers(collector: Collector) -> None:
    turns = [Turn(calls=[("calculator", {"expression": "wrong("})]), Turn("It failed.")]
    agents = {"a": {"prompt": "p", "tools": ["calculator"]}}
    for left_out in (False, True):
        otel = {"endpoint": collector.endpoint, "service_name": str(left_out)}
        run(turns, otel, agents=agents, telemetry={"redact": {"tool_outputs": left_out}})
    open_, closed = sorted(collector.named("execute_tool calculator"), key=lambda span: span.service)
    assert (open_.status, closed.status) == (2, 2)
    assert "invalid_input: " in open_.message
    assert closed.message == "[left out]"
    assert "invalid_input: " not in "".join(span.text for span in collector.spans if span.service == "True")


def test_no_secret_and_no_personal_data_leaves(collector: Collector) -> None:
    said = f"my key is {SECRET} and I am eve@example.org"
    run([Turn(said)], {"endpoint": collector.endpoint}, security={"guardrails": {"pii_redaction": True}})
    assert SECRET not in collector.text
    assert "eve@example.org" not in collector.text
    assert "my key is [secret] and I am [e-mail]" in collector.text


def test_a_span_loses_its_secrets_at_every_place() -> None:
    said = {"text": f"key {SECRET}", "phone": 5551234567, SECRET: 1}
    told = {"plain": f"Bearer {SECRET}", "json": json.dumps([said]), "list": (SECRET, "b"), SECRET: True, "number": 3}
    span = ReadableSpan(
        name=f"chat {SECRET}",
        resource=Resource({}),
        attributes=told,
        events=[SpanEvent("exception", told)],
        status=Status(StatusCode.ERROR, f"failed: {SECRET}"),
    )
    left = SpanRedaction(Redactor([SECRET], personal=True), Redact(tool_inputs=False)).of(span).to_json()
    assert SECRET not in left
    assert "5551234567" not in left
    assert left.count("Bearer [secret]") == 2
    assert '"number": 3' in left


def test_a_span_loses_what_patterns_find_at_every_place_and_secrets_first() -> None:
    said = {"text": "LOT-1234", "count": 7001, "LOT-1234": True, "list": [7001.5, "a LOT-1234"]}
    told = {"plain": "the LOT-1234", "json": json.dumps([said]), "LOT-1234": ("LOT-1234", "b"), "tokens": 7001}
    span = ReadableSpan(
        name="chat LOT-1234",
        resource=Resource({}),
        attributes=told,
        events=[SpanEvent("exception", told | {"key": SECRET})],
        status=Status(StatusCode.ERROR, "failed: LOT-1234"),
    )
    redact = Redact(custom_patterns=(r"LOT-\d{4}", "7001", re.escape(SECRET[3:6])))
    after = SpanRedaction(Redactor([SECRET]), redact).of(span)
    left = after.to_json()
    assert "LOT-1234" not in left
    assert after.name == "chat [left out]"
    assert after.status.description == "failed: [left out]"
    assert after.events[0].attributes is not None
    assert after.events[0].attributes["key"] == "[secret]"
    assert after.attributes is not None
    assert after.attributes["tokens"] == 7001
    hidden = {"text": "[left out]", "count": "[left out]", "[left out]": True, "list": ["[left out]", "a [left out]"]}
    assert json.loads(str(after.attributes["json"])) == [hidden]


def test_a_span_that_cannot_be_redacted_is_not_sent() -> None:
    sent: list[Any] = []

    class FileSnapshot(ConsoleSpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            sent.extend(spans)
            return SpanExportResult.SUCCESS

    class Broken(SpanRedaction):
        def of(self, span: ReadableSpan) -> ReadableSpan:
            raise ValueError(span)

    exporter = RedactedExporter(FileSnapshot(), Broken(HIDE_NOTHING, Redact()), "there")
    assert exporter.export([ReadableSpan("a"), ReadableSpan("b")]) is SpanExportResult.FAILURE
    assert (sent, exporter.lost) == ([], 2)


def test_without_an_endpoint_that_of_the_environment_is_asked_with_its_headers(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-token=abc")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "by-variable")
    run([Turn("a")], {})
    assert collector.one("run").service == "by-variable"
    assert {request.headers["x-token"] for request in collector.requests} == {"abc"}


def test_an_endpoint_of_the_file_does_not_get_the_headers_of_the_environment(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-token=abc")
    run([Turn("a")], {"endpoint": collector.endpoint, "service_name": "mine"})
    assert collector.one("run").service == "mine"
    assert [request.headers.get("x-token") for request in collector.requests] == [None]


@pytest.mark.parametrize(
    ("otel", "variables"),
    [
        (None, {}),
        ({"sample_ratio": 0}, {}),
        ({}, {"OTEL_SDK_DISABLED": "true"}),
        ({}, {"OTEL_TRACES_EXPORTER": "none"}),
        ({}, {"OTEL_TRACES_SAMPLER": "always_off"}),
        ({"sample_ratio": 1}, {"TRACEPARENT": f"00-{'a' * 32}-{'b' * 16}-00"}),
    ],
    ids=["no section", "ratio", "disabled", "none", "sampler", "caller"],
)
def test_nothing_is_sent(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, otel: Any, variables: dict[str, str]
) -> None:
    for name, value in {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, **variables}.items():
        monkeypatch.setenv(name, value)
    assert run([Turn("a")], otel)[0] == "a"
    assert collector.requests == []


def test_a_run_goes_on_with_the_trace_of_its_caller(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPARENT", f"00-{'a' * 32}-{'b' * 16}-01")
    run([Turn("a")], {"endpoint": collector.endpoint})
    span = collector.one("run")
    assert (span.trace, span.parent) == ("a" * 32, "b" * 16)


@pytest.mark.parametrize("kind", ["nobody", "silent", "refusing"])
def test_an_endpoint_that_takes_nothing_holds_no_run_up(
    kind: str, wording: Wording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
    with socket.socket() as silent, collecting(400) as refusing:
        silent.bind(("127.0.0.1", 0))
        if kind == "silent":
            silent.listen()
        port = silent.getsockname()[1]
        endpoint = refusing.endpoint if kind == "refusing" else f"http://127.0.0.1:{port}"
        response, events = run([Turn("a")], {"endpoint": endpoint})
        ended = events[-1].at - next(event.at for event in events if type(event).__name__ == "RunFinished")
    assert response == "a"
    assert ended < 60, "the exporter alone would try for ten minutes"
    (warning,) = warnings_in(events)
    wording(warning)


def test_the_console_is_stderr_one_span_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    run([Turn(f"a {SECRET}")], {"endpoint": "console"})
    out, err = capsys.readouterr()
    spans = [read_yaml(line) for line in err.splitlines()]
    assert out == ""
    assert {"run", "step steps.0", "chat"} <= {span["name"] for span in spans}
    assert SECRET not in err


def test_the_program_around_a_run_keeps_its_own_tracing(collector: Collector) -> None:
    before = (trace.get_tracer_provider(), get_tracer().tracer, context.get_current())
    run([Turn("a")], {"endpoint": collector.endpoint})
    assert (trace.get_tracer_provider(), get_tracer().tracer, context.get_current()) == before


def test_runs_side_by_side_go_each_where_its_workflow_says(collector: Collector) -> None:
    with collecting() as other, ModelServer() as model:
        flows = []
        for name, where in (("one", collector), ("two", other)):
            flow = document(model, {"endpoint": where.endpoint}, name=name)
            Path(f"{name}.yaml").write_text(write_yaml(flow), encoding="utf-8")
            flows.append(Workflow.from_file(f"{name}.yaml"))
        threads = [threading.Thread(target=flow.run) for flow in flows]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        for name, where in (("one", collector), ("two", other)):
            assert where.one("run").attributes["strands_cli.workflow"] == name
            assert len(where.named("chat")) == 1


def test_the_exporter_that_is_missing_is_found_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    with pytest.raises(NotEquipped) as raised:
        run([], {})
    (finding,) = raised.value.findings
    assert finding.code == "no-exporter"
    assert "pip install 'strands-cli[otel]'" in (finding.fix or "")
    run([Turn("a")], {"endpoint": "console"})
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert run([Turn("a")], {})[0] == "a"


@pytest.mark.parametrize("endpoint", ["localhost:4318", "grpc://h:1", "http://", "http://h:x"])
def test_an_endpoint_that_is_none_is_found_before_the_run(endpoint: str) -> None:
    with pytest.raises(StrandsCliError) as raised:
        run([], {"endpoint": endpoint})
    (finding,) = raised.value.findings
    assert (finding.code, finding.where and finding.where.pointer) == ("bad-value", "/telemetry/otel/endpoint")


def test_a_step_that_waits_is_not_an_error_and_one_that_the_record_answers_has_no_span(collector: Collector) -> None:
    gate = {"type": "hitl", "prompt": "Go on?"}
    pattern = {"type": "chain", "config": {"steps": [{"agent": "a", "input": "x"}, gate, gate]}}
    with pytest.raises(WaitingForPerson):
        run([Turn("a")], {"endpoint": collector.endpoint}, pattern=pattern)
    for name in ("step steps.1", "run"):
        span = collector.one(name)
        assert (span.attributes["strands_cli.status"], span.status) == ("waiting", 0)
    (stored,) = Path("runs").iterdir()
    with pytest.raises(WaitingForPerson):
        Workflow.resume(stored.name, answer=lambda question: "yes" if question.key == "steps.1" else None)
    Workflow.resume(stored.name, answer=lambda question: "yes")
    *_, last = collector.named("run")
    assert [span.name for span in collector.spans if span.trace == last.trace] == ["step steps.2", "run"]
    assert len(collector.named("step steps.0")) == 1


def test_a_variable_that_means_nothing_costs_the_traces_and_not_the_run(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "nonsense")
    response, events = run([Turn("a")], {"endpoint": collector.endpoint})
    assert response == "a"
    (warning,) = warnings_in(events)
    wording(warning)


def test_what_sends_spans_is_not_imported_where_none_are_sent() -> None:
    Path("said.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: a}]}", encoding="utf-8")
    flow = "version: 2\nname: n\nruntime: {provider: replay, recording: said.yaml}\nagents: {a: {prompt: p}}\n"
    flow += "pattern: {type: chain, config: {steps: [{agent: a, input: x}]}}\n"
    Path("w.yaml").write_text(flow, encoding="utf-8")
    script = (
        "import sys; from strands_cli import Workflow; Workflow.from_file('w.yaml').run()\n"
        "named = ('opentelemetry.exporter', 'requests', 'google.protobuf', 'strands_cli.telemetry.span_export')\n"
        "print([name for name in sys.modules if name.startswith(named)])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
