"""Evaluator-optimizer: a producer writes drafts until an evaluator accepts one or the iterations are used up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands_cli.spec.model import AgentStep

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.spec.model import EvaluatorConfig

EVALUATION = {
    "type": "object",
    "properties": {
        "score": {"type": "number", "minimum": 0, "maximum": 100},
        "issues": {"type": "array", "items": {"type": "string"}},
        "fixes": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["score"],
}
REVISE = """Revise this draft.

Draft:
{{ draft }}

Score: {{ evaluation.score }} of 100
Issues: {{ evaluation.issues | join('; ') }}
Fixes: {{ evaluation.fixes | join('; ') }}"""


async def evaluator_optimizer(run: Run, config: EvaluatorConfig) -> dict[str, Any]:
    """Write, judge and revise; the last draft is the response, accepted or not."""
    names: dict[str, Any] = {"iterations": []}
    template = config.producer_input
    for index in range(config.accept.max_iters):
        step = AgentStep(agent=config.producer, input=template)
        draft = (await run.step(f"iterations.{index}.producer", step, names)).response
        names = {**names, "draft": draft, "iteration": index + 1, "evaluation": {"score": 0, "issues": [], "fixes": []}}
        answer = await run.decide(f"iterations.{index}.evaluator", config.evaluator, EVALUATION, names)
        evaluation = {"issues": [], "fixes": [], **answer.output}
        iteration = {"draft": draft, "score": evaluation["score"], "evaluation": evaluation}
        names = {**names, "evaluation": evaluation, "iterations": [*names["iterations"], iteration]}
        if evaluation["score"] >= config.accept.min_score or index + 1 == config.accept.max_iters:
            break
        if config.review_gate is not None:
            review = {**names, "iteration_index": index, "current_draft": draft, "current_evaluation": evaluation}
            gate = await run.step(f"iterations.{index}.review", config.review_gate, review)
            names = {**review, "hitl_response": gate.response}
        template = config.revise_prompt or REVISE
    return {**names, "final_score": names["evaluation"]["score"], "last_response": names["draft"]}
