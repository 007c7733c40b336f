"""Recordings before a run: they must be readable, and hold turns for just the steps that will ask a model."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from math import inf
from pathlib import Path

from strands_cli.errors import ArtifactError, Code, Finding, StrandsCliError, Where, suggest
from strands_cli.outputs.notes import place_notes
from strands_cli.planning.plan_values import PlannedAgent
from strands_cli.providers import ModelSettings
from strands_cli.texts.phrases import counted
from strands_cli.workflow.findings import NO_EFFECT
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.pattern_model import PlacedStep
from strands_cli.workflow.recording_file import BAD_RECORDING, Recording, load_recording
from strands_cli.workflow.steps import AgentStep
from strands_cli.yaml_files.document import Document, escape
from strands_cli.yaml_files.document_reader import FILE_UNREADABLE, NO_SNAPSHOT, FileSnapshot, folder_of, stored_name

# The needs of `context_policy` and `memory: run`, resolved and checked before a run.


NOTES_OUTSIDE = Code(
    "notes-outside",
    "The notes file of `context_policy.notes` is not inside the working directory.",
    "Use a relative path without '..'.",
)
STATEFUL_MEMORY = Code(
    "stateful-memory",
    "An agent with `memory: run` or several models has a model whose provider stores the conversation.",
    "Remove the option `stateful`, or use `memory: step` and one model.",
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
        if agent.alternates and any(model.options.get("stateful") for model in agent.models):
            message = f"no model can go on for the agent '{agent.id}': the conversation is on one's server"
            pointers = (f"/agents/{escape(agent.id)}/models", "/runtime/models")
            where = document.where(next(filter(document.positions.__contains__, pointers), "/runtime"))
            findings.append(Finding(STATEFUL_MEMORY, message, where, "remove the option `stateful`, or name one model"))
    return findings


def check_compaction(spec: WorkflowSpec, document: Document) -> list[Finding]:
    """Return a finding where no conversation can get longer than the part that compaction leaves as it is."""
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
    agent, placed = spec.agents[name], [step for step in spec.pattern.placed if _is_of(step, name)]
    has_common_tools = spec.tools.model_fields_set or spec.skills or spec.context_policy.retrieval
    has_tools = agent.tools or (agent.tools is None and has_common_tools)
    # The corrections of an answer are messages too.
    may_call = any(getattr(step.step, "tool_overrides", None) or step.answers is not None for step in placed)
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


REPLAY_NEEDS_RECORDING = Code(
    "replay-needs-recording",
    "Provider `replay` needs a recording.",
    "Set runtime.recording, or choose a live model with --provider and --model.",
)


def check_recordings(
    spec: WorkflowSpec, playing: Mapping[str, Path | None], document: Document, snapshot: FileSnapshot = NO_SNAPSHOT
) -> Iterator[Finding]:
    """Yield findings that keep provider `replay` from playing: no recording, a bad one, or one for other steps.

    Args:
        playing: The recording of each agent with provider `replay`.
    """
    if silent := [agent for agent, recording in playing.items() if recording is None]:
        message = f"the agent '{silent[0]}' uses provider 'replay', and no recording is named"
        fix = "set runtime.recording: FILE, or choose a live model with --provider and --model"
        yield Finding(REPLAY_NEEDS_RECORDING, message, document.where("/runtime/provider"), fix)
    for path in dict.fromkeys(path for path in playing.values() if path is not None):
        yield from _check_file(path, spec, playing, document, snapshot)


def recorded_texts(agents: Mapping[str, PlannedAgent], snapshot: FileSnapshot = NO_SNAPSHOT) -> dict[str, str]:
    """Return the texts of the agents' recordings by place; one that cannot be read is a finding elsewhere."""
    paths = {agent.recording for agent in agents.values() if agent.recording is not None}
    texts = {stored_name(path): snapshot.text(path) for path in paths}
    return {name: text for name, text in texts.items() if text is not None}


def _check_file(
    path: Path, spec: WorkflowSpec, playing: Collection[str], document: Document, snapshot: FileSnapshot
) -> Iterator[Finding]:
    named = document.where("/runtime/recording")
    if snapshot.packaged and _is_elsewhere(path, snapshot):
        yield _unusable(named)
        return
    try:
        recorded = snapshot.read(path)
    except StrandsCliError as error:
        findings = [replace(finding, where=_where_of(finding, named)) for finding in error.findings]
        # Where no file is read, a finding says so; to look where a link leads would tell more.
        yield from findings if snapshot.is_all or _may_be_explained(path, document) else [_unusable(named)]
        return
    recording, findings = load_recording(recorded)
    yield from findings if not findings or _may_be_explained(path, document) else [_unusable(named)]
    if recording is not None:
        yield from _check_steps(recording, recorded, spec, playing, document)


def _is_elsewhere(path: Path, snapshot: FileSnapshot) -> bool:
    """Return whether a recording is neither stored nor in the folder of a package or the working directory."""
    name = stored_name(path)
    folders = (snapshot.folder or Path.cwd(), Path.cwd())
    return name not in snapshot.texts and not any(Path(name).is_relative_to(stored_name(folder)) for folder in folders)


def _may_be_explained(path: Path, document: Document) -> bool:
    """Return whether a message may explain the fault of a file: not for every file that a workflow may name."""
    real_path = Path(os.path.realpath(path))
    return any(real_path.is_relative_to(os.path.realpath(folder)) for folder in (folder_of(document), Path.cwd()))


def _unusable(named: Where) -> Finding:
    message = "the file is outside of the workflow's folder and of this directory, and cannot be used as a recording"
    return Finding(BAD_RECORDING, message, named, "put the recording beside the workflow")


def _where_of(finding: Finding, named: Where) -> Where:
    """Return the place of a finding in a recording; for a missing file, the place where the workflow names it."""
    return named if finding.where is None or finding.code == FILE_UNREADABLE else finding.where


# The `N` of a repeated step's key, a number in the run; behind these words an `N` is a name of the author's.
_NAMED = ("nodes", "tasks", "branches", "routes")
_NUMBER = "".join(rf"(?<!^{word}\.)" for word in _NAMED) + r"(?<=\.)N(?=\.|$)|(?<=#)N$"


def _written_form(key: str) -> str:
    """Return the expression that the keys of a step match in a run, where it may be repeated or asked again."""
    form = r"\d+".join(map(re.escape, re.split(_NUMBER, key)))
    return f"(?:{form}(?:#\\d+)?)" if key in ("router", "orchestrator") else f"(?:{form})"


def _check_steps(
    recording: Recording, recorded: Document, spec: WorkflowSpec, playing: Collection[str], document: Document
) -> Iterator[Finding]:
    asking = {
        placed.key: placed.pointer
        for placed in spec.pattern.placed
        if isinstance(step := placed.step, AgentStep) and step.agent in playing
    }
    # Keys below a step's key belong to agents as tools there, in this file or another.
    step_keys = {placed.key for placed in spec.pattern.placed}
    # The agent there is unknown until its name is corrected, which another finding asks for.
    misnamed = {
        placed.key
        for placed in spec.pattern.placed
        if isinstance(step := placed.step, AgentStep) and step.agent not in spec.agents
    }
    fitting = re.compile("|".join(map(_written_form, {*asking, *misnamed})) or "(?!)")
    parts = re.compile("|".join(map(_written_form, step_keys)) or "(?!)")
    for key in recording.steps:
        outer, slash, _ = key.partition("/")
        if fitting.fullmatch(key) or (slash and parts.fullmatch(outer)):
            continue
        number = next(iter(re.findall(r"\d+", key)), "1")
        there = [re.sub(_NUMBER, number, asking_key) for asking_key in asking]
        message = f"the recording has turns for {key}, which asks no recorded model"
        fix = suggest(key, there, f"remove them; the steps that do are: {', '.join(there) or 'none'}")
        yield Finding(BAD_RECORDING, message, recorded.where(f"/steps/{escape(key)}", key=True), fix)
    for key, pointer in asking.items():
        if spec.pattern.runs_every_step and not recording.steps.get(key):
            message = f"the recording {recorded.file} has no turns for {key}"
            again = "strands run SPEC --provider NAME --model NAME --record FILE"
            fix = f"add them under `steps: {key}:`, or record it again: {again}"
            yield Finding(BAD_RECORDING, message, document.where(pointer), fix)
