"""A workflow, an agent or a skill of a package: what is wrong with it on every machine, and what it reads and calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import load_settings
from strands_cli.errors import Finding, StrandsCliError, Where
from strands_cli.planning.checks.artifact_paths import CANNOT_WRITE
from strands_cli.planning.checks.environment import MISSING_MOUNT
from strands_cli.planning.checks.recording_checks import REPLAY_NEEDS_RECORDING
from strands_cli.planning.environment_values import UNSET_VARIABLE
from strands_cli.planning.folders.agent_workflow import agent_workflow_of, located_in_agent_file
from strands_cli.planning.folders.workflow_folder import is_workflow
from strands_cli.planning.machine.installation import Installation, without_policy
from strands_cli.planning.plan.plan_values import Plan
from strands_cli.planning.plan_builder import build_plan
from strands_cli.planning.planned_tools.planned_tool import InstalledTool
from strands_cli.planning.provider_checks import MISSING_API_KEY, MISSING_EXTRA, PROVIDER_NEEDS
from strands_cli.planning.run_inputs import MISSING_INPUT
from strands_cli.planning.run_request import RunRequest
from strands_cli.planning.workflow_tools.tool_parts import with_parts
from strands_cli.secrets.credential_texts import credentials_in
from strands_cli.workflow.builder import chain, step, workflow_text
from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.parts.agent_file import is_agent_file, read_atomic
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.document_reader import read_document
from strands_cli.yaml_files.file_source import FileSnapshot
from strands_cli.yaml_files.yaml_events import parse

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
        kind: What it is; None for another file, or one that cannot be read.
        findings: What is wrong with it, wherever it is installed.
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
        machine = without_policy(discover_catalog(), load_settings())
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
    loaded = load_spec(document)
    if (spec := loaded.valid) is None:
        return PortableFile("workflow", tuple(loaded.findings))
    # A recording takes the place of the models, so that no key of this machine counts.
    has_test = spec.runtime.recording is not None
    plan = build_plan(loaded, machine, RunRequest(provider="replay") if has_test else RunRequest())
    of_plan = [one for one in plan.findings if one.code not in _OF_THE_MACHINE and one not in loaded.findings]
    files = (*(one.file for one in loaded.files), *plan.files)
    findings = (*loaded.findings, *of_plan)
    return PortableFile("workflow", findings, True, files, tuple(sorted(set(_called(plan)), key=str)), has_test)


def _called(plan: Plan) -> Iterator[tuple[str, str | None]]:
    for tool in with_parts(plan.called()):
        if not tool.sources >= {"workflow"}:
            yield tool.name, tool.distribution if isinstance(tool, InstalledTool) else None


def _agent(document: Document) -> PortableFile:
    atomic = read_atomic(document)
    loaded = agent_workflow_of(atomic).load()
    # Further variables of its prompt come from the workflow that uses it.
    found = [one for one in loaded.findings if one.code != UNDECLARED_VARIABLE]
    findings = (*atomic.findings, *(located_in_agent_file(one, atomic) for one in found))
    files = tuple(one.file for one in loaded.files)
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
    loaded = load_spec(parse("<skill>", workflow_text(around)), FileSnapshot(folder.parent))
    place = Where(str(folder / SKILL))
    findings = [
        replace(one, where=place, message=one.message.replace("'skill'", f"'{folder.name}'"))
        for one in loaded.findings
        if one.where is not None and one.where.pointer.startswith("/skills")
    ]
    return PortableFile("skill", tuple(findings), True)
