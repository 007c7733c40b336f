"""An OTLP collector on loopback: a real server that real exporters reach, and the spans that it was sent."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.fakes.model_server import ModelServer, Request, Turn


@dataclass(frozen=True)
class Sent:
    """One span as it arrived; `text` is all of it."""

    name: str
    id: str
    parent: str
    trace: str
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    service: str
    status: int
    message: str
    text: str


@dataclass(frozen=True)
class Point:
    """One number of a metric as it arrived; of a histogram the sum."""

    metric: str
    value: float
    attributes: dict[str, Any]
    unit: str
    resource: dict[str, Any]


@dataclass
class Collector:
    """What has been sent to it, by whom, and how."""

    server: ModelServer

    @property
    def endpoint(self) -> str:
        return self.server.host

    @property
    def requests(self) -> list[Request]:
        return [one for one in self.server.requests if one.path.endswith("/v1/traces")]

    @property
    def spans(self) -> list[Sent]:
        return [span for request in self.requests for span in _spans(request)]

    @property
    def metric_requests(self) -> list[Request]:
        return [one for one in self.server.requests if one.path.endswith("/v1/metrics")]

    @property
    def newest(self) -> list[Point]:
        """The points of the newest request with metrics."""
        return list(_points(self.metric_requests[-1]))

    @property
    def text(self) -> str:
        return "\n".join(span.text for span in self.spans)

    def named(self, name: str) -> list[Sent]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> Sent:
        (span,) = self.named(name)
        return span

    def parents(self, span: Sent) -> list[str]:
        """Return the names of the spans above one, from the innermost on."""
        by_id = {one.id: one for one in self.spans}
        names = []
        while above := by_id.get(span.parent):
            names.append(above.name)
            span = above
        return names


@contextlib.contextmanager
def collecting(status: int | Turn = 200) -> Iterator[Collector]:
    with ModelServer(elsewhere=status) as server:
        yield Collector(server)


def _body(request: Request) -> bytes:
    kind = request.headers.get("content-encoding")
    return gzip.decompress(request.body) if kind == "gzip" else zlib.decompress(request.body) if kind else request.body


def _spans(request: Request) -> Iterator[Sent]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    for resource in ExportTraceServiceRequest.FromString(_body(request)).resource_spans:
        service = _values(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                events = [(event.name, _values(event.attributes)) for event in span.events]
                ids = (span.span_id.hex(), span.parent_span_id.hex(), span.trace_id.hex())
                status = (span.status.code, span.status.message)
                yield Sent(span.name, *ids, _values(span.attributes), events, service, *status, str(span))


def _points(request: Request) -> Iterator[Point]:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    for resource in ExportMetricsServiceRequest.FromString(_body(request)).resource_metrics:
        of = _values(resource.resource.attributes)
        for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
            kind = metric.WhichOneof("data")
            for point in getattr(metric, kind).data_points:
                value = point.sum if kind == "histogram" else getattr(point, point.WhichOneof("value"))
                yield Point(metric.name, value, _values(point.attributes), metric.unit, of)


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value") or "string_value") for one in attributes}
