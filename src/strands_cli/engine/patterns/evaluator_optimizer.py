"""Evaluator and optimizer: a producer writes drafts until an evaluator accepts one or the iterations are used up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands_cli.engine.patterns.read_answers import ReadSchema, as_evaluation
from strands_cli.engine.step_results import ExtendedMapping
from strands_cli.errors import FileAtFault
from strands_cli.events import Verdict
from strands_cli.workflow.patterns.evaluator_optimizer import ENDS
from strands_cli.workflow.steps import AgentStep

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.workflow.patterns.evaluator_optimizer import EvaluatorConfig

_WORDS = {"type": "array", "items": {"type": "string"}}
EVALUATION = ReadSchema(
    {
        "type": "object",
        "properties": {"score": {"type": "number", "minimum": 0, "maximum": 100}, "issues": _WORDS, "fixes": _WORDS},
        "required": ["score"],
    },
    as_evaluation,
)
REVISE = """Revise this draft.

{{ draft }}

Score: {{ evaluation.score }} of 100
Issues: {{ evaluation.issues | join('; ') }}
Fixes: {{ evaluation.fixes | join('; ') }}"""
EVALUATE = """Judge this draft: a score from 0 to 100, its issues, and how to fix them.

{{ draft }}"""


PREVIEW = 200
_HELPS = (
    "the drafts are stored; for more of them a larger `max_iters` in the pattern's `accept`, or a lower `min_score`;"
    " to take the last one `on_reject: accept` in its `config`"
)


async def evaluator_optimizer(run: Run, config: EvaluatorConfig) -> dict[str, Any]:
    """Write, judge and revise; the last draft is the response.

    Raises:
        FileAtFault: No draft was accepted, and `on_reject` does not accept the last one.
    """
    names: dict[str, Any] = {"iterations": []}
    message, is_taken = config.producer_input, False
    last = config.accept.max_iters - 1
    for index in range(config.accept.max_iters):
        names = await _iterate(run, config, index, message, names)
        if names["final_score"] >= config.accept.min_score or index == last:
            break
        if config.review_gate is not None:
            answer = await run.step(f"iterations.{index}.review", config.review_gate, names)
            names = {**names, **answer.of_person}
            if answer.response.strip().lower() in ENDS:
                is_taken = True
                break
        message = config.revise_prompt or REVISE
    _conclude(run, config, names, by_person=is_taken)
    return names


def _conclude(run: Run, config: EvaluatorConfig, names: dict[str, Any], *, by_person: bool) -> None:
    """Say whether the last draft is accepted, and fail where it is not and has to be."""
    score, least = names["final_score"], config.accept.min_score
    verdict = Verdict(by_person or score >= least, score, least, len(names["iterations"]))
    run.judge(verdict)
    if verdict.accepted or run.budget.is_frozen:  # a run that was complete before is only visited
        return
    if config.on_reject == "accept":
        run.warn(str(verdict))
        return
    raise FileAtFault(str(verdict), fix=_HELPS)


async def _iterate(
    run: Run, config: EvaluatorConfig, index: int, message: str | None, names: dict[str, Any]
) -> dict[str, Any]:
    """Write one draft and ask for its evaluation; return the names for later templates."""
    producer = AgentStep(agent=config.producer, input=message)
    draft = (await run.step(f"iterations.{index}.producer", producer, names)).response
    names = {**names, "draft": draft, "iteration": index + 1}
    names.setdefault("evaluation", ExtendedMapping({"score": 0, "issues": [], "fixes": []}, feedback=""))
    evaluator = config.evaluator
    if evaluator.input is None:
        evaluator = evaluator.model_copy(update={"input": EVALUATE})
    answer = await run.decide(f"iterations.{index}.evaluator", evaluator, EVALUATION, names)
    evaluation = ExtendedMapping({"issues": [], "fixes": [], **answer.output}, feedback="")
    iteration = ExtendedMapping(
        {"draft": draft, "score": evaluation["score"], "evaluation": evaluation},
        draft_preview=draft if len(draft) <= PREVIEW else f"{draft[:PREVIEW]}...",
        iteration=index + 1,
        **{name: evaluation[name] for name in ("issues", "fixes", "feedback")},
    )
    return {
        **names,
        "evaluation": evaluation,
        "iterations": [*names["iterations"], iteration],
        "iteration_index": index,
        "current_draft": draft,
        "current_evaluation": evaluation,
        "final_score": evaluation["score"],
        "last_response": draft,
    }
