"""What leaves the machine when a plan is run, and what may write files on it, as far as it is known beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from strands_cli.planning.plan import Plan, PlannedAgent, PlannedTool
from strands_cli.planning.resolve.tool_config import settled
from strands_cli.planning.workflow_tools import agents_in, called_in, with_parts
from strands_cli.providers import ModelSettings

Kind = Literal["model", "tool", "server", "secret", "trace"]
_EVERY = "*"
# In a tool's `config`: the hosts that its author lets it reach.
_HOSTS = "allow_hosts"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One way out: what goes, and where to.

    `who` is the agent, tool, server or secret. `hosts` are where it goes, `*` for any; None where nobody says.
    `is_near` tells that all of it stays on this machine or in a private network.
    """

    kind: Kind
    who: str
    what: str
    hosts: tuple[str, ...] | None
    is_near: bool = False


def find_outgoing(plan: Plan, environ: Mapping[str, str]) -> tuple[Outgoing, ...]:
    """Return every way by which something leaves the machine, those of parts included, each once."""
    found = [*_models(plan, environ), *_tools(plan), *_secrets(plan), *_traces(plan, environ)]
    return tuple(dict.fromkeys(found))


def find_writers(plan: Plan) -> tuple[tuple[str, bool], ...]:
    """Return the tools that may write files, each with whether it says so; False is a tool that says nothing."""
    found: dict[str, bool] = {}
    for tool in _usable(plan):
        folders = _capability(tool, "filesystem")
        if folders is None and (tool.server is None or tool.server.url is None):
            found.setdefault(tool.name, False)
        elif any(not isinstance(entry, Mapping) or entry.get("mode") != "read" for entry in folders or ()):
            found[tool.name] = True
    return tuple(found.items())


def _models(plan: Plan, environ: Mapping[str, str]) -> Iterator[Outgoing]:
    agents: list[PlannedAgent] = [*plan.agents.values(), *agents_in(called_in(plan))]
    for agent in agents:
        for settings in filter(None, (agent.model, agent.summarizer)):
            yield from _model(agent.id, settings, environ)


def _model(who: str, settings: ModelSettings, environ: Mapping[str, str]) -> Iterator[Outgoing]:
    from strands_cli.provider_table import PROVIDERS
    from strands_cli.providers import host_of, is_local

    provider = PROVIDERS.get(settings.provider)
    if provider is None:  # a plugin's
        yield Outgoing("model", who, settings.provider, None)
    elif provider.model_class is not None:
        host = host_of(provider, settings, environ) or provider.default_host
        hosts = (_shown(host),) if host else ()
        yield Outgoing("model", who, settings.provider, hosts, is_near=bool(host) and is_local(host or ""))


def _tools(plan: Plan) -> Iterator[Outgoing]:
    from strands_cli.planning.resolve.mcp_servers import reached_by
    from strands_cli.providers import is_local

    for tool in _usable(plan):
        if tool.server is not None and tool.server.url is None:
            yield Outgoing("server", tool.server.id, reached_by(tool.server), None)
            continue
        hosts = _hosts(tool)
        if hosts is None or hosts:
            kind: Kind = "tool" if tool.server is None else "server"
            near = hosts is not None and all(is_local(host) for host in hosts)
            yield Outgoing(kind, tool.server.id if tool.server else tool.name, "", hosts, near)


def _secrets(plan: Plan) -> Iterator[Outgoing]:
    for secret in plan.spec.env.secrets:
        if secret.source in ("secrets_manager", "ssm"):
            yield Outgoing("secret", secret.name or secret.key, secret.source, ())


def _traces(plan: Plan, environ: Mapping[str, str]) -> Iterator[Outgoing]:
    from strands_cli.planning.telemetry_destination import destination_of
    from strands_cli.providers import is_local

    destination = destination_of(plan.spec.telemetry.otel, environ)
    if destination is not None and destination.kind == "otlp":
        yield Outgoing("trace", "", "", (_shown(destination.url),), is_near=is_local(destination.url))


def _usable(plan: Plan) -> Iterator[PlannedTool]:
    """Yield every tool, parts included, that is not made of others and is not denied."""
    for tool in with_parts(called_in(plan)):
        if tool.decision.effect != "deny" and not tool.is_composed:
            yield tool


def _hosts(tool: PlannedTool) -> tuple[str, ...] | None:
    named = tool.config.get(_HOSTS)
    listed = named if isinstance(named, (list, tuple)) and named else _capability(tool, "network")
    return None if listed is None else tuple(str(host) for host in listed)


def _capability(tool: PlannedTool, word: str) -> list[Any] | None:
    """Return what a tool lists under a capability; plain `true` means everything, and None is not said."""
    claims = settled(tool.record.strands_cli, tool.settles) if tool.record is not None else {}
    said = claims.get("capabilities")
    value = said.get(word) if isinstance(said, Mapping) else None
    if isinstance(value, bool):
        return [_EVERY] if value else []
    return list(value) if isinstance(value, (list, tuple)) else None


def _shown(url: str) -> str:
    """Return host and port of an address, without what may be a password or a key."""
    from urllib.parse import urlsplit

    try:
        return urlsplit(url if "://" in url else f"//{url}").netloc.rpartition("@")[2] or url
    except ValueError:
        return "an address that cannot be read"
