"""A workflow of the folder as the page has shown it: what a person allows or starts is exactly that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from strands_cli.api import (
    ARTIFACT_EXISTS,
    MISSING_INPUT,
    SUFFIXES,
    RunRecordError,
    RunRequest,
    StrandsCliError,
    Trust,
    UsageError,
    authority_sections,
    digest_of,
    is_workflow,
    json_object,
    python_lines,
    read_document,
)
from strands_cli_ui.frame.ui_frame import has_address
from strands_cli_ui.frame.ui_state import Ui

if TYPE_CHECKING:
    from strands_cli.api import Finding, Plan

# The most files of a folder that are looked at.
FILES = 300


@dataclass(frozen=True, slots=True)
class SeenWorkflow:
    """A plan, and what a person sees of it before it may start anything.

    Attributes:
        findings: All of the plan but missing inputs, which the form asks for.
        trust: What it starts and opens, that of unused parts included: an answer covers all of it.
        sections: That as sentences, by the title of their section.
        digest: Of everything shown that matters: the files, and what they start and open on this machine.
    """

    plan: Plan
    findings: tuple[Finding, ...]
    trust: Trust
    sections: dict[str, list[str]]
    digest: str

    @property
    def standing(self) -> str:
        """Return whether it may start as a run uses it: `allowed`, `unanswered` or `denied`."""
        return Trust.of(self.plan).standing

    @property
    def can_run(self) -> bool:
        """Return whether no error prevents a run."""
        errors = (one for one in self.findings if one.severity == "error")
        return all(one.code == ARTIFACT_EXISTS for one in errors)

    @property
    def has_artifacts(self) -> bool:
        """Return whether a file is in the place of an artifact, which a person may let the run overwrite."""
        return any(one.code == ARTIFACT_EXISTS for one in self.findings)


def workflow_names(ui: Ui) -> list[str]:
    """Return the files of the folder that may be workflows, by their names; one that is not UTF-8 has no address."""
    try:
        found = [
            path
            for path in ui.folder.iterdir()
            if path.suffix in SUFFIXES and has_address(path.name) and path.is_file()
        ]
    except OSError as error:
        raise UsageError(
            f"{ui.folder} cannot be read: {error.strerror or error}", fix="start the page again"
        ) from error
    return sorted(path.name for path in found)[:FILES]


def titles_of(ui: Ui, file: str) -> tuple[str, str] | None:
    """Return the name and the description of a workflow; None for a recording, or an agent, which lie beside them."""
    try:
        document = read_document(ui.folder / file)
    except StrandsCliError:  # one with a mistake in it is shown with its findings
        return None if file.endswith((".json", ".recording.yaml")) else ("", "")
    if not is_workflow(document):
        return None
    stated = json_object(document.value)
    about = stated.get("description") or json_object(stated.get("metadata")).get("description")
    return str(stated.get("name") or ""), str(about or "")


def seen_workflow(ui: Ui, name: str) -> SeenWorkflow:
    """Plan a workflow of the folder, without importing a plugin.

    Raises:
        RunRecordError: The folder has no such file.
        StrandsCliError: It is not a valid workflow.
    """
    from strands_cli.api import plan

    if name not in workflow_names(ui):
        raise RunRecordError(f"there is no workflow {name} in {ui.folder}", fix="see the list of workflows")
    planned = plan(
        ui.folder / name, RunRequest(runs_dir=ui.place.directory, store=ui.place.address or None, beside=ui.folder)
    )
    trust = Trust.of(planned, whole=True)
    sections = authority_sections(trust.authority, is_complete=planned.is_complete)
    if own := python_lines(trust):
        sections["Python of this folder"] = own
    findings = tuple(one for one in planned.findings if one.code != MISSING_INPUT)
    about = [planned.text, dict(planned.files), trust.authority.digest, list(trust.authority.places), sections]
    return SeenWorkflow(planned, findings, trust, sections, digest_of(about))
