"""Read the tool definitions of workflows' MCP servers: start each server, list its tools, and stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from strands_cli.agents.assembly import redactor_of
from strands_cli.agents.remote_secrets import all_secrets
from strands_cli.errors import Finding, InvalidInput
from strands_cli.lock.lock_reader import LockedServer, LockedTool
from strands_cli.planning.machine.lock_check import servers_in
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.plan_values import all_workflows_in, with_parts
from strands_cli.planning.planned_tool import reached_by
from strands_cli.secrets.redactor import Redactor, hide_in_output
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.tools.mcp.toolset import ServerNeeds, definitions_of
from strands_cli.workflow.findings import DUPLICATE_ID

if TYPE_CHECKING:
    from strands_cli.planning.plan_values import Plan
    from strands_cli.workflow.steps import McpServer

# The places of findings that prevent the start of a server; others concern only a run of the workflow.
_OF_SERVERS = ("/tools/mcp", "/env/secrets")
Definitions = Mapping[str, Mapping[str, Mapping[str, Any]]]


async def ask_servers(plan: Plan) -> Definitions:
    """Return the definitions of all tools of a workflow's servers, by the server's id and the tool's name.

    Raises:
        StrandsCliError: A server cannot be started, or must not be.
    """
    relevant = [finding for finding in plan.findings if finding.where and finding.where.pointer.startswith(_OF_SERVERS)]
    require_runnable(replace(plan, findings=tuple(relevant)))
    return await _definitions_of_servers(plan, plan.spec.tools.mcp)


async def _definitions_of_servers(plan: Plan, servers: Iterable[McpServer]) -> Definitions:
    values = await asyncio.to_thread(all_secrets, plan)
    redactor = redactor_of(plan).union(Redactor(values.values()))
    hide_in_output(redactor)
    folder = plan.spec.folder_of_servers(plan.base_dir)
    return await definitions_of(servers, ServerNeeds(folder, values, redactor))


async def lock_servers(plans: Sequence[Plan]) -> dict[str, LockedServer]:
    """Return the servers that workflows and their nested workflows use, as values of a lock.

    Raises:
        InvalidInput: Two workflows use the same name for different servers.
        StrandsCliError: A server cannot be started, or must not be.
    """
    require_unique_servers(plans)
    locked: dict[str, LockedServer] = {}
    for plan in _all(plans):
        servers = [server for server in _used(plan) if f"mcp:{server.id}" not in locked]
        if not servers:
            continue
        for name, tools in (await _definitions_of_servers(plan, servers)).items():
            server = next(server for server in servers if server.id == name)
            tools_by_name = {tool: LockedTool.of(tool, definition) for tool, definition in tools.items()}
            locked[f"mcp:{name}"] = LockedServer(f"mcp:{name}", reached_by(server), tools_by_name)
    return locked


def servers_without_tools(plans: Sequence[Plan]) -> dict[str, LockedServer]:
    """Return the same values without starting a server, so that the tools are unknown."""
    require_unique_servers(plans)
    servers = [server for plan in _all(plans) for server in _used(plan)]
    return {f"mcp:{server.id}": LockedServer(f"mcp:{server.id}", reached_by(server)) for server in servers}


def require_unique_servers(plans: Sequence[Plan]) -> None:
    """Check that each name belongs to one server, as a lock requires.

    Raises:
        InvalidInput: Two workflows use the same name for different servers.
    """
    servers: dict[str, tuple[str, str]] = {}
    for plan in _all(plans):
        for server in _used(plan):
            definition = canonical_json([reached_by(server), dict(server.env), dict(server.headers)])
            other, file = servers.setdefault(server.id, (definition, plan.file))
            if other != definition:
                message = f"{plan.file} and {file} use the name '{server.id}' for different MCP servers"
                raise InvalidInput(message, findings=[Finding(DUPLICATE_ID, message, fix="rename one of them")])


def _all(plans: Iterable[Plan]) -> list[Plan]:
    return [each for plan in plans for each in (plan, *all_workflows_in(plan))]


def _used(plan: Plan) -> list[McpServer]:
    return servers_in(with_parts(plan.called(), of_others=False))
