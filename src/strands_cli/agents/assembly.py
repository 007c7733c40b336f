"""Assemble the tools, permission checks, models and ports of a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands.models import Model

from strands_cli.agents.agent_runner import SdkAgentRunner, model_source
from strands_cli.agents.compaction import Context
from strands_cli.agents.model import close_model, model_of
from strands_cli.agents.remote_secrets import all_secrets
from strands_cli.config import use_private_bytecode
from strands_cli.errors import InvalidInput
from strands_cli.hooks import Hooks
from strands_cli.outputs import NotesFile, place_notes
from strands_cli.planning.data_flow import require_named, require_unwritten
from strands_cli.planning.plan import AgentAsTool, Composite, Plan, PlannedTool, tools_in_step
from strands_cli.planning.planned_tools import secrets_in
from strands_cli.planning.watch import mounts_of
from strands_cli.planning.workflow_tools import all_workflows_in, definitions_in, with_parts, workflows_in
from strands_cli.policy.rules import Rule
from strands_cli.provider_table import PROVIDERS
from strands_cli.providers import value_at
from strands_cli.secrets import HIDE_NOTHING, Redactor, hide_in_output
from strands_cli.tools.calls import CheckedToolCaller, Contract, Parts, PermissionCheck
from strands_cli.tools.loading import ObjectTools, Tell, Toolbox, custom_folders, load_tools
from strands_cli.workflow.files import Recording, load_recording
from strands_cli.workflow.steps import AgentStep, CallStep
from strands_cli.workflow.yaml import FileSnapshot

if TYPE_CHECKING:
    from strands_cli.tools.mcp import Serving


@dataclass(frozen=True, slots=True)
class Workers:
    """The engine's two ports for agents and tools, and their resources; `redactor` hides the run's secrets.

    `inner` are the workers of workflows that are tools of this one.
    """

    agents: SdkAgentRunner
    tools: CheckedToolCaller
    toolbox: Toolbox
    models: Mapping[str, Model]
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
        """Close tools with state and the models' connections; return the failures, one line each."""
        problems = [problem for workers in self.inner for problem in await workers.close()]
        problems += await self.toolbox.close()
        for name, model in self.models.items():
            try:
                await close_model(model)
            except Exception as error:  # noqa: BLE001 - a provider's client may raise anything; the run's result is valid
                problems.append(f"closing the model of '{name}' failed: {type(error).__name__}: {error}")
        return problems


async def assemble(
    plan: Plan,
    workspace: Mapping[str, Any],
    objects: ObjectTools | None = None,
    tell: Tell | None = None,
    context: Mapping[str, Any] | None = None,
    *,
    is_typed: bool = False,
) -> Workers:
    """Load every tool and model of a plan before its first effect.

    Args:
        workspace: What file tools may touch.
        objects: The Python objects of a program that are tools.
        tell: Is called for a slow import of a plugin.
        context: What a program gives to the tools of this run.
        is_typed: Whether a person makes the calls by hand.

    Raises:
        NotEquipped: A tool or a provider's client cannot be loaded.
        Denied: A tool differs from its manifest.
        InvalidInput: The value of a secret is written in a place that the journal stores.
    """
    plans = list({one.file: one for one in (*all_workflows_in(plan), plan)}.values())
    # In a thread: a program that prints a secret may be slow.
    values = {one.file: await asyncio.to_thread(all_secrets, one) if one.spec.env.secrets else {} for one in plans}
    for own in values.values():
        require_unwritten(plan, own)
    redactor = Redactor(value for own in values.values() for value in own.values()).union(*map(redactor_of, plans))
    hide_in_output(redactor)
    guarded = [str(Path(one.file).absolute()) for one in plans if one is not plan]
    workspace = {**workspace, "protected": [*workspace.get("protected", ()), *guarded]}
    return await _Assembly(values, redactor, objects, tell, context or {}, is_typed).workers(plan, workspace)


@dataclass(frozen=True, slots=True)
class _Assembly:
    """The state that a workflow shares with the workflows that are its tools: secrets by file, and loading."""

    values: Mapping[str, Mapping[str, str]] = field(repr=False)
    redactor: Redactor
    objects: ObjectTools | None
    tell: Tell | None
    context: Mapping[str, Any] = field(repr=False)
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
        from strands_cli.tools.mcp import Serving  # half a second, for workflows with servers only

        folder = plan.spec.folder_of_servers(plan.base_dir)
        return Serving(folder, self.values[plan.file], self.redactor, plan.pinned)

    async def _workers(
        self, plan: Plan, workspace: Mapping[str, Any], inner: Mapping[str, Workers], below: bool
    ) -> Workers:
        if plan.locked:
            use_private_bytecode()
        toolbox = await load_tools(
            list(with_parts(plan.called(), of_others=False)),
            custom_folders(plan.base_dir, plan.spec.tools.python_path),
            objects=self.objects,
            tell=self.tell,
            hooks=plan.hooks,
            serving=self._serving(plan),
        )
        try:
            parts = Parts(toolbox, {file: (workers.agents, workers.tools) for file, workers in inner.items()})
            contract = Contract(workspace, self.values[plan.file], self.context)
            locked = plan.locked | {f"mcp:{server}" for server in plan.pinned}
            check = PermissionCheck(
                plan.rules,
                contract,
                self.redactor,
                plan.hooks,
                plan.file,
                locked=locked,
                parts=parts,
                is_typed=self.is_typed,
            )
            return _joined(
                plan, toolbox, check, context_of(plan, workspace, contract.secrets), tuple(inner.values()), below
            )
        except BaseException:
            await toolbox.close()
            raise


def _joined(
    plan: Plan, toolbox: Toolbox, check: PermissionCheck, context: Context, inner: tuple[Workers, ...], below: bool
) -> Workers:
    require_callable(plan, toolbox)
    require_named(plan.spec, [(one.planned, one.claims) for loaded in toolbox.tools.values() for one in loaded])
    recordings = {
        str(agent.recording): _recording(agent.recording, plan.files)
        for agent in plan.agents.values()
        if agent.recording
    }
    live = [agent for agent in plan.agents.values() if agent.model.provider != "replay"]
    models = {agent.id: model_of(agent.model, plan.hooks, check.contract.secrets) for agent in live}
    # A tool's own recording has keys without the call's prefix; one of the outer workflow has the whole keys.
    source = model_source(models, recordings, below=below and plan.spec.runtime.recording is not None)
    models |= {f"{name}, summaries": model for name, model in context.summarizers.items()}
    runner = SdkAgentRunner(source, toolbox, check, context)
    return Workers(runner, CheckedToolCaller(toolbox, check), toolbox, models, check.redactor, inner)


def context_of(plan: Plan, workspace: Mapping[str, Any], values: Mapping[str, str]) -> Context:
    """Return the context policy of a plan, with its models for summaries and its notes file.

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
            agent.id: model_of(agent.summarizer, plan.hooks, values)
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
    for step in (placed.step for placed in plan.spec.pattern.steps()):
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


def redactor_of(plan: Plan) -> Redactor:
    """Return the redactor for providers' keys, also those in options, and for personal data if the workflow sets it."""
    written = set()
    for agent in plan.agents.values():
        provider = PROVIDERS.get(agent.model.provider)  # only a plugin knows its own options
        place = provider.key_place if provider else None
        written.add(value_at(agent.model.options, place) if place else None)
    personal = plan.spec.security.guardrails.pii_redaction
    keys = Redactor((key for key in written if isinstance(key, str) and not secrets_in(key)), personal=personal)
    return Redactor.of_environment(os.environ).union(keys)


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


def _recording(path: Path, files: Mapping[str, str]) -> Recording:
    recording, findings = load_recording(FileSnapshot(texts=files).read(path))
    if recording is None:
        raise InvalidInput(f"the recording {path} cannot be played", findings=findings)
    return recording
