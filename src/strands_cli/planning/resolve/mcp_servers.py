"""The MCP servers of a workflow: the needs of each before its start; its tools are known only then."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.resolution import TOOL_UNMET
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import Finding, Where, has_errors, suggest
from strands_cli.planning.planned_tool import McpTool, reached_by, request_of, secrets_in
from strands_cli.planning.resolve.http_executors import check_headers
from strands_cli.planning.resolve.resolve_context import TWIN_TOOL_NAMES, ResolveContext
from strands_cli.policy.decision import decide
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.findings import BAD_IDENTIFIER, BAD_VALUE, NO_EFFECT, UNKNOWN_SERVER

if TYPE_CHECKING:
    from strands_cli.lock.lock_reader import LockedServer
    from strands_cli.policy.rule import Rule
    from strands_cli.workflow.steps import McpServer, ToolEntry

SECTION = "/tools/mcp"
_URL = re.compile(r"(https?)://(\[[^\]\s]+\]|[^\s/?#@:\[\]\\]+)(:\d{1,5})?([/?][^\s#]*)?")
# The forms in which other tools fill in a variable; a script, such as the word after `sh -c`, may have one in it.
_REFERENCE = re.compile(r"(--?[\w-]+=)?\$\{\w+\}")
_PROXY = re.compile(r"http://(\[[^\]\s]+\]|[^\s/?#@:\[\]\\]+)(:\d{1,5})?/?")
_PREFIX = re.compile(r"[a-zA-Z0-9_-]{1,32}")


def planned_servers(context: ResolveContext) -> dict[str, McpTool | None]:
    """Return the servers of a workflow by their ids; None for one that cannot be used, with a finding."""
    planned: dict[str, McpTool | None] = {}
    for index, server in enumerate(context.spec.tools.mcp):
        pointer = f"{SECTION}/{index}"
        faults = list(_faults(server, pointer, context))
        context.findings += faults
        is_sound = not has_errors(faults) and server.id not in planned
        context.is_complete &= is_sound
        planned[server.id] = _planned_server(server, pointer, context) if is_sound else planned.get(server.id)
    return planned


def _planned_server(server: McpServer, pointer: str, context: ResolveContext) -> McpTool:
    whole = f"mcp:{server.id}"
    tool = McpTool(
        name=whole,
        ref=whole,
        record=ToolRecord(
            name=server.id,
            distribution=f"mcp:{server.id}",
            version=None,
            entry=f"mcp:{server.id}",
            entry_name=server.id,
            module="",
            attribute=None,
            path="",
            kind="mcp",
            status="unknown",
            members=None,
            description=f"Tools of the MCP server {reached_by(server)}",
        ),
        config=server.model_dump(mode="json", exclude_defaults=True, include=set(type(server).model_fields)),
        config_claims=_config_claims(server),
        server=server,
    )
    return context.decide(tool, context.document.where(pointer))


def _config_claims(server: McpServer) -> dict[str, Any]:
    """Return the certain claims of its tools: that they reach a host, or are another program."""
    match = _URL.fullmatch(server.url or "")
    capabilities: dict[str, Any] = {"network": [f"{match[2]}{match[3] or ''}"]} if match else {"subprocess": True}
    if named := secrets_in([dict(server.env), dict(server.headers)]):
        capabilities["secrets"] = list(named)
    return {"capabilities": capabilities}


def _faults(server: McpServer, pointer: str, context: ResolveContext) -> Iterator[Finding]:
    """Yield the faults of a server before its start."""
    document = context.document
    if server.prefix is not None and not _PREFIX.fullmatch(server.prefix):
        message = f"the prefix {server.prefix!r} of '{server.id}' makes names that models cannot call"
        yield Finding(BAD_IDENTIFIER, message, document.where(f"{pointer}/prefix"), "use letters, digits, _ and - only")
    for name in ("command", "args", "url", "prefix"):
        value = getattr(server, name)
        if secrets_in(list(value) if isinstance(value, tuple) else value):
            message = f"`{name}` of '{server.id}' would carry a secret where others can read it"
            fix = "put it into `env`" if server.url is None else "put it into `headers`"
            yield Finding(BAD_VALUE, message, document.where(f"{pointer}/{name}"), fix)
    for index, word in enumerate(server.args):
        if _REFERENCE.fullmatch(word):
            message = f"`args` of '{server.id}' has {word!r}, which nothing fills in: others can read a command line"
            fix = "let the program read its environment, and name the secret in `env`"
            yield Finding(NO_EFFECT, message, document.where(f"{pointer}/args/{index}"), fix, "warning")
    if server.url is not None:
        yield from _address_faults(server, pointer, context)
    elif server.command is not None:
        yield from _command_faults(server, pointer, context)


def _address_faults(server: McpServer, pointer: str, context: ResolveContext) -> Iterator[Finding]:
    match = _URL.fullmatch(server.url or "")
    if not match:
        message = f"`url` of '{server.id}' is not http(s)://host[:port][/path]"
        fix = "leave out user name and fragment; a secret goes into `headers` as ${secrets.NAME}"
        yield Finding(BAD_VALUE, message, context.document.where(f"{pointer}/url"), fix)
        return
    yield from _network_faults(server, pointer, context)
    yield from check_headers(server.id, server.headers, match[1], match[2], pointer, context.document)


def _network_faults(server: McpServer, pointer: str, context: ResolveContext) -> Iterator[Finding]:
    """Yield the faults of the proxy, and of the networks that a server may lie in."""
    if server.proxy is not None and not _PROXY.fullmatch(server.proxy):
        message = f"`proxy` of '{server.id}' is not http://host:port"
        yield Finding(BAD_VALUE, message, context.document.where(f"{pointer}/proxy"), "write http://host:port")
    if server.allow_private:
        from strands_cli.addresses.written_places import open_network

        for index, text in enumerate(server.allow_private):
            try:
                open_network(text)
            except ValueError as error:
                where = context.document.where(f"{pointer}/allow_private/{index}")
                message = f"`allow_private` of '{server.id}': {error}"
                yield Finding(BAD_VALUE, message, where, "write a network with a port: 10.1.0.0/16:443")


def _command_faults(server: McpServer, pointer: str, context: ResolveContext) -> Iterator[Finding]:
    import shutil

    command, folder = server.command or "", context.spec.folder_of_servers(context.around.base_dir)
    path = os.path.join(folder, command) if os.sep in command else command  # noqa: PTH118 - a program's name
    if shutil.which(path, path=server.env.get("PATH")) is None:
        import shlex

        location, remedy = f"in {folder}" if os.sep in command else "on PATH", "install it"
        if os.sep in command and os.path.isfile(path):  # noqa: PTH113 - a program's name
            location, remedy = "executable", f"`chmod +x {shlex.quote(path)}`"
        message = f"the MCP server '{server.id}' needs the program {command!r}, which is not {location}"
        program, *words = command.split() or [""]
        fix = f"{remedy}; then see that it works by itself: {shlex.join([command, *server.args])}"
        if words and remedy == "install it":
            fix = f"write `command: {program}` and `args: [{', '.join([*words, *server.args])}]`"
        yield Finding(TOOL_UNMET, message, context.document.where(f"{pointer}/command"), fix)


def model_name(server: McpServer, tool: str) -> str:
    """Return the model's name for a tool of a server: its name behind the prefix, with `_` between them."""
    if not server.prefix:
        return tool
    return f"{server.prefix}{tool}" if server.prefix[-1] in "_-" else f"{server.prefix}_{tool}"


def is_offered(server: McpServer, tool: str) -> bool:
    """Return whether the workflow lets its agents have a tool of a server; `*` matches any characters."""
    allow, deny = server.tools.allow, server.tools.deny
    fits = [any(fnmatch.fnmatchcase(tool, pattern) for pattern in patterns) for patterns in (allow or ("*",), deny)]
    return (allow is None or bool(allow)) and fits[0] and not fits[1]


def resolve_server_tool(
    ref: tuple[str, str], entry: ToolEntry, where: Where, servers: Mapping[str, McpTool | None], context: ResolveContext
) -> tuple[McpTool, ...]:
    """Return a server as an entry names it, or one of its tools; whether it has that is known once it runs.

    Args:
        ref: The server's id, and the tool's name; without the name it is the whole server.
    """
    server_id, tool = ref
    if server_id not in servers:
        undefined = f"define it: `tools: {{mcp: [{{id: {server_id}, command: ...}}]}}`"
        fix = suggest(server_id, servers, f"there are: {', '.join(servers)}" if servers else undefined)
        context.report(UNKNOWN_SERVER, f"there is no MCP server '{server_id}'", where, fix)
        return ()
    context.refuse_config(entry, "configured in tools.mcp", where, "write it there")
    planned = servers[server_id]
    if planned is None:
        return ()
    if not tool:
        if entry.as_ is not None:
            message = f"'{entry.tool}' holds several tools, so `as: {entry.as_}` names none of them"
            context.report(TWIN_TOOL_NAMES, message, where, f"name one: mcp:{server_id}/TOOL")
        return (planned,)
    if not is_offered(planned.server, tool):
        message = f"`tools` of the MCP server '{server_id}' keeps '{tool}' from every agent"
        context.report(NO_EFFECT, message, where, "change the filter, or leave the tool out")
        return ()
    name = entry.as_ or model_name(planned.server, tool)
    return (context.decide(replace(planned, name=name, ref=f"mcp:{server_id}/{tool}", member=tool), where),)


def tools_in_lock(tool: McpTool, locked: LockedServer, rules: Sequence[Rule]) -> list[McpTool]:
    """Return the tools of a server that its lock has, each decided by the hints for which the lock vouches.

    The tool is returned as it is if the lock does not have it, or if a hook plugin has decided too.
    """
    member_names = [name for name in locked.tools if tool.member in (None, name) and is_offered(tool.server, name)]
    if not member_names or tool.decision != decide(rules, request_of(tool)):
        return [tool]
    members = [
        tool if tool.member else replace(tool, name=model_name(tool.server, name), member=name) for name in member_names
    ]
    hints = [json_object(locked.tools[name].fields.get("annotations")) for name in member_names]
    return [
        replace(member, decision=decide(rules, request_of(member, annotations=its)))
        for member, its in zip(members, hints, strict=True)
    ]
