"""The workflows of a folder, each planned as far as its tools go: what `strands lock` covers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from strands_cli.catalog.resolution import BAD_TOOL_REF, TOOL_BROKEN, TOOL_UNMET, TOOL_VERSION, UNKNOWN_TOOL
from strands_cli.catalog.tool_record import TOOL_CONFLICT
from strands_cli.default_parts import FORMATS
from strands_cli.errors import Finding, InvalidInput, NotEquipped, StrandsCliError, UsageError
from strands_cli.parts.named_parts import names_in
from strands_cli.planning.folders.agent_workflow import agent_workflow_of
from strands_cli.planning.machine.installation import Installation, without_policy
from strands_cli.planning.plan.plan_values import Plan
from strands_cli.planning.plan_builder import build_plan
from strands_cli.planning.run_request import RunRequest
from strands_cli.texts.canonical_json import json_object
from strands_cli.toolref import ToolRef, ToolRefError
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.packaged.packaged_source import located
from strands_cli.workflow.parts.agent_file import is_agent_file, read_atomic
from strands_cli.workflow.translated import translated
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.document_reader import SUFFIXES, read_document
from strands_cli.yaml_files.file_source import NO_SNAPSHOT, FileSnapshot, folder_of

# What keeps a tool that a workflow names from being known. Other findings of a plan are about running it.
_OF_TOOLS = (BAD_TOOL_REF, UNKNOWN_TOOL, TOOL_CONFLICT, TOOL_VERSION, TOOL_BROKEN, TOOL_UNMET)


@dataclass(frozen=True, slots=True)
class Planned:
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
) -> Planned:
    """Plan every workflow that lies in a folder, and packaged ones that are run there.

    Args:
        folder: Its `*.yaml`, `*.yml` and `*.json` are looked at, those of its folders are not.
        machine: This machine; its policy files are left out.
        named: A file that has to be a workflow, with any suffix.
        packaged: Workflows of installed distributions, as `DIST/NAME`.
        may_be_empty: Whether a folder without a workflow is an empty result, not an error.

    Raises:
        UsageError: there is no workflow, or the folder cannot be read.
        InvalidInput: one is not valid, or names a tool that is not known; then its tools cannot be locked.
        NotEquipped: a tool that is named cannot work on this machine.
    """
    documents, unread = _documents(folder, named)
    findings: list[Finding] = []
    plans: list[Plan] = []
    found = [(document, NO_SNAPSHOT) for document in documents] + [_packaged(name) for name in packaged]
    for document, snapshot in found:
        if not is_workflow(document):
            agent, wrong = _plan_agent(document, machine)
            # Those of a workflow around it may be what it lacks; then that workflow is what is locked.
            findings += wrong if named is not None and Path(document.file) == named else []
            plans += [agent] if agent is not None else []
            continue
        loaded = load_spec(document, snapshot)
        if (spec := loaded.valid) is None:
            findings += [found for found in loaded.findings if found.severity == "error"]
            continue
        # Nothing is imported here, and what may run is for policy to say when it does.
        plan = build_plan(loaded, _granting(machine, spec, document), RunRequest())
        findings += [found for found in plan.findings if found.severity == "error" and found.code in _OF_TOOLS]
        plans.append(plan)
    _require_known(findings)
    if not plans and not may_be_empty:
        raise UsageError(f"there is no workflow in {folder}", fix="name one: strands lock FILE")
    return Planned(tuple(plans), tuple(unread))


def _packaged(name: str) -> tuple[Document, FileSnapshot]:
    """Return a workflow of an installed distribution.

    Raises:
        UsageError: There is none of this name.
    """
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
            translated(document)  # it may be of a format that is not installed
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
        return None, [found for found in loaded.findings if found.severity == "error"]
    granted = _granting(machine, spec, document)
    plan = build_plan(loaded, granted, RunRequest())
    findings = [found for found in plan.findings if found.severity == "error" and found.code in _OF_TOOLS]
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
    """Yield the custom Python that a workflow names, or another that is a tool of it; `seen` are those looked at."""
    for text in spec.named_tools():
        with contextlib.suppress(ToolRefError):
            ref = ToolRef.parse(text)
            if ref.kind == "custom":
                yield ref.canonical
            elif ref.kind == "workflow" and (file := (folder / ref.name).resolve()) not in seen:
                seen.add(file)
                with contextlib.suppress(StrandsCliError):  # planning says what is wrong with it
                    other = load_spec(read_document(file)).spec
                    yield from _custom_references(other, file.parent, seen) if other is not None else ()


def _reason(error: StrandsCliError) -> str:
    return error.findings[0].message if error.findings else error.message


def _require_known(findings: Iterable[Finding]) -> None:
    found = list(dict.fromkeys(findings))
    if not found:
        return
    lacking = all(finding.code in (TOOL_BROKEN, TOOL_UNMET) for finding in found)
    kind = NotEquipped if lacking else InvalidInput
    raise kind("nothing is locked, since a workflow here has tools that are not known", findings=found)
