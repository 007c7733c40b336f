"""The workflows of a folder, each planned as far as its tools go, for `strands lock`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.resolution import BAD_TOOL_REF, TOOL_BROKEN, TOOL_UNMET, TOOL_VERSION, UNKNOWN_TOOL
from strands_cli.catalog.tool_record import TOOL_CONFLICT
from strands_cli.config import read_settings
from strands_cli.default_parts import FORMATS
from strands_cli.errors import Finding, InvalidInput, NotEquipped, StrandsCliError, UsageError, Where
from strands_cli.parts.named_parts import names_in
from strands_cli.planning.environment import CANNOT_WRITE, MISSING_MOUNT
from strands_cli.planning.machine.installation import Installation, without_policy
from strands_cli.planning.plan_builder import UNSET_VARIABLE, build_plan
from strands_cli.planning.plan_values import Plan, with_parts
from strands_cli.planning.planned_tool import InstalledTool
from strands_cli.planning.provider_checks import MISSING_API_KEY, MISSING_EXTRA, PROVIDER_NEEDS
from strands_cli.planning.recording_checks import REPLAY_NEEDS_RECORDING
from strands_cli.planning.row_planner import MISSING_INPUT
from strands_cli.planning.run_request import RunRequest
from strands_cli.secrets.secret_forms import credentials_in
from strands_cli.texts.canonical_json import json_object
from strands_cli.toolref import ToolRef, ToolRefError
from strands_cli.workflow.builder import chain, step, workflow_text
from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE
from strands_cli.workflow.loader import load_spec, translated
from strands_cli.workflow.model import LoadedWorkflow, WorkflowSpec
from strands_cli.workflow.packaged_listing import located
from strands_cli.workflow.parts.agent_file import Atomic, is_agent_file, read_atomic
from strands_cli.workflow.sections import NOTE_PREFIX, InputSpec
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.document_reader import (
    NO_SNAPSHOT,
    SUFFIXES,
    FileSnapshot,
    folder_of,
    read_document,
    stored_name,
)
from strands_cli.yaml_files.yaml_events import parse

# A reusable agent as a workflow of one step, so that the code for workflows works for it.


INPUT = "input"


@dataclass(frozen=True, slots=True)
class AgentWorkflow:
    """An agent as a workflow: its source, its text if the source is not a file, and the snapshot of its files."""

    source: str
    text: str | None = None
    snapshot: FileSnapshot = NO_SNAPSHOT

    def load(self) -> LoadedWorkflow:
        """Read it as any workflow."""
        return load_spec(read_document(self.source, self.text), self.snapshot)


def agent_workflow_of(
    atomic: Atomic,
    provider: str = "replay",
    recording: str | None = None,
    inputs: Mapping[str, InputSpec] | None = None,
) -> AgentWorkflow:
    """Return an agent as a workflow of one step with the input `input`; a workflow stays as it is.

    Args:
        provider: Who serves its model, where the agent itself does not say.
        recording: The recording that its model plays instead.
        inputs: Further inputs, for the templates of its prompt.
    """
    if atomic.is_workflow:
        if recording is not None:
            return _playing(atomic, recording)
        packaged = FileSnapshot(atomic.folder, packaged=atomic.packaged)
        return AgentWorkflow(atomic.document.file, None, packaged if atomic.packaged else NO_SNAPSHOT)
    # A key that begins so is a note of the author, not an agent.
    agent = atomic.name if not atomic.name.startswith(NOTE_PREFIX) else "agent"
    runtime = {"provider": provider, **({"recording": recording} if recording else {})}
    document = {
        "version": 2,
        "name": atomic.name,
        "runtime": runtime,
        "inputs": {
            "required": {INPUT: "string"},
            **({"optional": _described(inputs)} if inputs else {}),
        },
        "agents": {agent: {"$ref": Path(atomic.document.file).name}},
        "pattern": chain(step(agent, "{{ input }}")),
    }
    file = Path(atomic.document.file)
    texts = {stored_name(file.absolute()): atomic.document.text}
    return AgentWorkflow(
        f"<atomic {atomic.name}>",
        workflow_text(document),
        FileSnapshot(file.parent.absolute(), texts, packaged=atomic.packaged),
    )


def _described(inputs: Mapping[str, InputSpec]) -> dict[str, Any]:
    return {name: input_spec.model_dump(mode="json", exclude_unset=True) for name, input_spec in inputs.items()}


def _playing(atomic: Atomic, recording: str) -> AgentWorkflow:
    """Return a workflow of one agent with a recording in the place of its model."""
    document = atomic.document
    runtime = {**(document.value.get("runtime") or {}), "provider": "replay", "recording": recording}
    text = json.dumps({**document.value, "runtime": runtime})
    return AgentWorkflow(document.file, text, FileSnapshot(atomic.folder, packaged=atomic.packaged))


def located_in_agent_file(finding: Finding, atomic: Atomic) -> Finding:
    """Return a finding with its place in the agent's file, as the caller named it: the workflow around it is ours."""
    where, document = finding.where, atomic.document
    if where is None:
        return finding
    if where.file.startswith("<atomic "):
        section, _, rest = where.pointer.lstrip("/").partition("/")
        pointer = rest if section == "runtime" else rest.partition("/")[2] if section == "agents" else ""
        return replace(finding, where=document.where(f"/{pointer}" if pointer else ""))
    is_here = stored_name(where.file) == stored_name(document.file)
    return replace(finding, where=replace(where, file=document.file)) if is_here else finding


# Findings that keep a named tool from being known. Other findings of a plan are about running it.
_OF_TOOLS = (BAD_TOOL_REF, UNKNOWN_TOOL, TOOL_CONFLICT, TOOL_VERSION, TOOL_BROKEN, TOOL_UNMET)


@dataclass(frozen=True, slots=True)
class FolderPlans:
    """The plans of a folder's workflows, and the files that could not be read, one line each."""

    plans: tuple[Plan, ...]
    unread: tuple[str, ...]


def plan_folder(
    folder: Path,
    machine: Installation,
    named: Path | None = None,
    packaged: Iterable[str] = (),
    *,
    may_be_empty: bool = False,
) -> FolderPlans:
    """Plan every workflow in a folder, and packaged ones to run there.

    Args:
        folder: Its `*.yaml`, `*.yml` and `*.json` are read, those of its folders are not.
        machine: This machine; its policy files are left out.
        named: A file to read as a workflow, with any suffix.
        packaged: Workflows of installed distributions, as `DIST/NAME`.
        may_be_empty: Whether a folder without a workflow is an empty result, not an error.

    Raises:
        UsageError: there is no workflow, or the folder cannot be read.
        InvalidInput: one is not valid, or names an unknown tool; then its tools cannot be locked.
        NotEquipped: a named tool cannot work on this machine.
    """
    documents, unread = _documents(folder, named)
    findings: list[Finding] = []
    plans: list[Plan] = []
    sources = [(document, NO_SNAPSHOT) for document in documents] + [_packaged(name) for name in packaged]
    for document, snapshot in sources:
        if not is_workflow(document):
            agent, wrong = _plan_agent(document, machine)
            # A workflow around it may have the missing tools; then that workflow is locked.
            findings += wrong if named is not None and Path(document.file) == named else []
            plans += [agent] if agent is not None else []
            continue
        workflow = load_spec(document, snapshot)
        if (spec := workflow.valid) is None:
            findings += [finding for finding in workflow.findings if finding.severity == "error"]
            continue
        # Nothing is imported here, and policy decides on each run.
        plan = build_plan(workflow, _granting(machine, spec, document), RunRequest())
        findings += [finding for finding in plan.findings if finding.severity == "error" and finding.code in _OF_TOOLS]
        plans.append(plan)
    _require_known(findings)
    if not plans and not may_be_empty:
        raise UsageError(f"there is no workflow in {folder}", fix="name one: strands lock FILE")
    return FolderPlans(tuple(plans), tuple(unread))


def _packaged(name: str) -> tuple[Document, FileSnapshot]:
    """Return a workflow of an installed distribution."""
    source, snapshot = located(name)
    return read_document(source), snapshot or NO_SNAPSHOT


def _documents(folder: Path, named: Path | None) -> tuple[list[Document], list[str]]:
    try:
        files = {path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file()}
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}", fix="name a workflow, or its folder") from error
    documents: list[Document] = []
    unread: list[str] = []
    for path in sorted(files | ({named} if named else set())):
        try:
            document = read_document(path)
        except StrandsCliError as error:
            if path == named:
                raise
            unread.append(f"{path} is not looked at: {_reason(error)}")
            continue
        if is_workflow(document) or is_agent_file(document.value):
            documents.append(document)
        elif path == named:
            translated(document)  # it may be of a format of an absent distribution
            raise InvalidInput(f"{path} is not a workflow: it has no `pattern`", fix="name one, or its folder")
    return documents, unread


def _granting(machine: Installation, spec: WorkflowSpec, document: Document) -> Installation:
    """Return the machine without policy, and with the custom Python that a workflow names allowed."""
    custom = tuple(_custom_references(spec, folder_of(document), set()))
    return without_policy(machine.catalog, replace(machine.settings, custom_tools=custom), machine.hooks)


def _plan_agent(document: Document, machine: Installation) -> tuple[Plan | None, list[Finding]]:
    """Return the plan of an agent in a file of its own; none, and why, where its tools cannot be known by itself."""
    whole = agent_workflow_of(read_atomic(document))
    loaded = whole.load()
    if (spec := loaded.valid) is None:
        return None, [finding for finding in loaded.findings if finding.severity == "error"]
    granted = _granting(machine, spec, document)
    plan = build_plan(loaded, granted, RunRequest())
    findings = [finding for finding in plan.findings if finding.severity == "error" and finding.code in _OF_TOOLS]
    return None if findings else plan, findings


def is_workflow(document: Document) -> bool:
    """Return whether a document is meant as a workflow; recordings and files of agents lie beside them.

    A document of another format is one where an installed distribution translates it; nothing is imported.
    """
    value = json_object(document.value)
    if isinstance(value.get("format"), str) and value["format"] in names_in(FORMATS):
        return True
    return "pattern" in value and bool(value.keys() & {"agents", "name"})


def _custom_references(spec: WorkflowSpec, folder: Path, seen: set[Path]) -> Iterator[str]:
    """Yield the custom Python that a workflow names, or another among its tools; `seen` are the read files."""
    for text in spec.named_tools():
        with contextlib.suppress(ToolRefError):
            ref = ToolRef.parse(text)
            if ref.kind == "custom":
                yield ref.canonical
            elif ref.kind == "workflow" and (file := (folder / ref.name).resolve()) not in seen:
                seen.add(file)
                with contextlib.suppress(StrandsCliError):  # planning reports its faults
                    other = load_spec(read_document(file)).spec
                    yield from _custom_references(other, file.parent, seen) if other is not None else ()


def _reason(error: StrandsCliError) -> str:
    return error.findings[0].message if error.findings else error.message


def _require_known(findings: Iterable[Finding]) -> None:
    distinct = list(dict.fromkeys(findings))
    if not distinct:
        return
    lacking = all(finding.code in (TOOL_BROKEN, TOOL_UNMET) for finding in distinct)
    kind = NotEquipped if lacking else InvalidInput
    raise kind("nothing is locked, since a workflow here has tools that are not known", findings=distinct)


# A workflow, an agent or a skill of a package: its faults on every machine, and the files and tools that it uses.


SKILL = "SKILL.md"
# The codes about the person's machine and choices, which the author of a package does not know.
_OF_THE_MACHINE = frozenset(
    {
        *(MISSING_MOUNT, CANNOT_WRITE, UNSET_VARIABLE, MISSING_API_KEY, MISSING_EXTRA, PROVIDER_NEEDS),
        *(MISSING_INPUT, REPLAY_NEEDS_RECORDING),
    }
)


@dataclass(frozen=True, slots=True)
class PortableFile:
    """A file of a package; nothing of it runs, and nothing is imported.

    Attributes:
        kind: Its kind; None for another file, or an unreadable one.
        findings: Its faults, wherever it is installed.
        is_sound: Whether its tests mean something.
        files: The other files that it reads.
        tools: The names of the tools that its tests call, each with the distribution of an installed one.
        has_test: Whether a recording, or the file itself, has a test of it.
    """

    kind: Literal["workflow", "agent", "skill"] | None
    findings: tuple[Finding, ...] = ()
    is_sound: bool = False
    files: tuple[str, ...] = ()
    tools: tuple[tuple[str, str | None], ...] = ()
    has_test: bool = False

    @staticmethod
    def read(paths: Iterable[Path]) -> dict[Path, PortableFile]:
        """Read YAML and JSON files, and folders with a skill each."""
        machine = without_policy(discover_catalog(), read_settings())
        return {path: _read(path, machine) for path in paths}

    @staticmethod
    def credentials(text: str, file: str) -> Iterator[tuple[int | None, str]]:
        """Yield the 1-based line and the kind of each part of a file that looks like a credential, at most 20.

        Args:
            text: Its content.
            file: Its name; of one that only files of credentials have, nothing else is yielded, and without a line.
        """
        return credentials_in(text, file)


def _read(path: Path, machine: Installation) -> PortableFile:
    if (path / SKILL).is_file():
        return _skill(path)
    try:
        document = read_document(path)
    except StrandsCliError as error:
        return PortableFile(None, tuple(error.findings))
    if is_workflow(document):
        return _workflow(document, machine)
    return _agent(document) if is_agent_file(document.value) else PortableFile(None)


def _workflow(document: Document, machine: Installation) -> PortableFile:
    workflow = load_spec(document)
    if (spec := workflow.valid) is None:
        return PortableFile("workflow", tuple(workflow.findings))
    # A recording takes the place of the models, so that no key of this machine counts.
    has_test = spec.runtime.recording is not None
    plan = build_plan(workflow, machine, RunRequest(provider="replay") if has_test else RunRequest())
    of_plan = [
        finding for finding in plan.findings if finding.code not in _OF_THE_MACHINE and finding not in workflow.findings
    ]
    files = (*(file.file for file in workflow.files), *plan.files)
    findings = (*workflow.findings, *of_plan)
    return PortableFile("workflow", findings, True, files, tuple(sorted(set(_called(plan)), key=str)), has_test)


def _called(plan: Plan) -> Iterator[tuple[str, str | None]]:
    for tool in with_parts(plan.called()):
        if not tool.sources >= {"workflow"}:
            yield tool.name, tool.distribution if isinstance(tool, InstalledTool) else None


def _agent(document: Document) -> PortableFile:
    atomic = read_atomic(document)
    loaded = agent_workflow_of(atomic).load()
    # Further variables of its prompt come from the workflow that uses it.
    findings_of_use = [finding for finding in loaded.findings if finding.code != UNDECLARED_VARIABLE]
    findings = (*atomic.findings, *(located_in_agent_file(finding, atomic) for finding in findings_of_use))
    files = tuple(file.file for file in loaded.files)
    if loaded.readable is None:
        return PortableFile("agent", findings, files=files)
    tools = tuple((name, None) for name in sorted(set(loaded.readable.named_tools())))
    tested = any(test.recording is not None or test.expect.error == "bad_input" for test in atomic.tests)
    return PortableFile("agent", findings, True, files, tools, tested)


def _skill(folder: Path) -> PortableFile:
    """Read a skill as a workflow beside it would."""
    around = {
        "version": 2,
        "name": "skill",
        "runtime": {"provider": "replay"},
        "skills": [{"id": "skill", "path": folder.name}],
        "agents": {"reader": {"prompt": "Read."}},
        "pattern": chain(step("reader", "Read.")),
    }
    workflow = load_spec(parse("<skill>", workflow_text(around)), FileSnapshot(folder.parent))
    where = Where(str(folder / SKILL))
    findings = [
        replace(finding, where=where, message=finding.message.replace("'skill'", f"'{folder.name}'"))
        for finding in workflow.findings
        if finding.where is not None and finding.where.pointer.startswith("/skills")
    ]
    return PortableFile("skill", tuple(findings), True)
