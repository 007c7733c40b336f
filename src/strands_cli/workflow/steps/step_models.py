"""The three kinds of step: a turn of an agent, a question to a person, a call of a tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from strands_cli.workflow.base_model import FormatModel
from strands_cli.workflow.steps.tool_entries import ToolEntry
from strands_cli.workflow.templates.template import is_prompt_template


class AgentStep(FormatModel):
    """One turn of an agent: it gets a message, may use its tools, and answers."""

    restricting: ClassVar[frozenset[str]] = frozenset({"tool_overrides"})

    agent: str = Field(min_length=1, description="Id of the agent.")
    input: str | None = Field(
        default=None, description="The message to the agent (a template); its prompt if not given."
    )
    vars: Mapping[str, Any] = Field(
        default_factory=dict, description="Extra names for this step's templates; strings in it are templates."
    )
    tool_overrides: tuple[ToolEntry, ...] | None = Field(
        default=None, description="The agent's tools in this step, instead of its own list."
    )


class GateValidation(FormatModel):
    """What an answer to a gate must look like."""

    pattern: str | None = Field(default=None, description="Regular expression that must match the whole answer.")


class GateStep(FormatModel):
    """A question to a person; the run waits for the answer."""

    type: Literal["hitl"] = Field(default="hitl", description="Marks the step as a human gate.")
    prompt: str = Field(min_length=1, description="The question (a template).")
    context_display: str | None = Field(
        default=None, description="What the person sees with the question (a template)."
    )
    default: str | None = Field(default=None, description="The answer if the person gives none, or the time is over.")
    timeout_seconds: float | None = Field(
        default=None, ge=0, description="How long to wait before `default` is taken; 0 and nothing: without a limit."
    )
    validation: GateValidation | None = Field(default=None, description="What the answer must look like.")

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Read a time of 0 as none."""
        if isinstance(value, dict) and value.get("timeout_seconds") == 0 and value["timeout_seconds"] is not False:
            return {name: one for name, one in value.items() if name != "timeout_seconds"}
        return value


class CallStep(FormatModel):
    """One call of a tool, without a model."""

    tool: str = Field(min_length=1, description="The tool's name, for example `native:file_read`.")
    input: Mapping[str, Any] = Field(
        default_factory=dict,
        description="The tool's input; strings in it are templates, and a lone `{{ expression }}` keeps its type.",
    )
    on_error: Literal["stop", "continue"] = Field(
        default="stop", description="Whether the step fails if its tool reports an error, or passes the error on."
    )

    @property
    def continues_after_error(self) -> bool:
        """Whether later steps get an error of the tool as the step's response."""
        return self.on_error == "continue"


def agent_step(agent: str, text: str | None = None, tools: tuple[ToolEntry, ...] | None = None) -> AgentStep:
    """Return the step of an agent that a pattern or a tool implies; it is not validated again."""
    return AgentStep.model_construct(agent=agent, input=text, vars={}, tool_overrides=tools)


def question_to(step: AgentStep, prompt: str) -> str:
    """Return the template of the message to a step's agent: its input, else the agent's prompt."""
    if step.input is not None:
        return step.input
    return prompt if is_prompt_template(prompt) else "{% raw %}" + prompt + "{% endraw %}"


def step_form(value: Any) -> str | None:
    """Return which of the three step forms a value has, judged by its keys; None when it has none."""
    keys = value if isinstance(value, dict) else {name for name in ("agent", "tool", "type") if hasattr(value, name)}
    forms = {"agent": "<agent>", "tool": "<tool>", "type": "<gate>"}
    if isinstance(value, dict) and isinstance(value.get("input"), dict) and "tool" in keys:
        return "<tool>"  # also where an agent is written beside it: only the input of a tool is a mapping
    return next((form for key, form in forms.items() if key in keys), None)


# A step of a workflow: the work of an agent, a call of a tool, or a gate.
Step = Annotated[
    Annotated[AgentStep, Tag("<agent>")] | Annotated[GateStep, Tag("<gate>")] | Annotated[CallStep, Tag("<tool>")],
    Discriminator(step_form),
]
