"""The class `Workflow`: read or build a workflow, check it, plan it, run it, resume it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from strands_cli import app
from strands_cli.api.callback_human import AnswerQuestion, ProgramHuman
from strands_cli.api.choice_types import RunChoices, StoredRunChoices
from strands_cli.api.run_choices import changes_of, new_request, opened_python_tools, place_of
from strands_cli.api.run_following import (
    Emit,
    Listen,
    in_new_loop,
    reasons_in_traceback,
    require_same_directory,
    run_in_new_loop,
    run_with_listener,
)
from strands_cli.engine.corrected_workflow import read_correction
from strands_cli.engine.plan_execution import RunResult
from strands_cli.engine.standalone import require_rehearsed
from strands_cli.errors import Finding, InvalidInput
from strands_cli.events import Event, RunWarning
from strands_cli.planning.authority_sentences import require_trust_in_package
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest
from strands_cli.run_views.fetched_artifacts import StoredArtifact, artifacts_of
from strands_cli.workflow.builder import AgentPart, PatternPart, workflow_text
from strands_cli.workflow.model import template_sites
from strands_cli.workflow.pattern_model import problem_of
from strands_cli.yaml_files.document_reader import FileSnapshot

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.engine.store_port import StoredJournal
    from strands_cli.workflow.model import LoadedWorkflow, WorkflowSpec


class Workflow:
    """One workflow, not necessarily valid: `validate` and `plan` report its faults, and a run refuses to start.

    It holds no state of runs: it can be run many times, also concurrently.
    """

    def __init__(self, loaded: LoadedWorkflow) -> None:
        self._loaded = loaded

    @classmethod
    def from_file(cls, path: str | Path) -> Workflow:
        """Read a YAML or JSON file, or the workflow of an installed package that `DIST/NAME` names.

        A program that names a workflow has chosen it, so that no question about its uses follows.

        Raises:
            UsageError: The file cannot be opened, or no package has the name.
            InvalidInput: It is not one well-formed document.
        """
        return cls(app.load(path))

    @classmethod
    def from_text(cls, text: str, *, base_dir: str | Path | None = None, name: str = "workflow") -> Workflow:
        """Read the text of a YAML or JSON file.

        Args:
            text: The text.
            base_dir: The directory against which paths in it are resolved; the current one by default.
            name: The name of the text in findings.

        Raises:
            InvalidInput: It is not one well-formed document.
        """
        folder = FileSnapshot(Path(base_dir).absolute() if base_dir is not None else Path.cwd())
        return cls(app.load(f"<{name}>", text, folder))

    @classmethod
    def from_spec(cls, spec: WorkflowSpec, *, base_dir: str | Path | None = None) -> Workflow:
        """Return the workflow of a `WorkflowSpec`; it is checked like the same file."""
        return cls.from_text(workflow_text(spec), base_dir=base_dir)

    @classmethod
    def build(
        cls,
        name: str,
        *,
        runtime: Mapping[str, Any] | None = None,
        agents: Mapping[str, AgentPart] | None = None,
        pattern: PatternPart,
        base_dir: str | Path | None = None,
        version: int | str = 2,
        **sections: Any,
    ) -> Workflow:
        """Build a workflow from the parts that `strands_cli.workflow.builder` provides; it is checked like a file.

        Args:
            name: Its name.
            runtime: The default model and the limits, as in a file; needed where there are agents.
            agents: The agents by id; none where steps only call tools.
            pattern: The order of the steps.
            base_dir: The directory against which paths in it are resolved; the current one by default.
            version: Its version.
            sections: Further sections, as in a file: `inputs`, `tools`, `outputs`, `security` and so on.
        """
        parts = {"version": version, "name": name, "runtime": runtime, "agents": agents, "pattern": pattern}
        stated = {key: part for key, part in parts.items() if part is not None}
        return cls.from_text(workflow_text({**stated, **sections}), base_dir=base_dir)

    @property
    def source(self) -> tuple[str, str]:
        """The name of its file, `<...>` for one without a file, and its text."""
        return self._loaded.document.file, self._loaded.document.text

    @property
    def spec(self) -> WorkflowSpec:
        """The workflow as a frozen value.

        Raises:
            InvalidInput: The document does not have the structure of a workflow.
        """
        if self._loaded.spec is None:
            raise InvalidInput(f"{self._loaded.document.file} is not a valid workflow", findings=self._loaded.findings)
        return self._loaded.spec

    def validate(self) -> tuple[Finding, ...]:
        """Return every finding about the workflow itself, as `strands validate` prints them."""
        return self._loaded.findings

    def template_names(self, pointer: str, path: Sequence[str | int] = ()) -> tuple[str, ...]:
        """Return the names that a template may use, in a workflow with mistakes too; none where there is no template.

        Args:
            pointer: The JSON pointer of its text.
            path: What is before the dot: the names are those behind it.
        """
        spec = self._loaded.readable
        sites = () if spec is None else template_sites(spec)
        site = next((site for site in sites if site.pointer == pointer), None)
        if spec is None or site is None:
            return ()
        if not path:
            return tuple(sorted({*site.scope, *spec.inputs.declared(), *spec.inputs.values}))
        problem = problem_of((*path, ""), site.scope)
        return () if problem is None else problem.known_names

    def plan(self, inputs: Mapping[str, Any] | None = None, **choices: Unpack[RunChoices]) -> Plan:
        """Return the plan of a run; `plan.findings` lists everything that prevents it. Calls no model and no tool.

        Raises:
            InvalidInput: The document is not a valid workflow.
        """
        if not choices.get("tools"):
            return self._planned(new_request(inputs, choices), choices)
        return run_in_new_loop(self._plan_with_tools(inputs, choices))

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        answer: AnswerQuestion | None = None,
        on_event: Listen | None = None,
        **choices: Unpack[RunChoices],
    ) -> RunResult:
        """Run the workflow and wait for its end; inside a running event loop use `run_async`.

        Args:
            inputs: Values of the workflow's inputs.
            answer: Answers questions with text, True or False, or None for no answer; a gate then waits and a tool call
                is denied, as without `answer`. Either a coroutine function, or a function called in the thread of the
                run, one question at a time. If a question has a `problem`, the former answer did not match its
                `pattern`.
            on_event: Called with each event. An exception in it stops the run, which can be resumed, and is raised.
            choices: See `RunChoices`.

        Raises:
            StrandsCliError: The run could not start or did not complete.
        """
        return in_new_loop("run", lambda: self.run_async(inputs, answer=answer, on_event=on_event, **choices))

    async def run_async(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        answer: AnswerQuestion | None = None,
        on_event: Listen | None = None,
        **choices: Unpack[RunChoices],
    ) -> RunResult:
        """Run the workflow inside a running event loop; arguments and errors are those of `run`.

        A cancelled run has the status `interrupted`.
        """
        return await run_with_listener(on_event, lambda emit: self._run(inputs, answer, emit, choices))

    async def stream(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        answer: AnswerQuestion | None = None,
        **choices: Unpack[RunChoices],
    ) -> AsyncIterator[Event | RunResult]:
        """Run the workflow and yield its events as they occur, and the result as the last value.

        A loop that ends early must close the iterator (`contextlib.aclosing`), which stops the run.

        Raises:
            StrandsCliError: The run did not complete; raised after its last event.
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

    @classmethod
    def resume(
        cls,
        run_id: str,
        *,
        answer: AnswerQuestion | None = None,
        on_event: Listen | None = None,
        budgets: Mapping[str, float] | None = None,
        spec: Workflow | str | Path | None = None,
        **choices: Unpack[StoredRunChoices],
    ) -> RunResult:
        """Continue a stored run that was interrupted, failed or waits; finished steps are not repeated.

        The workflow, the inputs and the choices are those that its journal stores, whichever `Workflow` this is
        called on. The program's current directory must be the one where the run was started.

        Args:
            run_id: The run's id (`RunResult.run_id`, `RunStarted.run_id`, `strands runs list`).
            answer: As in `run`; a waiting question is asked again.
            on_event: As in `run`.
            budgets: Limits of `runtime.budgets` to raise, by name; they apply from now on.
            spec: The corrected workflow of the run, or its file; its changes come as `RunWarning`. Its paths start
                from the folder of the run, and finished steps must stay as they were.
            choices: See `StoredRunChoices`; a run with Python tools needs them again.

        Raises:
            RunRecordError: There is no such run, another process holds it, or it would not be the same run.
            NotEquipped: Python tools of the run are missing.
            StrandsCliError: The run could not continue or did not complete.
        """
        return in_new_loop(
            "resume",
            lambda: cls.resume_async(run_id, answer=answer, on_event=on_event, budgets=budgets, spec=spec, **choices),
        )

    @classmethod
    async def resume_async(
        cls,
        run_id: str,
        *,
        answer: AnswerQuestion | None = None,
        on_event: Listen | None = None,
        budgets: Mapping[str, float] | None = None,
        spec: Workflow | str | Path | None = None,
        **choices: Unpack[StoredRunChoices],
    ) -> RunResult:
        """Continue a stored run inside a running event loop; arguments and errors are those of `resume`."""
        limits = {name: str(limit) for name, limit in (budgets or {}).items()}
        return await run_with_listener(on_event, lambda emit: _resume(run_id, answer, emit, limits, choices, spec))

    @classmethod
    def rerun(
        cls,
        run_id: str,
        from_key: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        answer: AnswerQuestion | None = None,
        on_event: Listen | None = None,
        **choices: Unpack[StoredRunChoices],
    ) -> RunResult:
        """Start a new run that reuses the effects of a stored one before a key.

        It uses the current workflow file; without a file, the workflow that the journal stores.

        Args:
            run_id: The other run's id.
            from_key: Where to begin; earlier steps are reused.
            inputs: Values to change; the others are those of the stored run.
            answer: As in `run`.
            on_event: As in `run`.
            choices: See `StoredRunChoices`.

        Raises:
            StrandsCliError: The run could not start or did not complete.
        """
        return in_new_loop(
            "rerun", lambda: cls.rerun_async(run_id, from_key, inputs, answer=answer, on_event=on_event, **choices)
        )

    @classmethod
    async def rerun_async(
        cls,
        run_id: str,
        from_key: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        answer: AnswerQuestion | None = None,
        on_event: Listen | None = None,
        **choices: Unpack[StoredRunChoices],
    ) -> RunResult:
        """Start such a run inside a running event loop; arguments and errors are those of `rerun`."""
        return await run_with_listener(
            on_event, lambda emit: _rerun(run_id, from_key, inputs or {}, answer, emit, choices)
        )

    @classmethod
    def artifacts(
        cls, run_id: str, *, runs_dir: str | Path | None = None, store: str | None = None
    ) -> tuple[StoredArtifact, ...]:
        """Return the files of a complete run; a store in a database has their texts, whichever machine wrote them.

        Args:
            run_id: The run's id, as in `resume`.
            runs_dir: The directory of the journals.
            store: The store of the journals, in place of a directory.

        Raises:
            ArtifactError: The run is not complete.
            RunRecordError: There is no such run, or its journal cannot be read.
        """
        with reasons_in_traceback():
            store_place = place_of({"runs_dir": None if runs_dir is None else Path(runs_dir), "store": store})
            with contextlib.closing(app.open_run(run_id, store_place, hold=False)) as journal:
                return artifacts_of(journal).files

    async def _run(
        self, inputs: Mapping[str, Any] | None, answer: AnswerQuestion | None, emit: Emit, choices: RunChoices
    ) -> RunResult:
        with reasons_in_traceback():
            async with opened_python_tools(choices, emit) as python_tools:
                request = new_request(inputs, choices, python_tools)
                planned = self._planned(request, choices)
                require_trust_in_package(planned)
                return await app.run(planned, request, ProgramHuman(answer, denies=request.deny), emit)

    async def _plan_with_tools(self, inputs: Mapping[str, Any] | None, choices: RunChoices) -> Plan:
        async with opened_python_tools(choices, lambda event: None) as python_tools:
            return self._planned(new_request(inputs, choices, python_tools), choices)

    def _planned(self, request: RunRequest, choices: RunChoices) -> Plan:
        with reasons_in_traceback():
            return app.plan(self._loaded, request, catalog=choices.get("catalog"))


async def _resume(
    run_id: str,
    answer: AnswerQuestion | None,
    emit: Emit,
    budgets: Mapping[str, str],
    choices: StoredRunChoices,
    spec: Workflow | str | Path | None,
) -> RunResult:
    with reasons_in_traceback():
        async with opened_python_tools(choices, emit) as python_tools:
            changes = changes_of(choices, python_tools)
            with contextlib.closing(app.open_run(run_id, place_of(changes))) as journal:
                require_same_directory(journal)
                if spec is not None:
                    await _correct(journal, spec, emit, changes, choices.get("catalog"))
                planned, request = app.plan_resume(journal, changes, budgets=budgets, catalog=choices.get("catalog"))
                return await app.resume(planned, journal, request, ProgramHuman(answer, denies=request.deny), emit)


async def _correct(
    journal: StoredJournal, spec: Workflow | str | Path, emit: Emit, changes: Mapping[str, Any], catalog: Catalog | None
) -> None:
    """Give a stored run its corrected workflow; nothing is stored unless the run can continue with it."""
    from strands_cli.engine.ports import SystemClock

    corrected = read_correction(journal, *(spec.source if isinstance(spec, Workflow) else (spec,)))
    correction = app.plan_correction(journal, corrected, changes, catalog)
    await require_rehearsed(journal, correction)
    for line in correction.lines():
        emit(RunWarning(SystemClock().now(), line))
    correction.store(journal)


async def _rerun(
    run_id: str,
    from_key: str,
    inputs: Mapping[str, Any],
    answer: AnswerQuestion | None,
    emit: Emit,
    choices: StoredRunChoices,
) -> RunResult:
    with reasons_in_traceback():
        async with opened_python_tools(choices, emit) as python_tools:
            changes = {**changes_of(choices, python_tools), "values": inputs}
            with contextlib.closing(app.open_run(run_id, place_of(changes), hold=False)) as journal:
                require_same_directory(journal)
                new = app.plan_rerun(journal, from_key, changes, catalog=choices.get("catalog"))
            require_trust_in_package(new.planned)
            return await app.rerun(new, ProgramHuman(answer, denies=new.request.deny), emit)
