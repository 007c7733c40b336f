"""Checks of `telemetry`: the patterns of what traces omit, and an address that is not for traces over HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from strands_cli.errors import Code, Finding
from strands_cli.workflow.checks.schema_checks import BAD_REGEX, check_regex
from strands_cli.workflow.findings import BAD_VALUE
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.templates.regular_expressions import SlowPattern, matches_empty_text

GRPC_PORT = Code(
    "grpc-port",
    "Traces are meant to go by gRPC, by their port or by a variable of the environment, and are sent over HTTP.",
    "Write the collector's port for OTLP over HTTP, which is usually 4318.",
)

_GRPC = re.compile(r":4317(?=/|$)")
_SCHEME = re.compile(r"^(?!https?://)(\w+://)?")


def address_for_http(url: str) -> str | None:
    """Return the address that is meant by one with the port of gRPC; None for any other."""
    return _SCHEME.sub("http://", _GRPC.sub(":4318", url)) if _GRPC.search(url) else None


def check_telemetry(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Yield patterns that are none or can be slow, and an endpoint with the port of gRPC."""
    for index, pattern in enumerate(spec.telemetry.redact.custom_patterns):
        where = loaded.where(f"/telemetry/redact/custom_patterns/{index}")
        if (fault := check_regex(pattern, where)) is not None:
            yield fault
            continue
        try:
            is_everywhere = matches_empty_text(pattern)
        except SlowPattern as error:
            yield Finding(BAD_REGEX, f"the pattern cannot be used: {error}", where, "write a shorter one")
            continue
        if is_everywhere:
            message = f"the pattern {pattern!r} finds the empty text, which is everywhere"
            yield Finding(BAD_REGEX, message, where, "let it find a character at least")
    otel = spec.telemetry.otel
    meant = address_for_http(otel.endpoint) if otel is not None and otel.endpoint else None
    if otel is not None and otel.endpoint is not None and not _is_destination(otel.endpoint):
        message = f"telemetry.otel.endpoint is neither `console` nor a URL of HTTP: {otel.endpoint!r}"
        fix = f"write it like {meant or 'http://localhost:4318'}"
        yield Finding(BAD_VALUE, message, loaded.where("/telemetry/otel/endpoint"), fix)
    elif meant:
        message = "traces are sent by OTLP over HTTP, and port 4317 is that of gRPC, which does not receive them"
        fix = f"write the collector's port for HTTP: {meant}"
        yield Finding(GRPC_PORT, message, loaded.where("/telemetry/otel/endpoint"), fix, "warning")


def _is_destination(endpoint: str) -> bool:
    if endpoint == "console":
        return True
    try:
        parts = urlsplit(endpoint)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
