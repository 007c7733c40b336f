"""Workflows from Python: load or build one, look what it would do, run it, follow it, answer its questions."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from strands_cli import app
from strands_cli.builder import AgentPart, PatternPart, workflow_text
from strands_cli.catalog import Catalog
from strands_cli.engine.execute import RunResult
from strands_cli.engine.ports import Answer, Question
from strands_cli.engine.program import AnswerQuestion, ProgramHuman
from strands_cli.errors import Finding, InvalidInput, StrandsCliError, UsageError
from strands_cli.events import Event, RunWarning
from strands_cli.planning.options import RunOptions
from strands_cli.planning.plan import Plan
from strands_cli.spec.kept import NOTHING_KEPT, Kept

if TYPE_CHECKING:
    from strands_cli.agents.given import GivenTools
    from strands_cli.spec.loader import Loaded
    from strands_cli.spec.model import WorkflowSpec

__all__ = ["Answer", "Event", "Question", "RunChoices", "RunResult", "Workflow"]


class RunChoices(TypedDict, total=False):
    """What a run is given besides its inputs; the command line has an option for each but `tools` and `catalog`.

    Attributes:
        tools: Python objects as tools of the workflow: what `@tool` made, an `AgentTool`, a module, a provider, a
            class with `@tool` methods. Calls of them pass the same gate as those of installed tools.
        allow: Names or globs of tools whose calls need not be asked about.
        yes: Whether no call needs to be asked about.
        provider: Model provider for all agents.
        model: Model for all agents.
        out_dir: Where artifacts go, `artifacts` by default.
        force: Whether artifacts that exist are overwritten.
        record: File that gets the model's turns as a recording.
        runs_dir: Where records of runs are kept.
        catalog: The installed tools; found anew for each run by default.
    """

    tools: Sequence[Any]
    allow: Sequence[str]
    yes: bool
    provider: str | None
    model: str | None
    out_dir: str | Path
    force: bool
    record: str | Path | None
    runs_dir: str | Path | None
    catalog: Catalog | None


class Workflow:
    """One workflow, read but not necessarily right: `validate` and `plan` say what is wrong, a run refuses to start.

    It holds no state of runs: it may be run many times, and at the same time.
    """

    def __init__(self, loaded: Loaded, folder: Kept = NOTHING_KEPT) -> None:
        self._loaded = loaded
        self._folder = folder

    @classmethod
    def from_file(cls, path: str | Path) -> Workflow:
        """Read a YAML or JSON file.

        Raises:
            UsageError: it cannot be opened.
            InvalidInput: it is not one well-formed document.
        """
        return cls(app.load(path))

    @classmethod
    def from_text(cls, text: str, *, base_dir: str | Path | None = None, name: str = "workflow") -> Workflow:
        """Read the text of a YAML or JSON file.

        Args:
            text: The text.
            base_dir: The directory against which paths in it are resolved; the current one by default.
            name: What findings call it.

        Raises:
            InvalidInput: it is not one well-formed document.
        """
        folder = Kept(Path(base_dir).absolute() if base_dir is not None else Path.cwd())
        return cls(app.load(f"<{name}>", text, folder), folder)

    @classmethod
    def from_spec(cls, spec: WorkflowSpec, *, base_dir: str | Path | None = None) -> Workflow:
        """Take a `WorkflowSpec`; it is checked like a file that says the same."""
        return cls.from_text(workflow_text(spec), base_dir=base_dir)

    @classmethod
    def build(
        cls,
        name: str,
        *,
        runtime: Mapping[str, Any],
        agents: Mapping[str, AgentPart],
        pattern: PatternPart,
        base_dir: str | Path | None = None,
        version: int | str = 1,
        **sections: Any,
    ) -> Workflow:
        """Put a workflow together from what `strands_cli.builder` describes; it is checked like a file.

        Args:
            name: Its name.
            runtime: The default model and the limits, as in a file.
            agents: The agents by id.
            pattern: How they work together.
            base_dir: The directory against which paths in it are resolved; the current one by default.
            version: Its version.
            sections: Further sections, as in a file: `inputs`, `tools`, `outputs`, `security` and so on.
        """
        parts = {"version": version, "name": name, "runtime": runtime, "agents": agents, "pattern": pattern}
        return cls.from_text(workflow_text({**parts, **sections}), base_dir=base_dir)

    @property
    def spec(self) -> WorkflowSpec:
        """The workflow as a frozen value.

        Raises:
            InvalidInput: the document does not have the shape of a workflow.
        """
        if self._loaded.spec is None:
            raise InvalidInput(f"{self._loaded.document.file} is not a valid workflow", findings=self._loaded.findings)
        return self._loaded.spec

    def validate(self) -> tuple[Finding, ...]:
        """Return everything that is wrong with the workflow by itself, as `strands validate` prints it."""
        return self._loaded.findings

    def plan(self, inputs: Mapping[str, Any] | None = None, **choices: Unpack[RunChoices]) -> Plan:
        """Return what a run would do; `plan.findings` says what stands in its way. Calls no model and no tool.

        Raises:
            InvalidInput: the document is not a valid workflow, so that there is nothing to plan.
        """
        if not choices.get("tools"):
            return self._planned(_options(inputs, choices), choices)
        return _in_own_loop(self._plan_with_tools(inputs, choices))

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        answer: AnswerQuestion | None = None,
        on_event: Callable[[Event], object] | None = None,
        **choices: Unpack[RunChoices],
    ) -> RunResult:
        """Run the workflow and wait for its end; inside a running event loop use `run_async`.

        Args:
            inputs: Values of the workflow's inputs.
            answer: Answers questions, with text, with True or False, or with None where it cannot; a gate then
                waits and a tool call is denied, as they do without `answer`. May be a coroutine function; else it is
                called in the thread of the run, one question at a time. The answer to a question whose `problem` is
                set did not match its `pattern`.
            on_event: Is called with each event. An exception in it stops the run, which can be resumed, and is raised.
            choices: See `RunChoices`.

        Raises:
            StrandsCliError: why it could not start or did not complete.
        """
        if _loop_is_running():
            raise UsageError(
                "Workflow.run cannot be called inside a running event loop",
                fix="write `await workflow.run_async(...)`, or iterate over `workflow.stream(...)`",
            )
        from strands_cli.engine.threads import DaemonThreads

        with asyncio.Runner() as runner:
            runner.get_loop().set_default_executor(DaemonThreads())
            return runner.run(self.run_async(inputs, answer=answer, on_event=on_event, **choices))

    async def run_async(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        answer: AnswerQuestion | None = None,
        on_event: Callable[[Event], object] | None = None,
        **choices: Unpack[RunChoices],
    ) -> RunResult:
        """Run the workflow inside a running event loop; arguments and errors are those of `run`.

        A run that is cancelled leaves its record as `interrupted`.
        """
        listener = _Listener(on_event)
        task = listener.task = asyncio.create_task(self._run(inputs, answer, listener, choices))
        try:
            result = await task
        except BaseException as error:
            if listener.fault is not None:
                raise listener.fault from error
            raise
        if listener.fault is not None:
            raise listener.fault
        return result

    async def stream(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        answer: AnswerQuestion | None = None,
        **choices: Unpack[RunChoices],
    ) -> AsyncIterator[Event | RunResult]:
        """Run the workflow and yield its events as they come, and the result as the last value.

        A loop that is left early must close the iterator (`contextlib.aclosing`), which stops the run.

        Raises:
            StrandsCliError: why it did not complete, after its last event.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        task = asyncio.create_task(self._run(inputs, answer, events.put_nowait, choices))
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            yield await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(
        self,
        inputs: Mapping[str, Any] | None,
        answer: AnswerQuestion | None,
        emit: Callable[[Event], None],
        choices: RunChoices,
    ) -> RunResult:
        with _reasons_in_traceback():
            given = await _read_tools(choices)
            try:
                options = _options(inputs, choices, given)
                planned = self._planned(options, choices)
                return await app.run(planned, options, ProgramHuman(answer), emit, given=given)
            finally:
                for problem in await given.close():
                    emit(RunWarning(_now(), problem))

    async def _plan_with_tools(self, inputs: Mapping[str, Any] | None, choices: RunChoices) -> Plan:
        given = await _read_tools(choices)
        try:
            return self._planned(_options(inputs, choices, given), choices)
        finally:
            await given.close()

    def _planned(self, options: RunOptions, choices: RunChoices) -> Plan:
        document = self._loaded.document
        catalog = choices.get("catalog")
        with _reasons_in_traceback():
            return app.plan(document.file, options, text=document.text, catalog=catalog, kept=self._folder)


class _Listener:
    """Passes events to the program's function; an exception in it stops the run."""

    def __init__(self, on_event: Callable[[Event], object] | None) -> None:
        if inspect.iscoroutinefunction(on_event):
            raise UsageError(
                "on_event is a coroutine function, which nobody would wait for",
                fix="give a plain function, or iterate over `workflow.stream(...)`",
            )
        self._on_event = on_event
        self.fault: Exception | None = None
        self.task: asyncio.Task[RunResult] | None = None

    def __call__(self, event: Event) -> None:
        if self._on_event is None or self.fault is not None:
            return
        try:
            self._on_event(event)
        except Exception as error:  # noqa: BLE001 - the program's own; inside a run it would be taken for the engine's
            self.fault = error
            if self.task is not None:
                self.task.cancel()


@contextlib.contextmanager
def _reasons_in_traceback() -> Iterator[None]:
    """Let the traceback of an error say what the command would print: its findings, and how to mend it."""
    try:
        yield
    except StrandsCliError as error:
        fix = [f"fix: {error.fix}"] if error.fix else []
        for note in [*(str(found) for found in error.findings if found.severity == "error"), *fix]:
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
        raise


def _options(inputs: Mapping[str, Any] | None, choices: RunChoices, given: GivenTools | None = None) -> RunOptions:
    unknown = choices.keys() - RunChoices.__annotations__.keys()
    if unknown:
        raise TypeError(f"unknown arguments: {', '.join(sorted(unknown))}")
    record, runs_dir = choices.get("record"), choices.get("runs_dir")
    return RunOptions(
        values=dict(inputs or {}),
        provider=choices.get("provider"),
        model=choices.get("model"),
        allow=tuple(choices.get("allow", ())),
        yes=choices.get("yes", False),
        out_dir=Path(choices.get("out_dir", "artifacts")),
        force=choices.get("force", False),
        record=Path(record) if record is not None else None,
        runs_dir=Path(runs_dir) if runs_dir is not None else None,
        tools=given.records if given is not None else (),
    )


async def _read_tools(choices: RunChoices) -> GivenTools:
    from strands_cli.agents.given import read_given  # brings the SDK

    return await read_given(choices.get("tools", ()))


def _now() -> float:
    from strands_cli.engine.clock import SystemClock

    return SystemClock().now()


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_own_loop(work: Coroutine[Any, Any, Plan]) -> Plan:
    """Run a coroutine to its end, in a thread of its own where this one has a running event loop."""
    if not _loop_is_running():
        return asyncio.run(work)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
