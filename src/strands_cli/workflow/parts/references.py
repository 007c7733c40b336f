"""Replaces the names of files in a workflow by their content: agents (`$ref`) and JSON Schemas."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from strands_cli.errors import Code, Finding, InvalidInput, UsageError, Where
from strands_cli.workflow.agent_sections import AgentSpec
from strands_cli.workflow.findings import BAD_SCHEMA, MISSING_KEY
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.packaged_listing import PACKAGE
from strands_cli.workflow.parts.agent_file import FOR_PEOPLE, REF_NOT_ONE_AGENT, AgentFile, too_many_tests
from strands_cli.workflow.skill_folders import named_file
from strands_cli.workflow.validation_errors import first_findings_of, value_at
from strands_cli.yaml_files.document import Document, escape
from strands_cli.yaml_files.document_reader import FILE_UNREADABLE, NO_SNAPSHOT, FileSnapshot, stored_name

REF_LOOP = Code("ref-loop", "Agent files that refer to each other in a circle.", "Remove one of the references.")

_SCHEMA_FIELDS = ("input_schema", "output_schema")


@dataclass(slots=True)
class WorkflowWithFiles:
    """A workflow with the content of its files, the files, and the place of each agent's keys.

    `packages` has the file of each named `package:DIST/NAME`.
    """

    spec: WorkflowSpec
    files: tuple[Document, ...]
    origins: Mapping[str, tuple[Document, str]]
    findings: tuple[Finding, ...]
    packages: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Reader:
    """Reads files that one workflow names, each once."""

    folder: Path
    shown: Path
    snapshot: FileSnapshot = NO_SNAPSHOT
    read: dict[Path, Document] = field(default_factory=dict)
    origins: dict[str, tuple[Document, str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    packages: dict[str, str] = field(default_factory=dict)

    def document(
        self, name: str, beside: Path, where: Where, kind: Literal["agent"] | None = None
    ) -> tuple[Path, Document] | None:
        """Return the file a path names, or report why not."""
        folder, snapshot = self.folder, self.snapshot
        if package := self._package_of(beside):
            # A file of a package reads its own folder only, whichever workflow names it.
            folder, snapshot = beside, replace(snapshot, packaged=package)
        path = named_file(name, beside, folder, where, snapshot, kind)
        if isinstance(path, Finding):
            self.findings.append(path)
            return None
        if name.startswith(PACKAGE):
            self.packages[name] = str(path)
        if path not in self.read:
            try:
                self.read[path] = self.snapshot.read(path, self._shown(path))
            except UsageError as error:
                reason = error.findings[0].message if error.findings else error.message
                self.findings.append(Finding(FILE_UNREADABLE, reason, where, "correct the path"))
                return None
            except InvalidInput as error:
                self.findings.extend(replace(finding, where=finding.where or where) for finding in error.findings)
                return None
            self.findings.extend(self.read[path].findings)
        return path, self.read[path]

    def _package_of(self, folder: Path) -> str:
        """Return the name of the packaged agent in a folder; empty for a folder of no package."""
        names = (name.removeprefix(PACKAGE) for name, file in self.packages.items() if Path(file).parent == folder)
        return next(names, "")

    def _shown(self, path: Path) -> Path:
        """Return how findings call a file: short, unless `..` behind a link would then lead elsewhere."""
        if str(path) in self.packages.values():
            return path
        shown_path = self.shown / os.path.relpath(path, self.folder)
        short = Path(os.path.normpath(shown_path))
        return short if short.resolve() == path else shown_path

    def agent(
        self, spec: AgentSpec, pointer: str, document: Document, path: Path | None, seen: tuple[Path, ...]
    ) -> AgentSpec:
        """Return an agent with the keys of its `$ref`; keys beside `$ref` win."""
        if spec.ref is None:
            return spec
        where = document.where(f"{pointer}/$ref")
        target = self.document(spec.ref, path.parent if path else self.folder, where, "agent")
        if target is None:
            return spec
        if target[0] in seen:
            self.findings.append(Finding(REF_LOOP, f"{spec.ref!r} refers to itself", where, "end the loop"))
            return spec
        other = self._only_agent(target[1], spec.ref, where)
        if other is None:
            return spec
        referred, prefix = other
        referred = self.agent(referred, prefix, target[1], target[0], (*seen, target[0]))
        written = spec.model_fields_set - {"ref"}
        if not seen and referred.prompt is None and spec.prompt is None:
            self.findings.append(
                Finding(MISSING_KEY, f"the agent in {spec.ref!r} has no `prompt`", where, "add `prompt:`")
            )
        if not seen:
            self.origins |= {
                f"{pointer}/{name}": (target[1], f"{prefix}/{name}") for name in referred.model_fields_set - written
            }
        return referred.model_copy(update={name: getattr(spec, name) for name in (*written, "ref")})

    def _only_agent(self, document: Document, name: str, where: Where) -> tuple[AgentSpec, str] | None:
        """Return the one agent of a file: the file itself, or the only entry of its `agents`."""
        prefix, value = "", document.value
        if isinstance(value, dict) and "agents" in value:
            agents = value["agents"] if isinstance(value["agents"], dict) else {}
            if len(agents) != 1:
                many = ", ".join(sorted(agents)) or "none"
                message = f"{name!r} must have exactly one agent; it has {many}"
                self.findings.append(Finding(REF_NOT_ONE_AGENT, message, document.where("/agents", key=True)))
                return None
            prefix = f"/agents/{escape(next(iter(agents)))}"
            value = value_at(document.value, prefix)
        if not isinstance(value, dict):
            self.findings.append(Finding(REF_NOT_ONE_AGENT, f"{name!r} has no agent", where, "write `prompt:` into it"))
            return None
        # A file of an agent has further keys, which do not act in a workflow.
        model = AgentSpec if prefix else AgentFile
        if (large := None if prefix else too_many_tests(document)) is not None:
            self.findings.append(large)
            return None
        try:
            model.model_validate(value, context={"document": True})
        except ValidationError as error:
            self.findings.extend(first_findings_of(error.errors(include_url=False), model, document, prefix))
            return None
        keys = {key: item for key, item in value.items() if prefix or key not in FOR_PEOPLE}
        return AgentSpec.model_validate(keys, context={"document": True}), prefix

    def with_schemas(self, spec: AgentSpec, pointer: str, document: Document) -> AgentSpec:
        """Return an agent with its schemas in place of the paths of their files."""
        changes: dict[str, Any] = {}
        for name in _SCHEMA_FIELDS:
            path = getattr(spec, name)
            if not isinstance(path, str):
                continue
            origin, at = self.origins.get(f"{pointer}/{name}", (document, f"{pointer}/{name}"))
            target = self.document(path, self._beside(path, origin), origin.where(at))
            if target is None:
                changes[name] = None
            elif isinstance(target[1].value, dict):
                changes[name] = target[1].value
                self.origins[f"{pointer}/{name}"] = (target[1], "")
            else:
                changes[name] = None
                self.findings.append(Finding(BAD_SCHEMA, f"{path!r} is not a JSON Schema", target[1].where("")))
        return spec.model_copy(update=changes) if changes else spec

    def _beside(self, name: str, origin: Document) -> Path:
        """Return the folder of a schema's path: that of the file that names it, else the workflow's.

        Workflows in several folders use the same file of an agent. A resumed run uses its stored files.
        """
        beside = next((path.parent for path, document in self.read.items() if document is origin), self.folder)
        if self._package_of(beside):
            return beside
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            places = {folder: (folder / name).resolve() for folder in (beside, self.folder)}
            for folder, path in places.items():
                if stored_name(path) in self.snapshot.texts:
                    return folder
            if not self.snapshot.is_all and places[beside].is_file():
                return beside
        return self.folder


def resolve_references(
    spec: WorkflowSpec, document: Document, snapshot: FileSnapshot = NO_SNAPSHOT
) -> WorkflowWithFiles:
    """Read every file that agents name by `$ref`, `input_schema` or `output_schema`, inside its project."""
    path = Path(document.file)
    beside = snapshot.folder or (path.parent if path.is_file() else Path())
    reader = _Reader(beside.resolve(), beside, snapshot)
    agents = {}
    for name, agent in spec.agents.items():
        pointer = f"/agents/{escape(name)}"
        agents[name] = reader.with_schemas(reader.agent(agent, pointer, document, None, ()), pointer, document)
    whole = spec.model_copy(update={"agents": agents})
    return WorkflowWithFiles(
        whole, tuple(reader.read.values()), reader.origins, tuple(reader.findings), reader.packages
    )
