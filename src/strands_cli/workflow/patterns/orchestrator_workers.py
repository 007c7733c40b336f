"""Orchestrator and workers: an agent assigns tasks in rounds, and workers do them concurrently."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from strands_cli.workflow.findings import no_effect
from strands_cli.workflow.pattern_model import (
    ANY,
    CONFIG,
    UNSHOWN,
    Items,
    PatternModel,
    PlacedStep,
    Scope,
    SharedAgent,
    Site,
    StepEdge,
    Text,
    answered_by,
    gate_scope,
    optional_step,
    scope_of,
    text_of,
)
from strands_cli.workflow.sections import FormatModel
from strands_cli.workflow.steps import AgentStep, GateStep, Step, ToolEntry, agent_step

if TYPE_CHECKING:
    from strands_cli.errors import Finding
    from strands_cli.workflow.findings import Locator

WORKER: Scope = scope_of("agent", "status", "task", "index", *UNSHOWN)
ORCHESTRATION: Scope = {
    **scope_of("round_count", "task_count"),
    "orchestrator_response": Text(),
    "subtasks": Items(ANY),
}
WORK: Scope = {**ORCHESTRATION, "workers": Items(WORKER), **scope_of("num_workers", "worker_count")}

STARTER = """\
agents:
  planner: {prompt: You split work into tasks., tools: []}
  worker: {prompt: You do one task., tools: []}
  editor: {prompt: You write it up., tools: []}

pattern:
  type: orchestrator_workers
  config:
    orchestrator: {agent: planner, input: "Plan a talk on {{ topic }}.", limits: {max_workers: 3, max_rounds: 1}}
    worker_template: {agent: worker}
    reduce:
      agent: editor
      input: |
        Join these parts:
        {% for worker in workers %}- {{ worker.task }}: {{ worker.response }}
        {% endfor %}

outputs:
  overwrite: true   # a run replaces the file of the run before
  artifacts:
    - {path: "{{ name }}.md", from: "{{ last_response }}"}
"""
RECORDING = """\
recording: 1
steps:
  orchestrator: [{text: '[{"task": "home"}, {"task": "dance"}]'}]
  workers.0: [{text: The hive is kept at 35 degrees.}]
  workers.1: [{text: The dance tells where flowers are.}]
  reduce: [{text: "First the warm hive, then the dance that fills it."}]
"""


class OrchestratorLimits(FormatModel):
    """How many tasks an orchestrator may assign."""

    max_workers: int | None = Field(default=None, ge=1, description="Most workers at the same time.")
    max_rounds: int | None = Field(default=None, ge=1, description="Most rounds.")
    max_tasks: int | None = Field(default=None, ge=1, description="Most tasks in all rounds; with more the run fails.")


class Orchestrator(AgentStep):
    """The agent that splits the work; it answers a list of `{"task": ...}`."""

    limits: OrchestratorLimits = Field(
        default_factory=OrchestratorLimits.model_construct, description="How many tasks it may assign."
    )


class WorkerTemplate(FormatModel):
    """The agent and tools of every worker."""

    restricting: ClassVar[frozenset[str]] = frozenset({"tools"})

    agent: str = Field(min_length=1, description="Id of the agent that works on one task.")
    tools: tuple[ToolEntry, ...] | None = Field(default=None, description="The workers' tools.")


class OrchestratorConfig(FormatModel):
    """An orchestrator assigns tasks to workers, in rounds."""

    orchestrator: Orchestrator = Field(description="The agent that splits the work.")
    decomposition_review: GateStep | None = Field(default=None, description="A gate before the workers start.")
    worker_template: WorkerTemplate = Field(description="The agent and tools of the workers.")
    reduce_review: GateStep | None = Field(default=None, description="A gate before the results are joined.")
    reduce: Step | None = Field(default=None, description="The step that joins the results.")
    writeup: Step | None = Field(default=None, description="The step that writes the final answer.")
    last_response: str | None = Field(
        default=None,
        description="What `last_response` is after the workers (a template); if not given, the last one's answer.",
    )


class OrchestratorWorkers(PatternModel):
    """Work split among workers."""

    runs = "strands_cli.engine.patterns.orchestrator_workers:orchestrator_workers"
    purpose = "An orchestrator hands out tasks, workers do them side by side."
    starter = STARTER
    recording = RECORDING

    type: Literal["orchestrator_workers"] = Field(description="The pattern's name.")
    config: OrchestratorConfig = Field(description="Orchestrator and workers.")

    def steps(self) -> Iterator[PlacedStep]:
        """Yield the orchestrator, one worker, the steps that follow them, and the gates between."""
        config, worker = self.config, self.config.worker_template
        form = 'a list of `{"task": ...}`'
        yield PlacedStep("orchestrator", f"{CONFIG}/orchestrator", config.orchestrator, answers=form)
        yield from optional_step("decomposition_review", config.decomposition_review, ORCHESTRATION)
        step = agent_step(worker.agent, tools=worker.tools)
        pointer = f"{CONFIG}/worker_template"
        yield PlacedStep("workers.N", pointer, step, fields={"tool_overrides": f"{pointer}/tools"})
        done = {**self._work, "last_response": self._of_workers}
        yield from optional_step(
            "reduce_review", config.reduce_review, done | gate_scope([config.decomposition_review])
        )
        done |= gate_scope([config.decomposition_review, config.reduce_review])
        yield from optional_step("reduce", config.reduce, done)
        if config.reduce is not None:
            reduced = text_of(config.reduce)
            done |= {"reduce_response": reduced, "last_response": reduced}
        yield from optional_step("writeup", config.writeup, done)

    def ways_back(self) -> list[StepEdge]:
        """Return the way of the results to the orchestrator, if it is asked again."""
        is_asked_again = (self.config.orchestrator.limits.max_rounds or 1) > 1
        return [StepEdge("workers.N", "orchestrator")] if is_asked_again else []

    def names_at_end(self) -> Scope:
        """Return the assigned tasks and their results."""
        return {**self._work, **({"reduce_response": text_of(self.config.reduce)} if self.config.reduce else {})}

    @property
    def _work(self) -> Scope:
        return {**WORK, "workers": Items({**WORKER, **answered_by(self.config.worker_template.agent)})}

    @property
    def _of_workers(self) -> Text:
        if self.config.last_response is not None:
            return Text()
        return Text((self.config.worker_template.agent,), ("workers", -1, "output"))

    def last_answer(self) -> Text:
        """Return the answer of the last step."""
        joining = self.config.writeup or self.config.reduce
        return text_of(joining) if joining is not None else self._of_workers

    def templates(self) -> Iterator[Site]:
        """Yield the template of the workers' answers."""
        if self.config.last_response is not None:
            yield Site(f"{CONFIG}/last_response", self.config.last_response, self._work)

    def check(self, locator: Locator) -> Iterator[Finding]:
        """Report a review of results that no step brings together."""
        if self.config.reduce_review and not self.config.reduce:
            where = locator.where(f"{CONFIG}/reduce_review", key=True)
            yield no_effect("`reduce_review` has no effect without `reduce`", where)

    def shared_agents(self, agents: Collection[str]) -> Iterator[SharedAgent]:
        """Yield the agent of the workers."""
        if self.config.worker_template.agent in agents:
            yield SharedAgent(self.config.worker_template.agent, f"{CONFIG}/worker_template/agent", is_worker=True)

    def limits(self) -> Iterator[str]:
        """Yield how many tasks the orchestrator may assign."""
        limits = self.config.orchestrator.limits
        named = {
            "workers at the same time": limits.max_workers,
            "rounds": limits.max_rounds,
            "tasks": limits.max_tasks,
        }
        if words := [f"{limit} {label}" for label, limit in named.items() if limit is not None]:
            yield f"At most {', '.join(words)}."
