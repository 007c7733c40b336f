"""The SDK's spans that nothing records: opened without the texts, which the SDK writes as JSON for each of them."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opentelemetry import trace

from strands_cli.engine.ports import UNTRACED, Tracing
from strands_cli.planning.data_flow.egress import destination_of
from strands_cli.planning.data_flow.workflow_trust import Trust

if TYPE_CHECKING:
    from opentelemetry.trace import Span
    from strands.telemetry import Tracer

    from strands_cli.planning.plan_values import Plan
    from strands_cli.secrets.redactor import Redactor


# The tracing of a run, which is on if the workflow or the environment names a destination of spans.


@contextlib.asynccontextmanager
async def tracing_of(plan: Plan, redactor: Redactor, warn: Callable[[str], None]) -> AsyncIterator[Tracing]:
    """Trace a run while the context is open; `warn` receives a line if spans cannot be sent."""
    destination = destination_of(plan.spec.telemetry.otel, os.environ)
    if destination is None:
        with unheard_spans_are_empty():
            yield UNTRACED
        return
    otel = plan.spec.telemetry.otel
    if destination.kind == "otlp" and otel is not None and otel.endpoint is not None:
        destination = replace(destination, is_held=Trust.of(plan).is_of_others)
    from strands_cli.telemetry.run_spans import (
        open_tracing,
    )  # imports OpenTelemetry, which a run without spans does not need

    async with open_tracing(plan.spec.telemetry, destination, redactor, warn) as tracing:
        yield tracing


STARTS = ("start_agent_span", "start_event_loop_cycle_span", "start_model_invoke_span", "start_tool_call_span")
_changing = threading.Lock()
_runs = 0


@contextlib.contextmanager
def unheard_spans_are_empty() -> Iterator[None]:
    """Let the SDK open each span that nothing records without its texts: all messages, at each request.

    A span that a program records, or a run with traces in the same process, is opened as before.
    """
    from strands.telemetry import get_tracer

    global _runs
    sdk = get_tracer()  # one per process
    with _changing:
        _runs += 1
        vars(sdk).update({name: functools.partial(_start, sdk, name) for name in STARTS} if _runs == 1 else {})
    try:
        yield
    finally:
        with _changing:
            _runs -= 1
            for name in STARTS if not _runs else ():
                vars(sdk).pop(name, None)


def _start(sdk: Tracer, name: str, *values: Any, **named: Any) -> Span:
    if _is_heard(sdk):
        span: Span = getattr(type(sdk), name)(sdk, *values, **named)
        return span
    return sdk.tracer.start_span(name)


def _is_heard(sdk: Tracer) -> bool:
    """Return whether a provider may record the spans; without one, OpenTelemetry has its own tracer in its place."""
    unset = isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    return not (unset and isinstance(sdk.tracer, trace.ProxyTracer))
