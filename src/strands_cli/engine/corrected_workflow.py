"""A corrected workflow for a stored run: its changes, and how the journal takes it over."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from strands_cli.engine.run_facts import (
    OF_MACHINE,
    folder_of_run,
    limits_of,
    models_of,
    raised_budgets,
    require_program,
    require_same,
    snapshot_of,
    stored_request,
    surroundings_of,
    tool_names_of,
)
from strands_cli.errors import Finding, RunRecordError, UsageError
from strands_cli.outputs.artifacts import ARTIFACT_EXISTS
from strands_cli.planning.attachments import without_stored
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.row_planner import MISSING_INPUT, UNKNOWN_INPUT
from strands_cli.secrets.redactor import HIDE_NOTHING
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document import escape
from strands_cli.yaml_files.document_reader import read_document

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Journal
    from strands_cli.engine.store_port import StoredJournal
    from strands_cli.planning.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.workflow.model import LoadedWorkflow, WorkflowSpec


_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Correction:
    """A stored run with a corrected workflow.

    Attributes:
        before: The plan of the run's own workflow.
        after: The plan of the corrected one.
        changed: The JSON pointers of the differences, and the names of other files that differ.
        steps: The keys of added, removed and changed steps.
    """

    before: Plan
    after: Plan
    changed: tuple[str, ...]
    steps: Mapping[str, tuple[str, ...]]

    def lines(self) -> list[str]:
        """Return the changes, in lines for a person."""
        file = self.after.file
        if not self.changed:
            return [f"{file} has the workflow that the run has already"]
        steps = [f"{keyword} {', '.join(keys)}" for keyword, keys in self.steps.items() if keys]
        lines = [f"{file} changes {', '.join(self.changed)}", *([f"steps: {'; '.join(steps)}"] if steps else [])]
        fixed = ", ".join(self._inputs_without_effect())
        return [*lines, f"without effect, since the run has its inputs already: {fixed}"] if fixed else lines

    def _inputs_without_effect(self) -> Iterator[str]:
        """Yield the inputs with another value in the corrected file; the run keeps the one that it began with."""
        before, after = (_values_of(plan.spec) for plan in (self.before, self.after))
        return (name for name in after if name in self.before.inputs and before.get(name, _ABSENT) != after[name])

    def store(self, journal: StoredJournal) -> None:
        """Store the corrected workflow, in one transaction: from now on the run is resumed with it."""
        # The first facts of a run contain no secret, and must stay as planned.
        hiding, journal.redactor = journal.redactor, HIDE_NOTHING
        try:
            journal.put(**self._facts(journal))
        finally:
            journal.redactor = hiding

    def _facts(self, journal: Journal) -> dict[str, Any]:
        limits, plan = limits_of(self.after), self.after
        raised = {
            name: value
            for name, value in (journal.get("budgets") or {}).items()
            if name in limits and (limits[name] is None or value > limits[name])
        }
        around = surroundings_of(plan)
        return {
            "file": plan.file,
            "text": plan.text,
            "files": dict(plan.files),
            "models": models_of(plan),
            "tools": tool_names_of(plan),
            "plan_digest": plan.digest,
            "inputs": dict(plan.inputs),
            "budgets": raised,
            **({"aliases": dict(plan.aliases)} if plan.aliases else {}),
            "corrections": [*(journal.get("corrections") or []), list(self.changed)],
            **{name: around.get(name) for name in OF_MACHINE},
        }


def stored_workflow(journal: Journal, changes: Mapping[str, Any]) -> tuple[RunRequest, LoadedWorkflow]:
    """Return the request and the workflow that a run has stored.

    Raises:
        NotEquipped: Python tools of the run are missing.
    """
    request = stored_request(journal, changes)
    require_program(journal, request)
    return request, load_spec(read_document(journal.get("file"), journal.get("text")), snapshot_of(journal))


def read_correction(journal: Journal, file: str | Path, text: str | None = None) -> LoadedWorkflow:
    """Read the corrected workflow of a run, from a file or a text; its paths start from the folder of the run."""
    return load_spec(read_document(file, text), folder_of_run(journal))


def without_own_artifacts(plan: Plan, journal: Journal) -> Plan:
    """Return the plan of a stored run with its errors: warnings were shown when it began.

    Artifacts that exist may be those that the run has begun to write, a corrected workflow may do without an input, and
    the journal has the attachments of steps that have begun.
    """
    plan = without_stored(plan, lambda key: journal.row(key) is not None)
    codes = {UNKNOWN_INPUT, *([ARTIFACT_EXISTS] if journal.row("artifacts") is not None else [])}
    errors = (finding for finding in plan.findings if finding.severity == "error")
    return replace(plan, findings=tuple(finding for finding in errors if finding.code not in codes))


def resumable(plan: Plan, journal: Journal, limits: Mapping[str, str] = MappingProxyType({})) -> Plan:
    """Return the plan with which a stored run goes on, with the limits that were raised.

    Args:
        plan: The plan of its workflow, made again.
        limits: Limits to raise now, as text.

    Raises:
        StrandsCliError: This installation can no longer run it.
        RunRecordError: The plan differs from the one that the run began with.
        UsageError: A limit cannot be raised as requested.
    """
    plan = without_own_artifacts(plan, journal)
    require_runnable(plan)
    require_same(plan, journal)
    return raised_budgets(plan, journal, limits)


def correction_of(journal: Journal, before: Plan, after: Plan) -> Correction:
    """Return the changes of a corrected workflow in a stored run.

    Raises:
        UsageError: It is another workflow, or the run is complete.
        RunRecordError: This machine is not as it was, or the corrected workflow has another pattern or meaning.
        StrandsCliError: It cannot run here.
    """
    _require_own(journal, before.spec, after)
    require_same(before, journal)
    require_runnable(replace(after, findings=tuple(map(_without_var, after.findings))))
    return Correction(before, after, tuple(_changes(before, after)), _changed_steps(before.spec, after.spec))


def _require_own(journal: Journal, before: WorkflowSpec, after: Plan) -> None:
    run_id, file, spec = journal.get("id"), after.file, after.spec
    new = f"run it by itself: strands run {shlex.quote(file)}"
    if journal.get("status") == "completed":
        fix = f"a new run reuses what was done: strands runs rerun {run_id} --from KEY"
        raise UsageError(f"the run {run_id} is complete; nothing of it is left to correct", fix=fix)
    if spec.name != before.name:
        raise UsageError(f"{file} is the workflow '{spec.name}', and the run {run_id} is of '{before.name}'", fix=new)
    if spec.pattern.type != before.pattern.type:
        message = f"the run {run_id} has the pattern {before.pattern.type}, and {file} has {spec.pattern.type}"
        raise RunRecordError(f"{message}, whose steps are others", fix=new)


def _without_var(finding: Finding) -> Finding:
    """Return a finding about an input without a value with a fix for a resumed run."""
    if finding.code != MISSING_INPUT:
        return finding
    return replace(finding, fix="give it a default: the run goes on with the inputs that it began with")


def _values_of(spec: WorkflowSpec) -> dict[str, Any]:
    return {**{name: input_spec.default for name, input_spec in spec.inputs.optional.items()}, **spec.inputs.values}


def _changes(before: Plan, after: Plan) -> Iterator[str]:
    yield from _differences(_written(before.spec), _written(after.spec), "")
    files = {**before.files, **after.files}
    yield from (name for name in files if before.files.get(name, after.files.get(name)) != files[name])


def _written(spec: WorkflowSpec) -> Any:
    return spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _differences(before: Any, after: Any, pointer: str) -> Iterator[str]:
    """Yield the pointers of the smallest parts that differ; a part that only one of them has is not looked into."""
    if isinstance(before, dict) and isinstance(after, dict):
        pairs = [(escape(name), before.get(name, _ABSENT), after.get(name, _ABSENT)) for name in {**before, **after}]
    elif isinstance(before, list) and isinstance(after, list):
        both = enumerate(zip_longest(before, after, fillvalue=_ABSENT))
        pairs = [(str(position), *values) for position, values in both]
    else:
        if before != after:
            yield pointer
        return
    for name, old, new in pairs:
        yield from _differences(old, new, f"{pointer}/{name}")


def _changed_steps(before: WorkflowSpec, after: WorkflowSpec) -> dict[str, tuple[str, ...]]:
    old, new = ({placed.key: placed.step for placed in spec.pattern.placed} for spec in (before, after))
    return {
        "added": tuple(key for key in new if key not in old),
        "removed": tuple(key for key in old if key not in new),
        "changed": tuple(key for key in new if key in old and old[key] != new[key]),
    }
