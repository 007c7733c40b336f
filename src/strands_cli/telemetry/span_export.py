"""The export of spans, without secrets, personal data, and omitted inputs and outputs of tools."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import requests
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter, SpanExportResult
from opentelemetry.trace import Status
from requests.adapters import HTTPAdapter
from requests.utils import select_proxy

from strands_cli.addresses.written_places import admitted
from strands_cli.secrets.redactor import Redactor
from strands_cli.workflow.templates.regular_expressions import SlowPattern, replaced, search

if TYPE_CHECKING:
    from strands_cli.planning.data_flow.egress import Destination
    from strands_cli.workflow.sections import Redact


# The connections to a collector that others named: they end where its address says, or nothing is sent.


class UnexpectedPlace(Exception):
    """A name that looks public has led to another place."""


def held_adapter(text: str) -> HTTPAdapter:
    """Return an adapter for an address: each connection is checked before anything is sent; a proxy looks up itself."""

    class HoldingAdapter(HTTPAdapter):
        def get_connection_with_tls_context(
            self,
            request: requests.PreparedRequest,
            verify: Any,
            proxies: dict[str, str] | None = None,
            cert: Any = None,
        ) -> Any:
            pool = super().get_connection_with_tls_context(request, verify, proxies, cert)
            if select_proxy(str(request.url), proxies) is None and not hasattr(pool.ConnectionCls, "written"):
                pool.ConnectionCls = _checked(pool.ConnectionCls, text)
            return pool

    return HoldingAdapter()


def _checked(kind: Any, held_to: str) -> Any:
    class CheckingExporter(kind):  # type: ignore[misc]
        written = held_to

        def _new_conn(self) -> Any:
            connection = super()._new_conn()
            address, port = connection.getpeername()[:2]
            for problem in admitted(held_to, [address], port, None):
                connection.close()
                raise UnexpectedPlace(problem)
            return connection

    return CheckingExporter


LEFT_OUT = "[left out]"


def exporter_to(destination: Destination, left_out: Redact, redactor: Redactor) -> RedactedExporter:
    """Return an exporter that sends redacted spans to a destination."""
    redactor = redactor.union(Redactor(personal=left_out.pii))
    redaction = SpanRedaction(redactor, left_out)
    if destination.kind == "console":
        line = ConsoleSpanExporter(out=sys.stderr, formatter=lambda span: span.to_json(indent=None) + "\n")
        return RedactedExporter(line, redaction, "the console")
    return RedactedExporter(_otlp(destination), redaction, redactor.text(destination.url))


def _otlp(destination: Destination) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    if destination.with_headers and not destination.is_held:
        return OTLPSpanExporter(destination.url)
    session = _session_without(set() if destination.with_headers else _header_names())
    if destination.is_held:
        for scheme in ("http://", "https://"):
            session.mount(scheme, held_adapter(destination.url))
    return OTLPSpanExporter(destination.url, session=session)


def _header_names() -> set[str]:
    from opentelemetry.util.re import parse_env_headers

    names = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
    return {name for variable in names for name in parse_env_headers(os.environ.get(variable, ""), liberal=True)}


def _session_without(headers: set[str]) -> Any:
    """Return an HTTP session that drops the headers: the exporter adds those of the environment for every URL."""
    import requests

    class Session(requests.Session):
        def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
            for name in headers:
                request.headers.pop(name, None)
            return super().send(request, **kwargs)

    return Session()


class RedactedExporter(SpanExporter):
    """Redacts spans and sends them with another exporter.

    Attributes:
        to: The destination, for people.
        lost: How many spans could not be sent.
    """

    def __init__(self, inner: SpanExporter, redaction: SpanRedaction, to: str) -> None:
        self.to = to
        self.lost = 0
        self._inner = inner
        self._redaction = redaction
        self._waiting = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans; a span that cannot be redacted is not sent."""
        self._waiting = len(spans)
        try:
            result = self._inner.export([self._redaction.of(span) for span in spans])
        except Exception:  # noqa: BLE001 - a run does not fail because of its traces
            result = SpanExportResult.FAILURE
        if result is not SpanExportResult.SUCCESS:
            self.lost += self._waiting
        self._waiting = 0
        return result

    def give_up(self) -> None:
        """Stop sending; spans on their way count as lost."""
        self.lost += self._waiting
        self._waiting = 0
        self._inner.shutdown()

    def shutdown(self) -> None:
        """Close the inner exporter."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Flush the inner exporter."""
        return self._inner.force_flush(timeout_millis)


class SpanRedaction:
    """Removes secrets from a span, and if so configured patterns, and the inputs and the outputs of tools."""

    def __init__(self, redactor: Redactor, left_out: Redact) -> None:
        self._redactor = redactor
        self._patterns = left_out.custom_patterns
        self._inputs = left_out.tool_inputs
        self._outputs = left_out.tool_outputs
        self._longest = _longest(os.environ)
        self._resources: tuple[Resource, Resource] | None = None

    def of(self, span: ReadableSpan) -> ReadableSpan:
        """Return the redacted span."""
        is_tool = (span.attributes or {}).get("gen_ai.operation.name") == "execute_tool"
        return ReadableSpan(
            name=self._hidden(span.name),
            context=span.context,
            parent=span.parent,
            resource=self._resource(span.resource),
            attributes=self._attributes(span.attributes, is_tool, ""),
            events=[self._event(event, is_tool) for event in span.events],
            links=span.links,
            kind=span.kind,
            status=self._status(span.status, is_tool),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _resource(self, resource: Resource) -> Resource:
        """Return the redacted resource, such as the name of the service; spans of one resource share the new one."""
        if self._resources is None or self._resources[0] is not resource:
            attributes = self._attributes(resource.attributes, is_tool=False, event="")
            self._resources = resource, Resource(attributes, resource.schema_url)
        return self._resources[1]

    def _event(self, event: Event, is_tool: bool) -> Event:
        return Event(self._hidden(event.name), self._attributes(event.attributes, is_tool, event.name), event.timestamp)

    def _status(self, status: Status, is_tool: bool) -> Status:
        """Return the redacted status; that of a tool's span contains the tool's answer."""
        if status.description is None:
            return status
        description = LEFT_OUT if is_tool and self._outputs else self._hidden(status.description)
        return Status(status.status_code, description)

    def _attributes(self, attributes: Mapping[str, Any] | None, is_tool: bool, event: str) -> dict[str, Any]:
        return {
            self._hidden(name): LEFT_OUT if self._is_left_out(name, is_tool, event) else self._value(value)
            for name, value in (attributes or {}).items()
        }

    def _is_left_out(self, name: str, is_tool: bool, event: str) -> bool:
        """Return whether an attribute of the SDK is the omitted input or output of a tool."""
        if name == "gen_ai.tool.call.arguments" or (is_tool and (event, name) == ("gen_ai.tool.message", "content")):
            return self._inputs
        if name in ("gen_ai.tool.call.result", "tool.result"):
            return self._outputs
        return self._outputs and is_tool and event in ("gen_ai.choice", "exception") and name != "id"

    def _value(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._value(item) for item in value]
        if not isinstance(value, str):
            return self._redactor.json(value)
        return self._text(value)[: self._longest]

    def _text(self, text: str) -> str:
        """Return the redacted text; a text in JSON, such as the messages of a model, is redacted part by part."""
        if text[:1] not in ("{", "["):
            return self._hidden(text)
        try:
            parts = json.loads(text)
        except (ValueError, RecursionError):
            return self._hidden(text)
        parts = self._without_patterns(self._redactor.json(self._without_calls(parts)))
        return self._hidden(json.dumps(parts, ensure_ascii=False))

    def _hidden(self, text: str) -> str:
        """Return the redacted text; patterns come last, since half a secret would not be found.

        A text that takes a pattern too long is left out whole.
        """
        text = self._redactor.text(text)
        try:
            for pattern in self._patterns:
                text = replaced(pattern, text, LEFT_OUT)
        except SlowPattern:
            return LEFT_OUT
        return text

    def _without_patterns(self, value: Any) -> Any:
        """Return JSON without the matches of the patterns in texts and keys; a number with one is omitted whole."""
        if isinstance(value, dict):
            return {self._hidden(name): self._without_patterns(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._without_patterns(item) for item in value]
        if isinstance(value, str):
            return self._hidden(value)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return LEFT_OUT if is_number and any(search(pattern, str(value)) for pattern in self._patterns) else value

    def _without_calls(self, value: Any) -> Any:
        """Leave out the tool calls in messages, in the form of the SDK and in that of OpenTelemetry."""
        if isinstance(value, list):
            return [self._without_calls(item) for item in value]
        if not isinstance(value, dict):
            return value
        value = {name: self._without_calls(item) for name, item in value.items()}
        use, result, kind = value.get("toolUse"), value.get("toolResult"), value.get("type")
        if self._inputs and isinstance(use, dict):
            value["toolUse"] = {**use, "input": LEFT_OUT}
        if self._outputs and isinstance(result, dict):
            value["toolResult"] = {**result, "content": LEFT_OUT}
        if self._inputs and kind == "tool_call":
            value["arguments"] = LEFT_OUT
        if self._outputs and kind == "tool_call_response":
            value["response"] = LEFT_OUT
        return value


def _longest(environ: Mapping[str, str]) -> int | None:
    """Return the environment's limit for the length of a text, which is cut only after its redaction."""
    names = ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT")
    limit = next((environ[name] for name in names if environ.get(name)), "")
    return int(limit) if limit.isdigit() else None
