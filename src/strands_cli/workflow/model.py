"""The validated workflow, and every model it is made of under one name."""

from __future__ import annotations

from pydantic import Field

from strands_cli.workflow.base_model import IDENTIFIER, FormatModel, Identifier, Named, Scalar
from strands_cli.workflow.patterns import (
    PATTERN_TYPES,
    Accept,
    AgentStep,
    AgentTask,
    Branch,
    CallStep,
    CallTask,
    Chain,
    ChainConfig,
    Choice,
    DagConfig,
    Edge,
    EvaluatorConfig,
    EvaluatorOptimizer,
    GateStep,
    GateTask,
    GateValidation,
    Graph,
    GraphConfig,
    Orchestrator,
    OrchestratorConfig,
    OrchestratorLimits,
    OrchestratorWorkers,
    Parallel,
    ParallelConfig,
    Pattern,
    Route,
    Router,
    Routing,
    RoutingConfig,
    Step,
    Task,
    TaskFields,
    WorkerTemplate,
    WorkflowPattern,
)
from strands_cli.workflow.sections import (
    AgentBudgets,
    AgentLimits,
    AgentSpec,
    Artifact,
    Budgets,
    Compaction,
    ContextPolicy,
    Env,
    FailurePolicy,
    Guardrails,
    Inference,
    Inputs,
    InputSpec,
    Metadata,
    Notes,
    Otel,
    Outputs,
    Permissions,
    Redact,
    Retrieval,
    Runtime,
    Secret,
    Security,
    Skill,
    Telemetry,
    TypeWord,
    Window,
)
from strands_cli.workflow.tool_entries import (
    CompositeStep,
    CompositeTool,
    HttpExecutor,
    McpServer,
    McpTools,
    ToolEntry,
    Tools,
)

__all__ = [
    "IDENTIFIER",
    "PATTERN_TYPES",
    "Accept",
    "AgentBudgets",
    "AgentLimits",
    "AgentSpec",
    "AgentStep",
    "AgentTask",
    "Artifact",
    "Branch",
    "Budgets",
    "CallStep",
    "CallTask",
    "Chain",
    "ChainConfig",
    "Choice",
    "Compaction",
    "CompositeStep",
    "CompositeTool",
    "ContextPolicy",
    "DagConfig",
    "Edge",
    "Env",
    "EvaluatorConfig",
    "EvaluatorOptimizer",
    "FailurePolicy",
    "FormatModel",
    "GateStep",
    "GateTask",
    "GateValidation",
    "Graph",
    "GraphConfig",
    "Guardrails",
    "HttpExecutor",
    "Identifier",
    "Inference",
    "InputSpec",
    "Inputs",
    "McpServer",
    "McpTools",
    "Metadata",
    "Named",
    "Notes",
    "Orchestrator",
    "OrchestratorConfig",
    "OrchestratorLimits",
    "OrchestratorWorkers",
    "Otel",
    "Outputs",
    "Parallel",
    "ParallelConfig",
    "Pattern",
    "Permissions",
    "Redact",
    "Retrieval",
    "Route",
    "Router",
    "Routing",
    "RoutingConfig",
    "Runtime",
    "Scalar",
    "Secret",
    "Security",
    "Skill",
    "Step",
    "Task",
    "TaskFields",
    "Telemetry",
    "ToolEntry",
    "Tools",
    "TypeWord",
    "Window",
    "WorkerTemplate",
    "WorkflowPattern",
    "WorkflowSpec",
]


class WorkflowSpec(FormatModel):
    """One workflow: which agents there are, which tools they may use, and in which pattern they work."""

    version: int | float | str = Field(description="Version of the file, any number or text, for example `1`.")
    name: str = Field(min_length=1, description="Name of the workflow.")
    description: str | None = Field(default=None, description="What the workflow does.")
    tags: tuple[str, ...] = Field(default=(), description="Words to find the workflow by.")
    metadata: Metadata = Field(default_factory=Metadata, description="Title and labels, for people and catalogues.")
    runtime: Runtime = Field(description="The default model, and the limits of a run.")
    inputs: Inputs = Field(default_factory=Inputs, description="The variables a run takes.")
    env: Env = Field(default_factory=Env, description="Secrets and directories of the machine.")
    telemetry: Telemetry = Field(
        default_factory=Telemetry, description="Where traces go, and what is left out of them."
    )
    context_policy: ContextPolicy = Field(default_factory=ContextPolicy, description="How context is kept small.")
    skills: tuple[Skill, ...] = Field(default=(), description="Folders of instructions, loaded on demand.")
    tools: Tools = Field(default_factory=Tools, description="The tools of the workflow.")
    agents: Named[AgentSpec] = Field(min_length=1, description="The agents, by id.")
    pattern: Pattern = Field(description="How the agents work together.")
    outputs: Outputs = Field(default_factory=Outputs, description="Files the run writes.")
    security: Security = Field(default_factory=Security, description="Restrictions the workflow puts on its tools.")
