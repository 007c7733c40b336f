"""The tracing of a run, which is on if the workflow or the environment names a destination of spans."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from strands_cli.engine.ports.tracing_port import UNTRACED, Tracing
from strands_cli.planning.data_flow.telemetry_destination import destination_of
from strands_cli.planning.data_flow.workflow_trust import Trust

if TYPE_CHECKING:
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.secrets.redactor import Redactor


@contextlib.asynccontextmanager
async def tracing_of(planned: Plan, redactor: Redactor, warn: Callable[[str], None]) -> AsyncIterator[Tracing]:
    """Trace a run while the context is open; `warn` receives a line if spans cannot be sent."""
    destination = destination_of(planned.spec.telemetry.otel, os.environ)
    if destination is None:
        from strands_cli.telemetry.unheard_spans import unheard_spans_are_empty  # imports OpenTelemetry

        with unheard_spans_are_empty():
            yield UNTRACED
        return
    otel = planned.spec.telemetry.otel
    if destination.kind == "otlp" and otel is not None and otel.endpoint is not None:
        destination = replace(destination, is_held=Trust.of(planned).is_of_others)
    from strands_cli.telemetry.run_spans import (
        open_tracing,
    )  # imports OpenTelemetry, which a run without spans does not need

    async with open_tracing(planned.spec.telemetry, destination, redactor, warn) as tracing:
        yield tracing
