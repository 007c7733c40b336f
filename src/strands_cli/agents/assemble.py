"""Put together what a run needs from this room: loaded tools, the gate before them, models, and the two ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strands.models import Model

from strands_cli.agents.gate import Contract, Gate
from strands_cli.agents.load import Toolbox, load_tools
from strands_cli.agents.models import build_model, close_model
from strands_cli.agents.runner import SdkAgentRunner, model_source
from strands_cli.agents.tools import GatedToolCaller
from strands_cli.planning.plan import Plan, PlannedTool
from strands_cli.policy import Rule
from strands_cli.spec.document import read_document
from strands_cli.spec.recording import Recording, load_recording


@dataclass(frozen=True, slots=True)
class Workers:
    """The two ports of the engine that this room implements, and what they hold."""

    agents: SdkAgentRunner
    tools: GatedToolCaller
    toolbox: Toolbox
    models: Mapping[str, Model]

    async def close(self) -> list[str]:
        """Close tools that have state and the models' connections; return what went wrong, one line each."""
        problems = await self.toolbox.close()
        for model in self.models.values():
            await close_model(model)
        return problems


async def assemble(plan: Plan, workspace: Mapping[str, Any]) -> Workers:
    """Load every tool and model of a plan before its first effect.

    Raises:
        NotEquipped: a tool or a provider's client cannot be loaded.
        Denied: a tool is not what its manifest says.
    """
    toolbox = await load_tools(tools_of_plan(plan), plan.base_dir, plan.spec.tools.python_path)
    gate = Gate(plan.rules, Contract(workspace=workspace, secrets={}))
    recordings = {str(path): _recording(path) for path in {a.recording for a in plan.agents.values()} if path}
    models = {agent.id: build_model(agent.model) for agent in plan.agents.values() if agent.model.provider != "replay"}
    source = model_source(models, recordings)
    return Workers(SdkAgentRunner(source, toolbox, gate), GatedToolCaller(toolbox, gate), toolbox, models)


async def toolbox_caller(
    tools: Sequence[PlannedTool], rules: Sequence[Rule], workspace: Mapping[str, Any]
) -> GatedToolCaller:
    """Load some tools by themselves and return what calls them through the gate."""
    toolbox = await load_tools(tools)
    return GatedToolCaller(toolbox, Gate(rules, Contract(workspace=workspace, secrets={})))


def tools_of_plan(plan: Plan) -> list[PlannedTool]:
    """Return every tool that an agent or a step of the plan may call."""
    tools = [tool for agent in plan.agents.values() for tool in agent.tools]
    tools += [tool for group in plan.override_tools.values() for tool in group]
    return [*tools, *plan.call_tools.values()]


def _recording(path: Path) -> Recording:
    recording, findings = load_recording(read_document(path))
    if recording is None:
        from strands_cli.errors import InvalidInput

        raise InvalidInput(f"the recording {path} cannot be played", findings=findings)
    return recording
