"""The sections about agents: their prompts, limits and context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, PrivateAttr, ValidationError

from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.sections import (
    FormatModel,
    Identifier,
    InputSpec,
    Loops,
    ModelEntry,
    ReadByItself,
    ToolsShown,
)
from strands_cli.workflow.steps import ToolEntry

if TYPE_CHECKING:
    from strands_cli.workflow.sections import InputSpec


# Inputs that a JSON Schema describes.


class _OfAnyType(InputSpec):
    """An input whose schema does not name one type: its value stays as it is."""

    def coerced(self, value: Any) -> Any:
        """Return the value."""
        return value


class _DescribedInput(InputSpec):
    """An input whose schema may have defaults for parts of an object."""

    _schema: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    def coerced(self, value: Any) -> Any:
        """Return the value with the defaults of the parts that it lacks."""
        return _with_defaults(super().coerced(value), self._schema)


def _with_defaults(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list) and (each := json_object(schema.get("items"))):
        return [_with_defaults(item, each) for item in value]
    if not isinstance(value, dict):
        return value
    parts = {name: json_object(part) for name, part in json_object(schema.get("properties")).items()}
    absent = {name: part["default"] for name, part in parts.items() if "default" in part and name not in value}
    return {name: _with_defaults(item, parts.get(name, {})) for name, item in {**value, **absent}.items()}


def inputs_in(schema: Mapping[str, Any]) -> tuple[dict[str, InputSpec], dict[str, InputSpec]]:
    """Return the required and the optional properties of an object of this schema, as inputs."""
    required = schema.get("required")
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    properties = json_object(schema.get("properties"))
    specs = {name: _input_of(json_object(properties.get(name))) for name in (*properties, *needed)}
    return (
        {name: input_spec for name, input_spec in specs.items() if name in needed},
        {name: input_spec for name, input_spec in specs.items() if name not in needed},
    )


def _input_of(part: Mapping[str, Any]) -> InputSpec:
    """Return an input as its own schema describes it."""
    described = {name: part[name] for name in ("type", "default", "enum") if name in part}
    try:
        if "type" not in part:
            return _OfAnyType(default=part.get("default"))
        input_spec = _DescribedInput.model_validate(described)
        input_spec._schema = part
        return input_spec
    except ValidationError:  # several types, for example
        return _OfAnyType(default=part.get("default"))


# The steps that an agent remembers.
Memory = Literal["step", "run", "path"]


class Compaction(FormatModel):
    """When and how a long conversation is summarised."""

    enabled: bool = Field(default=True, description="Whether conversations are summarised at all.")
    when_tokens_over: int | None = Field(
        default=None, ge=1, description="Summarise when the conversation is longer than this."
    )
    summary_ratio: float = Field(default=0.35, gt=0, lt=1, description="Share of the messages that is summarised.")
    preserve_recent_messages: int = Field(default=12, ge=0, description="Latest messages that stay as they are.")
    summarization_model: str | None = Field(
        default=None, description="Model that summarises; the agent's own if not given."
    )


class Notes(FormatModel):
    """A file in which agents keep notes across steps."""

    file: str = Field(min_length=1, description="Path of the notes, relative to the working directory.")
    include_last: int = Field(default=12, ge=0, description="Latest notes that an agent sees.")
    format: Literal["markdown", "json"] = Field(default="markdown", description="How the notes are written.")


class Window(FormatModel):
    """How much of a long conversation is sent; older messages are omitted."""

    max_messages: int = Field(ge=3, description="Most messages of one request, its input included.")


class Retrieval(FormatModel):
    """Tools and servers from which agents fetch context on demand."""

    jit_tools: tuple[str, ...] = Field(default=(), description="Tools every agent gets for retrieval.")
    mcp_servers: tuple[str, ...] = Field(default=(), description="MCP servers every agent gets for retrieval, by id.")
    replaces_tools: bool = Field(
        default=False,
        description="Whether agents without `tools` have `jit_tools` in place of `tools.python`.",
    )


class ContextPolicy(FormatModel):
    """How the context of agents stays small and useful."""

    compaction: Compaction | None = Field(default=None, description="Summaries of long conversations.")
    window: Window | None = Field(default=None, description="Only the latest messages of long conversations.")
    notes: Notes | None = Field(default=None, description="Notes across steps.")
    retrieval: Retrieval | None = Field(default=None, description="Context fetched on demand.")
    memory: Memory = Field(default="step", description="The `memory` of agents that name none.")
    prompt_end: str | None = Field(
        default=None, description="End of each system prompt (a template with the name `agent`)."
    )
    skills_in_prompts: bool = Field(
        default=False, description="Whether system prompts list the skills too, not only the tool `Skill`."
    )


class Skill(FormatModel):
    """A folder of instructions that the tool `Skill` loads on demand."""

    id: Identifier = Field(description="Name by which a model loads the skill.")
    path: str = Field(
        min_length=1, description="The folder, relative to the workflow and inside its project; or `package:DIST/NAME`."
    )
    description: str | None = Field(default=None, description="When to use the skill; default: that of its SKILL.md.")
    preload_metadata: bool = Field(default=True, description="Whether agents see the description before.")


class Inference(FormatModel):
    """Sampling settings of one agent; they override those of `runtime`."""

    temperature: float | None = Field(default=None, ge=0, le=2, description="Sampling temperature.")
    top_p: float | None = Field(
        default=None, ge=0, le=1, description="Nucleus sampling: share of probability considered."
    )
    max_tokens: int | None = Field(default=None, ge=1, description="Most tokens of one answer.")


class AgentLimits(FormatModel):
    """Limits of one step of an agent."""

    turns: int | None = Field(default=None, ge=1, description="Most model calls in one step.")
    tokens: int | None = Field(default=None, ge=1, description="Most tokens in one step.")
    tool_calls: int | None = Field(default=None, ge=0, description="Most tool calls in one step.")
    cost_usd: float | None = Field(default=None, gt=0, description="Most money in one step, in US dollars.")
    duration_s: float | None = Field(default=None, gt=0, description="Most seconds that one step takes.")


class AgentBudgets(FormatModel):
    """Limits of one agent over the whole run; at a limit the run stops as at its own limits."""

    max_steps: int | None = Field(default=None, ge=1, description="Most steps of this agent.")
    max_tokens: int | None = Field(default=None, ge=1, description="Most tokens of this agent's model calls.")
    max_model_calls: int | None = Field(default=None, ge=1, description="Most model calls of this agent.")
    max_tool_calls: int | None = Field(default=None, ge=0, description="Most tool calls of this agent.")
    max_cost_usd: float | None = Field(default=None, gt=0, description="Most money for this agent, in US dollars.")
    max_duration_s: float | None = Field(default=None, gt=0, description="Most seconds of all steps of this agent.")


class AgentSpec(FormatModel):
    """One agent: its prompt, its tools and its model."""

    restricting: ClassVar[frozenset[str]] = frozenset({"tools", "skills"})

    prompt: str | None = Field(
        default=None, description="The system prompt; with `{{` a template, which has the names of the step."
    )
    ref: str | None = Field(
        default=None,
        alias="$ref",
        description="A file of one agent, relative to the workflow, or `package:DIST/NAME`; keys beside it win.",
    )
    tools: tuple[ToolEntry, ...] | None = Field(
        default=None, description="The agent's tools. Absent: every tool of the workflow; empty: none."
    )
    skills: tuple[str, ...] | None = Field(
        default=None,
        max_length=0,
        description="`[]`: none of the skills. Absent: the tool `Skill` for all of them, also beside `tools`.",
    )
    provider: str | None = Field(default=None, description="Provider of this agent; that of `runtime` if not given.")
    model_id: str | None = Field(default=None, description="Model of this agent; that of `runtime` if not given.")
    models: tuple[Annotated[ModelEntry, ReadByItself(ModelEntry)], ...] = Field(
        default=(), description="In place of both: its models, as `runtime.models`."
    )
    inference: Inference = Field(
        default_factory=Inference.model_construct, description="Sampling settings of this agent."
    )
    memory: Memory = Field(
        default="step",
        description="`step`: each step starts a new conversation; `run`: one conversation, whose steps have one order;"
        " `path`: that of the steps before it with the same tools; that of `context_policy` if not given.",
    )
    input_schema: str | Mapping[str, Any] | None = Field(
        default=None, description="JSON Schema (inline, or a path) that the rendered input must satisfy."
    )
    input_schema_for: Literal["step", "run"] = Field(
        default="step",
        description="What an `input_schema` of an object describes: the input of each step, or the inputs of the run"
        " of a workflow with one agent and one step.",
    )
    output_schema: str | Mapping[str, Any] | None = Field(
        default=None, description="JSON Schema (inline, or a path) that the answer must satisfy."
    )
    limits: AgentLimits = Field(
        default_factory=AgentLimits.model_construct, description="Limits of one step of this agent."
    )
    budgets: AgentBudgets = Field(
        default_factory=AgentBudgets.model_construct,
        description="Limits of this agent, all of its steps in the run together.",
    )
    loops: Loops | None = Field(default=None, description="Its repeated calls; that of `runtime` if not given.")
    tools_shown: ToolsShown | None = Field(
        default=None, description="Which definitions of its tools its model sees; that of `runtime` if not given."
    )

    @property
    def takes_object(self) -> bool:
        """Whether its `input_schema` describes an object."""
        schema = self.input_schema
        return isinstance(schema, Mapping) and (schema.get("type") == "object" or "properties" in schema)

    def described_inputs(self) -> dict[str, InputSpec]:
        """Return the parts of the object that its `input_schema` describes, by name."""
        if not self.takes_object or not isinstance(self.input_schema, Mapping):
            return {}

        return {name: input_spec for part in inputs_in(self.input_schema) for name, input_spec in part.items()}
