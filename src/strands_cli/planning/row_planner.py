"""A plan with other inputs: the parts that depend on them are computed again, and the rest is shared."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from strands_cli.errors import Code, Finding, has_errors, suggest
from strands_cli.planning.environment import (
    check_limits,
    check_outputs,
    check_variables,
    is_read_in_templates,
    names_in_templates,
)
from strands_cli.planning.plan_values import (
    Bounds,
    FilePlaces,
    Plan,
    PlannedAgent,
    PlannedAttachment,
    PlannedStep,
    PlannedTool,
    ResolvedWorkflow,
    tools_in_step,
)
from strands_cli.planning.run_request import RunRequest
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.pattern_model import PlacedStep
from strands_cli.workflow.sections import Inputs
from strands_cli.workflow.steps import AgentStep, CallStep, GateStep
from strands_cli.workflow.templates.plugin_filters import TemplateError, without_plugin_filters
from strands_cli.workflow.templates.template import Templates
from strands_cli.yaml_files.document import Document, escape

# The steps of a plan: who acts in each, and its input as far as it is known before the run.


# The prefix of a key's part that names an agent called as a tool.
AGENT_PART = "agent."
# The other parts below a step; any part besides is a step of a workflow called as a tool.
_WITHIN_A_STEP = re.compile(r"(tool|model|summary|interrupt)\.|notes?$|approval$")


def agents_by_key(spec: WorkflowSpec) -> Callable[[str], tuple[str, ...]]:
    """Return a function that gives who acts at a key of the journal: the step's agent, then the agents as its tools.

    It leaves out the agents of a workflow among the tools, since these have names of their own.
    """
    steps = [(placed.key, placed.step) for placed in spec.pattern.placed]
    agents = {key.removesuffix("#N"): step.agent for key, step in steps if isinstance(step, AgentStep)}

    def agents_of(key: str) -> tuple[str, ...]:
        first, *inner = key.split("/")
        step = first.partition("#")[0]
        agent = agents.get(step) or agents.get(re.sub(r"\.\d+(?=\.|$)", ".N", step))
        acting = [agent] if agent else []
        for part in inner:
            if part.startswith(AGENT_PART):
                acting.append(part.removeprefix(AGENT_PART))
            elif _WITHIN_A_STEP.match(part) is None:
                break
        return tuple(acting)

    return agents_of


@without_plugin_filters()
def planned_steps(
    spec: WorkflowSpec,
    inputs: Mapping[str, Any],
    agents: Mapping[str, PlannedAgent],
    overrides: Mapping[str, tuple[PlannedTool, ...]],
    call_tools: Mapping[str, PlannedTool],
    *,
    files: FilePlaces | None,
) -> tuple[PlannedStep, ...]:
    """Return the steps for a reader, inputs rendered where they need nothing but the run's inputs.

    Templates that call a filter of a distribution are left as written.

    Args:
        files: Where attachments are; None leaves all templates as written, and looks at no file.
    """
    templates, inputs = spec.templates(), spec.inputs.names_of(inputs)
    planned: list[PlannedStep] = []
    for placed in spec.pattern.placed:
        step = placed.step
        (kind, who), template = placed.actor, _template(placed, agents)
        text, rendered = _as_text(template), False
        if files is not None:
            text, rendered = _rendered(templates, template, inputs, getattr(step, "vars", {}))
        tools = tools_in_step(step, agents, overrides) if isinstance(step, AgentStep) else ()
        about = getattr(step, "description", None)
        decision = None
        if isinstance(step, CallStep) and step.tool in call_tools:
            arguments = {
                name: _rendered_or_none(templates, value, {} if files is None else inputs)
                for name, value in step.input.items()
            }
            decision = call_tools[step.tool].decision_for(arguments)
        names = tuple(tool.name for tool in tools)
        attachments = _attachments(spec, placed, inputs, files)
        planned.append(PlannedStep(placed.key, kind, who, text, rendered, names, about, decision, attachments))
    return tuple(planned)


def _attachments(
    spec: WorkflowSpec, placed: PlacedStep, inputs: Mapping[str, Any], files: FilePlaces | None
) -> tuple[PlannedAttachment, ...]:
    """Return the attachments of a step: those whose paths follow from the inputs are looked at."""
    step, pointer = placed.step, placed.at("attachments")
    if not isinstance(step, AgentStep) or not step.attachments:
        return ()
    entries = [(attached, f"{pointer}/{index}") for index, attached in enumerate(step.attachments)]
    if files is None:
        return tuple(PlannedAttachment(attached.path, place) for attached, place in entries)
    from strands_cli.planning.attachments import planned_attachments  # few steps have any

    templates = spec.templates()

    def render(text: str) -> Any:
        return templates.render_value(text, {**inputs, **templates.render_value(step.vars, inputs)})

    return tuple(
        planned for attached, place in entries for planned in planned_attachments(attached, place, render, files)
    )


def of_attachments(
    steps: Sequence[PlannedStep], agents: Mapping[str, PlannedAgent], document: Document
) -> list[Finding]:
    """Return findings about the attachments of planned steps; few workflows have any."""
    if not any(step.attachments for step in steps):
        return []
    from strands_cli.planning.attachments import check_attachments

    return list(check_attachments(steps, agents, document))


def _rendered_or_none(templates: Templates, value: Any, inputs: Mapping[str, Any]) -> Any:
    try:
        return templates.render_value(value, inputs)
    except TemplateError:
        return None


def _template(placed: PlacedStep, agents: Mapping[str, PlannedAgent]) -> Any:
    """Return the question, the input of the tool, or the message to the agent, as it is written."""
    step = placed.step
    if isinstance(step, GateStep):
        return step.prompt
    if isinstance(step, CallStep):
        return dict(step.input)
    if step.input is not None:
        return step.input
    return "{{ last_response }}" if placed.follows else agents[step.agent].prompt


def _rendered(
    templates: Templates, template: Any, inputs: Mapping[str, Any], extra_names: Mapping[str, Any]
) -> tuple[str, bool]:
    try:
        value = templates.render_value(template, {**inputs, **templates.render_value(extra_names, inputs)})
    except TemplateError:
        return _as_text(template), False
    return _as_text(value), True


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def bounds_of(
    spec: WorkflowSpec, steps: tuple[PlannedStep, ...], leads_on: bool = False, calls_others: bool = False
) -> Bounds:
    """Return the upper limits of calls and steps: those of the pattern, or the budget where it is lower.

    Args:
        leads_on: Whether a tool is made of others, so that one call may be many, and hold steps.
        calls_others: Whether there are tools that only the code of another can call.
    """
    budgets = spec.runtime.budgets
    is_bounded = spec.pattern.is_bounded and not leads_on
    agents = [step for step in steps if step.kind == "agent"]
    without_tools = is_bounded and not any(step.tools for step in agents)
    calls_only = sum(step.kind == "call" for step in steps) if without_tools and not calls_others else None
    return Bounds(
        steps=_least(len(steps) if is_bounded else None, budgets.max_steps),
        model_calls=_least(len(agents) if without_tools else None, budgets.max_model_calls),
        tool_calls=_least(calls_only, budgets.max_tool_calls),
    )


def _least(*limits: int | None) -> int | None:
    limited = [limit for limit in limits if limit is not None]
    return min(limited) if limited else None


# Inputs: the given values, coerced and checked against the declarations of the workflow, before anything runs.


BAD_INPUT = Code(
    "bad-input",
    "An input's value does not have its declared type, or is not in its enum.",
    "Give a value of the type or enum.",
    2,
)
MISSING_INPUT = Code("missing-input", "A required input has no value.", "Give it with --var NAME=VALUE.", 2)
UNKNOWN_INPUT = Code(
    "unknown-input",
    "A value is given for an input that the workflow does not declare.",
    "Correct the name, or declare the input.",
    2,
)


class WrittenValues(dict[str, Any]):
    """Values of inputs from a file, with the text of those that their JSON would spell otherwise (`1.10`)."""

    def __init__(self, values: Mapping[str, Any] = MappingProxyType({}), written: Mapping[str, str] | None = None):
        super().__init__(values)
        self.written = dict(getattr(values, "written", {}) if written is None else written)

    def with_those(self, values: Mapping[str, Any], written: Mapping[str, str] | None = None) -> WrittenValues:
        """Return these values and others, which win."""
        others = WrittenValues(values, written)
        other_texts = {name: text for name, text in self.written.items() if name not in others}
        return WrittenValues({**self, **others}, {**other_texts, **others.written})


def resolve_inputs(
    inputs: Inputs,
    texts: Mapping[str, str],
    values: Mapping[str, Any],
    document: Document,
    is_read: Callable[[str], bool] | None = None,
) -> tuple[dict[str, Any], list[Finding]]:
    """Return every input's value, and all of their faults.

    Args:
        inputs: The declarations of the workflow; defaults and `values` count where nothing was given.
        texts: Texts to be converted to the declared types (`--var`).
        values: Values with types; texts have precedence.
        is_read: Returns whether a template reads a name of the inputs: an undeclared value that none reads is an error.
            None makes a warning of each.
    """
    declared = inputs.declared()
    resolved: dict[str, Any] = {name: spec.default for name, spec in inputs.optional.items()}
    resolved |= inputs.values
    unknown = [name for name in {**values, **texts} if name not in resolved and name not in declared]
    declared_names = {**declared, **inputs.values}
    findings = [_unknown(name, declared_names, is_read=is_read is None or is_read(name)) for name in unknown]
    resolved |= values
    for name, text in getattr(values, "written", {}).items():
        if name in declared and declared[name].type == "string" and values[name] is not None:
            resolved[name] = text
    resolved |= {name: inputs.read_fixed(name, text) for name, text in texts.items()}
    for name, spec in declared.items():
        section = "required" if name in inputs.required else "optional"
        where = document.where(f"/inputs/{section}/{escape(name)}", key=True)
        fix = f"pass --var {name}=VALUE"
        if resolved.get(name) is None:
            if section == "required":
                findings.append(Finding(MISSING_INPUT, f"the input '{name}' ({spec.type}) has no value", where, fix))
                resolved.pop(name, None)
            continue
        try:
            resolved[name] = spec.coerced(resolved[name])
        except ValueError as error:
            findings.append(Finding(BAD_INPUT, f"the input '{name}' does not fit: {error}", where, fix))
    return resolved, findings


def _unknown(name: str, declared_names: Mapping[str, Any], *, is_read: bool) -> Finding:
    message = f"the workflow declares no input '{name}'"
    listed = f"it declares: {', '.join(declared_names)}" if declared_names else "it declares none"
    if is_read:
        fix = suggest(name, declared_names, f"{listed}; templates can still use the value")
        return Finding(UNKNOWN_INPUT, message, fix=fix, severity="warning")
    return Finding(UNKNOWN_INPUT, f"{message}, and nothing reads it", fix=suggest(name, declared_names, listed))


# Rows differ in which templates they can render, and in policy's answers to their calls, but in few ways.
MOST_SHAPES = 16


@dataclass(frozen=True, slots=True)
class _Shape:
    """The common parts of rows whose steps are equal but for their texts.

    Attributes:
        steps: Whether each step's input is rendered, and the decision about its call.
        findings: The faults of the plan, whatever its inputs are.
        place: Where among these findings those about the inputs are.
        is_faulty: Whether the workflow cannot run whatever its inputs are.
    """

    steps: tuple[Any, ...]
    findings: tuple[Finding, ...]
    place: int
    is_faulty: bool


class InputPlanner:
    """Computes the parts of one workflow that depend on its inputs.

    Args:
        spec: The workflow, as it is planned.
        document: Its document.
        is_tool: Whether it is a tool of another one, and gets its inputs with each call.
    """

    def __init__(self, spec: WorkflowSpec, document: Document, *, is_tool: bool = False) -> None:
        self._spec = spec
        self.document = document
        self._is_tool = is_tool
        self._names = names_in_templates(spec)

    def inputs(self, request: RunRequest) -> tuple[dict[str, Any], list[Finding]]:
        """Return the inputs of a request, and the faults of them and of the values that follow from them alone."""
        spec, document = self._spec, self.document
        is_read = None if spec.inputs.allow_undeclared else partial(is_read_in_templates, spec)
        inputs, findings = resolve_inputs(spec.inputs, request.variables, request.values, document, is_read)
        if self._is_tool:
            findings = [finding for finding in findings if finding.code != MISSING_INPUT]
            return inputs, [*findings, *check_variables(self._names, document, inputs)]
        findings += check_variables(self._names, document, inputs)
        return inputs, [*findings, *check_outputs(spec, document, inputs, request)]

    def check(self, texts: Mapping[str, str], values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
        """Return the declared inputs in their types, and the faults of each."""
        return resolve_inputs(self._spec.inputs, texts, values, self.document)

    def check_budgets(self, plan: Plan, limits: Mapping[str, float]) -> Sequence[Finding]:
        """Return findings that keep limits on the usage of the workflow from holding."""
        budgets = type(self._spec.runtime.budgets)(**limits)  # type: ignore[arg-type]  # each has the type of its field
        runtime = self._spec.runtime.model_copy(update={"budgets": budgets})
        spec = self._spec.model_copy(update={"runtime": runtime})
        return list(check_limits(spec, plan.agents, plan.prices, self.document, plan.called()))


@dataclass(frozen=True, slots=True)
class RowWorkflow:
    """A workflow resolved from the start, with the parts that its rows need.

    Attributes:
        of_inputs: Its findings about its inputs; they come first.
        digest_rest: See `digest_of_plan`.
    """

    workflow: ResolvedWorkflow
    findings: tuple[Finding, ...]
    inputs: InputPlanner
    of_inputs: tuple[Finding, ...]
    digest_rest: str


@dataclass(frozen=True, slots=True)
class WholePlan:
    """A plan with all its findings, and the stages that it was made in.

    Attributes:
        planned: The plan.
        resolved: The workflow with the findings about it alone.
        before: Findings before those about the inputs.
        faults: The faults of the inputs as one object.
    """

    planned: Plan
    resolved: RowWorkflow
    before: tuple[Finding, ...]
    faults: tuple[Finding, ...]

    def shape(self) -> _Shape:
        """Return its findings as those of all rows whose steps are like its own."""
        of_inputs = {*self.faults, *self.resolved.of_inputs}
        shared = tuple(finding for finding in self.planned.findings if finding not in of_inputs)
        is_faulty = has_errors(finding for finding in self.resolved.findings if finding not in of_inputs)
        return _Shape(_shape_of(self.planned.steps), shared, len(dict.fromkeys(self.before)), is_faulty)


class RowPlanner:
    """Plans one workflow with other inputs; its plans share everything that does not depend on them.

    Attributes:
        planned: The first plan.

    Args:
        first: The first plan of the workflow, with its stages.
        request: The request of that plan.
        plan_whole: Plans the workflow from the start.
        faults: Returns the faults of inputs as one object.
    """

    def __init__(
        self,
        first: WholePlan,
        request: RunRequest,
        plan_whole: Callable[[RunRequest], WholePlan],
        faults: Callable[[Mapping[str, Any]], list[Finding]],
    ) -> None:
        self.planned = first.planned
        self._inputs = first.resolved.inputs
        self._rest = first.resolved.digest_rest
        self._request = request
        self._plan_whole = plan_whole
        self._faults = faults
        self._shapes = [first.shape()]

    def plan(
        self,
        values: Mapping[str, Any],
        *,
        texts: Mapping[str, str] = MappingProxyType({}),
        **places: Path | None,
    ) -> Plan:
        """Return the plan of a row, equal to the plan made from the start for its inputs.

        The workflow is planned again for the first row of each kind: which templates the inputs render, and how policy
        answers calls.

        Args:
            values: The inputs with types, in place of those of the first plan.
            texts: Inputs as text, which win over `values`.
            places: The directory of the row's artifacts (`out_dir`), and where it begins (`beside`), if others.
        """
        changes = {name: path for name, path in places.items() if path is not None}
        request = replace(self._request, values=values, variables=texts, **changes)  # type: ignore[arg-type]
        like = self.planned
        inputs, findings = self._inputs.inputs(request)
        called = (like.agents, like.override_tools, like.call_tools)
        files = FilePlaces.of(like.spec, like.base_dir, request.beside, like.places)
        steps = planned_steps(like.spec, inputs, *called, files=None if request.as_written else files)
        findings += of_attachments(steps, like.agents, self._inputs.document)
        shape = next((shape for shape in self._shapes if shape.steps == _shape_of(steps)), None)
        if shape is None:
            whole = self._plan_whole(request)
            if len(self._shapes) < MOST_SHAPES:
                self._shapes.append(whole.shape())
            return whole.planned
        if not shape.is_faulty and not has_errors(findings):
            findings = [*self._faults(inputs), *findings]
        around = shape.findings
        in_order = tuple(dict.fromkeys((*around[: shape.place], *findings, *around[shape.place :])))
        return replace(like, inputs=inputs, steps=steps, digest=digest_of_plan(inputs, self._rest), findings=in_order)

    def check(self, texts: Mapping[str, str], values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
        """Return the inputs of a row in their types, and the faults, of each by itself and of all as one object.

        Args:
            texts: Inputs as text, which win over `values`.
            values: The inputs with types.
        """
        inputs, findings = self._inputs.check(texts, values)
        if not has_errors(findings):
            findings = [*findings, *self._faults(inputs)]
        return inputs, findings

    def check_budgets(self, limits: Mapping[str, float]) -> Sequence[Finding]:
        """Return findings that keep such limits from holding for all rows together: a limit on money without prices.

        Args:
            limits: By names of `runtime.budgets`.
        """
        return self._inputs.check_budgets(self.planned, limits)


def _shape_of(steps: Sequence[PlannedStep]) -> tuple[Any, ...]:
    """Return the facts besides the workflow that findings about its data depend on."""
    return tuple((step.rendered, step.decision) for step in steps)


def digest_of_plan(inputs: Mapping[str, Any], rest: str) -> str:
    """Return the digest of a plan; `rest` is the canonical JSON of an object with its other parts besides inputs."""
    # As the canonical JSON of one object: the word `inputs` is before all others.
    text = f'{{"inputs":{canonical_json(inputs)},{rest[1:]}'
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
