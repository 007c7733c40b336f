"""Assemble the tools, permission checks, models and ports of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands.models import Model

from strands_cli.agents.agent_runner import SdkAgentRunner
from strands_cli.agents.answer_limits import place_of_max_tokens
from strands_cli.agents.compaction import Context
from strands_cli.agents.run_models import RunModels
from strands_cli.agents.shared_runs import PlanSecrets, SharedRuns
from strands_cli.config import use_private_bytecode
from strands_cli.hooks.manager import Hooks
from strands_cli.outputs.notes import NotesFile, place_notes
from strands_cli.planning.data_flow.secret_values import require_unwritten
from strands_cli.planning.data_flow.unnamed_secrets import require_named
from strands_cli.planning.plan.plan_values import AgentAsTool, Composite, Plan, PlannedAgent, PlannedTool, tools_in_step
from strands_cli.planning.run_request import RunRequest
from strands_cli.planning.workflow_tools.tool_parts import all_workflows_in, definitions_in, with_parts, workflows_in
from strands_cli.planning.workspace import mounts_of
from strands_cli.policy.rules.rule import Rule
from strands_cli.provider_table import known_provider
from strands_cli.providers import written_host
from strands_cli.secrets.process_streams import hide_in_output
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.tools.calls.calling_contract import Contract
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.calls.tool_steps import CheckedToolCaller
from strands_cli.tools.calls.workflow_tool_calls import Parts
from strands_cli.tools.loading.import_guard import Tell
from strands_cli.tools.loading.tool_loading import Toolbox, custom_folders, load_tools
from strands_cli.workflow.steps.step_models import AgentStep, CallStep

if TYPE_CHECKING:
    from strands_cli.tools.mcp.toolset import Serving


@dataclass(frozen=True, slots=True)
class Workers:
    """The engine's two ports for agents and tools, and their resources; `redactor` hides the run's secrets.

    `inner` are the workers of workflows that are tools of this one.
    """

    agents: SdkAgentRunner
    tools: CheckedToolCaller
    toolbox: Toolbox
    models: RunModels
    redactor: Redactor = HIDE_NOTHING
    inner: tuple[Workers, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """The warnings for a person before the run begins."""
        return [*(line for workers in self.inner for line in workers.warnings), *self.toolbox.warnings]

    async def close_with(self, warn: Tell) -> None:
        """Close tools and models; a problem is a warning, since the run has ended."""
        for problem in await self.close():
            warn(problem)

    async def close(self) -> list[str]:
        """Close tools with state and the models that only this run has; return the failures, one line each."""
        problems = [problem for workers in self.inner for problem in await workers.close()]
        return [*problems, *await self.toolbox.close(), *await self.models.close()]


async def assemble(
    plan: Plan,
    workspace: Mapping[str, Any],
    shared: SharedRuns,
    request: RunRequest | None = None,
    tell: Tell | None = None,
    *,
    is_typed: bool = False,
) -> Workers:
    """Load every tool and model of a plan before its first effect.

    Args:
        workspace: What file tools may touch.
        shared: What the run shares with others.
        request: Has the Python objects of a program that are tools, and what it gives to the tools of this run.
        tell: Is called for a slow import of a plugin.
        is_typed: Whether a person makes the calls by hand.

    Raises:
        NotEquipped: A tool or a provider's client cannot be loaded.
        Denied: A tool differs from its manifest.
        InvalidInput: The value of a secret is written in a place that the journal stores.
    """
    secrets = await shared.secrets(plan)
    for values in secrets.values.values():
        require_unwritten(plan, values)
    hide_in_output(secrets.redactor)
    files = dict.fromkeys(one.file for one in all_workflows_in(plan) if one.file != plan.file)
    guarded = [str(Path(file).absolute()) for file in files]
    workspace = {**workspace, "protected": [*workspace.get("protected", ()), *guarded]}
    assembly = _Assembly(shared, secrets, request or RunRequest(), tell, is_typed)
    return await assembly.workers(plan, workspace)


@dataclass(frozen=True, slots=True)
class _Assembly:
    """What a workflow shares with the workflows that are its tools: models, secrets by file, and loading."""

    shared: SharedRuns
    secrets: PlanSecrets
    request: RunRequest
    tell: Tell | None
    is_typed: bool

    async def workers(self, plan: Plan, workspace: Mapping[str, Any], *, below: bool = False) -> Workers:
        """Return the workers of a workflow and of the workflows that are its tools; `below` if it is a tool itself."""
        inner: dict[str, Workers] = {}
        try:
            for own in workflows_in(plan.called()).values():
                part = replace(own.plan, locked=plan.locked, pinned=plan.pinned)
                inner[part.file] = await self.workers(part, {**workspace, **mounts_of(part)}, below=True)
            return await self._workers(plan, workspace, inner, below)
        except BaseException:
            for workers in inner.values():
                await workers.close()
            raise

    def _serving(self, plan: Plan) -> Serving | None:
        """Return the settings for the plan's MCP servers; None without servers."""
        if not plan.spec.tools.mcp:
            return None
        from strands_cli.tools.mcp.toolset import Serving  # half a second, for workflows with servers only

        folder = plan.spec.folder_of_servers(plan.base_dir)
        return Serving(folder, self.secrets.values[plan.file], self.secrets.redactor, plan.pinned)

    async def _workers(
        self, plan: Plan, workspace: Mapping[str, Any], inner: Mapping[str, Workers], below: bool
    ) -> Workers:
        if plan.locked:
            use_private_bytecode()
        toolbox = await load_tools(
            list(with_parts(plan.called(), of_others=False)),
            custom_folders(plan.base_dir, plan.spec.tools.python_path),
            objects=self.request.python_tools,
            tell=self.tell,
            hooks=plan.hooks,
            serving=self._serving(plan),
        )
        try:
            parts = Parts(toolbox, {file: (workers.agents, workers.tools) for file, workers in inner.items()})
            contract = Contract(workspace, self.secrets.values[plan.file], self.request.context)
            locked = plan.locked | {f"mcp:{server}" for server in plan.pinned}
            check = PermissionCheck(
                plan.rules,
                contract,
                self.secrets.redactor,
                plan.hooks,
                plan.file,
                locked=locked,
                parts=parts,
                is_typed=self.is_typed,
            )
            return self._joined(plan, toolbox, check, tuple(inner.values()), below)
        except BaseException:
            await toolbox.close()
            raise

    def _joined(
        self, plan: Plan, toolbox: Toolbox, check: PermissionCheck, inner: tuple[Workers, ...], below: bool
    ) -> Workers:
        require_callable(plan, toolbox)
        require_named(plan.spec, [(one.planned, one.claims) for loaded in toolbox.tools.values() for one in loaded])
        played = {agent.recording for agent in plan.agents.values() if agent.recording}
        recordings = {str(path): self.shared.recording(path, plan.files) for path in played}
        live = [agent for agent in plan.agents.values() if agent.model.provider != "replay"]
        of_others = not plan.host_is_typed and _names_host(live) and self.shared.is_of_others(plan)
        make = partial(self.shared.model, secrets=check.contract.secrets, of_others=of_others)
        # A tool's own recording has keys without the call's prefix; one of the outer workflow has the whole keys.
        models = RunModels(
            {agent.id: make(agent.model, who=agent.id) for agent in live},
            recordings,
            below=below and plan.spec.runtime.recording is not None,
        )
        context = context_of(plan, check.contract.workspace, make)
        runner = SdkAgentRunner(models, toolbox, check, context, partial(place_of_max_tokens, plan))
        return Workers(runner, CheckedToolCaller(toolbox, check), toolbox, models, check.redactor, inner)


def _names_host(agents: Iterable[PlannedAgent]) -> bool:
    """Return whether the workflow names the host of a model; an unnamed one is the provider's own."""
    models = [(known_provider(agent.model.provider), agent.model) for agent in agents]
    return any(written_host(provider, model) for provider, model in models if provider is not None)


def context_of(plan: Plan, workspace: Mapping[str, Any], make: Callable[..., Model]) -> Context:
    """Return the context policy of a plan, with its models for summaries and its notes file.

    Args:
        make: Returns the model of some settings, and for whom.

    Raises:
        ArtifactError: The notes file is not inside the workspace's `root`.
    """
    policy = plan.spec.context_policy
    notes = None
    if policy.notes is not None:
        notes = NotesFile(place_notes(Path(workspace["root"]), policy.notes.file), policy.notes.format)
    return Context(
        compaction=policy.compaction,
        summarizers={
            agent.id: make(agent.summarizer, who=f"{agent.id}, summaries")
            for agent in plan.agents.values()
            if agent.summarizer
        },
        window=policy.window,
        notes=notes,
        include_last=policy.notes.include_last if policy.notes else 0,
    )


def require_callable(plan: Plan, toolbox: Toolbox) -> None:
    """Check, with all tools loaded, that each step can call its tools.

    Raises:
        InvalidInput: Two tools of a step's agent have the same name, or a tool-call step names several tools.
    """
    for step in (placed.step for placed in plan.spec.pattern.placed):
        if isinstance(step, AgentStep):
            toolbox.offered(tools_in_step(step, plan.agents, plan.override_tools))
        elif isinstance(step, CallStep):
            toolbox.one(plan.call_tools[step.tool])
    for definition in definitions_in(plan.called(), of_others=False):
        if isinstance(definition, AgentAsTool):
            toolbox.offered(definition.agent.tools)
        elif isinstance(definition, Composite):
            for part in definition.parts:
                toolbox.one(part)


async def toolbox_caller(
    tools: Sequence[PlannedTool],
    rules: Sequence[Rule],
    workspace: Mapping[str, Any],
    tell: Tell | None = None,
    hooks: Hooks | None = None,
    *,
    is_locked: bool = False,
) -> CheckedToolCaller:
    """Load tools that a person calls directly, and return their caller with the permission check."""
    if is_locked:
        use_private_bytecode()
    # Without a workflow, secrets come from the environment variables with their names.
    values = {name: os.environ[name] for tool in tools for name in tool.secrets() if os.environ.get(name)}
    redactor = Redactor.of_environment(os.environ).union(Redactor(values.values()))
    hide_in_output(redactor)
    check = PermissionCheck(rules, Contract(workspace=workspace, secrets=values), redactor, hooks, is_typed=True)
    return CheckedToolCaller(await load_tools(tools, tell=tell, hooks=hooks), check)
