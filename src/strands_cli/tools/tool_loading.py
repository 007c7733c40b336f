"""The only importer of tool plugins: each tool a plan names, loaded once, compared with its manifest."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from strands.interrupt import Interrupt
from strands.types.tools import AgentTool

from strands_cli.catalog.distributions.entry_points import normalise
from strands_cli.errors import Denied, InvalidInput, NotEquipped, StrandsCliError
from strands_cli.hooks.manager import Hooks
from strands_cli.planning.plan_values import PlannedTool, WorkflowTool
from strands_cli.planning.planned_tool import McpTool, ObjectTool, PythonTool
from strands_cli.secrets.redactor import Redactor
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.toolref import LEGACY_PACKAGE
from strands_cli.tools.invocation import NO_ANSWERS, Answers, AsksPersonError, Progress
from strands_cli.tools.manifest_check import LoadedTool, check_against_manifest, workflow_tool
from strands_cli.tools.plugin_hooks import load_with_hooks, wrapped
from strands_cli.tools.tool_forms import Closer, NotAToolError, ObjectTools, RawTool, close_all, read_reference
from strands_cli.user_files.stored_keys import with_taken_keys

if TYPE_CHECKING:
    from strands_cli.tools.mcp.toolset import ServerNeeds


# Changes that a plugin's import may not leave in this process, and the message to a person when it takes long.


# So long an import may take in silence.
PATIENCE_S = 5.0
_STREAMS = ("stdin", "stdout", "stderr")
# The program's own way to stop: a plugin that took these would make a run that nothing ends.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Where the program keeps records and finds policy; by these a plugin could move them.
_PLACES = ("STRANDS_", "XDG_", "HOME")

Tell = Callable[[str], None]


@contextlib.contextmanager
def preserved_process() -> Iterator[None]:
    """Restore the state that others rely on: search path, directory, streams, signals, warning filters, root logger.

    The environment's variables get their values back; those that a plugin adds stay, since its libraries may read them
    later, except for those that say where the program has its files.
    """
    path, here, environ = list(sys.path), current_directory(), dict(os.environ)
    root = logging.getLogger()
    level, listening = root.level, list(root.handlers)
    streams = {name: getattr(sys, name) for name in _STREAMS}
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    filters = list(warnings.filters)
    try:
        yield
    finally:
        sys.path[:] = path
        for name, stream in streams.items():
            setattr(sys, name, stream)
        if warnings.filters != filters:
            warnings.filters[:] = filters  # type: ignore[index]
        _give_back(handlers)
        root.setLevel(level)
        root.handlers[:] = listening
        _give_back_environment(environ)
        if here is not None:
            os.chdir(here)


def _give_back(handlers: dict[signal.Signals, Any]) -> None:
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread can set them, so nothing has changed
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def _give_back_environment(before: dict[str, str]) -> None:
    added = [name for name in os.environ if name not in before and name.startswith(_PLACES)]
    for name in added:
        del os.environ[name]
    for name, value in before.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def current_directory() -> Path | None:
    """Return the current directory, or None where it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


@contextlib.contextmanager
def reported_when_slow(action: str, tell: Tell | None) -> Iterator[None]:
    """Tell about an action longer than `PATIENCE_S`; the loop cannot, since an import holds it up."""
    if tell is None:
        yield
        return
    timer = threading.Timer(PATIENCE_S, tell, [f"{action} takes long; Ctrl-C stops it"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


# Tools of the older collection: their consent prompts never appear, since the permission check decides before.


PROMPTS = f"{LEGACY_PACKAGE}.utils.user_input"
# Its prompts are its work; those of all others ask for consent.
_QUESTIONERS = (f"{LEGACY_PACKAGE}.handoff_to_user",)
_FUNCTIONS = ("get_user_input", "get_user_input_async")
_MARKUP = re.compile(r"</?[a-z_]+>")
# An agent inside a tool calls others past our permission check; no person has approved those calls.
REFUSAL = "n: a call from inside another tool has no approval"


@dataclass(slots=True)
class _Call:
    """The current call: the module that may continue without a question, and the answers of a person in it."""

    module: str
    answers: Answers
    question_count: int = field(default=0)


class _InterruptedCall(BaseException):
    """Leaves a tool that catches every `Exception`, so that it can be entered again with the answer."""

    def __init__(self, name: str, prompt: str) -> None:
        super().__init__(prompt)
        self.name = name
        self.prompt = prompt


_under_way: ContextVar[_Call | None] = ContextVar("legacy_call", default=None)


def is_legacy(module: str) -> bool:
    """Return whether a module belongs to the older collection."""
    return module.partition(".")[0] == LEGACY_PACKAGE


@contextmanager
def replaced_prompts(module: str) -> Iterator[None]:
    """Import a module of the collection with its prompts in our hands; others are imported as they are."""
    if not is_legacy(module):
        yield
        return
    if PROMPTS not in sys.modules:
        # In place of the real one, which would import a whole terminal library.
        stand_in = ModuleType(PROMPTS)
        vars(stand_in).update({name: _prompt(name, None) for name in _FUNCTIONS})
        sys.modules[PROMPTS] = stand_in
    yield
    for loaded in [name_of_module for name, name_of_module in sys.modules.items() if is_legacy(name)]:
        _take(loaded)


def _take(module: ModuleType) -> None:
    """Take the prompts of a module that a program had imported before us; outside our calls they stay as they were."""
    for name in _FUNCTIONS:
        theirs = vars(module).get(name)
        if theirs is not None and not hasattr(theirs, "of_strands_cli"):
            setattr(module, name, _prompt(name, theirs))


def _prompt(name: str, original: Callable[..., Any] | None) -> Callable[..., Any]:
    async def later(answer: str) -> str:
        return answer

    def prompt(prompt: str = "", *args: Any, **kwargs: Any) -> Any:
        if _under_way.get() is None and original is not None:
            return original(prompt, *args, **kwargs)
        answer = _answer(str(sys._getframe(1).f_globals.get("__name__")), prompt)
        return later(answer) if name.endswith("_async") else answer

    prompt.of_strands_cli = True  # type: ignore[attr-defined]
    return prompt


def _answer(module: str, prompt: str) -> str:
    """Return the answer to a prompt: a yes for the very tool of the permitted call, a no for any other."""
    call = _under_way.get()
    if call is None or not f"{module}.".startswith(f"{call.module}."):
        return REFUSAL
    if module not in _QUESTIONERS:
        return "y"
    call.question_count += 1
    name = f"prompt {call.question_count}"
    if name in call.answers:
        return str(call.answers[name])
    raise _InterruptedCall(name, _MARKUP.sub("", prompt).strip())


def adapted(tools: Sequence[RawTool], module: str) -> list[RawTool]:
    """Return tools whose calls answer their own prompts; those of other modules are returned as they are."""
    return [_adapted(raw, module) for raw in tools] if is_legacy(module) else list(tools)


def _adapted(raw: RawTool, module: str) -> RawTool:
    async def invoke(
        tool_use: Mapping[str, Any], state: Mapping[str, Any], progress: Progress, answers: Answers = NO_ANSWERS, /
    ) -> Any:
        token = _under_way.set(_Call(module, answers))
        try:
            return await raw.invoke(tool_use, state, progress, answers)
        except _InterruptedCall as interruption:
            question = Interrupt(f"{tool_use['toolUseId']}/{interruption.name}", interruption.name, interruption.prompt)
            raise AsksPersonError(question) from None
        finally:
            _under_way.reset(token)

    return replace(raw, invoke=invoke)


PlannedToolKey = tuple[str, str, str]


@dataclass(slots=True)
class Toolbox:
    """All tools of one run; those with state are made once here and closed at the end."""

    tools: dict[PlannedToolKey, list[LoadedTool]] = field(default_factory=dict)
    closers: list[Closer] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def get(self, tool: PlannedTool) -> list[LoadedTool]:
        """Return the tools loaded for a planned one: one, or all of a provider whose tools only loading could tell."""
        return self.tools[key_of(tool)]

    def offered(self, planned_tools: Iterable[PlannedTool]) -> list[LoadedTool]:
        """Return the tools of one agent.

        Raises:
            InvalidInput: two of them have one name, as the SDK reads names (`-` and `_` are the same to it).
        """
        offered: dict[str, LoadedTool] = {}
        for loaded in (loaded for planned in planned_tools for loaded in self.get(planned)):
            twin = offered.setdefault(loaded.planned.name.replace("-", "_"), loaded)
            # A server named as a whole, and one of its tools besides, are the same tool.
            if twin.raw is not loaded.raw or twin.planned.name != loaded.planned.name:
                names = f"'{twin.planned.name}' ({twin.planned.ref}) and '{loaded.planned.name}' ({loaded.planned.ref})"
                raise InvalidInput(f"two tools of one agent have one name: {names}", fix="name one of them with `as:`")
        return list(offered.values())

    def single_tool(self, planned: PlannedTool) -> LoadedTool:
        """Return the tool that a step without a model calls.

        Raises:
            InvalidInput: the reference holds several.
        """
        loaded = self.get(planned)
        if len(loaded) != 1:
            names = ", ".join(tool.planned.name for tool in loaded) or "none"
            raise InvalidInput(f"'{planned.ref}' holds several tools ({names}); a step calls one", fix="name one")
        return loaded[0]

    async def close(self) -> list[str]:
        """Close the objects made for the run and release those in use; return the problems, one line each."""
        return await close_all(self.closers)


def key_of(tool: PlannedTool) -> PlannedToolKey:
    """Return the key that equal planned tools share: reference, model-facing name and configuration."""
    return tool.ref, tool.name, canonical_json(tool.config)


async def load_tools(
    planned_tools: Iterable[PlannedTool],
    folders: Sequence[str] = (),
    objects: ObjectTools | None = None,
    tell: Tell | None = None,
    hooks: Hooks | None = None,
    serving: ServerNeeds | None = None,
) -> Toolbox:
    """Import and check every tool of a plan before its first effect.

    Args:
        planned_tools: The tools; equal ones are loaded once.
        folders: Where custom Python is searched for (see `custom_folders`).
        objects: Tools that a program passes; its `sys.path` does not change. If it is None the process is ours, and
            nothing is imported from the current directory any more.
        tell: Takes a line for the person, from another thread: which plugin's import takes long.
        hooks: The hook plugins: they are notified of each import, and give the wrappers of each call.
        serving: The needs of MCP servers; they are started last.

    Raises:
        NotEquipped: a plugin cannot be imported or holds no tool.
        Denied: a tool differs from its manifest, or a hook plugin fails to give its wrapper.
    """
    if objects is None:
        close_the_current_directory()
    toolbox = Toolbox()
    tools_of_plugin: dict[tuple[str, str | None, str], list[RawTool]] = {}
    server_tools: dict[PlannedToolKey, McpTool] = {}

    async def load(tool: PlannedTool) -> list[LoadedTool]:
        key = (tool.record.module, tool.record.attribute, canonical_json(tool.config))
        if key not in tools_of_plugin:
            searched = folders if isinstance(tool, PythonTool) else []
            tools_of_plugin[key] = await _read_plugin(tool, searched, toolbox.closers, tell)
        return check_against_manifest(tool, tools_of_plugin[key])

    try:
        for planned in planned_tools:
            key = key_of(planned)
            if isinstance(planned, McpTool):
                server_tools[key] = planned
            elif isinstance(planned, WorkflowTool):  # hook plugins wrap each of its parts
                toolbox.tools[key] = [workflow_tool(planned)]
            elif key not in toolbox.tools:
                if objects is not None and isinstance(planned, ObjectTool):
                    loaded = check_against_manifest(planned, [objects.raw[planned.record.name]])
                else:
                    loaded = await load_with_hooks(hooks, planned.declared, partial(load, planned))
                toolbox.tools[key] = wrapped(hooks, planned, loaded)
        if server_tools:
            await _serve(list(server_tools.values()), serving, toolbox, hooks)
    except BaseException:
        await toolbox.close()
        raise
    return toolbox


async def _serve(planned: list[McpTool], serving: ServerNeeds | None, toolbox: Toolbox, hooks: Hooks | None) -> None:
    from strands_cli.tools.mcp.toolset import ServerNeeds, load_server_tools

    tools = await load_server_tools(planned, serving or ServerNeeds(Path.cwd()), toolbox.closers, hooks)
    toolbox.tools |= {key_of(tool): loaded for tool, loaded in tools.tools}
    toolbox.warnings += tools.warnings


def close_the_current_directory() -> None:
    """Take the current directory out of `sys.path`, so that no file lying there is imported as a plugin."""
    here = current_directory()
    if here is None:
        sys.path[:] = [entry for entry in sys.path if Path(entry).is_absolute()]
    elif _closed.get(here) != sys.path:  # each run comes here
        sys.path[:] = [entry for entry in sys.path if entry and not _is_folder(entry, here)]
        _closed.clear()
        _closed[here] = list(sys.path)


# `sys.path` without the current directory.
_closed: dict[Path, list[str]] = {}


def _is_folder(entry: str, folder: Path) -> bool:
    """Return whether an entry of `sys.path` is this folder, by whatever name."""
    try:
        return os.path.samefile(entry, folder)  # noqa: PTH121 - sooner
    except OSError:
        return False


def custom_folders(base_dir: Path | None, python_path: Sequence[str]) -> list[str]:
    """Return the folders for custom Python.

    Args:
        python_path: `tools.python_path`: folders inside it.

    Raises:
        Denied: one of them is not inside the workflow's folder.
    """
    folders: list[str] = []
    for entry in python_path:
        root = (base_dir or Path.cwd()).resolve()
        folder = (root / entry).resolve()
        if not folder.is_relative_to(root):
            raise Denied(
                f"tools.python_path names {entry!r}, which is outside the workflow's folder",
                fix="name a folder below that of the workflow",
            )
        folders.append(str(folder))
    return folders


async def _read_plugin(
    tool: PlannedTool, folders: Sequence[str], closers: list[Closer], tell: Tell | None
) -> list[RawTool]:
    """Import a plugin and read its tools."""
    module_name, attribute = tool.record.module, tool.record.attribute
    module: ModuleType | None = None
    try:
        with preserved_process(), reported_when_slow(f"importing {tool.ref} of {tool.distribution}", tell):
            close_the_current_directory()
            sys.path += folders
            with replaced_prompts(module_name):
                module = importlib.import_module(module_name)
            return adapted(await read_reference(module, attribute, tool.config, closers), module_name)
    except NotAToolError as error:
        message = f"{_named(tool)} is not a tool: {error}"
        raise NotEquipped(message, fix=remedy_for(error, tool, module)) from error
    except (StrandsCliError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a plugin may raise anything while it is imported, SystemExit too
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        problem = Redactor.of_environment(with_taken_keys(os.environ)).text(f"{type(error).__name__}: {error}")
        raise NotEquipped(
            f"the tool {_named(tool)} cannot be loaded: {problem}",
            fix=remedy_for(error, tool, module),
        ) from error


def remedy_for(error: BaseException, tool: PlannedTool, module: ModuleType | None) -> str:
    """Return the fix for a tool whose import or reading failed; `module` is None if its import did."""
    name, distribution = tool.record.module, tool.distribution
    if isinstance(error, ImportError) and (extra := _extra_for(error.name or "", distribution, tool.record.name)):
        return f"pip install '{distribution}[{extra}]'"
    if module is not None and (others := list(_references(module, tool.record.attribute))):
        return f"name one: {', '.join(others)}"
    if module is not None and callable(getattr(module, tool.record.attribute or "", None)):
        return "decorate it with `@tool` of strands, or describe it with a TOOL_SPEC in its module"
    if tool.record.kind != "custom":
        return f"try: python -c 'import {name}'; then correct or upgrade {distribution}"
    if isinstance(error, ModuleNotFoundError) and error.name in (name, name.partition(".")[0]):
        return "correct the name, or add its folder in that of the workflow: `tools: {python_path: [FOLDER]}`"
    return f"correct the module {name}, or install what it needs"


def _named(tool: PlannedTool) -> str:
    """Return how messages name a tool: custom Python is of no distribution."""
    return tool.ref if tool.record.kind == "custom" else f"{tool.ref} of {tool.distribution}"


def _references(module: ModuleType, attribute: str | None) -> Iterator[str]:
    """Yield how to name the tools that a module holds, and the described one that it only passes on."""
    part = getattr(module, attribute, None) if attribute else None
    home = getattr(part, "__globals__", {})
    if "TOOL_SPEC" in home and home is not vars(module):
        yield f"{home['__name__']}:{attribute}"
        return
    for name, value in vars(module).items():
        if isinstance(value, AgentTool) and not name.startswith("_"):
            yield f"{module.__name__}:{name}"


def _extra_for(missing: str, distribution: str, tool: str) -> str | None:
    """Return the extra of a distribution that brings a missing module; of several, the one with the tool's name."""
    from importlib.metadata import PackageNotFoundError, metadata

    from packaging.requirements import InvalidRequirement, Requirement

    try:
        about = metadata(distribution)
        requirements = [Requirement(text) for text in about.get_all("Requires-Dist") or ()]
    except (PackageNotFoundError, InvalidRequirement):
        return None
    extras = about.get_all("Provides-Extra") or []
    missing_distribution = normalise(missing.partition(".")[0])
    bringing = [
        extra
        for extra in extras
        for requirement in requirements
        if requirement.marker is not None
        and normalise(requirement.name) == missing_distribution
        and requirement.marker.evaluate({"extra": extra})
        and not requirement.marker.evaluate({"extra": ""})
    ]
    named = next((extra for extra in extras if normalise(extra) == normalise(tool)), None)
    return named if named in bringing or not bringing else bringing[0]
