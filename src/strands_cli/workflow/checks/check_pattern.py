"""Whether the steps of a pattern fit the rest of the workflow: agents, answers, gates, conversations."""

from __future__ import annotations

from collections.abc import Iterator

from strands_cli.errors import Code, Finding
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.checks.check_memory import check_memory
from strands_cli.workflow.checks.schema_checks import BAD_REGEX, check_regex
from strands_cli.workflow.findings import BAD_VALUE, MISSING_KEY, UNKNOWN_AGENT, no_effect, unknown
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.orchestrator_inputs import unread_inputs
from strands_cli.workflow.placed_steps import PlacedStep
from strands_cli.workflow.steps.step_models import AgentStep, GateStep
from strands_cli.workflow.templates.regular_expressions import SlowPattern, fullmatch
from strands_cli.yaml_files.document import escape

UNUSED_AGENT = Code("unused-agent", "An agent that no step uses.", "Use it or remove it.")
UNREAD_INPUTS = Code(
    "unread-inputs",
    "A workflow with inputs, whose orchestrator reads none of them.",
    "Name the inputs in its message.",
)


def check_pattern(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Yield references to names that do not exist, and fields without effect."""
    yield from check_agents(spec, loaded)
    yield from _check_gates(spec, loaded)
    yield from check_memory(spec, loaded)
    yield from _check_schemas(spec, loaded)
    yield from _check_inputs(spec, loaded)
    yield from spec.pattern.check(loaded)


def check_agents(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Report steps whose agent does not exist, and agents that no step uses."""
    mentions = [
        (placed.at("agent"), placed.step.agent) for placed in spec.pattern.placed if isinstance(placed.step, AgentStep)
    ]
    if mentions and not spec.agents:
        yield from _no_agents(mentions[0][1], loaded)
        return
    for pointer, name in mentions:
        if name not in spec.agents:
            yield unknown(UNKNOWN_AGENT, name, spec.agents, loaded.where(pointer))
    used = {name for _, name in mentions} | {
        tool.removeprefix("agent:") for tool in spec.named_tools() if tool.startswith("agent:")
    }
    if any(name not in spec.agents for _, name in mentions):
        return  # an agent with a mistyped name in a step is used
    for name in spec.agents:
        if name not in used:
            where = loaded.document.where(f"/agents/{escape(name)}", key=True)
            yield Finding(UNUSED_AGENT, f"no step uses the agent {name!r}", where, "use it or remove it", "warning")


def _no_agents(first: str, loaded: Loaded) -> Iterator[Finding]:
    """Report that a workflow has none; one whose steps only call tools needs none."""
    document = json_object(loaded.document.value)
    if "agents" not in document:
        yield Finding(MISSING_KEY, "the document has no `agents`", loaded.where(""), "add `agents:`")
    elif document["agents"] == {}:
        fix = f"describe the agent {first!r} there"
        yield Finding(BAD_VALUE, "`agents` is empty", loaded.where("/agents"), fix)


def _check_schemas(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Report an `output_schema` of an agent whose form of answer the pattern determines."""
    for placed in spec.pattern.placed:
        if placed.answers is None or not isinstance(placed.step, AgentStep):
            continue
        name, role = placed.step.agent, placed.pointer.rpartition("/")[2]
        agent = spec.agents.get(name)
        if agent is None or agent.output_schema is None:
            continue
        where = loaded.where(f"/agents/{escape(name)}/output_schema", key=True)
        answers = f"it answers {placed.answers}"
        message = f"`output_schema` of the agent {name!r} has no effect where it is the {role}: {answers}"
        yield no_effect(message, where, f"remove it, or use an agent of its own as the {role}")


def _check_inputs(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Report inputs that never reach the agent that splits the work."""
    if names := unread_inputs(spec):
        message = f"the orchestrator gets none of the inputs: {', '.join(names)}"
        where = loaded.where("/pattern/config/orchestrator", key=True)
        fix = f'name them in its message, for example `input: "... {{{{ {names[0]} }}}}"`'
        yield Finding(UNREAD_INPUTS, message, where, fix, "warning")


def _check_gates(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    for placed in spec.pattern.placed:
        gate = placed.step
        if not isinstance(gate, GateStep):
            continue
        if gate.timeout_seconds is not None and gate.default is None:
            message = "`timeout_seconds` has no effect without a `default` to take when the time is over"
            yield no_effect(message, loaded.where(placed.at("timeout_seconds"), key=True), "add `default:`")
        pattern = gate.validation.pattern if gate.validation else None
        if pattern is None:
            continue
        problem = check_regex(pattern, loaded.where(placed.at("validation/pattern")))
        if problem is not None:
            yield problem
        elif placed.only_words and not spec.words_of_gate(placed.key)[0]:
            message = f"no answer that the pattern {pattern!r} accepts names a route or approves"
            fix = f"let it accept some of: {', '.join(placed.words)}"
            yield Finding(BAD_VALUE, message, loaded.where(placed.at("validation/pattern")), fix)
        elif gate.default is not None:
            yield from _check_default(gate.default, pattern, placed, loaded)


def _check_default(default: str, pattern: str, placed: PlacedStep, loaded: Loaded) -> Iterator[Finding]:
    try:
        fits = fullmatch(pattern, default) is not None
    except SlowPattern as error:
        yield Finding(BAD_REGEX, str(error), loaded.where(placed.at("validation/pattern")), "write a simpler one")
        return
    if not fits:
        message = f"the default {default!r} does not match the pattern {pattern!r}"
        yield Finding(BAD_VALUE, message, loaded.where(placed.at("default")), "change one of the two")
