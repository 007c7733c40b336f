"""The metrics of a worker, switched on if the environment names a destination of metrics."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from strands_cli.api import NotEquipped
from strands_cli_workers.measures import UNMEASURED, Measures

if TYPE_CHECKING:
    pass

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def metrics_exporter(environ: Mapping[str, str]) -> Literal["otlp", "console"] | None:
    """Return where the metrics of a worker go; None where nothing is measured.

    The variables are those of https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. None
    of them has a default here: without a destination there is nothing to measure for.
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    named = environ.get("OTEL_METRICS_EXPORTER", "").strip().lower()
    if named == "console":
        return "console"
    is_wanted = named == "otlp" or (named != "none" and any(environ.get(name) for name in _ENDPOINTS))
    return "otlp" if is_wanted else None


@contextlib.contextmanager
def measured_worker(worker: str, environ: Mapping[str, str], warn: Callable[[str], None]) -> Iterator[Measures]:
    """Measure a worker while the context is open; `warn` receives a line when metrics can no longer be sent.

    Raises:
        NotEquipped: Metrics are to be sent, and their exporter is not installed.
    """
    exporter = metrics_exporter(environ)
    if exporter is None:
        yield UNMEASURED
        return
    if exporter == "otlp" and not _has_exporter():
        raise NotEquipped(
            "metrics are to be sent by OTLP, and what does that is not installed",
            fix="pip install 'strands-cli[otel]'; or measure nothing: OTEL_METRICS_EXPORTER=none",
        )
    from strands_cli_workers.worker_metrics import open_metrics  # imports OpenTelemetry

    with open_metrics(worker, exporter, warn) as measures:
        yield measures


def _has_exporter() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False
