"""Mistakes below a mistyped pattern or key are found in the same pass: the file is read as its author means it."""

from __future__ import annotations

import re

import pytest

from strands_cli.errors import Code, Finding, InvalidInput
from strands_cli.workflow.findings import UNKNOWN_NAME
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.validation_errors import WRONG_TYPE
from strands_cli.yaml_files.document_reader import read_document

HEAD = """\
version: 2
name: x
runtime: {provider: ollama, model_id: m}
agents: {a: {prompt: A}}
"""


def general(code: Code) -> str | None:
    """Return the fix of a finding that has only that of its code."""
    return Finding(code, "").fix


def found(text: str) -> list[tuple[str, int | None, str | None]]:
    findings = load_spec(read_document("flow.yaml", text)).findings
    assert all(one.where is not None and one.where.column for one in findings)
    return [(one.code, one.where.line if one.where else None, one.fix) for one in findings]


STEPS = """\
      - {agent: b, inptu: x}
      - {agent: a, input: "{{ steps[4].response }}"}
      - {agnet: a}
"""
OF_STEPS = [
    ("unknown-agent", "there are: a"),
    ("unknown-key", "did you mean `input`?"),
    ("unknown-name", general(UNKNOWN_NAME)),
]
OF_STEPS.append(("step-form", "did you mean `agent` for `agnet`?"))


@pytest.mark.parametrize(
    ("head", "code", "fix"),
    [
        ("pattern:\n  type: chian\n  config:\n    steps:\n", "unknown-pattern", "did you mean `chain`?"),
        ("pattern:\n  type: Chain\n  config:\n    steps:\n", "unknown-pattern", "did you mean `chain`?"),
        ("pattern:\n  type: sequential\n  config:\n    steps:\n", "unknown-pattern", "did you mean `chain`?"),
        ("pattern:\n  config:\n    steps:\n", "missing-key", "add `type: chain`"),
        ("pattern:\n  tpye: chain\n  config:\n    steps:\n", "unknown-key", "did you mean `type`?"),
        ("pattern:\n  type: chain\n  config:\n    setps:\n", "unknown-key", "did you mean `steps`?"),
        ("pattern:\n  type: chain\n  steps:\n", "unknown-key", "write it under `config:`"),
        ("steps:\n", "unknown-key", "write `pattern: {type: chain, config: {steps: ...}}`"),
    ],
)
def test_a_mistake_above_the_steps_hides_none_in_them(head: str, code: str, fix: str) -> None:
    first, *others = found(HEAD + head + STEPS)
    assert (first[0], first[2]) == (code, fix)
    assert [(one[0], one[2]) for one in others] == OF_STEPS
    start = len((HEAD + head).splitlines())
    assert [one[1] for one in others] == [start + line for line in (1, 1, 2, 3)]


@pytest.mark.parametrize(
    ("word", "meant"), [("list", "array"), ("dict", "object"), ("float", "number"), ("int", "integer")]
)
def test_a_type_in_the_words_of_python_is_that_of_json(word: str, meant: str) -> None:
    text = f"{HEAD}inputs: {{required: {{x: {word}}}}}\npattern: {{type: chain, config: {{steps: [{{agent: a}}]}}}}\n"
    assert found(text)[0] == ("bad-value", 5, f"did you mean `{meant}`?")


def test_the_exact_key_of_a_section_is_not_a_misspelling_of_another_key() -> None:
    text = HEAD + "budgets: {max_tokns: 5}\npattern: {type: chain, config: {steps: [{agent: a, input: x}]}}\n"
    assert found(text) == [
        ("unknown-key", 5, "write it under `runtime:`"),
        ("unknown-key", 5, "did you mean `max_tokens`?"),
    ]


def test_tasks_of_an_unknown_pattern_are_those_of_a_workflow() -> None:
    tasks = "{id: one, agent: a}, {id: two, agent: a, depends_on: one}, {id: three, agent: a, deps: [tow]}"
    text = f"{HEAD}pattern: {{type: dag, config: {{tasks: [{tasks}]}}}}\n"
    assert [(code, fix) for code, _, fix in found(text)] == [
        ("unknown-pattern", "did you mean `workflow`?"),
        ("unknown-key", "did you mean `deps`?"),
        ("wrong-type", "write it as a list: [one]"),
        ("unknown-task", "did you mean 'two'?"),
    ]


def test_two_mistakes_in_the_type_of_a_pattern_are_two_findings() -> None:
    text = f"{HEAD}pattern:\n  tpye: chian\n  config: {{steps: [{{agent: a, inptu: b}}]}}\n"
    assert [(code, line) for code, line, _ in found(text)] == [
        ("unknown-key", 6),
        ("unknown-pattern", 6),
        ("unknown-key", 7),
    ]


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("model_id: m", "write it under `runtime:`"),
        ("max_steps: 3", "write it under `runtime.budgets:`"),
        ("mcp: []", "write it under `tools:`"),
        ("artifacts: []", "write it under `outputs:`"),
    ],
)
def test_the_right_place_of_a_misplaced_key_is_named(line: str, fix: str) -> None:
    text = f"{HEAD}pattern: {{type: chain, config: {{steps: [{{agent: a, input: go}}]}}}}\n{line}\n"
    assert found(text) == [("unknown-key", 6, fix)]


@pytest.mark.parametrize(
    ("agent", "meant"),
    [("instructions: A", "prompt"), ("system_prompt: A", "prompt"), ("prompt: A, model: x", "model_id")],
)
def test_words_of_other_programs_are_read_as_the_key_that_they_mean(agent: str, meant: str) -> None:
    text = HEAD.replace("{prompt: A}", f"{{{agent}}}") + "pattern: {type: chain, config: {steps: [{agent: a}]}}\n"
    assert found(text) == [("unknown-key", 4, f"did you mean `{meant}`?")]


def test_a_pattern_that_is_its_name_alone_is_shown_as_a_mapping() -> None:
    assert ("wrong-type", 5, "write `pattern: {type: chain, config: {...}}`") in found(f"{HEAD}pattern: chain\n")


def test_one_text_for_a_list_and_steps_as_a_mapping_are_read_and_checked() -> None:
    text = f"""{HEAD}pattern:
  type: chain
  config:
    steps:
      first: {{agent: a, inptu: x}}
      second: {{agent: b}}
tags: one
tools: {{python_path: lib}}
"""
    assert found(text) == [
        ("wrong-type", 8, "write it as a list: `- item` on lines of their own"),
        ("unknown-key", 9, "did you mean `input`?"),
        ("unknown-agent", 10, "there are: a"),
        ("wrong-type", 11, "write it as a list: [one]"),
        ("wrong-type", 12, "write it as a list: [lib]"),
    ]


def test_lists_of_named_parts_are_read_as_mappings_and_checked() -> None:
    text = """\
version: 2
name: x
runtime: {provider: ollama, model_id: m}
inputs: [topic]
agents:
  - {id: a, prompt: A}
  - {name: b, promt: B}
pattern:
  type: graph
  config:
    nodes: [{id: one, agent: a, input: "{{ topic }}"}, {id: two, agent: c}]
    edges: [{source: one, target: tow}]
"""
    (code, line, fix), *others = found(text)
    assert (code, line, str(fix).rpartition(" of ")[2]) == (
        "wrong-type",
        4,
        "absent, allow_undeclared, keep_texts, optional, required, values",
    )
    assert others == [
        ("wrong-type", 5, "write it as a mapping: `name: ...` for each"),
        ("unknown-key", 7, "did you mean `prompt`?"),
        ("wrong-type", 11, "write it as a mapping: `name: ...` for each"),
        ("unknown-agent", 11, "there are: a, b"),
        ("unknown-key", 12, "did you mean `from`?"),
        ("unknown-key", 12, "did you mean `to`?"),
        ("unknown-node", 12, "did you mean 'two'?"),
    ]


def test_a_list_of_tools_and_servers_as_a_mapping_are_read_and_checked() -> None:
    pattern = "pattern: {type: chain, config: {steps: [{agent: a}]}}\n"
    assert found(f"{HEAD}{pattern}tools: [native:x, {{tool: y, cfg: {{}}}}]\n") == [
        ("wrong-type", 6, "write the list under `tools.python:`"),
        ("unknown-key", 6, "did you mean `config`?"),
    ]
    assert found(f"{HEAD}{pattern}tools: {{mcp: {{time: {{command: x, transport: y}}}}}}\n") == [
        ("wrong-type", 6, "write it as a list: `- item` on lines of their own"),
        ("no-effect", 6, "remove it"),
    ]


def test_values_that_replace_a_mistake_have_no_findings_of_their_own() -> None:
    config = "generator: {agent: a}, evaluator: {agent: a}, threshold: 1"
    findings = found(f"{HEAD}pattern: {{type: evaluator-optimizer, config: {{{config}}}}}\n")
    assert [code for code, _, _ in findings] == ["unknown-pattern", "unknown-key", "wrong-type", "unknown-key"]


@pytest.mark.parametrize(
    ("text", "line", "fix"),
    [
        ("steps:\n  - agent: a\n   input: b\n", 3, "new item"),
        ("prompt: You are: a writer\n", 1, "in quotes"),
        ('a:\n  prompt: "You say "hi""\n', 2, "other kind"),
        ("steps: [a, b\nnext: 1\n", 2, "write `]`"),
    ],
)
def test_text_that_is_not_yaml_is_explained_without_the_words_of_the_parser(text: str, line: int, fix: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        read_document("flow.yaml", text)
    (finding,) = raised.value.findings
    assert (finding.code, finding.where and finding.where.line) == ("not-yaml", line)
    assert fix in str(finding.fix)
    assert not re.search(r"indicator|block|context|expected", finding.message)


@pytest.mark.parametrize(
    ("key", "written", "meant"),
    [
        ("failure_policy: {wait_min", "1.5 min", "90"),
        ("budgets: {max_tokens", "5k", None),
        ("budgets: {max_duration_s", "30s", "30"),
    ],
)
def test_a_duration_with_a_unit_is_answered_with_the_number(key: str, written: str, meant: str | None) -> None:
    head = HEAD.replace("model_id: m", f"model_id: m, {key}: {written}}}")
    text = f"{head}pattern: {{type: chain, config: {{steps: [{{agent: a}}]}}}}\n"
    assert found(text) == [("wrong-type", 3, f"write the number alone: {meant}" if meant else general(WRONG_TYPE))]
