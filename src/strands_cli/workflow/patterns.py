"""Steps and the seven patterns that arrange them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from strands_cli.workflow.base_model import FormatModel, Identifier, Named
from strands_cli.workflow.tool_entries import ToolEntry


class AgentStep(FormatModel):
    """One turn of an agent: it is given a message, may use its tools, and answers."""

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
    default: str | None = Field(default=None, description="The answer when the person gives none, or the time is over.")
    timeout_seconds: float | None = Field(default=None, gt=0, description="How long to wait before `default` is taken.")
    validation: GateValidation | None = Field(default=None, description="What the answer must look like.")


class CallStep(FormatModel):
    """One call of a tool, without a model."""

    tool: str = Field(min_length=1, description="The tool's name, for example `native:file_read`.")
    input: Mapping[str, Any] = Field(
        default_factory=dict,
        description="The tool's input; strings in it are templates, and a lone `{{ expression }}` keeps its type.",
    )


def _form_of(value: Any) -> str | None:
    """Return which of the three step forms a value has, judged by its keys; None when it has none."""
    keys = value if isinstance(value, dict) else {name for name in ("agent", "tool", "type") if hasattr(value, name)}
    forms = {"agent": "<agent>", "tool": "<tool>", "type": "<gate>"}
    return next((form for key, form in forms.items() if key in keys), None)


Step = Annotated[
    Annotated[AgentStep, Tag("<agent>")] | Annotated[GateStep, Tag("<gate>")] | Annotated[CallStep, Tag("<tool>")],
    Discriminator(_form_of),
]


class TaskFields(FormatModel):
    """What a task has besides its step."""

    id: Identifier = Field(description="Name of the task.")
    deps: tuple[str, ...] = Field(default=(), description="Tasks that must be done before this one starts.")
    description: str | None = Field(default=None, description="What the task is for.")
    on_error: Literal["stop", "continue"] = Field(
        default="stop", description="Whether a failure of this task stops the run, or only the tasks that depend on it."
    )


class AgentTask(AgentStep, TaskFields):
    """A task that is a turn of an agent."""


class GateTask(GateStep, TaskFields):
    """A task that is a question to a person."""


class CallTask(CallStep, TaskFields):
    """A task that is one call of a tool."""


Task = Annotated[
    Annotated[AgentTask, Tag("<agent>")] | Annotated[GateTask, Tag("<gate>")] | Annotated[CallTask, Tag("<tool>")],
    Discriminator(_form_of),
]


class ChainConfig(FormatModel):
    """Steps one after another; each sees the answers of those before it."""

    steps: tuple[Step, ...] = Field(min_length=1, description="The steps, in order.")


class DagConfig(FormatModel):
    """Tasks that start as soon as their own dependencies are done."""

    tasks: tuple[Task, ...] = Field(min_length=1, description="The tasks, in any order.")


class Router(AgentStep):
    """The agent that chooses a route; it answers `{"route": name}`."""

    max_retries: int = Field(default=2, ge=0, description="How often an invalid route is asked again.")
    review_router: GateStep | None = Field(default=None, description="A gate at which a person confirms the route.")


class Route(FormatModel):
    """What happens when a route is chosen."""

    then: tuple[Step, ...] = Field(default=(), description="The steps of the route, in order.")


class RoutingConfig(FormatModel):
    """An agent chooses one of several routes."""

    router: Router = Field(description="Who chooses.")
    routes: Named[Route] = Field(min_length=1, description="The routes, by name.")
    default: str | None = Field(default=None, description="The route taken when the router gives no valid one.")


class Branch(FormatModel):
    """One of the branches that run side by side."""

    id: Identifier = Field(description="Name of the branch.")
    steps: tuple[Step, ...] = Field(min_length=1, description="The steps of the branch, in order.")
    on_error: Literal["stop", "continue"] = Field(
        default="stop", description="Whether a failure of this branch stops the run, or only the branch."
    )


class ParallelConfig(FormatModel):
    """Branches side by side, then an optional step that brings them together."""

    branches: tuple[Branch, ...] = Field(min_length=2, description="The branches, two or more.")
    reduce: Step | None = Field(default=None, description="The step that sees all branches' answers.")


class Accept(FormatModel):
    """When a draft is good enough."""

    min_score: float = Field(ge=0, le=100, description="Score from which a draft is accepted, 0 to 100.")
    max_iters: int = Field(default=3, ge=1, description="Most drafts, the first included.")


class EvaluatorConfig(FormatModel):
    """A producer writes drafts until an evaluator accepts one."""

    producer: str = Field(min_length=1, description="Id of the agent that writes the drafts.")
    producer_input: str | None = Field(
        default=None, description="First message to the producer (a template); its prompt if not given."
    )
    evaluator: AgentStep = Field(description='Who judges; it answers `{"score", "issues", "fixes"}`.')
    accept: Accept = Field(description="When a draft is good enough.")
    revise_prompt: str | None = Field(
        default=None, description="The message that asks for the next draft (a template)."
    )
    review_gate: GateStep | None = Field(default=None, description="A gate between drafts.")


class OrchestratorLimits(FormatModel):
    """How much an orchestrator may hand out."""

    max_workers: int | None = Field(default=None, ge=1, description="Most workers in one round.")
    max_rounds: int | None = Field(default=None, ge=1, description="Most rounds of handing out tasks.")


class Orchestrator(AgentStep):
    """The agent that splits the work; it answers a list of `{"task": ...}`."""

    limits: OrchestratorLimits = Field(default_factory=OrchestratorLimits, description="How much it may hand out.")


class WorkerTemplate(FormatModel):
    """What every worker is made from."""

    restricting: ClassVar[frozenset[str]] = frozenset({"tools"})

    agent: str = Field(min_length=1, description="Id of the agent that works on one task.")
    tools: tuple[ToolEntry, ...] | None = Field(
        default=None, description="The workers' tools, instead of the agent's own list."
    )


class OrchestratorConfig(FormatModel):
    """An orchestrator hands out tasks to workers, in rounds."""

    orchestrator: Orchestrator = Field(description="Who splits the work.")
    decomposition_review: GateStep | None = Field(default=None, description="A gate before the workers start.")
    worker_template: WorkerTemplate = Field(description="What workers are made from.")
    reduce_review: GateStep | None = Field(default=None, description="A gate before the results are brought together.")
    reduce: Step | None = Field(default=None, description="The step that brings the results together.")
    writeup: Step | None = Field(default=None, description="The step that writes the final answer.")


class Choice(FormatModel):
    """One conditional way on."""

    when: str = Field(min_length=1, description="A condition, with or without `{{ }}`; or `else`.")
    to: str = Field(min_length=1, description="The node to go on with.")


class Edge(FormatModel):
    """What follows a node: always `to`, or the first choice that holds."""

    from_: str = Field(alias="from", min_length=1, description="The node that has just finished.")
    to: tuple[str, ...] | None = Field(default=None, min_length=1, description="Nodes that follow, together.")
    choose: tuple[Choice, ...] | None = Field(default=None, min_length=1, description="Choices, tried in order.")

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Read `to: node` as `to: [node]`."""
        if isinstance(value, dict) and isinstance(value.get("to"), str):
            return {**value, "to": [value["to"]]}
        return value


class GraphConfig(FormatModel):
    """Nodes joined by edges, cycles allowed; the first node is the entry."""

    nodes: Named[Step] = Field(min_length=1, description="The nodes, by id.")
    edges: tuple[Edge, ...] = Field(default=(), description="What follows what.")
    max_iterations: int = Field(default=10, ge=1, description="How often one node may run.")


class Chain(FormatModel):
    """Steps one after another."""

    type: Literal["chain"] = Field(description="The pattern's name.")
    config: ChainConfig = Field(description="The steps.")


class WorkflowPattern(FormatModel):
    """Tasks with dependencies."""

    type: Literal["workflow"] = Field(description="The pattern's name.")
    config: DagConfig = Field(description="The tasks.")


class Routing(FormatModel):
    """One of several routes."""

    type: Literal["routing"] = Field(description="The pattern's name.")
    config: RoutingConfig = Field(description="Router and routes.")


class Parallel(FormatModel):
    """Branches side by side."""

    type: Literal["parallel"] = Field(description="The pattern's name.")
    config: ParallelConfig = Field(description="The branches.")


class EvaluatorOptimizer(FormatModel):
    """Drafts until one is good enough."""

    type: Literal["evaluator_optimizer"] = Field(description="The pattern's name.")
    config: EvaluatorConfig = Field(description="Producer and evaluator.")


class OrchestratorWorkers(FormatModel):
    """Work split among workers."""

    type: Literal["orchestrator_workers"] = Field(description="The pattern's name.")
    config: OrchestratorConfig = Field(description="Orchestrator and workers.")


class Graph(FormatModel):
    """Nodes joined by edges."""

    type: Literal["graph"] = Field(description="The pattern's name.")
    config: GraphConfig = Field(description="Nodes and edges.")


PATTERN_TYPES = ("chain", "workflow", "routing", "parallel", "evaluator_optimizer", "orchestrator_workers", "graph")


def _pattern_of(value: Any) -> str | None:
    name = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return f"<{name}>" if name in PATTERN_TYPES else None


Pattern = Annotated[
    Annotated[Chain, Tag("<chain>")]
    | Annotated[WorkflowPattern, Tag("<workflow>")]
    | Annotated[Routing, Tag("<routing>")]
    | Annotated[Parallel, Tag("<parallel>")]
    | Annotated[EvaluatorOptimizer, Tag("<evaluator_optimizer>")]
    | Annotated[OrchestratorWorkers, Tag("<orchestrator_workers>")]
    | Annotated[Graph, Tag("<graph>")],
    Discriminator(_pattern_of),
]
