"""Put together what a run needs from this room: loaded tools, the gate before them, models, and the two ports."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from strands.models import Model

from strands_cli.agents.context import Context
from strands_cli.agents.gate import Contract, Gate
from strands_cli.agents.given import GivenTools
from strands_cli.agents.kept import Tell
from strands_cli.agents.load import Toolbox, load_tools
from strands_cli.agents.models import close_model
from strands_cli.agents.plugin_models import model_of
from strands_cli.agents.reload import Reloader, with_reloading
from strands_cli.agents.runner import SdkAgentRunner, model_source
from strands_cli.agents.tools import GatedToolCaller
from strands_cli.errors import InvalidInput
from strands_cli.hooks.manager import Hooks
from strands_cli.outputs.notes import NotesFile, place_notes
from strands_cli.planning.plan import Plan, PlannedTool, tools_of
from strands_cli.planning.secrets import read_secrets, require_unwritten, secrets_declared
from strands_cli.planning.steps import steps_of
from strands_cli.policy import Rule
from strands_cli.providers import PROVIDERS, value_at
from strands_cli.secrets import known_secrets
from strands_cli.secrets.process import hide
from strands_cli.spec.kept import Kept
from strands_cli.spec.model import AgentStep, CallStep
from strands_cli.spec.recording import Recording, load_recording


@dataclass(frozen=True, slots=True)
class Workers:
    """The two ports of the engine that this room implements, and what they hold; `secrets` may appear nowhere."""

    agents: SdkAgentRunner
    tools: GatedToolCaller
    toolbox: Toolbox
    models: Mapping[str, Model]
    secrets: frozenset[str] = frozenset()

    async def close(self) -> list[str]:
        """Close tools that have state and the models' connections; return what went wrong, one line each."""
        problems = await self.toolbox.close()
        for name, model in self.models.items():
            try:
                await close_model(model)
            except Exception as error:  # noqa: BLE001 - a provider's client; the run's result stands
                problems.append(f"closing the model of '{name}' failed: {type(error).__name__}: {error}")
        return problems


async def assemble(
    plan: Plan,
    workspace: Mapping[str, Any],
    given: GivenTools | None = None,
    tell: Tell | None = None,
    *,
    reload: bool = False,
) -> Workers:
    """Load every tool and model of a plan before its first effect; `tell` hears which plugin's import takes long.

    With `reload` a tool whose files change is loaded again before its next call.

    Raises:
        NotEquipped: a tool or a provider's client cannot be loaded.
        Denied: a tool is not what its manifest says.
        InvalidInput: the value of a secret is written where the record would keep it.
    """
    # In a thread: a program that prints a secret may take its time.
    values = await asyncio.to_thread(read_secrets, plan)
    require_unwritten(plan, values)
    secrets = secrets_of(plan) | frozenset(values.values())
    hide(secrets)
    load = partial(
        load_tools, base_dir=plan.base_dir, python_path=plan.spec.tools.python_path, given=given, tell=tell,
        hooks=plan.hooks,
    )  # fmt: skip
    reloader = Reloader(plan, load) if reload else None
    toolbox = await (reloader.load_all if reloader else load)(tools_of_plan(plan))
    try:
        require_callable(plan, toolbox)
        contract = Contract(workspace=workspace, secrets=values)
        gate = Gate(plan.rules, contract, secrets, plan.hooks, plan.file)
        gate = with_reloading(gate, reloader) if reloader else gate
        recordings = {
            str(agent.recording): _recording(agent.recording, plan.files)
            for agent in plan.agents.values() if agent.recording
        }  # fmt: skip
        live = [agent for agent in plan.agents.values() if agent.model.provider != "replay"]
        models = {agent.id: model_of(agent.model, plan.hooks) for agent in live}
        context = context_of(plan, workspace)
    except BaseException:
        await toolbox.close()
        raise
    source = model_source(models, recordings)
    models |= {f"{name}, summaries": model for name, model in context.summarizers.items()}
    runner, caller = SdkAgentRunner(source, toolbox, gate, context), GatedToolCaller(toolbox, gate)
    return Workers(runner, caller, toolbox, models, secrets)


def context_of(plan: Plan, workspace: Mapping[str, Any]) -> Context:
    """Return what keeps the agents' conversations small: models for summaries, and the notes file.

    Raises:
        ArtifactError: the notes file is not inside the workspace's `root`.
    """
    policy = plan.spec.context_policy
    notes = None
    if policy.notes is not None:
        notes = NotesFile(place_notes(Path(workspace["root"]), policy.notes.file), policy.notes.format)
    return Context(
        compaction=policy.compaction,
        summarizers={
            agent.id: model_of(agent.summarizer, plan.hooks) for agent in plan.agents.values() if agent.summarizer
        },
        window=policy.window,
        notes=notes,
        include_last=policy.notes.include_last if policy.notes else 0,
    )


def require_callable(plan: Plan, toolbox: Toolbox) -> None:
    """Check, now that all tools are known, that each step has what it needs.

    Raises:
        InvalidInput: two tools of a step's agent have one name, or a tool-call step names several tools.
    """
    for _, _, step in steps_of(plan.spec):
        if isinstance(step, AgentStep):
            toolbox.offered(tools_of(step, plan.agents, plan.override_tools))
        elif isinstance(step, CallStep):
            toolbox.one(plan.call_tools[step.tool])


def secrets_of(plan: Plan) -> frozenset[str]:
    """Return what may appear in no result, event or record: the providers' keys, also those written in options."""
    written = set()
    for agent in plan.agents.values():
        provider = PROVIDERS.get(agent.model.provider)  # what a plugin's options hold, only it knows
        place = provider.key_place if provider else None
        written.add(value_at(agent.model.options, place) if place else None)
    return known_secrets(os.environ) | {key for key in written if isinstance(key, str)}


async def toolbox_caller(
    tools: Sequence[PlannedTool],
    rules: Sequence[Rule],
    workspace: Mapping[str, Any],
    tell: Tell | None = None,
    hooks: Hooks | None = None,
) -> GatedToolCaller:
    """Load tools that a person calls by hand and return what calls them through the gate."""
    # No workflow says where they are: the environment variables of their names.
    values = {name: os.environ[name] for tool in tools for name in secrets_declared(tool) if os.environ.get(name)}
    secrets = known_secrets(os.environ) | frozenset(values.values())
    hide(secrets)
    gate = Gate(rules, Contract(workspace=workspace, secrets=values), secrets, hooks, is_typed=True)
    return GatedToolCaller(await load_tools(tools, tell=tell, hooks=hooks), gate)


def tools_of_plan(plan: Plan) -> list[PlannedTool]:
    """Return every tool that an agent or a step of the plan may call."""
    tools = [tool for agent in plan.agents.values() for tool in agent.tools]
    tools += [tool for group in plan.override_tools.values() for tool in group]
    return [*tools, *plan.call_tools.values()]


def _recording(path: Path, files: Mapping[str, str]) -> Recording:
    recording, findings = load_recording(Kept(texts=files).read(path))
    if recording is None:
        raise InvalidInput(f"the recording {path} cannot be played", findings=findings)
    return recording
