"""Evaluator and optimizer: a producer writes drafts until an evaluator accepts one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from strands_cli.errors import Finding
from strands_cli.workflow.findings import NO_EFFECT
from strands_cli.workflow.pattern_model import (
    ANY,
    CONFIG,
    AnswerNames,
    Items,
    PatternModel,
    PlacedStep,
    Scope,
    Site,
    StepEdge,
    Text,
    gate_scope,
    in_order,
    scope_of,
)
from strands_cli.workflow.sections import FormatModel
from strands_cli.workflow.steps import APPROVALS, AgentStep, GateStep, agent_step

if TYPE_CHECKING:
    from strands_cli.workflow.findings import Locator

JUDGED = AnswerNames(scope_of("score", "issues", "fixes", "feedback"))
EVALUATION: Scope = {**scope_of("iteration"), "draft": Text(), "evaluation": JUDGED}
ITERATION: Scope = {
    **scope_of("score", "feedback", "issues", "fixes", "iteration"),
    **dict.fromkeys(("draft", "draft_preview"), Text()),
    "evaluation": JUDGED,
}
REVIEW: Scope = {
    **EVALUATION,
    **scope_of("iteration_index"),
    "current_draft": Text(),
    "current_evaluation": JUDGED,
    "iterations": Items(ITERATION),
}

# The answers to the review that take the draft, in any case.
ENDS = ("stop", "abort", "end", "accept")

STARTER = """\
agents:
  writer: {prompt: You write slogans., tools: []}
  judge: {prompt: "You judge slogans, 0 to 100.", tools: []}

pattern:
  type: evaluator_optimizer
  config:
    producer: writer
    producer_input: A slogan for {{ topic }}.
    evaluator: {agent: judge, input: "Judge: {{ draft }}"}
    accept: {min_score: 80, max_iters: 3}
    revise_prompt: "{{ draft }} got {{ evaluation.score }} points: {{ evaluation.issues | join(', ')\
 }}. Better, please."

outputs:
  overwrite: true   # a run replaces the file of the run before
  artifacts:
    - {path: "{{ name }}.md", from: "{{ last_response }} ({{ final_score }} points)"}
"""
RECORDING = """\
recording: 1
steps:
  iterations.0.producer: [{text: We make honey.}]
  iterations.0.evaluator: [{text: '{"score": 40, "issues": ["dull"], "fixes": ["a picture"]}'}]
  iterations.1.producer: [{text: A summer in every spoon.}]
  iterations.1.evaluator: [{text: '{"score": 90, "issues": [], "fixes": []}'}]
"""


class Accept(FormatModel):
    """When a draft is good enough."""

    min_score: float = Field(ge=0, le=100, description="Score from which a draft is accepted.")
    max_iters: int = Field(default=3, ge=1, description="Most drafts, the first included.")


class EvaluatorConfig(FormatModel):
    """A producer writes drafts until an evaluator accepts one."""

    producer: str = Field(min_length=1, description="Id of the agent that writes the drafts.")
    producer_input: str | None = Field(
        default=None, description="First message to the producer (a template); its prompt if not given."
    )
    evaluator: AgentStep = Field(description='The agent that judges; it answers `{"score", "issues", "fixes"}`.')
    accept: Accept = Field(description="When a draft is good enough.")
    revise_prompt: str | None = Field(
        default=None, description="The message that asks for the next draft (a template)."
    )
    review_gate: GateStep | None = Field(
        default=None, description="A gate between drafts; `stop`, `abort`, `end` and `accept` take the draft and end."
    )
    on_reject: Literal["fail", "accept"] = Field(
        default="fail",
        description="Where no draft reaches `min_score`: the run fails, or the last draft is its result.",
    )


class EvaluatorOptimizer(PatternModel):
    """Drafts until one is good enough."""

    runs = "strands_cli.engine.patterns.evaluator_optimizer:evaluator_optimizer"
    purpose = "Drafts are judged and revised until one is good enough."
    starter = STARTER
    recording = RECORDING

    type: Literal["evaluator_optimizer"] = Field(description="The pattern's name.")
    config: EvaluatorConfig = Field(description="Producer and evaluator.")

    def steps(self) -> Iterator[PlacedStep]:
        """Yield the steps of one iteration."""
        config = self.config
        producer = agent_step(config.producer, config.producer_input)
        fields = {"agent": f"{CONFIG}/producer", "input": f"{CONFIG}/producer_input"}
        yield PlacedStep("iterations.N.producer", f"{CONFIG}/producer", producer, fields=fields)
        form = "`{score, issues, fixes}`"
        yield PlacedStep("iterations.N.evaluator", f"{CONFIG}/evaluator", config.evaluator, EVALUATION, answers=form)
        if config.review_gate is not None:
            words = (APPROVALS[0], *ENDS)
            yield PlacedStep("iterations.N.review", f"{CONFIG}/review_gate", config.review_gate, REVIEW, words=words)

    def names_at_end(self) -> Scope:
        """Return the iterations, the last draft and its score."""
        return {**REVIEW, "final_score": ANY}

    def last_answer(self) -> Text:
        """Return the last draft."""
        return Text()

    def edges(self) -> list[StepEdge]:
        """Return the order in an iteration, and the way back to its first step."""
        keys = [placed.key for placed in self.steps()]
        return [*in_order(keys), StepEdge(keys[-1], keys[0], "revise")]

    def templates(self) -> Iterator[Site]:
        """Yield the message that asks for the next draft."""
        if self.config.revise_prompt is not None:
            scope = {**REVIEW, **gate_scope([self.config.review_gate])}
            yield Site(f"{CONFIG}/revise_prompt", self.config.revise_prompt, scope)

    def messages_again(self) -> Iterator[tuple[str, Site]]:
        """Yield the message that asks for the next draft, and the one that asks for its evaluation."""
        yield from ((self.config.producer, site) for site in self.templates())
        yield from (again for again in super().messages_again() if again[1].pointer.startswith(f"{CONFIG}/evaluator/"))

    def check(self, locator: Locator) -> Iterator[Finding]:
        """Yield a warning for a score written as a share of 1."""
        if 0 < (score := self.config.accept.min_score) < 1:
            where = locator.where(f"{CONFIG}/accept/min_score")
            message = f"scores are from 0 to 100: nearly every draft has {score:g}"
            yield Finding(NO_EFFECT, message, where, f"write `min_score: {score * 100:g}`", "warning")

    def limits(self) -> Iterator[str]:
        """Yield when a draft is accepted."""
        accept = self.config.accept
        yield f"A draft is accepted from a score of {accept.min_score:g}; at most {accept.max_iters} are written."
        fails = self.config.on_reject == "fail"
        yield "If none is accepted, " + ("the run fails." if fails else "the last one is the result, with a warning.")
