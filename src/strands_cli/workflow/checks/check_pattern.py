"""Whether the steps of a pattern fit the rest of the workflow: agents, answers, gates, conversations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from strands_cli.errors import Code, Finding, Where, clear_edit, suggest
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.findings import BAD_SCHEMA, BAD_VALUE, MISSING_KEY, UNKNOWN_AGENT, no_effect, unknown
from strands_cli.workflow.gate_answers import UnfitAnswer, read_answer
from strands_cli.workflow.model import LoadedWorkflow, WorkflowSpec, unread_inputs
from strands_cli.workflow.pattern_model import PlacedStep
from strands_cli.workflow.steps import DURATION, AgentStep, GateStep
from strands_cli.workflow.templates.regular_expressions import SlowPattern, fullmatch
from strands_cli.yaml_files.document import escape

# Whether agents remember the answers that their steps need, and whether settings that shorten conversations have
# effect.


WINDOW_AND_COMPACTION = Code(
    "window-and-compaction", "A window leaves out the messages that compaction would summarize.", "Keep one of the two."
)
CONCURRENT_MEMORY = Code(
    "concurrent-memory",
    "An agent that remembers in steps that may run at the same time.",
    "Use an agent for each step.",
)
LOST_CONVERSATION = Code(
    "lost-conversation",
    "An agent without `memory` comes again, and its message has nothing of its earlier steps.",
    "Put that into `input`, or write `memory: run`, or `memory: step` where it needs none.",
)


def check_memory(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report agents that remember in steps that may run together, and two ways to shorten a conversation."""
    policy = spec.context_policy
    if policy.window is not None and policy.compaction is not None and policy.compaction.enabled:
        message = "`window` removes the messages that `compaction` would summarize"
        where = workflow.where("/context_policy/window", key=True)
        fix = "keep one of the two, or set `compaction.enabled: false`"
        yield Finding(WINDOW_AND_COMPACTION, message, where, fix)
    keeping = {name: agent.memory for name, agent in spec.agents.items() if agent.memory != "step"}
    for shared in spec.pattern.shared_agents(keeping) if keeping else ():
        where, fix = workflow.where(shared.pointer), "use an agent for each, or `memory: step`"
        if keeping[shared.agent] == "run":
            message = (
                f"the agent {shared.agent!r} keeps its conversation (`memory: run`) but may work on two steps at once"
            )
            yield Finding(CONCURRENT_MEMORY, message, where, fix, shared.severity)
        elif not shared.is_worker:
            message = (
                f"the agent {shared.agent!r} may work on two steps at once; neither sees the conversation of the other"
            )
            yield Finding(CONCURRENT_MEMORY, message, where, fix, "warning")
    yield from _lost_conversations(spec, workflow)


def _lost_conversations(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report agents whose file does not set their memory, and which get no answer of an earlier step."""
    if (notes := spec.context_policy.notes) is not None and notes.include_last:
        return
    if "memory" in spec.context_policy.model_fields_set:
        return
    templates = spec.templates()
    for name, site in spec.pattern.messages_again():
        agent = spec.agents.get(name)
        if agent is None or "memory" in agent.model_fields_set:
            continue
        if not any(name in site.scope for name in templates.names_in(site.text)):
            message = f"the agent {name!r} comes again with nothing of what was before, and begins a new conversation"
            fix = "to go on with it: `memory: run` in the agent; if it needs none of it: `memory: step`"
            yield Finding(LOST_CONVERSATION, message, workflow.where(site.pointer), fix, "warning")


# Checks of the JSON Schemas and regular expressions of a workflow.


BAD_REGEX = Code(
    "bad-regex", "A regular expression that does not compile or can take too long.", "Correct the expression."
)

# A schema is compared with that of schemas, object by object.
MOST_OBJECTS = 5000
_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")


def check_schema(schema: Mapping[str, Any], where: Where) -> Finding | None:
    """Report an invalid schema (by Draft 2020-12, or by its `$schema`), or one with references to other files."""
    if _objects(schema) > MOST_OBJECTS:
        message = f"the schema has more than {MOST_OBJECTS:,} objects"
        return Finding(BAD_SCHEMA, message, where, "check the parts that matter")
    if _is_plain(schema):
        return None
    from jsonschema.validators import Draft202012Validator, validator_for  # 140 ms; most workflows have no schema

    validator: Any = validator_for(schema, default=Draft202012Validator)
    error = next(
        iter(sorted(validator(validator.META_SCHEMA).iter_errors(schema), key=lambda item: list(map(str, item.path)))),
        None,
    )
    if error is not None:
        pointer = "".join(f"/{token}" for token in error.path)
        message = f"this is not a JSON Schema: {error.message}" + (f" (at {pointer})" if pointer else "")
        is_type = list(error.path)[-1:] == ["type"] and isinstance(error.instance, str)
        fix = suggest(error.instance, _TYPES) if is_type else None
        edits = clear_edit(error.instance, _TYPES) if is_type else ()
        return Finding(BAD_SCHEMA, message, where, fix or "see json-schema.org for the keywords", edits=edits)
    outside = next((ref for ref in _refs(schema) if not ref.startswith("#")), None)
    if outside is not None:
        message = f"the schema points to {outside!r}; only references inside it (`#/...`) are followed"
        return Finding(BAD_SCHEMA, message, where, "copy what it points to into `$defs`")
    return None


def _is_plain(schema: Any) -> bool:
    """Return whether a schema is valid at first sight: it has only common keywords, with values as they must be."""
    if not isinstance(schema, Mapping):
        return isinstance(schema, bool)
    return all(keyword in _PLAIN and _PLAIN[keyword](value) for keyword, value in schema.items())


def _are_plain(schemas: Any) -> bool:
    return isinstance(schemas, Mapping) and all(map(_is_plain, schemas.values()))


def _are_names(value: Any) -> bool:
    """Return whether a value is a list of texts, each once."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value) and len(value) == len(set(value))


def _is_type(value: Any) -> bool:
    return value in _TYPES if isinstance(value, str) else bool(value) and _are_names(value) and {*value} <= {*_TYPES}


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_PLAIN: dict[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "required": _are_names,
    "enum": lambda value: isinstance(value, list),
    **dict.fromkeys(("properties", "$defs"), _are_plain),
    **dict.fromkeys(("items", "additionalProperties"), _is_plain),
    **dict.fromkeys(("title", "description"), _is_text),
    **dict.fromkeys(("const", "default"), lambda _value: True),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minimum", "maximum"), _is_number),
}


def _objects(value: Any) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(_objects, value.values()))
    return sum(map(_objects, value)) if isinstance(value, (list, tuple)) else 0


def _refs(schema: Any) -> list[str]:
    if isinstance(schema, Mapping):
        own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
        return own + [ref for key, item in schema.items() if key not in ("const", "enum") for ref in _refs(item)]
    if isinstance(schema, (list, tuple)):
        return [ref for item in schema for ref in _refs(item)]
    return []


def check_regex(pattern: str, where: Where) -> Finding | None:
    """Report a regular expression that does not compile."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return Finding(BAD_REGEX, f"{pattern!r} is not a regular expression: {error}", where)
    return None


UNUSED_AGENT = Code("unused-agent", "An agent that no step uses.", "Use it or remove it.")
UNREAD_INPUTS = Code(
    "unread-inputs",
    "A workflow with inputs, whose orchestrator reads none of them.",
    "Name the inputs in its message.",
)


def check_pattern(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Yield references to names that do not exist, and fields without effect."""
    yield from check_agents(spec, workflow)
    yield from _check_gates(spec, workflow)
    yield from check_memory(spec, workflow)
    yield from _check_schemas(spec, workflow)
    yield from _check_inputs(spec, workflow)
    yield from spec.pattern.check(workflow)


def check_agents(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report steps whose agent does not exist, and agents that no step uses."""
    mentions = [
        (placed.at("agent"), placed.step.agent) for placed in spec.pattern.placed if isinstance(placed.step, AgentStep)
    ]
    if mentions and not spec.agents:
        yield from _no_agents(mentions[0][1], workflow)
        return
    for pointer, name in mentions:
        if name not in spec.agents:
            yield unknown(UNKNOWN_AGENT, name, spec.agents, workflow.where(pointer))
    used = {name for _, name in mentions} | {
        tool.removeprefix("agent:") for tool in spec.named_tools() if tool.startswith("agent:")
    }
    if any(name not in spec.agents for _, name in mentions):
        return  # an agent with a mistyped name in a step is used
    for name in spec.agents:
        if name not in used:
            where = workflow.document.where(f"/agents/{escape(name)}", key=True)
            yield Finding(UNUSED_AGENT, f"no step uses the agent {name!r}", where, "use it or remove it", "warning")


def _no_agents(first: str, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report that a workflow has none; one whose steps only call tools needs none."""
    document = json_object(workflow.document.value)
    if "agents" not in document:
        yield Finding(MISSING_KEY, "the document has no `agents`", workflow.where(""), "add `agents:`")
    elif document["agents"] == {}:
        fix = f"describe the agent {first!r} there"
        yield Finding(BAD_VALUE, "`agents` is empty", workflow.where("/agents"), fix)


def _check_schemas(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report an `output_schema` of an agent whose form of answer the pattern determines."""
    for placed in spec.pattern.placed:
        if placed.answers is None or not isinstance(placed.step, AgentStep):
            continue
        name, role = placed.step.agent, placed.pointer.rpartition("/")[2]
        agent = spec.agents.get(name)
        if agent is None or agent.output_schema is None:
            continue
        where = workflow.where(f"/agents/{escape(name)}/output_schema", key=True)
        answers = f"it answers {placed.answers}"
        message = f"`output_schema` of the agent {name!r} has no effect where it is the {role}: {answers}"
        yield no_effect(message, where, f"remove it, or use an agent of its own as the {role}")


def _check_inputs(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report inputs that never reach the agent that splits the work."""
    if names := unread_inputs(spec):
        message = f"the orchestrator gets none of the inputs: {', '.join(names)}"
        where = workflow.where("/pattern/config/orchestrator", key=True)
        fix = f'name them in its message, for example `input: "... {{{{ {names[0]} }}}}"`'
        yield Finding(UNREAD_INPUTS, message, where, fix, "warning")


def _check_gates(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    for placed in spec.pattern.placed:
        gate = placed.step
        if not isinstance(gate, GateStep):
            continue
        if gate.timeout_seconds is not None and gate.default is None:
            message = "`timeout_seconds` has no effect without a `default` to take when the time is over"
            yield no_effect(message, workflow.where(placed.at("timeout_seconds"), key=True), "add `default:`")
        yield from _check_words(gate, placed, workflow)
        pattern = gate.validation.pattern if gate.validation else None
        if pattern is None:
            continue
        problem = check_regex(pattern, workflow.where(placed.at("validation/pattern")))
        if problem is not None:
            yield problem
        elif placed.only_words and not spec.words_of_gate(placed.key)[0]:
            message = f"no answer that the pattern {pattern!r} accepts names a route or approves"
            fix = f"let it accept some of: {', '.join(placed.words)}"
            yield Finding(BAD_VALUE, message, workflow.where(placed.at("validation/pattern")), fix)
        elif gate.default is not None:
            yield from _check_default(gate.default, pattern, placed, workflow)


def _check_words(gate: GateStep, placed: PlacedStep, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report a schema of answers that cannot be used, and words of a gate that contradict each other."""

    def problem(name: str, message: str, fix: str) -> Finding:
        return Finding(BAD_VALUE, message, workflow.where(placed.at(name)), fix)

    schema_fault = None if gate.answer is None else check_schema(gate.answer, workflow.where(placed.at("answer")))
    if schema_fault is not None:
        yield schema_fault
    elif gate.answer is not None and placed.only_words:
        yield problem("answer", "the answers of this gate are those that the pattern knows", "remove `answer`")
    elif gate.answer is not None and gate.default is not None:
        try:
            read_answer(gate.default, gate.answer)
        except UnfitAnswer as error:
            yield problem("default", f"the default does not fit `answer`: {error}", "change one of the two")
    if gate.approvers > 1 and gate.default is not None:
        message = f"a `default` would be taken in place of the {gate.approvers} people who must agree"
        yield problem("default", message, "remove it; for the case that they do not answer, write `expires:`")
    if gate.expires is not None and not re.search(DURATION, gate.expires):
        yield problem("expires", f"{gate.expires!r} is not a duration", "write a number with s, m, h, d or w: 2h")
    if gate.expires is not None and gate.timeout_seconds is not None:
        yield problem("expires", "`expires` and `timeout_seconds` both say how long to wait", "remove one of the two")
    if gate.on_expiry == "default" and gate.default is None:
        yield problem("on_expiry", "there is no `default` to take", "add `default:`, or write `reject` or `fail`")
    if gate.expires is None and "on_expiry" in gate.model_fields_set:
        where = workflow.where(placed.at("on_expiry"), key=True)
        yield no_effect("`on_expiry` has no effect without `expires`", where, "add `expires:`")


def _check_default(default: str, pattern: str, placed: PlacedStep, workflow: LoadedWorkflow) -> Iterator[Finding]:
    try:
        fits = fullmatch(pattern, default) is not None
    except SlowPattern as error:
        yield Finding(BAD_REGEX, str(error), workflow.where(placed.at("validation/pattern")), "write a simpler one")
        return
    if not fits:
        message = f"the default {default!r} does not match the pattern {pattern!r}"
        yield Finding(BAD_VALUE, message, workflow.where(placed.at("default")), "change one of the two")
