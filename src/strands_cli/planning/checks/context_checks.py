"""What `context_policy` and `memory: run` need, resolved and checked before a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path

from strands_cli.errors import ArtifactError, Code, Finding
from strands_cli.outputs.notes import place_notes
from strands_cli.planning.plan.plan_values import PlannedAgent
from strands_cli.providers import ModelSettings
from strands_cli.texts.phrases import counted
from strands_cli.workflow.findings import NO_EFFECT
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.placed_steps import PlacedStep
from strands_cli.workflow.steps.step_models import AgentStep
from strands_cli.yaml_files.document import Document, escape

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
    findings = [*check_notes(spec, document), *check_compaction(spec, document)]
    for agent in agents.values():
        if agent.keeps_conversation and agent.model.options.get("stateful"):
            message = f"the agent '{agent.id}' cannot keep its conversation: its model does, on its server"
            where = document.where(f"/agents/{escape(agent.id)}/memory")
            fix = "remove the option `stateful`, or use `memory: step`"
            findings.append(Finding(STATEFUL_MEMORY, message, where, fix))
    return findings


def check_compaction(spec: WorkflowSpec, document: Document) -> list[Finding]:
    """Return a finding where no conversation can get as long as what compaction leaves as it is."""
    compaction = spec.context_policy.compaction
    has_window = spec.context_policy.window is not None
    if compaction is None or not compaction.enabled or has_window or not spec.agents:
        return []
    longest = max(_most_messages(name, spec) for name in spec.agents)
    # A summary replaces two messages or more, and the latest one always remains.
    if longest - max(compaction.preserve_recent_messages, 1) >= 2:
        return []
    where = document.where("/context_policy/compaction", key=True)
    message = (
        f"`compaction` never acts: no conversation has more than {counted(int(longest), 'message')}, and the latest "
        f"{max(compaction.preserve_recent_messages, 1)} always stay"
    )
    fix = "lower `preserve_recent_messages`, or leave `compaction` out; `memory: run` makes conversations of steps"
    return [Finding(NO_EFFECT, message, where, fix, "warning")]


def _most_messages(name: str, spec: WorkflowSpec) -> float:
    """Return how many messages the last request of an agent can have at most, as far as the workflow bounds it."""
    agent, placed = spec.agents[name], [one for one in spec.pattern.placed if _is_of(one, name)]
    given = spec.tools.model_fields_set or spec.skills or spec.context_policy.retrieval
    has_tools = agent.tools or (agent.tools is None and given)
    # The corrections of an answer are messages too.
    may_call = any(getattr(one.step, "tool_overrides", None) or one.answers is not None for one in placed)
    if has_tools or may_call or agent.output_schema is not None:
        return inf
    if agent.memory == "step":
        return 1
    return 2 * len(placed) - 1 if spec.pattern.is_bounded else inf


def _is_of(placed: PlacedStep, name: str) -> bool:
    return isinstance(placed.step, AgentStep) and placed.step.agent == name


def check_notes(spec: WorkflowSpec, document: Document) -> list[Finding]:
    """Return a finding for a notes file outside the working directory."""
    notes = spec.context_policy.notes
    try:
        if notes is not None:
            place_notes(Path.cwd(), notes.file)
    except ArtifactError as error:
        return [Finding(NOTES_OUTSIDE, error.message, document.where("/context_policy/notes/file"), error.fix)]
    return []
