"""The agents of a plan, with their models, and the tools that steps name themselves."""

from __future__ import annotations

from collections.abc import Mapping

from strands_cli.planning.agent_models import model_of
from strands_cli.planning.checks.call_inputs import check_call_input
from strands_cli.planning.checks.context_checks import summarizer_of
from strands_cli.planning.plan.plan_values import PlannedAgent, PlannedTool, entry_key
from strands_cli.planning.resolve.tool_resolver import ToolResolver
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.steps.step_models import AgentStep, CallStep
from strands_cli.yaml_files.document import escape


def planned_agent(agent_id: str, resolver: ToolResolver) -> PlannedAgent:
    """Return an agent of the workflow with its model and its tools."""
    spec, around = resolver.context.spec, resolver.context.around
    agent = spec.agents[agent_id]
    model = model_of(spec, agent, around.options)
    named = around.base_dir / spec.runtime.recording if spec.runtime.recording else around.recording
    recording = named if model.provider == "replay" else None
    return PlannedAgent(
        id=agent_id,
        prompt=agent.prompt or "",
        model=model,
        tools=resolver.agent_tools(agent.tools, f"/agents/{escape(agent_id)}/tools", has_skills=agent.skills is None),
        recording=recording,
        input_schema=agent.input_schema if isinstance(agent.input_schema, Mapping) else None,
        output_schema=agent.output_schema if isinstance(agent.output_schema, Mapping) else None,
        keeps_conversation=agent.memory != "step",
        follows_path=agent.memory == "path",
        lists_skills=spec.context_policy.skills_in_prompts,
        takes_any_message=agent.input_schema_for == "run" and agent.takes_object,
        prompt_end=spec.context_policy.prompt_end,
        summarizer=summarizer_of(spec, model),
        limits=agent.limits,
        budgets=agent.budgets,
    )


def tools_of_steps(
    spec: WorkflowSpec, resolver: ToolResolver
) -> tuple[dict[str, tuple[PlannedTool, ...]], dict[str, PlannedTool]]:
    """Return the tools that steps name themselves: `tool_overrides` by entry, tool-call steps by reference."""
    overrides: dict[str, tuple[PlannedTool, ...]] = {}
    calls: dict[str, PlannedTool] = {}
    context = resolver.context
    for placed in spec.pattern.placed:
        step = placed.step
        if isinstance(step, AgentStep) and step.tool_overrides is not None:
            pointer = placed.at("tool_overrides")
            for index, entry in enumerate(step.tool_overrides):
                overrides[entry_key(entry)] = resolver.resolve(entry, f"{pointer}/{index}")
            group = [tool for entry in step.tool_overrides for tool in overrides[entry_key(entry)]]
            resolver.distinct(group, pointer)
        elif isinstance(step, CallStep) and (tool := resolver.call_tool(step.tool, placed.at("tool"), placed.key)):
            calls[step.tool] = tool
            context.findings += check_call_input(tool, step.input, placed.at("input"), context.document)
    return overrides, calls


def tools_for_calls(
    calls: Mapping[str, PlannedTool], agents: Mapping[str, PlannedAgent], resolver: ToolResolver
) -> dict[str, PlannedTool]:
    """Return the tools of tool-call steps, and those of `tools.python` that only their code can call."""
    if not calls:
        return {}
    owned = [tool.identity for agent in agents.values() for tool in agent.tools]
    owned += [tool.identity for tool in calls.values()]
    return {**calls, **{tool.ref: tool for tool in resolver.listed if tool.identity not in owned}}
