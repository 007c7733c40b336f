"""Functions that build workflows in Python; they return the parts of the format as in a file.

They check nothing: a workflow is loaded from its parts as from a file, with the same findings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NewType, TypedDict, Unpack

from strands_cli.errors import UsageError
from strands_cli.workflow.sections import FormatModel

__all__ = [
    "AgentPart",
    "BranchPart",
    "EdgePart",
    "PatternPart",
    "StepPart",
    "TaskPart",
    "agent",
    "branch",
    "call",
    "chain",
    "choose",
    "dag",
    "edge",
    "evaluator_optimizer",
    "gate",
    "graph",
    "orchestrator_workers",
    "parallel",
    "routing",
    "step",
    "task",
]

StepPart = NewType("StepPart", dict[str, Any])
TaskPart = NewType("TaskPart", dict[str, Any])
BranchPart = NewType("BranchPart", dict[str, Any])
EdgePart = NewType("EdgePart", dict[str, Any])
AgentPart = NewType("AgentPart", dict[str, Any])
PatternPart = NewType("PatternPart", dict[str, Any])
OnError = Literal["stop", "continue"]
# A tool in a list: its name, or `{"tool": ..., "config": ..., "as": ...}`.
ToolName = str | Mapping[str, Any]


def agent(
    prompt: str | None = None,
    *,
    tools: Sequence[ToolName] | None = None,
    provider: str | None = None,
    model_id: str | None = None,
    memory: Literal["step", "run"] | None = None,
    output_schema: str | Mapping[str, Any] | None = None,
    **fields: Any,
) -> AgentPart:
    """Describe an agent; `fields` are further keys of the format (`inference`, `limits`, `input_schema`)."""
    return AgentPart(
        _without_none(
            prompt=prompt,
            tools=tools,
            provider=provider,
            model_id=model_id,
            memory=memory,
            output_schema=output_schema,
            **fields,
        )
    )


def step(
    agent: str,
    input: str | None = None,  # noqa: A002 - the word of the format
    *,
    vars: Mapping[str, Any] | None = None,  # noqa: A002
    attachments: Sequence[str | Mapping[str, str]] | None = None,
    tool_overrides: Sequence[ToolName] | None = None,
) -> StepPart:
    """Describe one turn of an agent; without an input it gets the answer of the step before it."""
    part = _without_none(agent=agent, input=input, vars=vars, attachments=attachments, tool_overrides=tool_overrides)
    return StepPart(part)


def gate(
    prompt: str,
    *,
    context_display: str | None = None,
    default: str | None = None,
    timeout_seconds: float | None = None,
    pattern: str | None = None,
    answer: Mapping[str, Any] | None = None,
    approvers: int | None = None,
    expires: str | None = None,
    on_expiry: str | None = None,
    delegate: str | None = None,
) -> StepPart:
    """Describe a question to a person; `pattern` must match the whole answer, and `answer` is its JSON Schema."""
    validation = {"pattern": pattern} if pattern is not None else None
    return StepPart(
        _without_none(
            type="hitl",
            prompt=prompt,
            context_display=context_display,
            default=default,
            timeout_seconds=timeout_seconds,
            validation=validation,
            answer=answer,
            approvers=approvers,
            expires=expires,
            on_expiry=on_expiry,
            delegate=delegate,
        )
    )


def call(tool: str, input: Mapping[str, Any] | None = None) -> StepPart:  # noqa: A002 - the word of the format
    """Describe one call of a tool without a model; strings in the input are templates."""
    return StepPart(_without_none(tool=tool, input=input))


def task(
    id: str,  # noqa: A002 - the word of the format
    what: StepPart,
    *,
    deps: Sequence[str] | None = None,
    description: str | None = None,
    on_error: OnError | None = None,
) -> TaskPart:
    """Describe a step that starts as soon as the tasks in `deps` are done."""
    return TaskPart(_without_none(id=id, deps=deps, description=description, on_error=on_error, **what))


def branch(id: str, *steps: StepPart, on_error: OnError | None = None) -> BranchPart:  # noqa: A002
    """Describe steps that run beside those of other branches."""
    return BranchPart(_without_none(id=id, steps=steps, on_error=on_error))


def edge(from_: str, *to: str) -> EdgePart:
    """Lead from a node to one node, or to several that run together."""
    return EdgePart({"from": from_, "to": list(to)})


def choose(from_: str, choices: Mapping[str, str]) -> EdgePart:
    """Lead from a node to the first node whose condition is true; the condition `else` always is."""
    return EdgePart({"from": from_, "choose": [{"when": when, "to": to} for when, to in choices.items()]})


def chain(*steps: StepPart) -> PatternPart:
    """Run steps one after another."""
    return _pattern("chain", steps=steps)


def dag(*tasks: TaskPart) -> PatternPart:
    """Run tasks as their dependencies allow: the pattern `workflow`."""
    return _pattern("workflow", tasks=tasks)


def routing(
    router: StepPart,
    routes: Mapping[str, Sequence[StepPart]],
    *,
    default: str | None = None,
    max_retries: int | None = None,
    review_router: StepPart | None = None,
) -> PatternPart:
    """Let an agent choose which of the routes is run."""
    chooser = _without_none(**router, max_retries=max_retries, review_router=review_router)
    then = {name: {"then": list(steps)} for name, steps in routes.items()}
    return _pattern("routing", router=chooser, routes=then, default=default)


def parallel(*branches: BranchPart, reduce: StepPart | None = None) -> PatternPart:
    """Run branches side by side, then the step that brings them together."""
    return _pattern("parallel", branches=branches, reduce=reduce)


class EvaluatorOptions(TypedDict, total=False):
    """Named arguments of `evaluator_optimizer` besides the agents and the score."""

    max_iters: int | None
    producer_input: str | None
    revise_prompt: str | None
    on_reject: Literal["fail", "accept"]
    review_gate: StepPart | None


def evaluator_optimizer(
    producer: str, evaluator: StepPart, *, min_score: float, **options: Unpack[EvaluatorOptions]
) -> PatternPart:
    """Let an agent write drafts until another gives one `min_score` points (0 to 100)."""
    accept = _without_none(min_score=min_score, max_iters=options.pop("max_iters", None))
    return _pattern("evaluator_optimizer", producer=producer, evaluator=evaluator, accept=accept, **options)


class WorkerOptions(TypedDict, total=False):
    """Named arguments of `orchestrator_workers` besides the agents."""

    worker_tools: Sequence[ToolName] | None
    max_workers: int | None
    max_rounds: int | None
    max_tasks: int | None
    decomposition_review: StepPart | None
    reduce_review: StepPart | None
    reduce: StepPart | None
    writeup: StepPart | None


def orchestrator_workers(orchestrator: StepPart, worker: str, **options: Unpack[WorkerOptions]) -> PatternPart:
    """Let an agent split the work, and the agent `worker` do each part."""
    limits = _without_none(
        max_workers=options.pop("max_workers", None),
        max_rounds=options.pop("max_rounds", None),
        max_tasks=options.pop("max_tasks", None),
    )
    template = _without_none(agent=worker, tools=options.pop("worker_tools", None))
    first = _without_none(**orchestrator, limits=limits or None)
    return _pattern("orchestrator_workers", orchestrator=first, worker_template=template, **options)


def graph(nodes: Mapping[str, StepPart], *edges: EdgePart, max_iterations: int | None = None) -> PatternPart:
    """Run nodes along edges, from the first node on; a node runs at most `max_iterations` times."""
    return _pattern("graph", nodes=dict(nodes), edges=edges or None, max_iterations=max_iterations)


def _pattern(name: str, **config: Any) -> PatternPart:
    return PatternPart({"type": name, "config": _without_none(**config)})


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def written(value: Any) -> Any:
    """Return a part of the format, or a whole `WorkflowSpec`, as in a file: the fields that were set, by alias."""
    if isinstance(value, FormatModel):
        # `type` of a gate is optional in Python and required in a file.
        names = [name for name in type(value).model_fields if name in value.model_fields_set or name == "type"]
        fields = {type(value).model_fields[name].alias or name: getattr(value, name) for name in names}
        fields |= value.__pydantic_extra__ or {}
        return {name: written(field) for name, field in fields.items() if field is not None}
    if isinstance(value, Mapping):
        return {name: written(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [written(item) for item in value]
    return value


def workflow_text(workflow: Any) -> str:
    """Return a workflow as the text of a file.

    Raises:
        UsageError: It has a value that a file cannot have.
    """
    try:
        return json.dumps(written(workflow), ensure_ascii=False, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"the workflow has a value that a file cannot have: {error}", fix="give text, numbers, lists"
        ) from error
