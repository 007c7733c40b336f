"""An agent that comes again and is given nothing of what was before is found."""

from __future__ import annotations

import tracemalloc

import pytest

from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import read_document

HEAD = """version: 2
name: t
runtime: {{provider: ollama, model_id: m}}
inputs: {{values: {{topic: bees}}}}
agents: {{a: {{prompt: A{more}}}, b: {{prompt: B}}}}
pattern:
  type: {type}
  config: {config}
"""


def found(config: str, kind: str = "chain", more: str = "", end: str = "") -> list[str]:
    text = HEAD.format(type=kind, config=config, more=more) + end
    findings = load_spec(read_document("flow.yaml", text)).findings
    return [one.where.pointer for one in findings if one.code == "lost-conversation" and one.where]


BLIND = "{steps: [{agent: a, input: one}, {agent: b}, {agent: a, input: 'Why that one, on {{ topic }}?'}]}"


def test_a_message_of_inputs_only_is_found_at_its_line() -> None:
    assert found(BLIND) == ["/pattern/config/steps/2/input"]


@pytest.mark.parametrize("more", [", memory: step", ", memory: run"])
def test_the_word_of_the_author_counts(more: str) -> None:
    assert found(BLIND, more=more) == []


@pytest.mark.parametrize("memory", ["step", "run", "path"])
def test_the_word_of_the_author_for_all_agents_counts(memory: str) -> None:
    assert found(BLIND, end=f"context_policy: {{memory: {memory}}}\n") == []


def test_notes_bring_earlier_answers() -> None:
    assert found(BLIND, end="context_policy: {notes: {file: n.md}}\n") == []
    assert found(BLIND, end="context_policy: {notes: {file: n.md, include_last: 0}}\n") != []


@pytest.mark.parametrize(
    "again",
    [
        "input: 'Why {{ last_response }}?'",
        "input: '{{ steps[0].response }}'",
        "input: '{% if steps %}again{% endif %}'",
        "vars: {word: '{{ last_response }}'}, input: 'Why {{ word }}?'",
        "tool_overrides: []",
    ],
)
def test_what_reads_an_answer_is_not_found(again: str) -> None:
    assert found(f"{{steps: [{{agent: a, input: one}}, {{agent: a, {again}}}]}}") == []


def test_steps_side_by_side_are_not_one_after_the_other() -> None:
    branches = "{branches: [{id: x, steps: [{agent: a, input: x}]}, {id: y, steps: [{agent: a, input: y}]}]}"
    assert found(branches, "parallel") == []
    one_branch = branches.replace("[{agent: a, input: x}]", "[{agent: a, input: x}, {agent: a, input: again}]")
    assert found(one_branch, "parallel") == ["/pattern/config/branches/0/steps/1/input"]


def test_a_loop_and_a_next_draft_come_again() -> None:
    loop = "{nodes: {x: {agent: a, input: x}, y: {agent: b}}, edges: [{from: x, to: y}, {from: y, to: x}]}"
    assert found(loop, "graph") == ["/pattern/config/nodes/x/input"]
    drafts = "{producer: a, evaluator: {agent: b}, accept: {min_score: 9}, producer_input: Write."
    assert found(drafts + "}", "evaluator_optimizer") == []
    assert found(drafts + ", revise_prompt: Again.}", "evaluator_optimizer") == ["/pattern/config/revise_prompt"]


def test_the_check_of_many_tasks_stores_no_path_between_every_two() -> None:
    tasks = ", ".join(f"{{id: t{i}, agent: a, input: x, deps: [{f't{i - 1}' if i else ''}]}}" for i in range(600))
    text = HEAD.format(type="workflow", config=f"{{tasks: [{tasks}]}}", more="")
    spec = load_spec(read_document("flow.yaml", text)).valid
    assert spec is not None
    tracemalloc.start()
    try:
        again = list(spec.pattern.messages_again())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(again) == 599
    assert peak < 5_000_000
