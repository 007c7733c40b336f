"""Spans of the SDK in a run without traces: empty where nothing records them, else whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from strands.telemetry import get_tracer
from strands.telemetry import tracer as sdk_tracer

from strands_cli import Workflow
from strands_cli.telemetry.unheard_spans import STARTS
from tests.fakes.model_server import ModelServer, Turn

# In a process of its own, since an older test may have set the provider of this one, which is set once.
UNHEARD = """
from strands.telemetry import get_tracer
from strands_cli.telemetry.unheard_spans import STARTS, unheard_spans_are_empty

class Unreadable(list):
    def __iter__(self):
        raise AssertionError("the messages were read")

with unheard_spans_are_empty(), unheard_spans_are_empty():
    span = get_tracer().start_model_invoke_span(Unreadable([{"role": "user", "content": [{"text": "a"}]}]))
assert not span.is_recording()
assert not vars(get_tracer()).keys() & set(STARTS), "the program around the run has the SDK's tracer as it was"
"""


@pytest.fixture(autouse=True)
def own_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.setattr(sdk_tracer, "_tracer_instance", None)  # not the one that an older test has changed


def test_a_span_that_nothing_records_does_not_read_the_messages() -> None:
    subprocess.run([sys.executable, "-c", UNHEARD], check=True, timeout=120)


@pytest.mark.parametrize("name", STARTS)
def test_the_sdk_opens_its_spans_with_these_methods(name: str) -> None:
    assert callable(getattr(get_tracer(), name))


def test_a_program_that_records_spans_has_their_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    get_tracer().tracer = provider.get_tracer("of the program")
    with ModelServer([Turn("a word")]) as model:
        runtime = {"provider": "openai", "model_id": "m", "host": model.url}
        pattern = {"type": "chain", "config": {"steps": [{"agent": "a", "input": "Say it."}]}}
        agents = {"a": {"prompt": "You help.", "tools": []}}
        path = tmp_path / "w.yaml"
        path.write_text(
            json.dumps({"version": 2, "name": "w", "runtime": runtime, "agents": agents, "pattern": pattern})
        )
        Workflow.from_file(path).run(runs_dir=tmp_path / "runs")
    (chat,) = (span for span in spans.get_finished_spans() if span.name == "chat")
    assert "Say it." in str([dict(event.attributes or {}) for event in chat.events])
