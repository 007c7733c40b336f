"""A document with the workflow and the findings that came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from strands_cli.errors import Finding, Where, few_of_each, has_errors
from strands_cli.quick_dataclass import dataclass
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.file_source import NO_SNAPSHOT, FileSnapshot


@dataclass(frozen=True, slots=True)
class Repairs:
    """What was done to a document with mistakes in its form so that it can be read.

    Attributes:
        absent: Pointers of the values that were left out or replaced.
        filled: Pointers of the mappings with a value that replaces another.
        untrue: Codes of findings that are not true of the document, only of the repaired workflow.
        renamed: For each key that replaces a mistyped one, both with their pointers, the mistyped one.
    """

    absent: frozenset[str] = frozenset()
    filled: frozenset[str] = frozenset()
    untrue: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)

    def as_written(self, finding: Finding) -> Finding | None:
        """Return a finding about the repaired workflow at its place in the document; None if repairs made it."""
        where = finding.where
        if where is None or self == _NONE:
            return finding
        pointer = where.pointer
        passed = [pointer]  # a value that was moved may have been replaced where it is now
        for new, old in self.renamed.items():
            if pointer == new or pointer.startswith(f"{new}/"):
                pointer = old + pointer[len(new) :]
                passed.append(pointer)
        is_untrue = finding.code in self.untrue or pointer in self.filled
        if is_untrue or any(one == place or one.startswith(f"{place}/") for place in self.absent for one in passed):
            return None
        return replace(finding, where=replace(where, pointer=pointer))


_NONE = Repairs()


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
        repairs: What was repaired in `readable`.
        packages: The file of each `package:DIST/NAME` that its agents name.
    """

    spec: WorkflowSpec | None
    document: Document
    findings: tuple[Finding, ...] = ()
    files: tuple[Document, ...] = ()
    origins: Mapping[str, tuple[Document, str]] = field(default_factory=dict)
    snapshot: FileSnapshot = NO_SNAPSHOT
    readable: WorkflowSpec | None = None
    repairs: Repairs = field(default_factory=Repairs)
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def valid(self) -> WorkflowSpec | None:
        """The workflow, if there is one without errors."""
        return None if has_errors(self.findings) else self.spec

    def with_findings(self, findings: Iterable[Finding]) -> Loaded:
        """Return it with further findings, each once, in the order of the file; those of other files follow."""

        def place(finding: Finding) -> tuple[bool, str, int, int]:
            where = finding.where or Where(self.document.file)
            return where.file != self.document.file, where.file, where.line or 0, where.column or 0

        true = filter(None, map(self.repairs.as_written, findings))
        every = sorted(dict.fromkeys((*self.findings, *true)), key=place)
        return replace(self, findings=few_of_each(every))

    def where(self, pointer: str, *, key: bool = False) -> Where:
        """Return the place of a node: in the workflow, or in the file that `$ref` names."""
        document, place = self._written(pointer)
        return document.where(place, key=key)

    def where_in_text(self, pointer: str, line: int | None) -> Where:
        """Return the place of a line of a text, as `where`."""
        document, place = self._written(pointer)
        return document.where_in_text(place, line)

    def _written(self, pointer: str) -> tuple[Document, str]:
        place = pointer if self.origins else ""
        while place:
            if place in self.origins:
                document, prefix = self.origins[place]
                return document, prefix + pointer[len(place) :]
            place = place.rpartition("/")[0]
        return self.document, pointer
