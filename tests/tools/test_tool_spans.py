"""Tracing sees who allowed each call: on the span that the SDK opens, or on one of ours where no agent opens one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from strands.telemetry import tracer as sdk_tracer

from strands_cli.policy.rule import Rule
from strands_cli.providers import ModelSettings
from strands_cli.tools.calls.agent_tools import CheckedToolCaller
from strands_cli.tools.tool_loading import load_tools
from tests.agents.kit import SCHEMA, YES, RunContext, Script, Site, asking, calling, error, gate_of, run
from tests.wordings import Wording

SECRET = "sk-0123456789abcdef"
ANSWER = "{'status': 'success', 'content': [{'json': {'engine': 'locked-cpython', 'layers': {'seccomp': 'enforced'}}}]}"
ORIGIN = {"strands_cli.distribution": "strands-tool-echo", "strands_cli.version": "1.0"}
READ_ONLY = {**ORIGIN, "strands_cli.decision": "allow", "strands_cli.rule": "the tool is read-only"}
ENGINE = {"strands_cli.engine": "locked-cpython", "strands_cli.layers": ("seccomp=enforced",)}


@pytest.fixture(scope="module")
def exporter() -> Iterator[InMemorySpanExporter]:
    """The process has one provider for good, as any program with tracing; after these tests it exports nothing."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    yield exporter
    exporter.shutdown()
    exporter.clear()


@pytest.fixture(autouse=True)
def spans(exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    # The SDK takes the provider when its tracer is made, which an earlier test may have caused.
    monkeypatch.setattr(sdk_tracer, "_tracer_instance", None)
    exporter.clear()
    return exporter


def install(site: Site, answer: str = ANSWER, **declared: Any) -> Any:
    declared = {"annotations": {"readOnlyHint": True}, **declared}
    spec = {"name": "echo", "description": "E.", "inputSchema": {"json": SCHEMA}, **declared}
    site.install(f"TOOL_SPEC = {spec!r}\nasync def echo(tool, **kw):\n    return {answer}\n", declared)
    return site.plan("native:echo")[0]


def named(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name == name]


def ours(span: ReadableSpan) -> dict[str, Any]:
    attributes: Mapping[str, Any] = span.attributes or {}
    return {
        name: value
        for name, value in attributes.items()
        if name.startswith("strands_cli.") and not name.endswith("_bytes")
    }


def test_an_agents_call_has_the_decision_on_the_span_of_the_sdk(site: Site, spans: InMemorySpanExporter) -> None:
    asking(Script([("echo", {"text": "a"})], "done"), install(site), rules=())
    [span] = named(spans, "execute_tool echo")
    assert ours(span) == {**READ_ONLY, **ENGINE, "strands_cli.key": "steps.0/tool.0.echo"}
    assert (span.attributes or {})["gen_ai.tool.call.id"] == "t1-0"
    assert named(spans, "tool:echo") == []


def test_a_step_without_a_model_has_a_span_of_ours(site: Site, spans: InMemorySpanExporter) -> None:
    host = RunContext()
    calling(install(site), {"text": "a"}, rules=(), host=host)
    [span] = named(spans, "tool:echo")
    assert ours(span) == {**READ_ONLY, **ENGINE, "strands_cli.key": "steps.0/tool.0.echo"}
    told = span.attributes or {}
    assert (told["gen_ai.operation.name"], told["gen_ai.tool.name"], told["gen_ai.tool.call.id"]) == (
        "execute_tool",
        "echo",
        "steps.0.call",
    )
    assert (told["gen_ai.tool.status"], span.status.status_code) == ("success", StatusCode.OK)
    [row] = host.rows("tool").values()
    assert row.detail["engine"] == "locked-cpython"


def test_what_a_tool_does_is_under_its_span(site: Site, spans: InMemorySpanExporter) -> None:
    inner = "(__import__('opentelemetry').trace.get_tracer('t').start_span('inner').end(), " + ANSWER + ")[1]"
    calling(install(site, inner), {"text": "a"})
    [outer], [below] = named(spans, "tool:echo"), named(spans, "inner")
    assert below.parent is not None
    assert outer.context is not None
    assert below.parent.span_id == outer.context.span_id


def test_a_call_that_a_tool_makes_has_a_span_of_its_own_under_the_agents(
    site: Site, spans: InMemorySpanExporter
) -> None:
    planned = install(site)
    tracer = trace.get_tracer("an agent's")
    attributes = {"gen_ai.tool.name": "outer", "gen_ai.tool.call.id": "steps.0.call"}

    async def work() -> None:
        caller = CheckedToolCaller(await load_tools([planned]), gate_of())
        with tracer.start_as_current_span("execute_tool outer", attributes=attributes):
            await caller.call_tool(planned, {"text": "a"}, RunContext().scope())  # type: ignore[arg-type]

    run(work())
    [inner], [outer] = named(spans, "tool:echo"), named(spans, "execute_tool outer")
    assert inner.parent is not None
    assert outer.context is not None
    assert inner.parent.span_id == outer.context.span_id
    assert ours(outer) == {}


@pytest.mark.parametrize(
    ("declared", "arguments", "rules", "told"),
    [
        ({}, {"text": 1}, (), {"strands_cli.error_code": "invalid_input"}),
        (
            {},
            {"text": "a"},
            (Rule("deny", "echo", "workflow", f"f.yaml:3 {SECRET}"),),
            {
                "strands_cli.error_code": "denied",
                "strands_cli.decision": "deny",
                "strands_cli.rule": "f.yaml:3 [secret]",
            },
        ),
        (
            {"annotations": {}},
            {"text": "a"},
            (YES,),
            {"strands_cli.decision": "allow", "strands_cli.rule": "--yes", **ENGINE},
        ),
        (
            {"strands_cli": {"timeout_s": 0.01}},
            {"text": "a"},
            (),
            {**READ_ONLY, "strands_cli.error_code": "timeout"},
        ),
    ],
    ids=["input", "denied", "allowed", "timeout"],
)
def test_every_end_is_reported_and_no_secret(
    site: Site, spans: InMemorySpanExporter, declared: Any, arguments: Any, rules: Any, told: Any
) -> None:
    answer = "await __import__('asyncio').sleep(60)" if "strands_cli" in declared else ANSWER
    host = RunContext()
    result = calling(install(site, answer, **declared), arguments, rules=rules, secrets=[SECRET], host=host)
    [span] = named(spans, "tool:echo")
    assert ours(span) == {**ORIGIN, **told, "strands_cli.key": "steps.0/tool.0.echo"}
    failed = result["status"] == "error"
    assert span.status.status_code is (StatusCode.ERROR if failed else StatusCode.OK)
    assert not failed or error(result)["code"] == told["strands_cli.error_code"]
    assert SECRET not in f"{span.to_json()} {host.events} {host.rows()}"


def contents(span: ReadableSpan) -> dict[str, Any]:
    return {event.name: dict(event.attributes or {}) for event in span.events}


def test_a_span_of_ours_has_inputs_outputs_and_sizes_without_secrets(site: Site, spans: InMemorySpanExporter) -> None:
    calling(install(site), {"text": f"ä {SECRET}"}, secrets=[SECRET])
    [span] = named(spans, "tool:echo")
    found = contents(span)
    assert json.loads(found["gen_ai.tool.message"]["content"]) == {"text": "ä [secret]"}
    assert json.loads(found["gen_ai.choice"]["message"])[0]["json"]["engine"] == "locked-cpython"
    sizes = span.attributes or {}
    assert sizes["strands_cli.input_bytes"] == len('{"text": "ä [secret]"}'.encode())
    assert sizes["strands_cli.output_bytes"] == len('{"engine": "locked-cpython", "layers": {"seccomp": "enforced"}}')


def test_the_span_of_the_sdk_has_sizes_and_contents_once(site: Site, spans: InMemorySpanExporter) -> None:
    asking(Script([("echo", {"text": "a"})], "done"), install(site))
    [span] = named(spans, "execute_tool echo")
    assert [event.name for event in span.events] == ["gen_ai.tool.message", "gen_ai.choice"]
    assert (span.attributes or {})["strands_cli.input_bytes"] == len('{"text": "a"}')


def test_the_switches_of_the_sdk_hold_for_a_span_of_ours(
    site: Site, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = install(site)
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
    calling(planned, {"text": "a"})
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_unredacted_attributes=")
    calling(planned, {"text": "a"})
    newest, without = named(spans, "tool:echo")
    assert json.loads(str((newest.attributes or {})["gen_ai.tool.call.arguments"])) == {"text": "a"}
    assert "gen_ai.tool.call.result" in (newest.attributes or {})
    assert (newest.events, without.events) == ((), ())
    assert "gen_ai.tool.call.arguments" not in (without.attributes or {})
    assert "strands_cli.output_bytes" in (without.attributes or {})


def test_the_spans_of_the_sdk_name_the_model(site: Site, spans: InMemorySpanExporter) -> None:
    asking(Script("done"), settings=ModelSettings("openai", "gpt-4.1-mini"))
    for name in ("chat", "invoke_agent a"):
        [span] = named(spans, name)
        assert (span.attributes or {})["gen_ai.request.model"] == "gpt-4.1-mini"


def test_an_answer_of_the_journal_is_marked(site: Site, spans: InMemorySpanExporter) -> None:
    planned, host = install(site), RunContext()
    calling(planned, {"text": "a"}, host=host)
    calling(planned, {"text": "a"}, host=RunContext(journal=host.journal))
    _, span = named(spans, "tool:echo")
    assert ours(span) == {**ORIGIN, "strands_cli.key": "steps.0/tool.0.echo", "strands_cli.replayed": True}


def test_what_stops_the_run_ends_the_span_without_its_words(
    site: Site, spans: InMemorySpanExporter, wording: Wording
) -> None:
    def broken(_question: Any) -> Any:
        raise ZeroDivisionError(SECRET)

    with pytest.raises(Exception) as raised:
        calling(install(site, annotations={}), {"text": "a"}, host=RunContext(broken), rules=(), secrets=[SECRET])
    wording(raised.value)
    [span] = named(spans, "tool:echo")
    assert span.end_time is not None
    assert [event.name for event in span.events] == ["gen_ai.tool.message"]
    assert SECRET not in span.to_json()


def test_a_tool_that_says_much_of_its_engine_is_cut_short(site: Site, spans: InMemorySpanExporter) -> None:
    value = "{'engine': 'e' * 9999, 'layers': dict.fromkeys(map(str, range(99)), 'x' * 300)}"
    answer = f"{{'status': 'success', 'content': [{{'json': {value}}}]}}"
    calling(install(site, answer), {"text": "a"})
    told = ours(named(spans, "tool:echo")[0])
    assert len(told["strands_cli.engine"]) < 300
    assert (len(told["strands_cli.layers"]), len(told["strands_cli.layers"][0]) < 300) == (32, True)
