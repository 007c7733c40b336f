"""The model of each agent: the runtime's settings, the agent's own, and those of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from strands_cli.errors import Finding, StrandsCliError, Where, suggest
from strands_cli.planning.plan_values import Alternate, PlannedAgent, PlannedTool, entry_key
from strands_cli.planning.planned_tool import McpTool
from strands_cli.planning.provider_checks import check_provider, unknown_provider
from strands_cli.planning.recording_checks import summarizer_of
from strands_cli.planning.resolve.tool_resolver import ToolResolver
from strands_cli.planning.run_request import RunRequest
from strands_cli.planning.single_call import check_call_input
from strands_cli.provider_table import PROVIDERS, Provider
from strands_cli.providers import ModelSettings, merge_settings
from strands_cli.workflow.agent_sections import AgentSpec, Inference
from strands_cli.workflow.findings import NO_EFFECT
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.sections import Loops, ModelEntry
from strands_cli.workflow.steps import AgentStep, CallStep
from strands_cli.yaml_files.document import Document, escape


def model_of(spec: WorkflowSpec, agent: AgentSpec, options: RunRequest) -> ModelSettings:
    """Return an agent's model: the runtime's, with the agent's own over it, with the command line's over both."""
    base = _with_sampling(_runtime_model(spec), agent.inference)
    if agent.models and not options.provider:
        base = _of_entry(base, agent.models[0])
    merged = merge_settings(
        base,
        # A live provider on the command line replaces every agent's own; its model would not know the others.
        provider=None if options.provider else agent.provider,
        model_id=None if options.provider or options.model else agent.model_id,
    )
    chosen = merge_settings(merged, provider=options.provider, model_id=options.model, max_tokens=options.max_tokens)
    return replace(chosen, host=options.host) if options.host and chosen.provider != "replay" else chosen


def alternates_of(spec: WorkflowSpec, agent: AgentSpec, options: RunRequest) -> tuple[Alternate, ...]:
    """Return the models that go on in place of an agent's own.

    None go on for a model that the command line or the agent itself names.
    """
    if options.provider or options.model or options.host:
        return ()
    base = _with_sampling(_runtime_model(spec), agent.inference)
    if agent.models:
        listed = [(_of_entry(base, entry), entry.on) for entry in agent.models[1:]]
    elif agent.provider or agent.model_id:
        return ()
    else:
        entries = spec.runtime.models[1:]
        # They have the runtime's settings; what its first has of its own is not theirs.
        none = ModelSettings("")
        listed = [(_with_sampling(_of_entry(none, entry), agent.inference), entry.on) for entry in entries]
    return tuple(Alternate(merge_settings(model, max_tokens=options.max_tokens), on) for model, on in listed)


def _of_entry(base: ModelSettings, entry: ModelEntry) -> ModelSettings:
    """Return the settings of a listed model over those of the runtime, of which one provider has also the host."""
    merged = merge_settings(base, provider=entry.provider)
    names = ("model_id", "region", "host", "options", "temperature", "top_p", "max_tokens")
    written = {name: getattr(entry, name) for name in names}
    return replace(merged, **{name: value for name, value in written.items() if value is not None})


def _with_sampling(settings: ModelSettings, inference: Inference) -> ModelSettings:
    own = (inference.temperature, inference.top_p, inference.max_tokens)
    return merge_settings(settings, temperature=own[0], top_p=own[1], max_tokens=own[2])


def _runtime_model(spec: WorkflowSpec) -> ModelSettings:
    names = ("provider", "model_id", "region", "host", "temperature", "top_p", "max_tokens", "options")
    return ModelSettings(**{name: getattr(spec.runtime, name) for name in names})


def with_runtime_of(spec: WorkflowSpec, options: RunRequest, *, is_tool: bool = False) -> WorkflowSpec:
    """Return the workflow with the command line's model as its runtime's, so that `runtime.*` in artifacts is true.

    The command line's limit on money is that of the run, and not of each call of a workflow that `is_tool`.
    """
    model = model_of(spec, AgentSpec.model_construct(inference=Inference()), options)
    names = ("provider", "model_id", "region", "host", "max_tokens", "options")
    changed = {name: getattr(model, name) for name in names}
    if options.max_cost is not None and not is_tool:
        budgets = spec.runtime.budgets
        most = min(options.max_cost, budgets.max_cost_usd or options.max_cost)
        changed["budgets"] = budgets.model_copy(update={"max_cost_usd": most})
    return spec.model_copy(update={"runtime": spec.runtime.model_copy(update=changed)})


def check_choices(options: RunRequest, document: Document) -> Iterator[Finding]:
    """Yield a warning for each choice of a model, where no agent asks one."""
    for option, value in _chosen(options).values():
        message = f"`{option} {value}` has no effect: no agent of {document.file} asks a model"
        yield Finding(NO_EFFECT, message, None, "leave it out", "warning")


def _chosen(options: RunRequest) -> dict[str, tuple[str, str]]:
    """Return the settings of models that the command line has chosen, each with its option and value."""
    chosen = {
        "provider": options.provider,
        "model_id": options.model,
        "host": options.host,
        "max_tokens": options.max_tokens,
    }
    named = {name: f"--{name.removesuffix('_id').replace('_', '-')}" for name in chosen}
    return {name: (named[name], str(value)) for name, value in chosen.items() if value}


def check_models(
    models: Mapping[str, Sequence[ModelSettings]],
    document: Document,
    environ: Mapping[str, str],
    find: Callable[[str], Provider | None] = PROVIDERS.get,
    options: RunRequest | None = None,
) -> list[Finding]:
    """Return findings that keep the models of agents from working here; agents that share a model report it once.

    Args:
        models: The models of each agent, by its id; its own first.
        document: The file, for places.
        environ: The environment.
        find: Returns a provider by its name; it may refuse to import one.
        options: The options of the command line.
    """
    findings: list[Finding] = []
    found_before: dict[
        str, list[tuple[Finding, str | None]]
    ] = {}  # a fault is reported at each place where it is written
    for agent_id, number, model in ((name, n, listed) for name, own in models.items() for n, listed in enumerate(own)):
        if not model.provider:
            continue  # `missing-key` says it
        # Whether there is a name of a model matters, and not which.
        settings = repr(replace(model, model_id=model.model_id and "any"))
        locate = _locator(document, agent_id, options, number)
        if settings not in found_before:
            fields: dict[Where | None, str] = {}
            model_findings = _check_model(model, environ, _recorded(locate, fields), find)
            found_before[settings] = [(finding, fields.get(finding.where)) for finding in model_findings]
        findings += [
            replace(finding, where=locate(name)) if name else finding for finding, name in found_before[settings]
        ]
    return findings


def _check_model(
    model: ModelSettings,
    environ: Mapping[str, str],
    locate: Callable[[str], Where],
    find: Callable[[str], Provider | None],
) -> list[Finding]:
    try:
        provider = find(model.provider)
    except StrandsCliError as error:
        # A finding about the lock has a place there.
        return [finding if finding.where else replace(finding, where=locate("provider")) for finding in error.findings]
    if provider is None:
        from strands_cli.parts.named_providers import provider_names  # looks through the installed distributions

        return [unknown_provider(model.provider, provider_names(), locate)]
    return check_provider(model, environ, locate=locate, provider=provider)


def _recorded(locate: Callable[[str], Where], fields: dict[Where | None, str]) -> Callable[[str], Where]:
    """Return a function that locates settings and records which setting each place is of."""

    def recording(name: str) -> Where:
        where = locate(name)
        fields[where] = name
        return where

    return recording


def _locator(document: Document, agent_id: str, options: RunRequest | None, number: int = 0) -> Callable[[str], Where]:
    """Return the place of a model setting: its option, the agent if it is written there, else `runtime`.

    Args:
        number: The number of the model in a list.
    """
    chosen = _chosen(options) if options is not None else {}
    at_agent = f"/agents/{escape(agent_id)}"
    entries = [f"{place}/models/{number}" for place in (at_agent, "/runtime")]
    entry = next((pointer for pointer in entries if pointer in document.positions), None)

    def locate(name: str) -> Where:
        if name in chosen:
            return Where(chosen[name][0])
        places = (f"{at_agent}/{name}", f"{at_agent}/inference/{name}")
        for pointer in (f"{entry}/{name}", *(places if number == 0 else ())):
            if pointer in document.positions:
                return document.where(pointer)
        return document.where(entry or f"/runtime/{name}")

    return locate


# The agents of a plan, with their models, and the tools that steps name themselves.


def planned_agent(agent_id: str, resolver: ToolResolver) -> PlannedAgent:
    """Return an agent of the workflow with its model and its tools."""
    spec, around = resolver.context.spec, resolver.context.around
    agent = spec.agents[agent_id]
    model = model_of(spec, agent, around.options)
    alternates = alternates_of(spec, agent, around.options) if model.provider != "replay" else ()
    named = around.base_dir / spec.runtime.recording if spec.runtime.recording else around.recording
    recording = named if model.provider == "replay" else None
    pointer = f"/agents/{escape(agent_id)}"
    tools = resolver.agent_tools(agent.tools, f"{pointer}/tools", has_skills=agent.skills is None)
    if isinstance(agent.tools_shown, tuple):
        where = resolver.context.document.where(f"{pointer}/tools_shown")
        resolver.context.findings += check_shown(agent.tools_shown, tools, where)
    return PlannedAgent(
        id=agent_id,
        prompt=agent.prompt or "",
        model=model,
        tools=tools,
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
        loops=agent.loops or spec.runtime.loops or Loops(),
        alternates=alternates,
        tools_shown=next((word for word in (agent.tools_shown, spec.runtime.tools_shown) if word is not None), "auto"),
    )


def check_shown(shown: Sequence[str], tools: Sequence[PlannedTool], where: Where) -> Iterator[Finding]:
    """Yield a warning for each name of `tools_shown` that no tool of the agent has, as far as they are known."""
    names = [tool.name for tool in tools]
    if any(isinstance(tool, McpTool) and tool.member is None for tool in tools):
        return  # those of a server are known when it is started
    for name in shown:
        if name not in names:
            message = f"`tools_shown` names '{name}', which is the name of no tool of the agent"
            yield Finding(NO_EFFECT, message, where, suggest(name, names), "warning")


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
