"""Every template and condition of a workflow, each with its place and the names it may use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.placed_steps import Site, strings_in
from strands_cli.workflow.template_scope import ANY, AT_END, STEP, Items
from strands_cli.workflow.yaml import escape


def template_sites(spec: WorkflowSpec) -> Iterator[Site]:
    """Yield every template and condition of a workflow; those of composite tools have names of their own."""
    for name, agent in spec.agents.items():
        if agent.prompt is not None and "{{" in agent.prompt:
            yield Site(f"/agents/{escape(name)}/prompt", agent.prompt, {})
    for placed in spec.pattern.steps():
        yield from placed.sites()
    yield from spec.pattern.templates()
    at_end = {**AT_END, **spec.pattern.names_at_end()}
    for index, artifact in enumerate(spec.outputs.artifacts):
        yield Site(f"/outputs/artifacts/{index}/path", artifact.path, at_end)
        yield Site(f"/outputs/artifacts/{index}/from", artifact.from_, at_end)
    yield from _sites_of_composites(spec)


def _sites_of_composites(spec: WorkflowSpec) -> Iterator[Site]:
    for index, tool in enumerate(spec.tools.composite):
        pointer = f"/tools/composite/{index}"
        properties = tool.input_schema.get("properties")
        scope: dict[str, Any] = dict.fromkeys(properties if isinstance(properties, Mapping) else (), ANY)
        scope = {"input": ANY, **scope, "steps": Items(STEP, 0)}
        for number, step in enumerate(tool.steps):
            yield from strings_in(step.input, f"{pointer}/steps/{number}/input", dict(scope))
            if step.save_as:
                scope[step.save_as] = ANY
            scope |= {"last_response": ANY, "steps": Items(STEP, number + 1)}
        if tool.output is not None:
            yield Site(f"{pointer}/output", tool.output, scope)
