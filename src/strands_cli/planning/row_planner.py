"""A plan with other inputs: what depends on them is computed again, and the rest is shared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from strands_cli.errors import Finding, has_errors
from strands_cli.planning.checks.artifact_paths import check_outputs
from strands_cli.planning.checks.environment import (
    check_limits,
    check_variables,
    is_read_in_templates,
    names_in_templates,
)
from strands_cli.planning.plan.plan_values import Plan, PlannedStep, ResolvedWorkflow
from strands_cli.planning.planned_steps import planned_steps
from strands_cli.planning.run_inputs import MISSING_INPUT, resolve_inputs
from strands_cli.planning.run_request import RunRequest
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.yaml_files.document import Document

# Rows differ in which templates they can render, and in policy's answers to their calls, but in few ways.
MOST_SHAPES = 16


@dataclass(frozen=True, slots=True)
class _Shape:
    """What rows have in common whose steps are equal but for their texts.

    Attributes:
        steps: Whether each step's input is rendered, and the decision about its call.
        findings: What is wrong with the plan, whatever its inputs are.
        place: Where among these findings those about the inputs are.
        is_faulty: Whether the workflow cannot run whatever its inputs are.
    """

    steps: tuple[Any, ...]
    findings: tuple[Finding, ...]
    place: int
    is_faulty: bool


class InputPlanner:
    """Computes what depends on the inputs of one workflow.

    Args:
        spec: The workflow, as it is planned.
        is_tool: Whether it is a tool of another one, and gets its inputs with each call.
    """

    def __init__(self, spec: WorkflowSpec, document: Document, *, is_tool: bool = False) -> None:
        self._spec = spec
        self._document = document
        self._is_tool = is_tool
        self._names = names_in_templates(spec)

    def inputs(self, request: RunRequest) -> tuple[dict[str, Any], list[Finding]]:
        """Return the inputs of a request, and what is wrong with them and with what follows from them alone."""
        spec, document = self._spec, self._document
        is_read = None if spec.inputs.allow_undeclared else partial(is_read_in_templates, spec)
        inputs, findings = resolve_inputs(spec.inputs, request.variables, request.values, document, is_read)
        if self._is_tool:
            findings = [found for found in findings if found.code != MISSING_INPUT]
            return inputs, [*findings, *check_variables(self._names, document, inputs)]
        findings += check_variables(self._names, document, inputs)
        return inputs, [*findings, *check_outputs(spec, document, inputs, request)]

    def check(self, texts: Mapping[str, str], values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
        """Return the declared inputs in their types, and what is wrong with each of them."""
        return resolve_inputs(self._spec.inputs, texts, values, self._document)

    def check_budgets(self, planned: Plan, limits: Mapping[str, float]) -> Sequence[Finding]:
        """Return what prevents that limits on what the workflow spends hold."""
        budgets = type(self._spec.runtime.budgets)(**limits)  # type: ignore[arg-type]  # each has the type of its field
        runtime = self._spec.runtime.model_copy(update={"budgets": budgets})
        spec = self._spec.model_copy(update={"runtime": runtime})
        return list(check_limits(spec, planned.agents, planned.prices, self._document, planned.called()))


@dataclass(frozen=True, slots=True)
class Resolved:
    """A workflow that was resolved from the start, with what its rows need.

    Attributes:
        of_inputs: Those of its findings that are about its inputs; they come first.
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
        faults: What is wrong with the inputs as one object.
    """

    planned: Plan
    resolved: Resolved
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
        faults: Returns what is wrong with inputs as one object.
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
        """Return the plan of a row, equal to what planning from the start returns for its inputs.

        The workflow is planned again for the first row of each kind: which templates the inputs render, and how policy
        answers calls.

        Args:
            values: The inputs that have types already, in place of those of the first plan.
            texts: Inputs as text, which win over `values`.
            places: The directory of the row's artifacts (`out_dir`), and where it begins (`beside`), if others.
        """
        changes = {name: place for name, place in places.items() if place is not None}
        request = replace(self._request, values=values, variables=texts, **changes)  # type: ignore[arg-type]
        like = self.planned
        inputs, findings = self._inputs.inputs(request)
        called = (like.agents, like.override_tools, like.call_tools)
        steps = planned_steps(like.spec, inputs, *called, as_written=request.as_written)
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
        """Return the inputs of a row in their types, and what is wrong with them, each by itself and all as one object.

        Args:
            texts: Inputs as text, which win over `values`.
            values: The inputs that have types already.
        """
        inputs, findings = self._inputs.check(texts, values)
        if not has_errors(findings):
            findings = [*findings, *self._faults(inputs)]
        return inputs, findings

    def check_budgets(self, limits: Mapping[str, float]) -> Sequence[Finding]:
        """Return what prevents that such limits hold for all rows together: a limit on money without prices.

        Args:
            limits: By names of `runtime.budgets`.
        """
        return self._inputs.check_budgets(self.planned, limits)


def _shape_of(steps: Sequence[PlannedStep]) -> tuple[Any, ...]:
    """Return what findings about a workflow's data depend on besides the workflow."""
    return tuple((step.rendered, step.decision) for step in steps)


def digest_of_plan(inputs: Mapping[str, Any], rest: str) -> str:
    """Return the digest of a plan; `rest` is the canonical JSON of an object with what it depends on besides inputs."""
    # As the canonical JSON of one object: the word `inputs` is before all others.
    text = f'{{"inputs":{canonical_json(inputs)},{rest[1:]}'
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
