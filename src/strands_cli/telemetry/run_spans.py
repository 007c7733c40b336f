"""The spans of a run and its steps, with the SDK's spans below them; the last are sent when the run has ended."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode, Tracer

from strands_cli.engine.ports import UNTRACED, provider_here

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import Sampler

    from strands_cli.engine.ports import Tracing
    from strands_cli.events import RunStatus, StepKind, Usage
    from strands_cli.planning.data_flow.egress import Destination
    from strands_cli.secrets.redactor import Redactor
    from strands_cli.telemetry.span_export import RedactedExporter
    from strands_cli.workflow.sections import Otel, Telemetry

# Seconds that the end of a run waits until its last spans are sent.
END_WAIT_S = 1.0
SERVICE = "strands-cli"


@contextlib.asynccontextmanager
async def open_tracing(
    telemetry: Telemetry, destination: Destination, redactor: Redactor, warn: Callable[[str], None]
) -> AsyncIterator[Tracing]:
    """Trace a run while the context is open; a run does not wait for spans that cannot be sent.

    Args:
        telemetry: The workflow's `telemetry` section.
        destination: Where the spans are sent.
        redactor: Hides secrets in each span.
        warn: Receives one line if the run is not traced or spans are lost.
    """
    try:
        provider, exporter = _open_provider(telemetry, destination, redactor)
    except Exception as error:  # noqa: BLE001 - OpenTelemetry's variables may have any value
        warn(f"this run is not traced: {type(error).__name__}: {error}")
        yield UNTRACED
        return
    try:
        with _sdk_routed():
            yield RunTracing(provider)
    finally:
        await _send_rest(provider, exporter)
        if exporter.lost:
            warn(f"traces could not be sent to {exporter.to}: {exporter.lost} spans are lost")


class RunTracing:
    """Opens spans for the engine: implements `engine.ports.Tracing`."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("strands_cli")

    @contextlib.contextmanager
    def run(self, run_id: str, workflow: str, pattern: str) -> Iterator[OpenSpan]:
        """Open the span of a run below the caller's span, or else below the span that `TRACEPARENT` names."""
        here = provider_here.set(self._provider)
        token = context.attach(_caller_context())
        attributes = {"strands_cli.run_id": run_id, "strands_cli.workflow": workflow, "strands_cli.pattern": pattern}
        try:
            with self._open("run", {**attributes, "gen_ai.operation.name": "invoke_workflow"}) as span:
                yield span
        finally:
            context.detach(token)
            provider_here.reset(here)

    @contextlib.contextmanager
    def step(self, key: str, kind: StepKind, who: str) -> Iterator[OpenSpan]:
        """Open the span of a step."""
        attributes = {"strands_cli.key": key, "strands_cli.kind": kind, "strands_cli.who": who}
        with self._open(f"step {key}", attributes) as span:
            yield span

    @contextlib.contextmanager
    def _open(self, name: str, attributes: Mapping[str, str]) -> Iterator[OpenSpan]:
        # `ended` writes an error as one sentence; a stack trace of this program does not help a reader of spans.
        with self._tracer.start_as_current_span(
            name, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            yield OpenSpan(span)


class OpenSpan:
    """The span of a run or a step: implements `engine.ports.TraceSpan`."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def ended(self, status: RunStatus, usage: Usage, reason: str | None = None, **attributes: Any) -> None:
        """Write how the run or step ended; waiting for a person is not an error."""
        tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        self._span.set_attributes({f"gen_ai.usage.{name}": value for name, value in tokens.items()})
        values = {"status": status, "reason": reason, **attributes}
        self._span.set_attributes({f"strands_cli.{name}": value for name, value in values.items() if value is not None})
        if status == "completed":
            self._span.set_status(Status(StatusCode.OK))
        elif status == "failed":
            self._span.set_status(Status(StatusCode.ERROR, reason))


def _open_provider(
    telemetry: Telemetry, destination: Destination, redactor: Redactor
) -> tuple[TracerProvider, RedactedExporter]:
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from strands_cli.telemetry.span_export import exporter_to

    provider, exporter = _provider(telemetry.otel), exporter_to(destination, telemetry.redact, redactor)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider, exporter


def _provider(otel: Otel | None) -> TracerProvider:
    """Return a provider for one run; it does not cut texts, because half a secret would not be found."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanLimits, TracerProvider

    name = otel.service_name if otel is not None else None
    if name is None and not _is_named(os.environ):
        name = SERVICE
    resource = Resource.create({"service.name": name} if name else {})
    whole = SpanLimits(max_attribute_length=SpanLimits.UNSET, max_span_attribute_length=SpanLimits.UNSET)
    return TracerProvider(_sampler(otel), resource, shutdown_on_exit=False, span_limits=whole)


def _is_named(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("OTEL_SERVICE_NAME")) or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")


def _sampler(otel: Otel | None) -> Sampler | None:
    """Return the sampler of the workflow's ratio, or None: then `OTEL_TRACES_SAMPLER` names one."""
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

    if otel is None or "sample_ratio" not in otel.model_fields_set:
        return None
    return ParentBasedTraceIdRatio(otel.sample_ratio)


def _caller_context() -> Context:
    """Return the context of the caller of the run."""
    if trace.get_current_span().get_span_context().is_valid:
        return context.get_current()
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = {name: os.environ[name.upper()] for name in ("traceparent", "tracestate") if name.upper() in os.environ}
    return TraceContextTextMapPropagator().extract(carrier, context.get_current())


async def _send_rest(provider: TracerProvider, exporter: RedactedExporter) -> None:
    """Send the remaining spans, for at most `END_WAIT_S` seconds."""
    sending = threading.Thread(target=provider.shutdown, daemon=True, name="strands-spans")
    sending.start()
    await asyncio.to_thread(sending.join, END_WAIT_S)
    if sending.is_alive():
        exporter.give_up()


_routing = threading.Lock()
_runs = 0


@contextlib.contextmanager
def _sdk_routed() -> Iterator[None]:
    """Make the SDK, with its one tracer per process, create the spans of a run with the provider of that run."""
    from strands.telemetry import get_tracer

    global _runs
    sdk = get_tracer()
    with _routing:
        _runs += 1
        if not isinstance(sdk.tracer, _RoutingTracer):
            sdk.tracer = _RoutingTracer(sdk.tracer)
    try:
        yield
    finally:
        with _routing:
            _runs -= 1
            if not _runs and isinstance(sdk.tracer, _RoutingTracer):
                sdk.tracer = sdk.tracer.other


class _RoutingTracer(Tracer):
    """Creates a span of the run around the caller, or a span of the program outside of runs."""

    def __init__(self, other: Tracer) -> None:
        self.other = other

    def start_span(self, *args: Any, **kwargs: Any) -> Span:
        return self._here().start_span(*args, **kwargs)

    def start_as_current_span(self, *args: Any, **kwargs: Any) -> Any:
        return self._here().start_as_current_span(*args, **kwargs)

    def _here(self) -> Tracer:
        provider = provider_here.get()
        return self.other if provider is None else _sdk_tracer(provider)


@functools.lru_cache(maxsize=8)
def _sdk_tracer(provider: TracerProvider) -> Tracer:
    return provider.get_tracer("strands.telemetry.tracer")
