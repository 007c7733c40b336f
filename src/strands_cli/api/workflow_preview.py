"""A workflow file as a person sees it before a run: its plan, its findings, and its programs, files and addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli import app
from strands_cli.errors import Finding
from strands_cli.outputs.artifacts import ARTIFACT_EXISTS
from strands_cli.planning.authority_sentences import authority_sections, python_lines
from strands_cli.planning.data_flow.workflow_trust import Standing, Trust
from strands_cli.planning.row_planner import MISSING_INPUT
from strands_cli.planning.run_request import RunRequest
from strands_cli.planning.workflow_folder import is_workflow
from strands_cli.texts.canonical_json import digest_of, json_object
from strands_cli.yaml_files.document_reader import read_document

if TYPE_CHECKING:
    from strands_cli.planning.plan_values import Plan
    from strands_cli.store_place import StorePlace


@dataclass(frozen=True, slots=True)
class WorkflowPreview:
    """A planned workflow, and the facts for a person before it may start anything.

    Attributes:
        plan: The plan of a run without inputs.
        findings: Those of the plan, without the ones about missing inputs.
        sections: Its programs, files, addresses and sent data, parts that no step uses included: sentences by the title
            of their section.
        digest: The SHA-256 in hex of the files and of the programs and files that they name on this machine.
    """

    plan: Plan
    findings: Sequence[Finding]
    sections: Mapping[str, Sequence[str]]
    digest: str
    _trust: Trust

    @classmethod
    def of(cls, file: Path, place: StorePlace, *, folder: Path) -> WorkflowPreview:
        """Plan a workflow, without importing a plugin.

        Args:
            place: Where a run of it would be stored.
            folder: The directory in which a run would work.

        Raises:
            StrandsCliError: It is not a valid workflow.
        """
        request = RunRequest(runs_dir=place.directory, store=place.address or None, beside=folder)
        plan = app.plan(file, request)
        trust = Trust.of(plan, whole=True)
        sections = authority_sections(trust.authority, is_complete=plan.is_complete)
        if python := python_lines(trust):
            sections["Python of this folder"] = python
        findings = tuple(finding for finding in plan.findings if finding.code != MISSING_INPUT)
        about = [plan.text, dict(plan.files), trust.authority.digest, list(trust.authority.places), sections]
        return cls(plan, findings, sections, digest_of(about), trust)

    @staticmethod
    def titles(file: Path) -> tuple[str, str] | None:
        """Return the name and the description of a workflow, without a plan; None for an agent, a recording and others.

        Raises:
            StrandsCliError: The file cannot be read.
        """
        document = read_document(file)
        if not is_workflow(document):
            return None
        stated = json_object(document.value)
        about = stated.get("description") or json_object(stated.get("metadata")).get("description")
        return str(stated.get("name") or ""), str(about or "")

    @property
    def standing(self) -> Standing:
        """Return whether it may start the programs of a run: `allowed`, `unanswered` or `denied`."""
        return Trust.of(self.plan).standing

    @property
    def can_run(self) -> bool:
        """Return whether no error prevents a run that overwrites files."""
        return all(finding.severity != "error" or finding.code == ARTIFACT_EXISTS for finding in self.findings)

    @property
    def overwrites(self) -> bool:
        """Return whether a file is in the place of an artifact, so that a run needs `--force`."""
        return any(finding.code == ARTIFACT_EXISTS for finding in self.findings)

    def allow(self) -> None:
        """Store that a person allows all that the sections say.

        Raises:
            ArtifactError: The answer cannot be written.
        """
        self._trust.keep()
