"""The tools of a run's MCP servers: started together, filtered, compared with the lock, and offered one by one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from strands_cli.errors import Code, Denied, Finding, NotEquipped, did_you_mean, suggest
from strands_cli.hooks.manager import Hooks
from strands_cli.lock.compare import compare_tools
from strands_cli.lock.lock_reader import LockedServer, LockedTool
from strands_cli.planning.planned_tool import McpTool
from strands_cli.planning.resolve.mcp_servers import is_offered, model_name
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.texts.phrases import shortened
from strands_cli.texts.unicode_safety import hidden_characters, texts_of
from strands_cli.tools.invocation import NO_ANSWERS, Answers, Progress
from strands_cli.tools.manifest_check import LoadedTool, loaded_tool
from strands_cli.tools.mcp.server import Server
from strands_cli.tools.plugin_hooks import load_with_hooks, wrapped
from strands_cli.tools.schema.validators import unchecked_patterns
from strands_cli.tools.tool_forms import Closer, RawTool
from strands_cli.workflow.steps import McpServer

SERVER_FAULT = Code(
    "server-fault",
    "An MCP server cannot be used.",
    "Check that it works by itself; the error shows its output.",
    18,
)

# A larger definition would crowd out the other texts for a model.
MAX_DEFINITION_BYTES = 32 * 1024
_SHOWN = 10
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerNeeds:
    """The needs of servers besides their settings.

    Attributes:
        folder: The working directory of servers in processes.
        values: The secrets, by name.
        redactor: Hides secrets in errors.
        pinned: The lock's entry for each server, by id.
    """

    folder: Path
    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    redactor: Redactor = HIDE_NOTHING
    pinned: Mapping[str, LockedServer] = field(default_factory=dict)


@dataclass(slots=True)
class ServerTools:
    """The tools of servers by their planned tools, and warnings about them for a person."""

    tools: list[tuple[McpTool, list[LoadedTool]]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def load_server_tools(
    planned: Sequence[McpTool], serving: ServerNeeds, closers: list[Closer], hooks: Hooks | None = None
) -> ServerTools:
    """Start the servers of these tools, all at once, and return the tools.

    Args:
        closers: Gets the functions that stop them, before they are started.
        hooks: The hook plugins: they are notified of each start, and give the wrappers of each call.

    Raises:
        NotEquipped: a server does not start, or lacks a named tool. Denied: a server differs from the lock.
    """
    groups: dict[str, list[McpTool]] = {}
    for tool in planned:
        groups.setdefault(canonical_json(tool.config), []).append(tool)
    result = ServerTools()
    servers = [_Group(its[0].server, its, serving, result.warnings) for its in groups.values()]
    closers.append(("the MCP servers", partial(_stop_all, servers)))
    starts = [asyncio.create_task(load_with_hooks(hooks, server.record, server.load)) for server in servers]
    await _all_of(starts)
    for group in servers:
        result.tools += [(tool, wrapped(hooks, tool, loaded)) for tool, loaded in group.loaded]
    return result


async def definitions_of(servers: Iterable[McpServer], serving: ServerNeeds) -> dict[str, dict[str, dict[str, Any]]]:
    """Start servers, all at once, and return the definitions of their tools; they are stopped again.

    Raises:
        NotEquipped: one does not start.
    """
    started = [Server(server, serving.folder, serving.values, serving.redactor) for server in servers]
    starts = [asyncio.create_task(server.start()) for server in started]
    try:
        await _all_of(starts)
        for server in started:
            for note in server.notes:
                _LOG.warning("the MCP server '%s' %s", server.settings.id, note)
        return {server.settings.id: server.tools for server in started}
    finally:
        await asyncio.gather(*(server.stop() for server in started))


async def _all_of(starts: Sequence[asyncio.Task[Any]]) -> None:
    """Wait for all starts, so that every server that fails is reported; none goes on when the wait is cancelled."""
    try:
        if starts:
            await asyncio.wait(starts)
    finally:
        for start in starts:
            start.cancel()
        await asyncio.gather(*starts, return_exceptions=True)
    failed = [error for start in starts if (error := start.exception()) is not None]
    if len(failed) > 1 and all(isinstance(error, NotEquipped) for error in failed):
        findings = [Finding(SERVER_FAULT, str(error), fix=getattr(error, "fix", None)) for error in failed]
        raise NotEquipped(f"{len(failed)} MCP servers cannot be used", findings=findings)
    if failed:
        raise failed[0]


async def _stop_all(servers: Iterable[_Group]) -> None:
    await asyncio.gather(*(group.server.stop() for group in servers))


class _Group:
    """One server with its planned tools."""

    def __init__(self, settings: McpServer, tools: list[McpTool], serving: ServerNeeds, warnings: list[str]) -> None:
        self.server = Server(settings, serving.folder, serving.values, serving.redactor)
        self.record = tools[0].record
        self.loaded: list[tuple[McpTool, list[LoadedTool]]] = []
        self._planned = tools
        self._pinned = serving.pinned.get(settings.id)
        self._warnings = warnings
        self._raw: dict[str, RawTool] = {}

    async def load(self) -> list[LoadedTool]:
        """Start the server and make its tools.

        Raises:
            NotEquipped: it does not start, or lacks a named tool. Denied: it differs from the lock.
        """
        if all(_is_denied_whole(tool) for tool in self._planned):
            self.loaded = [(tool, []) for tool in self._planned]
            self._warn(f"is not started: {self._planned[0].decision.rule}")
            return []
        await self.server.start()
        for note in self.server.notes:
            self._warn(note)
        settings = self.server.settings
        offered = {
            name: definition_now for name, definition_now in self.server.tools.items() if is_offered(settings, name)
        }
        self._check_filters()
        self._require_locked(offered)
        for name, definition in offered.items():
            self._raw[name] = RawTool(name, spec_of(definition), self._invoke(name), is_remote=True)
        self.loaded = [(tool, self._made(tool)) for tool in self._planned]
        return [loaded for _, its in self.loaded for loaded in its]

    def _made(self, planned: McpTool) -> list[LoadedTool]:
        if planned.member is None:
            settings = self.server.settings
            each = [
                (replace(planned, name=model_name(settings, name), member=name), raw) for name, raw in self._raw.items()
            ]
            return [loaded for tool, raw in each if (loaded := self._sound(tool, raw)) is not None]
        if planned.member not in self._raw:
            offered_names = list(self.server.tools)
            fix = suggest(
                planned.member,
                offered_names,
                f"it has: {', '.join(offered_names[:_SHOWN])}"
                if offered_names
                else "it offers no tools; check its own settings",
            )
            raise NotEquipped(f"the MCP server '{self.server.settings.id}' has no tool '{planned.member}'", fix=fix)
        raw = self._raw[planned.member]
        if problem := _oversize(raw):
            raise NotEquipped(f"'{planned.ref}' cannot be used: {problem}", fix="tell its author")
        return [loaded_tool(planned, raw, raw.spec)]

    def _sound(self, tool: McpTool, raw: RawTool) -> LoadedTool | None:
        """Return one of all tools of the server, or None with a warning where it cannot be used."""
        if problem := _oversize(raw):
            self._warn(f"has a tool '{raw.name}' that is left out: {problem}")
            return None
        try:
            loaded = loaded_tool(tool, raw, raw.spec)
        except NotEquipped as error:
            self._warn(f"has a tool '{raw.name}' that is left out: {error.message}")
            return None
        for pattern in unchecked_patterns(raw.schema):
            self._warn(f"has a pattern in '{raw.name}' that values are not compared with: {shortened(pattern, 80)}")
        if hidden := sorted({char for _, text in texts_of(dict(raw.spec)) for char in hidden_characters(text)}):
            self._warn(f"has invisible characters in '{raw.name}': {', '.join(hidden[:3])}")
        return loaded

    def _check_filters(self) -> None:
        settings, offered_names = self.server.settings, list(self.server.tools)
        for word, names in (("allow", settings.tools.allow or ()), ("deny", settings.tools.deny)):
            for name in names:
                if "*" not in name and name not in offered_names:
                    guess = did_you_mean(name, offered_names)
                    self._warn(
                        f"has no tool '{name}', which its `tools.{word}` names"
                        + (f"; did you mean '{guess}'?" if guess else "")
                    )

    def _require_locked(self, offered: Mapping[str, Mapping[str, Any]]) -> None:
        if self._pinned is None:
            return
        now = {name: LockedTool.of(name, definition) for name, definition in offered.items()}
        planned_members = {tool.member for tool in self._planned if tool.member is not None}
        locked_tools = {
            name: tool for name, tool in self._pinned.tools.items() if name in now or name in planned_members
        }
        name = f"mcp:{self.server.settings.id}"
        if differences := compare_tools(name, locked_tools, now):
            fix = f"after you have read the change: strands lock --mcp --update {name}"
            findings = [Finding(difference.code, difference.message, fix=fix) for difference in differences]
            raise Denied(f"the MCP server '{self.server.settings.id}' is not what was locked", findings=findings)

    def _invoke(self, name: str) -> Callable[..., Any]:
        async def invoke(
            tool_use: Mapping[str, Any], state: Mapping[str, Any], progress: Progress, answers: Answers = NO_ANSWERS, /
        ) -> Any:
            return await self.server.call(name, tool_use, progress)

        return invoke

    def _warn(self, warning: str) -> None:
        self._warnings.append(f"the MCP server '{self.server.settings.id}' {warning}")


def _is_denied_whole(tool: McpTool) -> bool:
    """Return whether no call of a tool can be allowed; a rule with exceptions may spare some of a server's tools."""
    by = tool.decision.by
    return tool.decision.effect == "deny" and (by is None or not by.unless)


def _oversize(raw: RawTool) -> str | None:
    size = len(canonical_json(dict(raw.spec)))
    return f"its definition has {size:,} bytes" if size > MAX_DEFINITION_BYTES else None


def spec_of(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition as the SDK has tool specs."""
    spec = {
        "name": definition["name"],
        "description": definition.get("description") or definition["name"],
        "inputSchema": {"json": definition["input_schema"]},
        "outputSchema": definition.get("output_schema"),
        "annotations": definition.get("annotations"),
    }
    return {name: value for name, value in spec.items() if value is not None}
