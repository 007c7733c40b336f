"""The SDK's spans that nothing records: opened without the texts, which the SDK writes as JSON for each of them."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from opentelemetry import trace

if TYPE_CHECKING:
    from opentelemetry.trace import Span
    from strands.telemetry import Tracer

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
