"""What is built in Python is what a file says: the same specification, the same findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli import Workflow
from strands_cli.errors import UsageError
from strands_cli.workflow.agent_sections import AgentSpec
from strands_cli.workflow.builder import (
    agent,
    branch,
    call,
    chain,
    choose,
    dag,
    edge,
    evaluator_optimizer,
    gate,
    graph,
    orchestrator_workers,
    parallel,
    routing,
    step,
    task,
)
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.patterns.chain import Chain, ChainConfig
from strands_cli.workflow.sections import Runtime
from strands_cli.workflow.steps import GateStep
from strands_cli.yaml_files.document_reader import read_document
from tests.wordings import Wording

CLONE = Path(__file__).parent.parent.parent
EXAMPLES = CLONE / "examples"
PATTERNS = EXAMPLES / "patterns"


def of_file(path: Path) -> Workflow:
    return Workflow.from_file(path)


def replayed(name: str, **further: Any) -> dict[str, Any]:
    return {"provider": "replay", "recording": f"{name}.recording.yaml", **further}


def in_workflow() -> Workflow:
    return Workflow.build(
        "article",
        runtime=replayed("workflow", max_parallel=2),
        inputs={"optional": {"topic": {"type": "string", "default": "honey bees"}}},
        agents={
            "writer": agent("You write short and plain."),
            "researcher": agent("You list facts you are sure of."),
        },
        pattern=dag(
            task("outline", step("writer", "Outline an article on {{ topic }} in three points.")),
            task("facts", step("researcher", "Three facts on {{ topic }}.")),
            task(
                "article",
                step(
                    "writer",
                    "Write the article.\nOutline: {{ tasks.outline.response }}\nFacts: {{ tasks.facts.response }}\n",
                ),
                deps=["outline", "facts"],
            ),
        ),
        outputs={"artifacts": [{"path": "article.md", "from": "{{ tasks.article.response }}"}]},
        base_dir=PATTERNS,
    )


def in_routing() -> Workflow:
    return Workflow.build(
        "helpdesk",
        runtime=replayed("routing"),
        inputs={"optional": {"question": {"type": "string", "default": "I was charged twice."}}},
        agents={
            "router": agent("You sort questions. Answer with the name of a route."),
            "clerk": agent("You answer customers."),
        },
        pattern=routing(
            step("router", "Is this about billing or about shipping? {{ question }}"),
            {
                "billing": [step("clerk", "Answer as the billing desk ({{ router.chosen_route }}): {{ question }}")],
                "shipping": [step("clerk", "Answer as the shipping desk: {{ question }}")],
            },
            default="billing",
        ),
        base_dir=PATTERNS,
    )


def in_parallel() -> Workflow:
    return Workflow.build(
        "two-views",
        runtime=replayed("parallel"),
        agents={"critic": agent("You judge proposals."), "editor": agent("You weigh views.")},
        pattern=parallel(
            branch("cost", step("critic", "What does a bicycle shed cost us?")),
            branch("use", step("critic", "Who would use a bicycle shed?")),
            reduce=step("editor", "Cost: {{ branches.cost.response }} Use: {{ branches.use.response }} Build it?"),
        ),
        base_dir=PATTERNS,
    )


def in_evaluator_optimizer() -> Workflow:
    return Workflow.build(
        "slogan",
        runtime=replayed("evaluator_optimizer"),
        agents={"writer": agent("You write slogans."), "judge": agent("You judge slogans, 0 to 100.")},
        pattern=evaluator_optimizer(
            "writer",
            step("judge", "Judge: {{ draft }}"),
            on_reject="fail",
            min_score=80,
            max_iters=3,
            producer_input="A slogan for a bakery.",
            revise_prompt="{{ draft }} got {{ evaluation.score }} points: {{ evaluation.issues | join(', ') }}. "
            "Better, please.",
        ),
        outputs={"artifacts": [{"path": "slogan.txt", "from": "{{ last_response }} ({{ final_score }})"}]},
        base_dir=PATTERNS,
    )


def in_orchestrator_workers() -> Workflow:
    return Workflow.build(
        "trip",
        runtime=replayed("orchestrator_workers"),
        agents={
            "planner": agent("You split work into tasks."),
            "worker": agent("You do one task."),
            "editor": agent("You write it up."),
        },
        pattern=orchestrator_workers(
            step("planner", "Plan a day in Ghent."),
            "worker",
            max_workers=3,
            max_rounds=2,
            reduce=step(
                "editor", "Join: {% for worker in workers %}{{ worker.task }} -> {{ worker.response }}; {% endfor %}"
            ),
        ),
        base_dir=PATTERNS,
    )


def in_graph() -> Workflow:
    again = "{% if nodes.review is defined %}Again, it was {{ nodes.review.response }}."
    return Workflow.build(
        "review-loop",
        runtime=replayed("graph"),
        agents={"writer": agent("You write one sentence."), "reviewer": agent("You answer with one word.")},
        pattern=graph(
            {
                "write": step("writer", again + "{% else %}A sentence on rain.{% endif %}"),
                "review": step("reviewer", "{{ nodes.write.response }} Fine or boring?"),
                "publish": call("native:calculator", {"expression": "{{ nodes.write.iteration }} * 10"}),
            },
            edge("write", "review"),
            choose("review", {"nodes.review.response == 'fine'": "publish", "else": "write"}),
            max_iterations=3,
        ),
        base_dir=PATTERNS,
    )


def in_chain() -> Workflow:
    content = "{{ steps[0].response if hitl_response == 'yes' else 'No notice today.' }}"
    day = {"type": "string", "default": "Friday", "description": "The day on which the shop is closed"}
    return Workflow.build(
        "approve-and-write",
        description="A notice for the shop's door, seen by a person before it is written.",
        runtime=replayed("approve-and-write"),
        inputs={"optional": {"day": day}},
        agents={"writer": agent("You write short, friendly notices for a shop's door.", tools=[])},
        pattern=chain(
            step("writer", "Write a notice that the shop is closed on {{ day }}."),
            gate(
                "Put this notice up? (yes or no)",
                context_display="{{ last_response }}",
                default="yes",
                pattern="yes|no",
            ),
            call("native:file_write", {"path": "notice.md", "content": content}),
        ),
        base_dir=EXAMPLES,
    )


BUILT = {
    EXAMPLES / "approve-and-write.yaml": in_chain,
    PATTERNS / "workflow.yaml": in_workflow,
    PATTERNS / "routing.yaml": in_routing,
    PATTERNS / "parallel.yaml": in_parallel,
    PATTERNS / "evaluator_optimizer.yaml": in_evaluator_optimizer,
    PATTERNS / "orchestrator_workers.yaml": in_orchestrator_workers,
    PATTERNS / "graph.yaml": in_graph,
}
# Everything the format knows, file by file, as the loader's own tests have it.
FILES = sorted((CLONE / "tests" / "workflow" / "workflows").glob("*.yaml"))


@pytest.mark.parametrize("path", BUILT, ids=lambda path: path.stem)
def test_what_is_built_equals_what_the_file_says(path: Path) -> None:
    built, read = BUILT[path](), of_file(path)
    assert built.spec == read.spec
    assert built.spec.model_dump(exclude_unset=True) == read.spec.model_dump(exclude_unset=True)
    assert built.validate() == read.validate() == ()
    assert built.plan().digest == read.plan().digest


@pytest.mark.parametrize("path", [*FILES, *BUILT], ids=lambda path: path.stem)
def test_a_spec_becomes_the_same_spec_again(path: Path) -> None:
    read = of_file(path)
    again = Workflow.from_spec(read.spec, base_dir=path.parent)
    assert again.spec == read.spec
    assert again.spec.model_dump(exclude_unset=True) == read.spec.model_dump(exclude_unset=True)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_mapping_is_as_good_as_a_file(path: Path) -> None:
    """`build` takes any section of the format as plain values."""
    read = of_file(path)
    parts = read_document(path).value
    built = Workflow.build(
        **{name: part for name, part in parts.items() if not name.startswith("x-")}, base_dir=path.parent
    )
    assert built.spec == read.spec


def test_a_mistake_gets_the_same_finding_as_in_a_file() -> None:
    built = Workflow.build(
        "wrong",
        runtime={"provider": "openai", "modle_id": "m"},
        agents={"writer": agent("You write.")},
        pattern=chain(step("wirter", "{{ steps[0.response }}"), gate("Good?", pattern="("), call("a b")),
    )
    read = Workflow.from_text(
        """
        version: 2
        name: wrong
        runtime: {provider: openai, modle_id: m}
        agents: {writer: {prompt: You write.}}
        pattern:
          type: chain
          config:
            steps:
              - {agent: wirter, input: "{{ steps[0.response }}"}
              - {type: hitl, prompt: Good?, validation: {pattern: "("}}
              - {tool: a b}
        """
    )

    def found_in(workflow: Workflow) -> set[tuple[Any, ...]]:
        found = workflow.validate()
        return {(f.code, f.message, f.fix, f.severity, f.where and f.where.pointer) for f in found}

    assert found_in(built) == found_in(read)
    assert {"unknown-key", "unknown-agent"} <= {finding.code for finding in built.validate()}


def test_a_finding_in_a_built_workflow_points_into_its_text() -> None:
    built = Workflow.build("w", runtime={"provider": "openai"}, agents={}, pattern=chain(step("nobody")))
    for finding in built.validate():
        assert finding.where is not None
        assert finding.where.file == "<workflow>"
        assert finding.where.line is not None


def test_what_no_file_could_hold_is_refused(wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        Workflow.build("w", runtime={"provider": object()}, agents={}, pattern=chain())
    wording(raised.value)
    with pytest.raises(UsageError) as refused:
        Workflow.build("w", runtime={"temperature": float("nan")}, agents={}, pattern=chain())
    wording(refused.value)


@given(st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.none(), max_size=3))
def test_every_text_and_value_survives(prompt: str, values: dict[str, Any]) -> None:
    spec = WorkflowSpec.model_validate(
        {
            "version": 2,
            "name": "w",
            "runtime": {"provider": "openai"},
            "agents": {"a": {"prompt": prompt}},
            "pattern": {"type": "chain", "config": {"steps": [{"tool": "t", "input": values}]}},
        }
    )
    try:
        prompt.encode()
        str(values).encode()
    except UnicodeEncodeError:
        return
    assert Workflow.from_spec(spec).spec == spec


def test_a_specification_made_of_models_needs_not_say_what_a_gate_is() -> None:
    chain_of_one = Chain(type="chain", config=ChainConfig(steps=(GateStep(prompt="Good?"),)))
    runtime, agents = Runtime(provider="openai"), {"a": AgentSpec(prompt="p")}
    spec = WorkflowSpec(version=2, name="w", runtime=runtime, agents=agents, pattern=chain_of_one)
    assert Workflow.from_spec(spec).spec == spec


def test_every_argument_of_the_builder_reaches_the_specification() -> None:
    review, last = gate("Fine?", timeout_seconds=5, default="no"), step("a", vars={"x": 1}, tool_overrides=["t"])
    agents = {
        "a": agent(
            "p",
            tools=["t"],
            provider="openai",
            model_id="m",
            memory="run",
            output_schema={"type": "object"},
            limits={"turns": 3},
        )
    }

    def built(pattern: Any) -> Any:
        return Workflow.build("w", runtime={"provider": "openai"}, agents=agents, pattern=pattern, version=2).spec

    config = built(routing(last, {"r": [review]}, default="r", max_retries=1, review_router=review)).pattern.config
    assert (config.router.max_retries, config.router.review_router.timeout_seconds) == (1, 5)
    assert config.router.vars == {"x": 1}
    config = built(
        orchestrator_workers(
            last, "a", worker_tools=["t"], decomposition_review=review, reduce_review=review, reduce=last, writeup=last
        )
    ).pattern.config
    assert [tool.tool for tool in config.worker_template.tools] == ["t"]
    assert config.decomposition_review == config.reduce_review
    assert config.reduce == config.writeup
    config = built(evaluator_optimizer("a", last, min_score=1, review_gate=review)).pattern.config
    assert config.review_gate.default == "no"
    config = built(dag(task("t", review, on_error="continue", description="d"))).pattern.config
    assert (config.tasks[0].on_error, config.tasks[0].description) == ("continue", "d")
    spec = built(parallel(branch("x", last, on_error="continue"), branch("y", last)))
    assert spec.pattern.config.branches[0].on_error == "continue"
    assert (spec.agents["a"].memory, spec.agents["a"].limits.turns, spec.version) == ("run", 3, 2)
