"""The collector that a workflow of others names: a name that looks public must lead to a public place."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from strands_cli.planning.data_flow.egress import Destination
from strands_cli.secrets.redactor import HIDE_NOTHING
from strands_cli.telemetry.span_export import exporter_to
from strands_cli.workflow.sections import Redact
from tests.fakes.collector import Collector, collecting


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """Let every name of `example.com` lead to this machine."""
    real = socket.getaddrinfo

    def look_up(host: Any, *rest: Any, **named: Any) -> Any:
        return real("127.0.0.1" if str(host).endswith(".example.com") else host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with collecting() as collector:
        yield collector


@pytest.mark.parametrize("with_headers", [True, False])
@pytest.mark.parametrize(
    ("host", "is_held", "arrives"),
    [
        ("traces.example.com", True, False),
        ("traces.example.com", False, True),
        ("127.0.0.1", True, True),
        ("localhost", True, True),
    ],
)
def test_spans_go_where_the_address_says(
    collector: Collector, host: str, is_held: bool, arrives: bool, with_headers: bool
) -> None:
    url = f"{collector.endpoint.replace('127.0.0.1', host)}/v1/traces"
    exporter = exporter_to(Destination("otlp", url, with_headers, is_held), Redact(), HIDE_NOTHING)
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("t").start_as_current_span("a"):
        pass
    provider.shutdown()
    assert ([span.name for span in collector.spans], exporter.lost) == ((["a"], 0) if arrives else ([], 1))
