"""A reusable agent as a workflow of one step, so that the code for workflows works for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from strands_cli.errors import Finding
from strands_cli.workflow.base_model import NOTE_PREFIX
from strands_cli.workflow.builder import chain, step, workflow_text
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.parts.agent_file import Atomic
from strands_cli.workflow.sections import InputSpec
from strands_cli.yaml_files.document_reader import read_document
from strands_cli.yaml_files.file_source import NO_SNAPSHOT, FileSnapshot, stored_name

INPUT = "input"


@dataclass(frozen=True, slots=True)
class AgentWorkflow:
    """An agent as a workflow: its source, its text if the source is not a file, and the snapshot of its files."""

    source: str
    text: str | None = None
    snapshot: FileSnapshot = NO_SNAPSHOT

    def load(self) -> Loaded:
        """Read it as any workflow."""
        return load_spec(read_document(self.source, self.text), self.snapshot)


def agent_workflow_of(
    atomic: Atomic,
    provider: str = "replay",
    recording: str | None = None,
    inputs: Mapping[str, InputSpec] | None = None,
) -> AgentWorkflow:
    """Return an agent as a workflow of one step that is given `input`; one that is a workflow already stays as it is.

    Args:
        provider: Who serves its model, where the agent itself does not say.
        recording: What its model plays instead.
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
    return {name: one.model_dump(mode="json", exclude_unset=True) for name, one in inputs.items()}


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
