"""A changed plugin is loaded again between two calls of its tools, never under one that is in flight."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from strands_cli.catalog import Catalog, discover_catalog
from strands_cli.engine.scope import StepScope
from strands_cli.errors import Denied, StrandsCliError
from strands_cli.events import RunWarning
from strands_cli.planning.file_watch import (
    States,
    Watched,
    changed_files,
    declaration_changes,
    settled,
    states_of,
    watch_tools,
)
from strands_cli.planning.lock_check import check_used, used_by
from strands_cli.planning.plan import Plan, PlannedTool
from strands_cli.planning.planned_tool import PythonTool
from strands_cli.tools.forms import Closer, RawTool, close_all
from strands_cli.tools.gate import Gate
from strands_cli.tools.invocation import NO_ANSWERS, Answers, Progress
from strands_cli.tools.manifest_check import LoadedTool
from strands_cli.tools.tool_loading import Toolbox, custom_folders, key_of
from strands_cli.tools.tool_results import Result, error_result

# Loads tools as the run's own were loaded.
Load = Callable[[Iterable[PlannedTool]], Awaitable[Toolbox]]
_SHOWN = 3


@dataclass(slots=True)
class Plugin:
    """One distribution (or one package of custom Python) with the tools that a run has of it."""

    name: str
    tools: list[PlannedTool]
    watched: Watched
    states: States
    box: Toolbox = field(default_factory=Toolbox)
    closers: list[Closer] = field(default_factory=list)
    # Why its tools cannot be called as it is now.
    broken: StrandsCliError | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    in_flight: int = 0

    def enter(self) -> None:
        """Begin a call."""
        self.in_flight += 1
        self.idle.clear()

    def leave(self) -> None:
        """End a call."""
        self.in_flight -= 1
        if not self.in_flight:
            self.idle.set()


class Reloader:
    """Holds the plugins of one run, and loads each again whose files have changed before its next call.

    A run's definitions are part of what was planned, allowed and recorded: a tool whose definition has changed stays
    as it was, and the next run has the new one. What a lock vouched for is refused once it is something else.
    """

    def __init__(self, plan: Plan, load: Load) -> None:
        self._plan = plan
        self._load = load
        self._folders = custom_folders(plan.base_dir, plan.spec.tools.python_path)
        self._plugins: dict[str, Plugin] = {}
        self.toolbox = Toolbox()

    async def load_all(self, tools: Iterable[PlannedTool]) -> Toolbox:
        """Load every tool for the first time, plugin by plugin.

        Raises:
            NotEquipped: a plugin cannot be imported or holds no tool.
            Denied: a tool is not what its manifest says.
        """
        groups: dict[str, list[PlannedTool]] = {}
        for tool in tools:
            groups.setdefault(_name_of(tool), []).append(tool)
        catalog = discover_catalog()
        try:
            for name, its in groups.items():
                watched = watch_tools(its, catalog, self._folders)
                plugin = Plugin(name, its, watched, states_of(watched.places))
                plugin.idle.set()
                await self._take(plugin)
                self._plugins[name] = plugin
        except BaseException:
            await self.toolbox.close()
            raise
        return self.toolbox

    @contextlib.asynccontextmanager
    async def as_it_is_now(self, tool: LoadedTool, scope: StepScope) -> AsyncIterator[LoadedTool]:
        """Give the tool for one call, during which it stays what it is.

        Raises:
            Denied: it is no longer what its manifest or the lock says.
        """
        plugin = self._plugins[_name_of(tool.planned)]
        async with plugin.turn:
            if states_of(plugin.watched.places) != plugin.states:
                await plugin.idle.wait()
                await self._renew(plugin, scope)
            if isinstance(plugin.broken, Denied):
                raise plugin.broken
            plugin.enter()
        try:
            yield self._current(plugin, tool)
        finally:
            plugin.leave()

    async def _renew(self, plugin: Plugin, scope: StepScope) -> None:
        """Load a changed plugin again, or say why it stays what it was."""
        before = plugin.states
        plugin.states = await asyncio.to_thread(settled, plugin.watched.places, time.sleep)
        files = changed_files(before, plugin.states)
        catalog = await asyncio.to_thread(discover_catalog)
        changes = self._redefined(plugin, catalog)
        if refused := self._unlocked(plugin, catalog):
            plugin.broken = refused
        elif not changes:
            plugin.broken = await self._load_again(plugin, scope)
        outcome = "its tools are used as they are now from this call on"
        if changes and not refused:
            outcome = f"the next run will have it, this one keeps the tool as it was: {'; '.join(changes)}"
        elif plugin.broken is not None:
            outcome = plugin.broken.message
        scope.emit(RunWarning(scope.now(), f"{plugin.name} changed ({_listed(files)}): {outcome}"))

    def _redefined(self, plugin: Plugin, catalog: Catalog) -> list[str]:
        """Return how definitions of the run's own tools differ from those that it was planned with."""
        now = watch_tools(plugin.tools, catalog, self._folders)
        names = {tool.record.ref_name for tool in plugin.tools if not isinstance(tool, PythonTool)}
        return [
            line for name in sorted(names)
            for line in declaration_changes(plugin.watched.distributions, now.distributions, name)
        ]  # fmt: skip

    def _unlocked(self, plugin: Plugin, catalog: Catalog) -> Denied | None:
        if not any(map(self._plan.is_locked, plugin.tools)):
            return None
        used = used_by(plugin.tools, self._plan.spec.tools.python_path)
        findings, _ = check_used(used, self._plan.base_dir, catalog)
        return Denied(findings[0].message, findings=findings) if findings else None

    async def _load_again(self, plugin: Plugin, scope: StepScope) -> StrandsCliError | None:
        """Close what the plugin holds, forget its modules and load it; return why that failed."""
        mine = [closer for closer in self.toolbox.closers if closer in plugin.closers]
        self.toolbox.closers[:] = [closer for closer in self.toolbox.closers if closer not in mine]
        for problem in await close_all(mine):
            scope.emit(RunWarning(scope.now(), problem))
        _forget(plugin)
        try:
            await self._take(plugin)
        except StrandsCliError as error:
            return error
        return None

    async def _take(self, plugin: Plugin) -> None:
        plugin.box, plugin.closers = Toolbox(), []
        plugin.box = await self._load(plugin.tools)
        plugin.closers = list(plugin.box.closers)
        self.toolbox.closers += plugin.closers
        self.toolbox.tools.update(plugin.box.tools)

    def _current(self, plugin: Plugin, tool: LoadedTool) -> LoadedTool:
        if plugin.broken is not None:
            return _out_of_order(tool, plugin.broken.message)
        loaded = [one for planned in plugin.tools for one in plugin.box.get(planned)]
        found = (one for one in loaded if key_of(one.planned) == key_of(tool.planned))
        return next(found, None) or _out_of_order(tool, f"{plugin.name} has no '{tool.planned.name}' any more")


@dataclass(frozen=True, slots=True)
class ReloadingGate(Gate):
    """The gate, before tools that may change between two calls; made by `with_reloading`."""

    reloader: Reloader | None = None

    async def call(
        self, tool: LoadedTool, tool_use: Mapping[str, Any], scope: StepScope, state: Mapping[str, Any]
    ) -> Result:
        """Make one call of the tool as it is now; one that is refused stops the run."""
        if self.reloader is None:
            return await Gate.call(self, tool, tool_use, scope, state)
        try:
            async with self.reloader.as_it_is_now(tool, scope) as current:
                return await Gate.call(self, current, tool_use, scope, state)
        except StrandsCliError as error:
            scope.stop(error)
        return error_result(tool_use["toolUseId"], "unavailable", "the run stops here")


def with_reloading(gate: Gate, reloader: Reloader) -> Gate:
    """Return the gate before tools that are held by a reloader."""
    return ReloadingGate(**{one.name: getattr(gate, one.name) for one in fields(gate)}, reloader=reloader)


def _name_of(tool: PlannedTool) -> str:
    return tool.record.module.partition(".")[0] if isinstance(tool, PythonTool) else tool.distribution


def _out_of_order(tool: LoadedTool, reason: str) -> LoadedTool:
    """Return the tool with a call that only says why it cannot be made."""

    async def refuse(
        tool_use: Mapping[str, Any], _state: Mapping[str, Any], _progress: Progress, _answers: Answers = NO_ANSWERS
    ) -> Any:
        return error_result(tool_use["toolUseId"], "unavailable", reason)

    return replace(tool, raw=RawTool(tool.raw.name, tool.raw.spec, refuse))


def _forget(plugin: Plugin) -> None:
    """Let the next import of the plugin's modules read their files again."""
    places = [os.path.realpath(place) for place in plugin.watched.places]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__dict__", {}).get("__file__")
        folders = getattr(module, "__dict__", {}).get("__path__") or ()
        files = [file] if isinstance(file, str) else [str(folder) for folder in folders]
        if any(_is_in(os.path.realpath(path), places) for path in files):
            del sys.modules[name]
    importlib.invalidate_caches()


def _is_in(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(place + os.sep) for place in places)


def _listed(files: Sequence[str]) -> str:
    rest = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return ", ".join(files[:_SHOWN]) + rest
