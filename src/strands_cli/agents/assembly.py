"""Assemble the tools, permission checks, models and ports of a run."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands.models import Model

from strands_cli.agents.agent_runner import RunModels, SdkAgentRunner, SharedModel
from strands_cli.agents.compaction import Context
from strands_cli.agents.model.fallback import Candidate
from strands_cli.agents.model.models import failure_to_close
from strands_cli.agents.model.plugin_models import (
    account_of,
    filled_settings,
    maker_of,
    model_of,
    with_cache_points,
)
from strands_cli.agents.remote_secrets import all_secrets
from strands_cli.config import use_private_bytecode
from strands_cli.engine.effects.budget import Budget
from strands_cli.engine.effects.provider_limits import UNLIMITED, ProviderLimits
from strands_cli.engine.effects.shared_pace import SharedPace, folder_of_paces
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.store_port import RunStore
from strands_cli.engine.stored_runs.ledger import Ledger
from strands_cli.engine.stored_runs.opened_store import open_store
from strands_cli.errors import InvalidInput
from strands_cli.hooks.manager import Hooks
from strands_cli.outputs.notes import NotesFile, place_notes
from strands_cli.planning.data_flow.secret_values import require_named, require_unwritten
from strands_cli.planning.data_flow.workflow_trust import Trust
from strands_cli.planning.environment import mounts_of
from strands_cli.planning.plan_values import (
    AgentAsTool,
    Composite,
    Plan,
    PlannedAgent,
    PlannedTool,
    all_workflows_in,
    definitions_in,
    tools_in_step,
    with_parts,
    workflows_in,
)
from strands_cli.planning.planned_tool import secrets_in
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.rule import Rule
from strands_cli.provider_table import known_provider
from strands_cli.providers import ModelSettings, value_at, written_host
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor, hide_in_output
from strands_cli.store_place import StorePlace
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.tools.calls.agent_tools import CheckedToolCaller
from strands_cli.tools.calls.calling_contract import Contract
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.calls.workflow_tool_calls import LoadedToolParts
from strands_cli.tools.tool_loading import Tell, Toolbox, custom_folders, load_tools
from strands_cli.user_files.stored_keys import with_taken_keys
from strands_cli.workflow.recording_file import Recording, load_recording
from strands_cli.workflow.steps import AgentStep, CallStep
from strands_cli.yaml_files.document import escape
from strands_cli.yaml_files.document_reader import FileSnapshot, read_document, stored_name

if TYPE_CHECKING:
    from strands_cli.tools.mcp.toolset import ServerNeeds


# Where the length of an agent's answers is limited.


def place_of_max_tokens(plan: Plan, agent_id: str) -> str:
    """Return where the length of an agent's answers is limited: an option, or a key with its place in the file."""
    agent = plan.spec.agents.get(agent_id)
    own = agent.inference.max_tokens if agent is not None else None
    written = plan.spec.runtime.max_tokens if own is None else own
    if agent_id in plan.agents and plan.agents[agent_id].model.max_tokens != written:
        return "--max-tokens"
    key, pointer = "runtime.max_tokens", "/runtime/max_tokens"
    if own is not None:
        key, pointer = f"agents.{agent_id}.inference.max_tokens", f"/agents/{escape(agent_id)}/inference/max_tokens"
    document = read_document(plan.file, plan.text)
    if pointer not in document.positions:
        return key
    where = document.where(pointer)
    return f"{key} ({where.file}:{where.line}:{where.column})"


# The shared parts of the runs of one process: models with their connections, values of secrets, recordings, and limits.


@dataclass(frozen=True, slots=True)
class PlanSecrets:
    """The values of a plan's secrets by the file of each workflow in it, and the redactor that hides them."""

    values: Mapping[str, Mapping[str, str]] = field(repr=False)
    redactor: Redactor


class SharedRuns:
    """The parts that runs of one event loop need only once; `app.shared_runs` makes it and closes it after them.

    Each run has its own tools, MCP servers, conversations and journal. A model whose settings a tool changes becomes
    the run's own.

    Attributes:
        budget: The limit of all runs together; None for no limit.
        provider_limits: How often they may ask each provider.
        worker: The id of the worker whose runs they are; empty for runs of no worker.
        retry: The words of the command that runs failed ones again; empty for runs of their own.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        provider_limits: ProviderLimits = UNLIMITED,
        worker: str = "",
        retry: Sequence[str] = (),
    ) -> None:
        self.budget = budget
        self.provider_limits = provider_limits
        self.worker = worker
        self.retry = retry
        self._models: dict[str, tuple[str, Model]] = {}
        self._paces: dict[str, SharedPace] = {}
        self._recordings: dict[tuple[str, str], Recording] = {}
        self._stores: dict[StorePlace, RunStore] = {}
        self._ledgers: dict[StorePlace, Ledger] = {}
        self._secrets: dict[int, tuple[Plan, PlanSecrets]] = {}
        self._of_others: dict[int, bool] = {}

    async def know(self, plan: Plan) -> None:
        """Read the secrets of a plan for all runs of it and of its rows.

        Raises:
            NotEquipped: A secret has no value.
        """
        self._secrets[id(plan.spec)] = plan, await secrets_of(plan)

    async def secrets(self, plan: Plan) -> PlanSecrets:
        """Return the secrets of a plan; those of an unknown plan are read now.

        Raises:
            NotEquipped: A secret has no value.
        """
        cached = self._secrets.get(id(plan.spec))
        return cached[1] if cached is not None else await secrets_of(plan)

    def is_of_others(self, plan: Plan) -> bool:
        """Return `Trust.is_of_others` of a plan; that of a known plan and of its rows is found once."""
        key = id(plan.spec)
        if key not in self._secrets:
            return Trust.of(plan).is_of_others
        if key not in self._of_others:
            self._of_others[key] = Trust.of(plan).is_of_others
        return self._of_others[key]

    def model(
        self,
        settings: ModelSettings,
        secrets: Mapping[str, str],
        who: str,
        *,
        of_others: bool = False,
    ) -> SharedModel:
        """Return the model of some settings for one run; runs with the same ones share the object behind it.

        Args:
            who: Who asks it, for messages.
            of_others: Whether others wrote the host.

        Raises:
            NotEquipped: The provider's client cannot be loaded.
            InvalidInput: A setting is refused.
        """
        make = partial(model_of, settings, secrets, of_others=of_others)
        key = canonical_json([*astuple(filled_settings(settings, secrets)), maker_of(settings), of_others])
        if key not in self._models:
            self._models[key] = who, make()
        return SharedModel(self._models[key][1], make, self._pace(filled_settings(settings, secrets)))

    def _pace(self, settings: ModelSettings) -> SharedPace:
        account = account_of(settings, with_taken_keys(os.environ))
        if account not in self._paces:
            self._paces[account] = SharedPace(folder_of_paces(os.environ), account, SystemClock())
        return self._paces[account]

    def recording(self, path: Path, files: Mapping[str, str]) -> Recording:
        """Return a recording, from the files that a plan was made from.

        Raises:
            InvalidInput: It cannot be played.
        """
        key = str(path), files.get(stored_name(path), "")
        if key in self._recordings:
            return self._recordings[key]
        recording, findings = load_recording(FileSnapshot(texts=files).read(path))
        if recording is None:
            raise InvalidInput(f"the recording {path} cannot be played", findings=findings)
        if key[1]:
            self._recordings[key] = recording
        return recording

    def open_store(self, place: StorePlace) -> RunStore:
        """Return the open store of a place.

        Raises:
            RunRecordError: It cannot be opened.
        """
        if place not in self._stores:
            self._stores[place] = open_store(place)
        return self._stores[place]

    def ledger(self, place: StorePlace) -> Ledger:
        """Return what the runs of a store spend, for all runs of this loop.

        Raises:
            RunRecordError: The store cannot be opened.
        """
        if place not in self._ledgers:
            self._ledgers[place] = Ledger(self.open_store(place), SystemClock())
        return self._ledgers[place]

    async def close(self) -> list[str]:
        """Close the stores, and the models' connections; return the failures, one line each."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()
        closed = [await failure_to_close(who, model) for who, model in self._models.values()]
        self._models.clear()
        return [problem for problem in closed if problem]


@contextlib.asynccontextmanager
async def opened_runs(
    plans: Sequence[Plan] = (),
    budget: Budget | None = None,
    provider_limits: ProviderLimits | None = None,
    warn: Callable[[str], None] | None = None,
    worker: str = "",
    retry: Sequence[str] = (),
) -> AsyncIterator[SharedRuns]:
    """Yield the shared parts of runs, and close them afterwards.

    Args:
        plans: Plans whose secrets are read now.
        warn: Receives a line for each connection that cannot be closed: the results of the runs are valid all the same.
        worker: See `SharedRuns`, as for `retry`.

    Raises:
        NotEquipped: A secret of a plan has no value.
    """
    shared = SharedRuns(budget, provider_limits or UNLIMITED, worker, retry)
    try:
        for plan in plans:
            await shared.know(plan)
        yield shared
    finally:
        for problem in await shared.close():
            if warn is not None:
                warn(problem)


async def secrets_of(plan: Plan) -> PlanSecrets:
    """Return the values of the secrets of a plan and of the workflows in it.

    Raises:
        NotEquipped: A secret has no value.
    """
    plans = list({each.file: each for each in (*all_workflows_in(plan), plan)}.values())
    # In a thread: a program that prints a secret may be slow.
    values = {plan.file: await asyncio.to_thread(all_secrets, plan) if plan.spec.env.secrets else {} for plan in plans}
    redactor = Redactor(value for own in values.values() for value in own.values()).union(*map(redactor_of, plans))
    return PlanSecrets(values, redactor)


def redactor_of(plan: Plan) -> Redactor:
    """Return the redactor for providers' keys, also those in options, and for personal data if the workflow sets it."""
    written = set()
    for model in (model for agent in plan.agents.values() for model in agent.models):
        provider = known_provider(model.provider)
        key_path = provider.key_place if provider else None
        written.add(value_at(model.options, key_path) if key_path else None)
    personal = plan.spec.security.guardrails.pii_redaction
    keys = Redactor((key for key in written if isinstance(key, str) and not secrets_in(key)), personal=personal)
    return Redactor.of_environment(with_taken_keys(os.environ)).union(keys)


@dataclass(frozen=True, slots=True)
class Workers:
    """The engine's two ports for agents and tools, and their resources; `redactor` hides the run's secrets.

    `inner` are the workers of the workflows among its tools.
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
        workspace: The folders that file tools may touch.
        shared: The shared parts of runs.
        request: Has the Python objects of a program that are tools, and its values for the tools of this run.
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
    files = dict.fromkeys(workflow.file for workflow in all_workflows_in(plan) if workflow.file != plan.file)
    guarded = [str(Path(file).absolute()) for file in files]
    workspace = {**workspace, "protected": [*workspace.get("protected", ()), *guarded]}
    assembly = _Assembly(shared, secrets, request or RunRequest(), tell, is_typed)
    return await assembly.workers(plan, workspace)


@dataclass(frozen=True, slots=True)
class _Assembly:
    """The shared parts of a workflow and the workflows among its tools: models, secrets by file, and loading."""

    shared: SharedRuns
    secrets: PlanSecrets
    request: RunRequest
    tell: Tell | None
    is_typed: bool

    async def workers(self, plan: Plan, workspace: Mapping[str, Any], *, below: bool = False) -> Workers:
        """Return the workers of a workflow and of those among its tools; `below` if it is a tool itself."""
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

    def _serving(self, plan: Plan) -> ServerNeeds | None:
        """Return the settings for the plan's MCP servers; None without servers."""
        if not plan.spec.tools.mcp:
            return None
        from strands_cli.tools.mcp.toolset import ServerNeeds  # half a second, for workflows with servers only

        folder = plan.spec.folder_of_servers(plan.base_dir)
        return ServerNeeds(folder, self.secrets.values[plan.file], self.secrets.redactor, plan.pinned)

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
            parts = LoadedToolParts(toolbox, {file: (workers.agents, workers.tools) for file, workers in inner.items()})
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
        require_named(plan.spec, [(tool.planned, tool.claims) for loaded in toolbox.tools.values() for tool in loaded])
        played = {agent.recording for agent in plan.agents.values() if agent.recording}
        recordings = {str(path): self.shared.recording(path, plan.files) for path in played}
        live = [agent for agent in plan.agents.values() if agent.model.provider != "replay"]
        of_others = not plan.host_is_typed and _names_host(live) and self.shared.is_of_others(plan)
        make = partial(self.shared.model, secrets=check.contract.secrets, of_others=of_others)
        # A tool's own recording has keys without the call's prefix; one of the outer workflow has the whole keys.
        models = RunModels(
            {agent.id: _with_others(agent, make) for agent in live},
            recordings,
            below=below and plan.spec.runtime.recording is not None,
        )
        context = context_of(plan, check.contract.workspace, make)
        runner = SdkAgentRunner(models, toolbox, check, context, partial(place_of_max_tokens, plan))
        return Workers(runner, CheckedToolCaller(toolbox, check), toolbox, models, check.redactor, inner)


def _with_others(agent: PlannedAgent, make: Callable[..., SharedModel]) -> SharedModel:
    """Return the model of an agent with those that go on in its place."""

    def made(settings: ModelSettings) -> SharedModel:
        return make(with_cache_points(settings, has_tools=bool(agent.tools)), who=agent.id)

    model = made(agent.model)
    others = [(made(other.model), other) for other in agent.alternates]
    model.others = [
        Candidate(another, other.model, other.on, another.shared, another.pace) for another, other in others
    ]
    return model


def _names_host(agents: Iterable[PlannedAgent]) -> bool:
    """Return whether the workflow names the host of a model; an unnamed one is the provider's own."""
    models = [(known_provider(model.provider), model) for agent in agents for model in agent.models]
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
            toolbox.single_tool(plan.call_tools[step.tool])
    for definition in definitions_in(plan.called(), of_others=False):
        if isinstance(definition, AgentAsTool):
            toolbox.offered(definition.agent.tools)
        elif isinstance(definition, Composite):
            for part in definition.parts:
                toolbox.single_tool(part)


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
    redactor = Redactor.of_environment(with_taken_keys(os.environ)).union(Redactor(values.values()))
    hide_in_output(redactor)
    check = PermissionCheck(rules, Contract(workspace=workspace, secrets=values), redactor, hooks, is_typed=True)
    return CheckedToolCaller(await load_tools(tools, tell=tell, hooks=hooks), check)
