"""What leaves the machine when a plan is run, and what may write files on it, as far as it is known beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from strands_cli.planning.data_flow.authority import host_and_port
from strands_cli.planning.plan.plan_values import Plan, PlannedAgent, PlannedTool
from strands_cli.planning.planned_tools.planned_tool import McpTool
from strands_cli.planning.planned_tools.tool_config import EVERY, HOSTS, listed, reached_by, secrets_in
from strands_cli.planning.workflow_tools.tool_parts import agents_in, with_parts
from strands_cli.providers import ModelSettings
from strands_cli.quick_dataclass import dataclass

# Their values are often keys.
_TRACE_HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")

Kind = Literal["model", "tool", "server", "trace"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What leaves this machine at one place, and where it goes.

    `who` is the agent, tool or server. `hosts` are where it goes, `*` for any; None where that is unknown. `is_near`
    tells that all of it stays on this machine or in a private network. `keys` are the secrets and the variables with
    keys that may go with it.
    """

    kind: Kind
    who: str
    what: str
    hosts: tuple[str, ...] | None
    is_near: bool = False
    keys: tuple[str, ...] = ()


def find_outgoing(plan: Plan, environ: Mapping[str, str]) -> tuple[Outgoing, ...]:
    """Return every way by which something leaves the machine, those of parts included, each once."""
    found = [*_models(plan, environ), *_tools(plan), *_traces(plan, environ)]
    return tuple(dict.fromkeys(found))


def find_writers(plan: Plan) -> tuple[tuple[str, bool], ...]:
    """Return the tools that may write files, each with whether it says so; False is a tool that says nothing."""
    found: dict[str, bool] = {}
    for tool in _usable(plan):
        folders = listed(tool.capabilities.get("filesystem"))
        if folders is None and not (isinstance(tool, McpTool) and tool.server.url is not None):
            found.setdefault(tool.name, False)
        elif any(not isinstance(entry, Mapping) or entry.get("mode") != "read" for entry in folders or ()):
            found[tool.name] = True
    return tuple(found.items())


def _models(plan: Plan, environ: Mapping[str, str]) -> Iterator[Outgoing]:
    agents: list[PlannedAgent] = [*plan.agents.values(), *agents_in(plan.called())]
    for agent in agents:
        for settings in filter(None, (agent.model, agent.summarizer)):
            yield from _model(agent.id, settings, environ)


def _model(who: str, settings: ModelSettings, environ: Mapping[str, str]) -> Iterator[Outgoing]:
    from strands_cli.addresses.written_places import is_local
    from strands_cli.provider_table import known_provider
    from strands_cli.providers import host_of, key_variables

    provider = known_provider(settings.provider)
    if provider is None:  # not imported
        yield Outgoing("model", who, settings.provider, None)
    elif provider.make is not None:
        host = host_of(provider, settings, environ) or provider.default_host
        hosts = (host_and_port(host),) if host else () if provider.is_of_core else None
        keys = tuple(name for name in key_variables(provider, settings) if environ.get(name))
        keys = (
            *keys,
            *secrets_in([settings.host, settings.options]),
            *(("the credentials of AWS",) if provider.aws else ()),
        )
        yield Outgoing("model", who, settings.provider, hosts, bool(host) and is_local(host or ""), keys)


def _tools(plan: Plan) -> Iterator[Outgoing]:
    from strands_cli.addresses.written_places import is_local

    for tool in _usable(plan):
        kind: Kind = "tool"
        who = tool.name
        if isinstance(tool, McpTool):
            kind, who = "server", tool.server.id
            if tool.server.url is None:
                yield Outgoing(kind, who, reached_by(tool.server), None, keys=tool.secrets())
                continue
        hosts = _hosts(tool)
        if hosts is None or hosts:
            near = hosts is not None and all(is_local(host.removeprefix("*.")) and host != EVERY for host in hosts)
            yield Outgoing(kind, who, "", hosts, near, tool.secrets())


def _traces(plan: Plan, environ: Mapping[str, str]) -> Iterator[Outgoing]:
    from strands_cli.addresses.written_places import is_local
    from strands_cli.planning.data_flow.telemetry_destination import destination_of

    destination = destination_of(plan.spec.telemetry.otel, environ)
    if destination is not None and destination.kind == "otlp":
        named = [name for name in _TRACE_HEADERS if destination.with_headers and environ.get(name)]
        hosts = (host_and_port(destination.url),)
        yield Outgoing("trace", "", "", hosts, is_local(destination.url), tuple(named))


def _usable(plan: Plan) -> Iterator[PlannedTool]:
    """Yield every tool, parts included, that is not made of others and is not denied."""
    for tool in with_parts(plan.called()):
        if tool.decision.effect != "deny" and not tool.is_composed:
            yield tool


def _hosts(tool: PlannedTool) -> tuple[str, ...] | None:
    named = tool.config.get(HOSTS)
    hosts = named if isinstance(named, (list, tuple)) and named else listed(tool.capabilities.get("network"))
    return None if hosts is None else tuple(str(host) for host in hosts)
