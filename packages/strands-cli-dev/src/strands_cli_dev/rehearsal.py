"""Call the examples of a plugin directly, and collect the answer and the side effects of each call."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from strands_cli.api import CallOutcome, LoadedPlugin, PluginTool, load_plugin, run_to_answer
from strands_cli_dev.tool_checks import check_schema, input_problem, json_of, text_of

# Seconds in which a thread may end by itself after the plugin was closed.
THREAD_SECONDS = 0.2
_ANYTHING: Any = object()


@dataclass(frozen=True, slots=True)
class Example:
    """A valid input and its expected answer.

    Attributes:
        input: The input from the model.
        expected: The whole text of the answer, or the value of its last JSON block; if omitted, any answer is right.
        status: The status of the result; some tools can only be shown failing without a network.
    """

    input: Mapping[str, Any]
    expected: Any = _ANYTHING
    status: Literal["success", "error"] = "success"

    @property
    def has_expected(self) -> bool:
        """Whether it defines the expected answer."""
        return self.expected is not _ANYTHING


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """The settings of a plugin in a workflow: its configuration, and the values of secrets by name."""

    config: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Traces:
    """The side effects of a call."""

    printed: str = ""
    changed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """One example and its two calls, each in a fresh workspace."""

    tool: str
    example: Example
    first: CallOutcome
    second: CallOutcome
    traces: Traces
    limit: float = 0.0

    @property
    def title(self) -> str:
        """The call as readable text."""
        input_text = repr(dict(self.example.input))
        return f"{self.tool}({input_text if len(input_text) <= 120 else input_text[:117] + '...'})"

    def check_expected(self) -> Iterator[str]:
        """Yield how the first answer differs from the expected one."""
        answer, example = self.first.value, self.example
        if answer["status"] != example.status:
            yield f"{self.title} returned {answer['status']}, not {example.status}: {text_of(answer)[:300]}"
        elif example.has_expected:
            result = text_of(answer) if isinstance(example.expected, str) else json_of(answer)
            if result != example.expected:
                yield f"{self.title} answered {result!r}, not {example.expected!r}"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """All scenes of a plugin; `problem` is the reason if there are none."""

    tools: Mapping[str, PluginTool] = field(default_factory=dict)
    problem: str | None = None
    scenes: tuple[Scene, ...] = ()
    threads: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()


ExamplesOf = Callable[[Iterable[str]], Mapping[str, tuple[Example, ...]]]
Prepare = Callable[[Path], None]


def rehearse(target: Any, settings: PluginSettings, examples_of: ExamplesOf, prepare: Prepare) -> Rehearsal:
    """Load a plugin, make two calls of each example, and close it.

    Args:
        target: The plugin, or the value of its entry point.
        settings: Its settings, as in a workflow.
        examples_of: Returns the examples of each tool, for the names of the tools.
        prepare: Writes the files that the examples need into a fresh workspace.
    """
    return run_to_answer(_rehearse(target, settings, examples_of, prepare))


async def _rehearse(target: Any, settings: PluginSettings, examples_of: ExamplesOf, prepare: Prepare) -> Rehearsal:
    before = set(threading.enumerate())
    try:
        with watched():
            plugin = await load_plugin(target, config=settings.config, secrets=settings.secrets)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - foreign code may raise anything while it is loaded
        return Rehearsal(problem=f"{type(error).__name__}: {error}")
    scenes = []
    for name, examples in examples_of(plugin.tools).items():
        tool = plugin.tools.get(name)
        if tool is None or any(check_schema(tool)):
            continue
        fitting = [example for example in examples if not input_problem(tool, example.input)]
        scenes += [await _perform(plugin, name, example, prepare) for example in fitting]
    closing = await plugin.close()
    return Rehearsal(plugin.tools, None, tuple(scenes), tuple(_left(before)), tuple(closing))


async def _perform(plugin: LoadedPlugin, name: str, example: Example, prepare: Prepare) -> Scene:
    call = (name, dict(example.input))
    with workspace(prepare) as folder, watched() as traced:
        earlier = _listing(folder)
        first = await plugin.call(call, "use-1", folder)
        written = tuple(sorted(_differing(earlier, _listing(folder))))
    second = first
    if not first.late:
        with workspace(prepare) as folder, watched():
            second = await plugin.call(call, "use-2", folder)
    traces = Traces(traced.printed, traced.changed, written)
    return Scene(name, example, first, second, traces, plugin.tools[name].timeout_s)


@contextlib.contextmanager
def workspace(prepare: Prepare) -> Iterator[Path]:
    """Prepare a fresh directory, make it the current one, and remove it afterwards."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="tool-contract-", ignore_cleanup_errors=True) as folder:
        path = Path(folder).resolve()
        prepare(path)
        os.chdir(path)
        try:
            yield path
        finally:
            os.chdir(here)


@dataclass(slots=True)
class ObservedEffects:
    """The printed text, and the changed states of the process."""

    printed: str = ""
    changed: tuple[str, ...] = ()


@contextlib.contextmanager
def watched() -> Iterator[ObservedEffects]:
    """Capture standard output; restore the current directory, `sys.path` and the environment, and list the changes."""
    traces, here, path, environment = ObservedEffects(), Path.cwd(), list(sys.path), dict(os.environ)
    with tempfile.TemporaryFile() as caught:
        try:
            with _standard_output_in(caught.fileno()):
                yield traces
        finally:
            traces.changed = tuple(_changes(here, path, environment))
            caught.seek(0)
            traces.printed = caught.read(2000).decode("utf-8", "replace")


def _changes(here: Path, path: list[str], environment: dict[str, str]) -> Iterator[str]:
    """Restore the changed states, and yield a name for each change."""
    if not _is_current(here):
        os.chdir(here)
        yield "the current directory"
    if sys.path != path:
        sys.path[:] = path
        yield "sys.path"
    # pytest notes in PYTEST_CURRENT_TEST which test is running.
    differing = _differing(environment, dict(os.environ)) - {"PYTEST_CURRENT_TEST"}
    for name in sorted(differing):
        os.environ.pop(name, None)
        if name in environment:
            os.environ[name] = environment[name]
        yield f"the environment variable {name}"


def _is_current(here: Path) -> bool:
    try:
        return Path.cwd() == here
    except OSError:
        return False


@contextlib.contextmanager
def _standard_output_in(file: int) -> Iterator[None]:
    """Redirect `sys.stdout` and file descriptor 1 to a file, so that output of child processes is captured too."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(file, 1)
    try:
        with os.fdopen(os.dup(file), "w", encoding="utf-8") as text, contextlib.redirect_stdout(text):
            yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


def _listing(folder: Path) -> dict[str, Any]:
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
        if not path.is_symlink()
    }


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    return {name for name in {*before, *after} if before.get(name, ...) != after.get(name, ...)}


def _left(before: set[threading.Thread]) -> Iterator[str]:
    """Yield each thread that does not end by itself; another check reports a call that hangs."""
    for thread in set(threading.enumerate()) - before:
        if thread.name != "strands-tool":
            thread.join(THREAD_SECONDS)
            if thread.is_alive():
                yield thread.name
