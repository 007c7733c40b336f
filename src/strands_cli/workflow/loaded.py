"""A document with the workflow and the findings that came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from strands_cli.errors import Finding, Where
from strands_cli.workflow.document import Document
from strands_cli.workflow.file_source import NO_SNAPSHOT, FileSnapshot
from strands_cli.workflow.model import WorkflowSpec


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of a document.

    `spec` is there whenever the document has the shape of a workflow, also when references or templates in it are
    wrong, so that later stages can add what they find; nothing may run while `findings` has an error. Files that the
    workflow names (`$ref`, schema paths) are in `files`; `spec` holds their content in place of the path.
    """

    spec: WorkflowSpec | None
    document: Document
    findings: tuple[Finding, ...] = ()
    files: tuple[Document, ...] = ()
    origins: Mapping[str, tuple[Document, str]] = field(default_factory=dict)
    snapshot: FileSnapshot = NO_SNAPSHOT

    def where(self, pointer: str, *, key: bool = False) -> Where:
        """Say where a node was written: in the workflow, or in the file that `$ref` brought it from."""
        document, place = self._written(pointer)
        return document.where(place, key=key)

    def where_in_text(self, pointer: str, line: int | None) -> Where:
        """Say where a line of a text was written, as `where`."""
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
