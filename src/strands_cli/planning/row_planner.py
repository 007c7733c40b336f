"""A plan with other inputs: what depends on them is computed again, and the rest is shared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from strands_cli.errors import Finding, has_errors
from strands_cli.planning.checks.artifact_paths import check_outputs
from strands_cli.planning.checks.environment import check_variables, is_read_in_templates, names_in_templates
from strands_cli.planning.plan.plan_values import Plan, PlannedStep
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
        is_read = None if spec.is_earlier else partial(is_read_in_templates, spec)
        inputs, findings = resolve_inputs(spec.inputs, request.variables, request.values, document, is_read)
        if self._is_tool:
            findings = [found for found in findings if found.code != MISSING_INPUT]
            return inputs, [*findings, *check_variables(self._names, document, inputs)]
        findings += check_variables(self._names, document, inputs)
        return inputs, [*findings, *check_outputs(spec, document, inputs, request)]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A plan that was made from the start, with what its rows need.

    Attributes:
        of_inputs: Those of its findings that are about its inputs; they come first.
        digest_rest: See `digest_of_plan`.
    """

    plan: Plan
    inputs: InputPlanner
    of_inputs: tuple[Finding, ...]
    digest_rest: str


class RowPlanner:
    """Plans one workflow with other inputs; its plans share everything that does not depend on them.

    Args:
        resolved: The first plan of it.
        request: The request of that plan.
        again: Plans the workflow from the start, for rows of this planner.
        faults: Returns what is wrong with the inputs of a plan as one object.
    """

    def __init__(
        self,
        resolved: Resolved,
        request: RunRequest,
        again: Callable[[RunRequest, RowPlanner], Plan],
        faults: Callable[[Plan], list[Finding]],
    ) -> None:
        self._inputs = resolved.inputs
        self._rest = resolved.digest_rest
        self._request = request
        self._again = again
        self._faults = faults
        self._shapes: list[_Shape] = []

    def plan(self, like: Plan, changes: Mapping[str, Any]) -> Plan:
        """Return the plan of a row.

        Args:
            like: Another plan of the workflow.
            changes: Fields of the request of the row that differ from the first one.
        """
        request = replace(self._request, **changes)
        inputs, findings = self._inputs.inputs(request)
        called = (like.agents, like.override_tools, like.call_tools)
        steps = planned_steps(like.spec, inputs, *called, as_written=request.as_written)
        shape = next((shape for shape in self._shapes if shape.steps == _shape_of(steps)), None)
        if shape is None:
            return self._again(request, self)
        if not shape.is_faulty and like.spec.schema_of_inputs is not None:
            findings = [*self._faults(replace(like, inputs=inputs, findings=tuple(findings))), *findings]
        around = shape.findings
        found = tuple(dict.fromkeys((*around[: shape.place], *findings, *around[shape.place :])))
        return replace(like, inputs=inputs, steps=steps, digest=digest_of_plan(inputs, self._rest), findings=found)

    def learn(self, planned: Plan, resolved: Resolved, before: Sequence[Finding], faults: Sequence[Finding]) -> None:
        """Take the findings of a plan that was made from the start for all rows whose steps are like its own.

        Args:
            planned: The plan with all its findings.
            resolved: The plan before those of `before` and `faults` were added.
            before: Findings before those about the inputs.
            faults: What is wrong with the inputs as one object.
        """
        shape, of_inputs = _shape_of(planned.steps), {*faults, *resolved.of_inputs}
        if len(self._shapes) < MOST_SHAPES and all(shape != known.steps for known in self._shapes):
            shared = tuple(found for found in planned.findings if found not in of_inputs)
            is_faulty = has_errors(found for found in resolved.plan.findings if found not in of_inputs)
            self._shapes.append(_Shape(shape, shared, len(dict.fromkeys(before)), is_faulty))


def _shape_of(steps: Sequence[PlannedStep]) -> tuple[Any, ...]:
    """Return what findings about a workflow's data depend on besides the workflow."""
    return tuple((step.rendered, step.decision) for step in steps)


def digest_of_plan(inputs: Mapping[str, Any], rest: str) -> str:
    """Return the digest of a plan; `rest` is the canonical JSON of an object with what it depends on besides inputs."""
    # As the canonical JSON of one object: the word `inputs` is before all others.
    text = f'{{"inputs":{canonical_json(inputs)},{rest[1:]}'
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
