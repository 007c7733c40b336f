"""A document with the workflow and the findings that came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from strands_cli.errors import Finding, Where
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.yaml import NO_SNAPSHOT, Document, FileSnapshot


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of loading a document.

    Attributes:
        spec: The workflow, also where references or templates in it are wrong; None for a document of another shape.
        findings: What is wrong; with an error among them, the workflow must not run.
        files: The files that the workflow names (`$ref`, schema paths); `spec` has their content.
        origins: The file and the pointer in it for each pointer of the workflow that a file has provided.
        snapshot: The files that a run has stored.
        readable: The workflow as far as it can be read: `spec`, else what is left without its mistakes.
    """

    spec: WorkflowSpec | None
    document: Document
    findings: tuple[Finding, ...] = ()
    files: tuple[Document, ...] = ()
    origins: Mapping[str, tuple[Document, str]] = field(default_factory=dict)
    snapshot: FileSnapshot = NO_SNAPSHOT
    readable: WorkflowSpec | None = None

    def with_findings(self, findings: Iterable[Finding]) -> Loaded:
        """Return it with further findings, each once, in the order of the file; those of other files follow."""

        def place(finding: Finding) -> tuple[bool, str, int, int]:
            where = finding.where or Where(self.document.file)
            return where.file != self.document.file, where.file, where.line or 0, where.column or 0

        return replace(self, findings=tuple(sorted(dict.fromkeys((*self.findings, *findings)), key=place)))

    def where(self, pointer: str, *, key: bool = False) -> Where:
        """Return the place of a node: in the workflow, or in the file that `$ref` names."""
        document, place = self._written(pointer)
        return document.where(place, key=key)

    def where_in_text(self, pointer: str, line: int | None) -> Where:
        """Return the place of a line of a text, as `where`."""
        document, place = self._written(pointer)
        return document.where_in_text(place, line)

    def _written(self, pointer: str) -> tuple[Document, str]:
        place = pointer
        while place:
            if place in self.origins:
                document, prefix = self.origins[place]
                return document, prefix + pointer[len(place) :]
            place = place.rpartition("/")[0]
        return self.document, pointer
