"""The model of a workflow, with the models of its parts."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StrictFloat, StrictInt, StrictStr

from strands_cli.workflow.agent_sections import AgentSpec, ContextPolicy, Skill
from strands_cli.workflow.base_model import FormatModel, Named, ReadByItself
from strands_cli.workflow.coercion import coerce
from strands_cli.workflow.patterns.chain import Chain
from strands_cli.workflow.patterns.pattern_models import Pattern
from strands_cli.workflow.sections import Env, Inputs, Metadata, Outputs, Rendering, Runtime, Security, Telemetry
from strands_cli.workflow.steps.step_models import AgentStep, CallStep
from strands_cli.workflow.steps.tool_entries import Tools
from strands_cli.workflow.templates.template import Templates

if TYPE_CHECKING:
    from strands_cli.workflow.known_answers import KnownAnswers

# What is written as `_` in the plain path of an artifact.
_NOT_IN_PATHS = re.compile(r"[^\w./-]+")


class WorkflowSpec(FormatModel):
    """One workflow: its agents, the tools that they may use, and the pattern in which they work.

    Where there are agents, `runtime` names a `provider`.
    """

    version: StrictInt | StrictFloat | StrictStr = Field(
        description="Version of the format: `2`. An installed distribution translates a file of another version.",
        examples=[2],
    )
    name: str = Field(min_length=1, description="Name of the workflow.")
    description: str | None = Field(default=None, description="What the workflow does.")
    tags: tuple[str, ...] = Field(default=(), description="Words by which the workflow can be found.")
    metadata: Metadata = Field(
        default_factory=Metadata.model_construct, description="Title and labels, for people and catalogues."
    )
    runtime: Runtime = Field(
        default_factory=Runtime.model_construct, description="The default model, and the limits of a run."
    )
    inputs: Inputs = Field(default_factory=Inputs.model_construct, description="The variables a run takes.")
    env: Annotated[Env, ReadByItself(Env)] = Field(
        default_factory=Env.model_construct, description="Secrets and directories of the machine."
    )
    telemetry: Annotated[Telemetry, ReadByItself(Telemetry)] = Field(
        default_factory=Telemetry.model_construct, description="Where traces go, and what they omit."
    )
    context_policy: Annotated[ContextPolicy, ReadByItself(ContextPolicy)] = Field(
        default_factory=ContextPolicy.model_construct, description="How context stays small."
    )
    skills: tuple[Annotated[Skill, ReadByItself(Skill)], ...] = Field(
        default=(), description="Folders of instructions, loaded on demand."
    )
    tools: Annotated[Tools, ReadByItself(Tools)] = Field(
        default_factory=Tools.model_construct, description="The tools of the workflow."
    )
    agents: Named[AgentSpec] = Field(
        default_factory=dict, description="The agents, by id; steps that only call tools need none."
    )
    pattern: Pattern = Field(description="How the agents work together.")
    rendering: Rendering = Field(default_factory=Rendering.model_construct, description="How templates are rendered.")
    outputs: Outputs = Field(default_factory=Outputs.model_construct, description="Files the run writes.")
    security: Annotated[Security, ReadByItself(Security)] = Field(
        default_factory=Security.model_construct, description="Restrictions on the workflow's tools."
    )

    def templates(self) -> Templates:
        """Return what renders its templates."""
        keeps_control = self.rendering.control_characters == "keep"
        return Templates(removes_control=not keeps_control)

    def artifact_path(self, rendered: str) -> str:
        """Return where an artifact is written."""
        parts = rendered.split("/")
        if not self.outputs.plain_paths or ".." in parts or not parts[0] or not parts[-1]:
            return rendered
        path = "/".join(part for part in parts if part != ".")
        return re.sub("__+", "_", _NOT_IN_PATHS.sub("_", path)).strip("._/") or rendered

    @property
    def only_agent(self) -> str | None:
        """The agent of a workflow that has one agent and one step, which is its own."""
        steps = self.pattern.config.steps if isinstance(self.pattern, Chain) else ()
        is_alone = len(self.agents) == len(steps) == 1 and isinstance(steps[0], AgentStep)
        return next(iter(self.agents)) if is_alone else None

    @property
    def schema_of_inputs(self) -> Mapping[str, Any] | None:
        """What the inputs of a run must fit together: the `input_schema` of an only agent that is for the run."""
        about_inputs = any(agent.input_schema_for == "run" for agent in self.agents.values())
        agent = self.agents[self.only_agent] if about_inputs and self.only_agent is not None else None
        schema = agent.input_schema if agent is not None and agent.takes_object else None
        return schema if isinstance(schema, Mapping) else None

    def object_of_inputs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs of a run that the schema is about: not those that only the workflow itself declares."""
        from strands_cli.workflow.described_inputs import inputs_in  # most workflows have no such schema

        described = {name for part in inputs_in(self.schema_of_inputs or {}) for name in part}
        others = {*self.inputs.declared(), *self.inputs.values} - described
        given = {name: value for name, value in inputs.items() if value is not None and name not in others}
        declared = self.inputs.declared()
        return {
            name: coerce(declared[name].type, value) if isinstance(value, str) and name in declared else value
            for name, value in given.items()
        }

    def folder_of_servers(self, folder: Path) -> Path:
        """Return where the programs of MCP servers run; `folder` is that of the file."""
        return Path.cwd() if self.tools.mcp_folder == "working" else folder

    def words_of_gate(self, key: str) -> tuple[tuple[str, ...], bool]:
        """Return the answers to a gate that the workflow knows, and whether it takes no other; by its key in a run."""
        return self._known_answers.of(key)

    @functools.cached_property
    def _known_answers(self) -> KnownAnswers:
        from strands_cli.workflow.known_answers import KnownAnswers

        return KnownAnswers(self.pattern, self.outputs, self.templates())

    def named_tools(self) -> list[str]:
        """Return every tool reference in the workflow."""
        entries = [*self.tools.python, *(entry for agent in self.agents.values() for entry in agent.tools or ())]
        called = [step.tool for composite in self.tools.composite for step in composite.steps]
        for step in (placed.step for placed in self.pattern.placed):
            if isinstance(step, AgentStep):
                entries += step.tool_overrides or ()
            elif isinstance(step, CallStep):
                called.append(step.tool)
        return [*(entry.tool for entry in entries), *called]
