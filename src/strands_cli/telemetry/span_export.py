"""The one seam through which spans leave: what tools are given and answer, secrets and personal data stay here."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter, SpanExportResult
from opentelemetry.trace import Status

if TYPE_CHECKING:
    from strands_cli.planning import Destination
    from strands_cli.secrets import Redactor
    from strands_cli.workflow import Redact

LEFT_OUT = "[left out]"


def exporter_to(destination: Destination, redacting: Redact, redactor: Redactor) -> RedactedExporter:
    """Return what sends spans there, without what is to be left out."""
    redaction = SpanRedaction(redactor, inputs=redacting.tool_inputs, outputs=redacting.tool_outputs)
    if destination.kind == "console":
        line = ConsoleSpanExporter(out=sys.stderr, formatter=lambda span: span.to_json(indent=None) + "\n")
        return RedactedExporter(line, redaction, "the console")
    return RedactedExporter(_otlp(destination), redaction, redactor.text(destination.url))


def _otlp(destination: Destination) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    if destination.with_headers:
        return OTLPSpanExporter(destination.url)
    return OTLPSpanExporter(destination.url, session=_session_without(_header_names()))


def _header_names() -> set[str]:
    from opentelemetry.util.re import parse_env_headers

    names = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
    return {name for variable in names for name in parse_env_headers(os.environ.get(variable, ""), liberal=True)}


def _session_without(headers: set[str]) -> Any:
    """Return an HTTP session that sends none of the headers; the exporter adds those of the environment to any URL."""
    import requests

    class Session(requests.Session):
        def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
            for name in headers:
                request.headers.pop(name, None)
            return super().send(request, **kwargs)

    return Session()


class RedactedExporter(SpanExporter):
    """Sends spans by another exporter, redacted; `lost` counts those that could not be sent."""

    def __init__(self, inner: SpanExporter, redaction: SpanRedaction, to: str) -> None:
        self.to = to
        self.lost = 0
        self._inner = inner
        self._redaction = redaction
        self._waiting = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans; one that cannot be redacted is not sent."""
        self._waiting = len(spans)
        try:
            result = self._inner.export([self._redaction.of(span) for span in spans])
        except Exception:  # noqa: BLE001 - a run does not end for its traces
            result = SpanExportResult.FAILURE
        if result is not SpanExportResult.SUCCESS:
            self.lost += self._waiting
        self._waiting = 0
        return result

    def give_up(self) -> None:
        """Send nothing more; what is under way counts as lost."""
        self.lost += self._waiting
        self._waiting = 0
        self._inner.shutdown()

    def shutdown(self) -> None:
        """Close the other exporter."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Hold nothing back."""
        return self._inner.force_flush(timeout_millis)


class SpanRedaction:
    """Takes out of a span what may not leave: secrets always, `inputs` and `outputs` of tools where asked for."""

    def __init__(self, redactor: Redactor, *, inputs: bool, outputs: bool) -> None:
        self._redactor = redactor
        self._inputs = inputs
        self._outputs = outputs
        self._longest = _longest(os.environ)

    def of(self, span: ReadableSpan) -> ReadableSpan:
        """Return the span as it may leave."""
        is_tool = (span.attributes or {}).get("gen_ai.operation.name") == "execute_tool"
        return ReadableSpan(
            name=self._redactor.text(span.name),
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes=self._attributes(span.attributes, is_tool, ""),
            events=[self._event(event, is_tool) for event in span.events],
            links=span.links,
            kind=span.kind,
            status=self._status(span.status, is_tool),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _event(self, event: Event, is_tool: bool) -> Event:
        return Event(event.name, self._attributes(event.attributes, is_tool, event.name), event.timestamp)

    def _status(self, status: Status, is_tool: bool) -> Status:
        """Return the status; that of a tool's span is made of what the tool answered."""
        if status.description is None:
            return status
        said = LEFT_OUT if is_tool and self._outputs else self._redactor.text(status.description)
        return Status(status.status_code, said)

    def _attributes(self, attributes: Mapping[str, Any] | None, is_tool: bool, event: str) -> dict[str, Any]:
        return {
            self._redactor.text(name): LEFT_OUT if self._is_left_out(name, is_tool, event) else self._value(value)
            for name, value in (attributes or {}).items()
        }

    def _is_left_out(self, name: str, is_tool: bool, event: str) -> bool:
        """Return whether a whole value is what a tool was given or answered, as the SDK writes it."""
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
        """Return a text redacted; what is JSON in it, as the messages of a model are, by its parts."""
        if text[:1] not in ("{", "["):
            return self._redactor.text(text)
        try:
            parts = json.loads(text)
        except (ValueError, RecursionError):
            return self._redactor.text(text)
        parts = self._redactor.json(self._without_calls(parts))
        return self._redactor.text(json.dumps(parts, ensure_ascii=False))

    def _without_calls(self, value: Any) -> Any:
        """Leave out what messages hold of the calls of tools, in the SDK's form and in that of OpenTelemetry."""
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
    """Return how long a text may be by the environment; it is cut here, when its secrets are out of it."""
    names = ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT")
    said = next((environ[name] for name in names if environ.get(name)), "")
    return int(said) if said.isdigit() else None
