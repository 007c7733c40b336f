"""What `context_policy` and `memory: run` need, resolved and checked before a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from strands_cli.errors import ArtifactError, Code, Finding
from strands_cli.outputs import place_notes
from strands_cli.planning.plan import PlannedAgent
from strands_cli.providers import ModelSettings
from strands_cli.workflow import WorkflowSpec
from strands_cli.workflow.yaml import Document, escape

NOTES_OUTSIDE = Code(
    "notes-outside",
    "The notes file of `context_policy.notes` is not inside the working directory.",
    "Use a relative path without '..'.",
)
STATEFUL_MEMORY = Code(
    "stateful-memory",
    "An agent with `memory: run` has a model that stores the conversation on its provider's server.",
    "Remove the option `stateful`, or use `memory: step`.",
)


def summarizer_of(spec: WorkflowSpec, model: ModelSettings) -> ModelSettings | None:
    """Return the model that sums up an agent's conversations, or None where that is the agent's own.

    A recording plays the summaries of any model too.
    """
    compaction = spec.context_policy.compaction
    name = compaction.summarization_model if compaction and compaction.enabled else None
    if name is None or name == model.model_id or model.provider == "replay":
        return None
    return replace(model, model_id=name)


def check_context(spec: WorkflowSpec, agents: Mapping[str, PlannedAgent], document: Document) -> list[Finding]:
    """Return a finding for a notes file outside the working directory and for memory that a provider keeps itself."""
    findings = check_notes(spec, document)
    for agent in agents.values():
        if agent.keeps_conversation and agent.model.options.get("stateful"):
            message = f"the agent '{agent.id}' cannot keep its conversation: its model does, on its server"
            where = document.where(f"/agents/{escape(agent.id)}/memory")
            fix = "remove the option `stateful`, or use `memory: step`"
            findings.append(Finding(STATEFUL_MEMORY, message, where, fix))
    return findings


def check_notes(spec: WorkflowSpec, document: Document) -> list[Finding]:
    """Return a finding for a notes file outside the working directory."""
    notes = spec.context_policy.notes
    try:
        if notes is not None:
            place_notes(Path.cwd(), notes.file)
    except ArtifactError as error:
        return [Finding(NOTES_OUTSIDE, error.message, document.where("/context_policy/notes/file"), error.fix)]
    return []
