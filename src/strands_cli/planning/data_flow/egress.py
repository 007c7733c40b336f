"""Data that leaves the machine during a run, and tools that may write files on it, as far as known beforehand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal
from urllib.parse import urlsplit

from strands_cli.errors import Code, Finding
from strands_cli.planning.data_flow.authority import host_and_port
from strands_cli.planning.plan_values import Plan, PlannedAgent, PlannedTool, agents_in, with_parts
from strands_cli.planning.planned_tool import EVERY, HOSTS, McpTool, listed, reached_by, secrets_in
from strands_cli.providers import ModelSettings
from strands_cli.quick_dataclass import dataclass
from strands_cli.workflow.checks.check_sections import GRPC_PORT, address_for_http
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.sections import Otel
from strands_cli.yaml_files.document import Document

# Where the traces of a run go: by its workflow, and where that says nothing by the variables of OpenTelemetry.


NO_EXPORTER = Code(
    "no-exporter",
    "`telemetry.otel` sends traces by OTLP, and the exporter is not installed.",
    "pip install 'strands-cli[otel]', or run without traces: OTEL_SDK_DISABLED=true",
    18,
)

INSTALL = "pip install 'strands-cli[otel]'"
_PATH = "/v1/traces"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_AT_HOME = "http://localhost:4318"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where spans go: to the console, or to a URL; `with_headers` also with the headers that the environment names.

    With `is_held` the URL is the word of others, so that a name that looks public must lead to a public place.
    """

    kind: Literal["console", "otlp"]
    url: str = ""
    with_headers: bool = True
    is_held: bool = False


def destination_of(otel: Otel | None, environ: Mapping[str, str]) -> Destination | None:
    """Return where the spans of a run go, None where nothing is traced.

    The variables are those of https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. The
    values of the workflow have precedence over them, except over `OTEL_SDK_DISABLED`. The headers of the environment
    are often a key: they go to the endpoint of the environment, not to one that a file names.
    """
    if otel is None or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    usual = environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or _with_path(
        environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or _AT_HOME
    )
    if otel.endpoint == "console":
        return Destination("console")
    if otel.endpoint is not None:
        url = _with_path(otel.endpoint)
        return Destination("otlp", url, _origin(url) == _origin(usual))
    exporter = environ.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower()
    if exporter == "none":
        return None
    return Destination("console") if exporter == "console" else Destination("otlp", usual)


def check_telemetry(spec: WorkflowSpec, document: Document, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings that keep the traces of a workflow from being sent."""
    otel = spec.telemetry.otel
    destination = destination_of(otel, environ)
    if destination is not None and destination.kind == "otlp" and not _has_exporter():
        message = "telemetry.otel sends traces by OTLP, and what does that is not installed"
        fix = f"{INSTALL}; or run without traces: OTEL_SDK_DISABLED=true"
        yield Finding(NO_EXPORTER, message, document.where("/telemetry/otel"), fix)
    elif otel is not None and destination is not None and destination.kind == "otlp":
        for message, fix in _meant_for_grpc(otel.endpoint, environ):
            yield Finding(GRPC_PORT, message, document.where("/telemetry/otel/endpoint"), fix, "warning")


def _meant_for_grpc(text: str | None, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the variables of the environment with gRPC, and the remedy; the file's address is checked with the file."""
    name, address = next(((variable, environ[variable]) for variable in _ENDPOINTS if environ.get(variable)), ("", ""))
    http_address = address_for_http(address)
    if text is None and http_address:
        yield f"traces are sent by OTLP over HTTP, and {name} has port 4317, that of gRPC", f"set {name}={http_address}"
        return
    protocol = next((variable for variable in _PROTOCOLS if environ.get(variable)), "")
    has_usual_port = re.search(r":431[78](?!\d)", text or address) is not None
    if environ.get(protocol, "").strip().lower() == "grpc" and not has_usual_port:
        fix = f"set {protocol}=http/protobuf, and write the collector's port for HTTP, usually 4318"
        yield f"traces are sent by OTLP over HTTP, and {protocol}=grpc asks for gRPC", fix


def _has_exporter() -> bool:
    """Return whether the exporter is installed, without importing it."""
    from importlib.util import find_spec

    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def _with_path(url: str) -> str:
    """Return the URL for traces; the given one is usually that of all signals."""
    return url if url.rstrip("/").endswith(_PATH) else url.rstrip("/") + _PATH


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme.lower(), parts.netloc.lower()


# Their values are often keys.
_TRACE_HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")

Kind = Literal["model", "tool", "server", "trace"]


@dataclass(frozen=True, slots=True)
class OutgoingData:
    """Data that leaves this machine at one place, with its destination.

    `who` is the agent, tool or server. `hosts` are the destinations, `*` for any; None where they are unknown.
    `is_near` tells that all of it stays on this machine or in a private network. `keys` are the secrets and the
    variables with keys that may go with it.
    """

    kind: Kind
    who: str
    what: str
    hosts: tuple[str, ...] | None
    is_near: bool = False
    keys: tuple[str, ...] = ()


def find_outgoing(plan: Plan, environ: Mapping[str, str]) -> tuple[OutgoingData, ...]:
    """Return every way by which something leaves the machine, those of parts included, each once."""
    outgoing = [*_models(plan, environ), *_tools(plan), *_traces(plan, environ)]
    return tuple(dict.fromkeys(outgoing))


def find_writers(plan: Plan) -> tuple[tuple[str, bool], ...]:
    """Return the tools that may write files, each with whether it says so; False is a tool that says nothing."""
    writers: dict[str, bool] = {}
    for tool in _usable(plan):
        folders = listed(tool.capabilities.get("filesystem"))
        if folders is None and not (isinstance(tool, McpTool) and tool.server.url is not None):
            writers.setdefault(tool.name, False)
        elif any(not isinstance(entry, Mapping) or entry.get("mode") != "read" for entry in folders or ()):
            writers[tool.name] = True
    return tuple(writers.items())


def _models(plan: Plan, environ: Mapping[str, str]) -> Iterator[OutgoingData]:
    agents: list[PlannedAgent] = [*plan.agents.values(), *agents_in(plan.called())]
    for agent in agents:
        for settings in agent.every_model:
            yield from _model(agent.id, settings, environ)


def _model(who: str, settings: ModelSettings, environ: Mapping[str, str]) -> Iterator[OutgoingData]:
    from strands_cli.addresses.written_places import is_local
    from strands_cli.provider_table import known_provider
    from strands_cli.providers import host_of, key_variables
    from strands_cli.user_files.stored_keys import with_taken_keys

    provider = known_provider(settings.provider)
    if provider is None:  # not imported
        yield OutgoingData("model", who, settings.provider, None)
    elif provider.make is not None:
        host = host_of(provider, settings, environ) or provider.default_host
        hosts = (host_and_port(host),) if host else () if provider.is_of_core else None
        environ = with_taken_keys(environ)
        keys = tuple(name for name in key_variables(provider, settings) if environ.get(name))
        keys = (
            *keys,
            *secrets_in([settings.host, settings.options]),
            *(("the credentials of AWS",) if provider.aws else ()),
        )
        yield OutgoingData("model", who, settings.provider, hosts, bool(host) and is_local(host or ""), keys)


def _tools(plan: Plan) -> Iterator[OutgoingData]:
    from strands_cli.addresses.written_places import is_local

    for tool in _usable(plan):
        kind: Kind = "tool"
        who = tool.name
        if isinstance(tool, McpTool):
            kind, who = "server", tool.server.id
            if tool.server.url is None:
                yield OutgoingData(kind, who, reached_by(tool.server), None, keys=tool.secrets())
                continue
        hosts = _hosts(tool)
        if hosts is None or hosts:
            near = hosts is not None and all(is_local(host.removeprefix("*.")) and host != EVERY for host in hosts)
            yield OutgoingData(kind, who, "", hosts, near, tool.secrets())


def _traces(plan: Plan, environ: Mapping[str, str]) -> Iterator[OutgoingData]:
    from strands_cli.addresses.written_places import is_local

    destination = destination_of(plan.spec.telemetry.otel, environ)
    if destination is not None and destination.kind == "otlp":
        named = [name for name in _TRACE_HEADERS if destination.with_headers and environ.get(name)]
        hosts = (host_and_port(destination.url),)
        yield OutgoingData("trace", "", "", hosts, is_local(destination.url), tuple(named))


def _usable(plan: Plan) -> Iterator[PlannedTool]:
    """Yield every tool that policy does not deny, parts included, but for composed ones."""
    for tool in with_parts(plan.called()):
        if tool.decision.effect != "deny" and not tool.is_composed:
            yield tool


def _hosts(tool: PlannedTool) -> tuple[str, ...] | None:
    named = tool.config.get(HOSTS)
    hosts = named if isinstance(named, (list, tuple)) and named else listed(tool.capabilities.get("network"))
    return None if hosts is None else tuple(str(host) for host in hosts)
