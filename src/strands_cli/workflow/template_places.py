"""Every template and condition of a workflow, each with its place and the names it may use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.patterns.pattern_models import reserved_names
from strands_cli.workflow.placed_steps import Site, strings_in
from strands_cli.workflow.steps.step_models import AgentStep
from strands_cli.workflow.template_scope import ANY, AT_END, STEP, Items, Scope
from strands_cli.workflow.templates.template import is_prompt_template
from strands_cli.yaml_files.document import escape


def template_sites(spec: WorkflowSpec) -> Iterator[Site]:
    """Yield every template and condition of a workflow; those of composite tools have names of their own."""
    yield from _prompts(spec)
    if (end := spec.context_policy.prompt_end) is not None:
        yield Site("/context_policy/prompt_end", end, {"agent": ANY})
    for placed in spec.pattern.placed:
        yield from placed.sites()
    yield from spec.pattern.templates()
    at_end = _at_end(spec)
    for index, artifact in enumerate(spec.outputs.artifacts):
        yield Site(f"/outputs/artifacts/{index}/path", artifact.path, at_end)
        yield Site(f"/outputs/artifacts/{index}/from", artifact.from_, at_end)
    yield from _sites_of_composites(spec)


def _at_end(spec: WorkflowSpec) -> Scope:
    names, ran = (
        spec.pattern.names_at_end(),
        {spec.pattern.step_name(placed.key): ANY for placed in spec.pattern.placed},
    )
    last = {"last_response": spec.pattern.last_answer()}
    context = {"iterations": ran, **AT_END["execution_context"], **last, **names}
    return {**AT_END, **last, **names, "execution_context": context}


def _prompts(spec: WorkflowSpec) -> Iterator[Site]:
    """Yield the prompts that are templates, once for each use of their agent, with the names that it has there."""
    prompts = {name: agent.prompt for name, agent in spec.agents.items() if is_prompt_template(agent.prompt or "")}
    called = {tool.removeprefix("agent:") for tool in spec.named_tools() if tool.startswith("agent:")}
    unused = prompts.keys() - called
    for placed in spec.pattern.placed:
        if isinstance(placed.step, AgentStep) and (prompt := prompts.get(placed.step.agent)) is not None:
            unused.discard(placed.step.agent)
            yield Site(
                _prompt_of(placed.step.agent),
                prompt,
                spec.pattern.names_in_prompt(placed),
                use=f" (where {placed.key} uses the prompt)",
            )
    for name in prompts:
        if name in called:
            yield Site(_prompt_of(name), prompts[name] or "", {}, use=" (where the agent is a tool)")
        elif name in unused:  # is never rendered
            yield Site(_prompt_of(name), prompts[name] or "", dict.fromkeys(reserved_names(), ANY))


def _prompt_of(agent: str) -> str:
    return f"/agents/{escape(agent)}/prompt"


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
