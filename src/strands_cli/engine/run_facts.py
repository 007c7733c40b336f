"""The facts in the journal about a run besides its effects: enough to resume it without the workflow file."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal.journal_rows import Clock, Journal, Row, in_order_of_request
from strands_cli.engine.journal.recording_writer import write_recording
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.store_port import RunStore, StoredJournal
from strands_cli.errors import NotEquipped, RunRecordError, StrandsCliError, UsageError, suggest
from strands_cli.planning.attachments import without_stored
from strands_cli.planning.plan_values import Plan, all_workflows_in, with_parts
from strands_cli.planning.planned_tool import ObjectTool
from strands_cli.planning.row_planner import UNKNOWN_INPUT
from strands_cli.planning.run_request import RunRequest
from strands_cli.system.atomic_file import user_name
from strands_cli.texts.canonical_json import digest_of
from strands_cli.texts.phrases import joined
from strands_cli.workflow.loader import version_number
from strands_cli.yaml_files.document_reader import FileSnapshot

if TYPE_CHECKING:
    from strands_cli.planning.plan_values import Plan, PlannedAgent
    from strands_cli.planning.run_request import RunRequest


def new_run_id(clock: Clock) -> str:
    """Return an id that sorts by time: `20261121-033012-a1b2c3` (UTC)."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(clock.now())) + "-" + secrets.token_hex(3)


def run_facts(plan: Plan, request: RunRequest, run_id: str, clock: Clock) -> dict[str, Any]:
    """Return the facts that a new run's journal begins with."""
    return {
        "id": run_id,
        "workflow": plan.spec.name,
        "pattern": plan.spec.pattern.type,
        "file": plan.file,
        "base_dir": str(plan.base_dir),
        "text": plan.text,
        "format_version": version_number(plan.spec.version),
        "files": dict(plan.files),
        "directory": str(Path.cwd()),
        "user": user_name(),
        "inputs": dict(plan.inputs),
        "options": request.to_stored(),
        "models": models_of(plan),
        "tools": tool_names_of(plan),
        "plan_digest": plan.digest,
        "started_at": clock.now(),
        "status": "running",
        **({"context": sorted(request.context)} if request.context else {}),
        **({"packaged": plan.packaged} if plan.packaged else {}),
        **({"default_model": plan.default_model} if plan.default_model else {}),
        **({"aliases": dict(plan.aliases)} if plan.aliases else {}),
        **surroundings_of(plan),
    }


def stored_request(journal: Journal, changes: Mapping[str, Any]) -> RunRequest:
    """Return the request of a stored run, with the changes over it; inputs in `changes` replace single ones."""
    stored = RunRequest.from_stored(journal.get("options") or {}, journal.get("inputs") or {})
    return stored.changed({**changes, "values": {**stored.values, **changes.get("values", {})}})


def snapshot_of(journal: Journal) -> FileSnapshot:
    """Return the run's folder and the texts of its files as they were when it began."""
    model, aliases = journal.get("default_model") or "", journal.get("aliases") or {}
    return dataclasses.replace(
        folder_of_run(journal), texts=journal.get("files") or {}, default_model=model, aliases=aliases
    )


def folder_of_run(journal: Journal) -> FileSnapshot:
    """Return the run's folder, with its files as they are now."""
    packaged, version = journal.get("packaged") or "", format_version_of(journal)
    return FileSnapshot(Path(journal.get("base_dir")), packaged=packaged, format_version=version)


def format_version_of(journal: Journal) -> int:
    """Return the version that the format had when the run began: 1 in journals from before they have this fact."""
    version: int = journal.get("format_version") or 1
    return version


def current_source(journal: Journal) -> tuple[str, str | None, FileSnapshot | None, str | None]:
    """Return the source of a new run of the same workflow.

    Returns:
        The file; its text and snapshot where it is not on disk; and how it differs from the stored one.
    """
    file, text = journal.get("file"), journal.get("text")
    if file.startswith("<"):
        return file, text, snapshot_of(journal), None
    try:
        now = Path(file).read_text(encoding="utf-8").removeprefix("\ufeff")
    except (OSError, ValueError):
        return file, text, snapshot_of(journal), "cannot be read; the new run uses the text that the old one stored"
    return (
        file,
        None,
        folder_of_run(journal),
        None if now == text else "has changed; the new run uses it as it is now",
    )


def require_same(plan: Plan, journal: Journal, *, is_moved: bool = False) -> None:
    """Check that a plan is the one that the run began with.

    Args:
        is_moved: Whether the run continues on another machine, whose paths lead elsewhere.

    Raises:
        RunRecordError: It is not; the message names the change.
    """
    changes = surroundings_changed(plan, journal, is_moved=is_moved)
    if plan.digest == journal.get("plan_digest") and not changes:
        return
    for kind, now in (("model", models_of(plan)), ("tools", tool_names_of(plan))):
        before = journal.get(f"{kind.rstrip('s')}s") or {}
        changes += [
            f"the {kind} of '{name}' was {joined(before.get(name))} and is {joined(now.get(name))}"
            for name in {**before, **now}
            if before.get(name) != now.get(name)
        ]
    others = "".join(f", or the environment variable {name}" for name in plan.variables)
    what_changed = "; ".join(changes) or f"its inputs or its workflow have changed{others}"
    raise RunRecordError(
        f"the run cannot be resumed, since it would not be the same run: {what_changed}",
        fix=f"restore what it began with, or start a new run: strands runs rerun {journal.get('id')} --from KEY",
    )


def require_program(journal: Journal, request: RunRequest, installed: Container[str] = ()) -> None:
    """Check that a program provides again the things that no journal stores: its Python tools and its context.

    Args:
        request: The request, with the present tools and context.
        installed: Names of installed tools, where these may take the place of Python tools.

    Raises:
        NotEquipped: something is missing.
    """
    here = {record.name for record in request.tools}
    stored: dict[str, str] = journal.get("given") or {}
    missing = {name: location for name, location in stored.items() if name not in here and name not in installed}
    if missing:
        listed = ", ".join(f"{name} (of {location})" for name, location in missing.items())
        run_id, names = journal.get("id"), ", ".join(stored)
        raise NotEquipped(
            f"a Python program gave the run {run_id} tools that are missing here: {listed}",
            fix=f"continue in that program: Workflow.resume({run_id!r}, tools=[{names}]), or "
            f"Workflow.rerun({run_id!r}, KEY, tools=[{names}]); to store an answer for it: "
            f"strands approve {run_id} --no-resume",
        )
    if lacking := [name for name in journal.get("context") or () if name not in request.context]:
        run_id, names = journal.get("id"), ", ".join(f"{name!r}: ..." for name in lacking)
        raise NotEquipped(
            f"a Python program gave the tools of the run {run_id} what is missing here: {joined(lacking)}",
            fix=f"continue in that program: Workflow.resume({run_id!r}, context={{{names}}})",
        )


def raised_budgets(plan: Plan, journal: Journal, limits: Mapping[str, str]) -> Plan:
    """Return a plan with the limits that were raised, now and at earlier resumes, and store them.

    Args:
        limits: Limits to raise now, as text: by name of `runtime.budgets`, or `agents.NAME.LIMIT` where LIMIT is one
            of the agent's `limits` or `budgets`.

    Raises:
        UsageError: There is no such limit, the value is not a number, or it is not larger.
    """
    raised: dict[str, float] = journal.get("budgets") or {}
    for name, value in raised.items():
        plan = _with_limit(plan, name, value)
    for name, text in limits.items():
        raised[name] = _raised_limit(name, text, plan)
        plan = _with_limit(plan, name, raised[name])
    if limits:
        journal.put(budgets=raised)
    return plan


def limits_of(plan: Plan) -> dict[str, float | None]:
    """Return every limit that can be raised, by the name that raises it."""
    limits = {name: value for name, value in plan.spec.runtime.budgets if name.startswith("max_")}
    for agent in plan.agents.values():
        for part in (agent.limits, agent.budgets):
            limits |= {f"agents.{agent.id}.{name}": value for name, value in part or ()}
    return limits


def _with_limit(plan: Plan, name: str, value: float) -> Plan:
    agent_id, _, limit = name.removeprefix("agents.").rpartition(".")
    if not agent_id:
        budgets = plan.spec.runtime.budgets.model_copy(update={name: value})
        runtime = plan.spec.runtime.model_copy(update={"budgets": budgets})
        return dataclasses.replace(plan, spec=plan.spec.model_copy(update={"runtime": runtime}))
    agent = plan.agents[agent_id]
    part = "budgets" if limit.startswith("max_") else "limits"
    changed = dataclasses.replace(agent, **{part: getattr(agent, part).model_copy(update={limit: value})})
    return dataclasses.replace(plan, agents={**plan.agents, agent_id: changed})


def _raised_limit(name: str, text: str, plan: Plan) -> float:
    limits = limits_of(plan)
    if name not in limits:
        fix = suggest(name, limits, f"there are: {', '.join(limits)}")
        raise UsageError(f"there is no budget '{name}'", fix=fix)
    try:
        value = float(text) if name.endswith(("cost_usd", "duration_s")) else int(text)
    except ValueError:
        raise UsageError(f"--budget {name}={text}: that is not a number", fix=f"write --budget {name}=1000") from None
    limit = limits[name]
    if not 0 < value < float("inf") or (limit is not None and value <= limit):
        raise UsageError(f"--budget {name}={text} does not raise the limit of {limit or 0:g}", fix="give a larger one")
    return value


def models_of(plan: Plan) -> dict[str, str]:
    """Return each agent's provider and model in words."""
    return {
        name: ", ".join(f"{model.provider}/{model.model_id or ''}" for model in agent.models)
        for name, agent in _agents_of(plan).items()
    }


def tool_names_of(plan: Plan) -> dict[str, list[str]]:
    """Return each agent's tools with their distributions in words."""
    agents = _agents_of(plan).items()
    return {name: [f"{tool.name} of {tool.describe()}" for tool in agent.tools] for name, agent in agents}


def _agents_of(plan: Plan) -> dict[str, PlannedAgent]:
    """Return the agents of a plan, and those of the workflows among its tools, each with its file."""
    of_parts = (
        (f"{agent.id} of {part.file}", agent) for part in all_workflows_in(plan) for agent in part.agents.values()
    )
    return {**{agent.id: agent for agent in plan.agents.values()}, **dict(of_parts)}


def recorded_calls(rows: Iterable[Row]) -> list[tuple[str, Mapping[str, Any], str]]:
    """Return the key, the output and the end of the request of each finished model call, for a recording."""
    done = [row for row in in_order_of_request(rows) if row.status == "done"]
    return [(row.key, row.output, row.detail["request"]) for row in done]


# The facts of `surroundings_of`.
OF_MACHINE = ("places", "variables", "secret_variables", "secret_files", "hides_personal_data")


def surroundings_of(plan: Plan) -> dict[str, Any]:
    """Return facts of a new run about this machine: targets of its paths, its variables, and names of secrets."""
    facts = {"places": _places(plan), "variables": _variables(plan), **_hiding(plan)}
    return {name: value for name, value in facts.items() if value}


def _hiding(plan: Plan) -> dict[str, Any]:
    """Return names, in place of values, for a journal that hides secrets and personal data when it is opened again."""
    parts = _parts(plan)
    secrets = [(part, secret) for part in parts for secret in part.spec.env.secrets]
    return {
        "secret_variables": [secret.key for _, secret in secrets if secret.source == "env"],
        "secret_files": [part.places[secret.path or ""] for part, secret in secrets if secret.source == "file"],
        "hides_personal_data": any(part.spec.security.guardrails.pii_redaction for part in parts),
    }


def surroundings_changed(plan: Plan, journal: Journal, *, is_moved: bool = False) -> list[str]:
    """Return the changes since the run began, in words: a person has allowed the earlier state."""
    before, now = {} if is_moved else journal.get("places") or {}, _places(plan)
    moved = [f"{path} led to {before[path]} and leads to {now[path]}" for path in now if _differs(path, before, now)]
    variables, values = journal.get("variables") or {}, _variables(plan)
    return moved + [
        f"the environment variable {name} has another value"
        for name in variables
        if variables[name] != values.get(name)
    ]


def _differs(name: str, before: dict[str, str], now: dict[str, str]) -> bool:
    return name in before and before[name] != now[name]


def _parts(plan: Plan) -> list[Plan]:
    return list({part.file: part for part in (plan, *all_workflows_in(plan))}.values())


def _places(plan: Plan) -> dict[str, str]:
    return {f"{path} of {part.file}": location for part in _parts(plan) for path, location in part.places.items()}


def _variables(plan: Plan) -> dict[str, str]:
    return {name: digest_of(value) for part in _parts(plan) for name, value in part.variables.items()}


# The journal of a new run, and the recording written from one.


@dataclass(frozen=True, slots=True)
class Rerun:
    """A new run that begins with the effects of another one.

    Attributes:
        planned: The plan of the new run.
        request: The request that it was planned with.
        rows: The rows of the other run's journal that it takes over.
        origin: The id of the other run, and the key from which on everything is done again.
        changed: The changes of the workflow's file since, in words.
    """

    planned: Plan
    request: RunRequest
    rows: Sequence[Row]
    origin: Mapping[str, str]
    changed: str | None

    def __post_init__(self) -> None:
        """Make a warning of an input of the other run that nothing reads any more: no person gives it now.

        The attachments of the steps before are in the rows.
        """
        keys = {row.key for row in self.rows if row.kind == "attachment"}
        planned = without_stored(self.planned, keys.__contains__)
        findings = (
            replace(finding, severity="warning") if finding.code == UNKNOWN_INPUT else finding
            for finding in planned.findings
        )
        object.__setattr__(self, "planned", replace(planned, findings=tuple(findings)))


def create_journal(
    store: RunStore,
    plan: Plan,
    request: RunRequest,
    run_id: str | None = None,
    rerun: Rerun | None = None,
    further: Mapping[str, Any] = MappingProxyType({}),
) -> StoredJournal:
    """Create the journal of a new run and hold it.

    Args:
        store: Where it is created.
        run_id: Its id; None makes one.
        rerun: The effects of another run, for this one to begin with.
        further: Facts to store besides, or in place of others.

    Raises:
        RunRecordError: it cannot be created.
    """
    clock = SystemClock()
    run_id = run_id or new_run_id(clock)
    facts = run_facts(plan, request, run_id, clock)
    if request.python_tools is not None:
        called = with_parts(plan.called(), of_others=False)
        names = [tool.record.name for tool in called if isinstance(tool, ObjectTool)]
        facts["given"] = {name: request.python_tools.places[name] for name in names}
    if rerun is not None:
        facts["rerun_of"] = dict(rerun.origin)
    journal = _new_or_unbegun(store, run_id)
    journal.put(**{**facts, **further})
    for row in rerun.rows if rerun is not None else ():
        journal.note(row)
    return journal


def _new_or_unbegun(store: RunStore, run_id: str) -> StoredJournal:
    """Return a new journal, held, or that of a process which died before it had stored a fact of the run.

    Raises:
        RunRecordError: There is a run with this id, or the store cannot be written.
    """
    try:
        return store.create(run_id)
    except RunRecordError:
        # Only looked at first: a run that goes on must not be taken over for this.
        with contextlib.suppress(RunRecordError):
            with contextlib.closing(store.open(run_id, hold=False)) as journal:
                is_unbegun = _is_unbegun(journal)
            if is_unbegun:
                held_journal = store.open(run_id)
                if _is_unbegun(held_journal):
                    return held_journal
                held_journal.close()
        raise


def _is_unbegun(journal: StoredJournal) -> bool:
    return journal.get("status") is None and next(iter(journal.rows()), None) is None


@contextlib.contextmanager
def recorded(request: RunRequest, journal: Journal, warn: Callable[[str], None]) -> Iterator[None]:
    """Write the recording that `--record` asks for when the run has ended, however it ended.

    Raises:
        StrandsCliError: the run completed, and the recording exists or cannot be written.
    """

    def write() -> None:
        if request.record is not None:
            write_recording(request.beside / request.record, recorded_calls(journal.rows("model")), force=request.force)

    try:
        yield
    except BaseException:
        # The reason why the run ended matters more than a recording of its part.
        try:
            write()
        except StrandsCliError as error:
            warn(error.message)
        raise
    write()
