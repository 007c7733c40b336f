"""Parallel: branches side by side, then an optional step that joins them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from strands_cli.workflow.findings import duplicates
from strands_cli.workflow.pattern_model import (
    CONFIG,
    STEP,
    UNSHOWN,
    Items,
    PatternModel,
    PlacedStep,
    Scope,
    SharedAgent,
    Site,
    StepEdge,
    Text,
    in_order,
    optional_step,
    result_of,
    results_of,
    scope_of,
    steps_in_order,
    text_of,
)
from strands_cli.workflow.sections import FormatModel, Identifier
from strands_cli.workflow.steps import AgentStep, Step

if TYPE_CHECKING:
    from strands_cli.errors import Finding
    from strands_cli.workflow.findings import Locator

BRANCHES = f"{CONFIG}/branches"
BRANCH: Scope = scope_of("status", *UNSHOWN)

STARTER = """\
agents:
  critic: {prompt: You judge proposals., tools: []}
  editor: {prompt: You weigh views., tools: []}

pattern:
  type: parallel
  config:
    branches:
      - {id: cost, steps: [{agent: critic, input: "What does it cost to keep {{ topic }}?"}]}
      - {id: use, steps: [{agent: critic, input: "What are {{ topic }} good for?"}]}
    reduce:
      agent: editor
      input: |
        Cost: {{ branches.cost.response }}
        Use: {{ branches.use.response }}
        Is it worth it?

outputs:
  overwrite: true   # a run replaces the file of the run before
  artifacts:
    - {path: "{{ name }}.md", from: "{{ last_response }}"}
"""
RECORDING = """\
recording: 1
steps:
  branches.cost.steps.0: [{text: A hive and a suit.}]
  branches.use.steps.0: [{text: "Honey, and more fruit on every tree around."}]
  reduce: [{text: "Yes: the trees alone pay for the hive."}]
"""


class Branch(FormatModel):
    """One of the concurrent branches."""

    id: Identifier = Field(description="Name of the branch.")
    steps: tuple[Step, ...] = Field(min_length=1, description="The steps of the branch, in order.")
    on_error: Literal["stop", "continue"] = Field(
        default="stop", description="A failure stops the run, or only this branch."
    )


class ParallelConfig(FormatModel):
    """Branches that run concurrently, then an optional step that joins their answers."""

    branches: tuple[Branch, ...] = Field(min_length=2, description="The branches, two or more.")
    reduce: Step | None = Field(default=None, description="The step that sees all branches' answers.")
    last_response: str | None = Field(
        default=None,
        description="What `last_response` is after the branches (a template); if not given, their answers.",
    )


class Parallel(PatternModel):
    """Branches that run concurrently."""

    runs = "strands_cli.engine.patterns.parallel:parallel"
    purpose = "Branches side by side, then an optional step that joins their answers."
    starter = STARTER
    recording = RECORDING
    is_bounded = True

    type: Literal["parallel"] = Field(description="The pattern's name.")
    config: ParallelConfig = Field(description="The branches.")

    def steps(self) -> Iterator[PlacedStep]:
        """Yield the steps of each branch, and the step that joins them."""
        for index, branch in enumerate(self.config.branches):
            yield from _steps_of(index, branch)
        yield from optional_step("reduce", self.config.reduce, self.names_at_end())

    def names_at_end(self) -> Scope:
        """Return the results of the branches."""
        return {"branches": {branch.id: _result_of(branch) for branch in self.config.branches}}

    def templates(self) -> Iterator[Site]:
        """Yield the template of the branches' answers."""
        if self.config.last_response is not None:
            yield Site(f"{CONFIG}/last_response", self.config.last_response, self.names_at_end())

    def last_answer(self) -> Text:
        """Return the answer of the step that joins the branches."""
        return text_of(self.config.reduce)

    def edges(self) -> list[StepEdge]:
        """Return the order in each branch, then the way from each branch to the step that joins them."""
        keys = [[step.key for step in _steps_of(index, branch)] for index, branch in enumerate(self.config.branches)]
        joins = [StepEdge(branch[-1], "reduce") for branch in keys] if self.config.reduce is not None else []
        return [*(edge for branch in keys for edge in in_order(branch)), *joins]

    def check(self, locator: Locator) -> Iterator[Finding]:
        """Report ids that two branches have."""
        yield from duplicates("branch", [branch.id for branch in self.config.branches], BRANCHES, locator)

    def shared_agents(self, agents: Collection[str]) -> Iterator[SharedAgent]:
        """Yield agents that an earlier branch uses too."""
        earlier: set[str] = set()
        for index, branch in enumerate(self.config.branches):
            for placed in _steps_of(index, branch):
                if isinstance(placed.step, AgentStep) and placed.step.agent in earlier.intersection(agents):
                    yield SharedAgent(placed.step.agent, placed.at("agent"))
            earlier |= {step.agent for step in branch.steps if isinstance(step, AgentStep)}


def _result_of(branch: Branch) -> Scope:
    # Its number of steps is left open: a branch that failed has none.
    last = result_of(branch.steps[-1])
    answer = {name: last[name] for name in ("response", "output")}
    return {**BRANCH, **answer, "steps": Items(STEP, None, results_of(branch.steps))}


def _steps_of(index: int, branch: Branch) -> Iterator[PlacedStep]:
    yield from steps_in_order(f"branches.{branch.id}.steps", f"{BRANCHES}/{index}/steps", branch.steps)
