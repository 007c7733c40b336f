"""A workflow in the format loads as it is; a spoiled one is an error that says what is wrong, where, and what to do."""

from __future__ import annotations

import copy
import functools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strands_cli.errors import Finding, has_errors
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.model import LoadedWorkflow
from strands_cli.workflow.steps import AgentStep, CallStep, GateStep, ToolEntry
from strands_cli.yaml_files.document_reader import read_document
from tests.wordings import Wording
from tests.workflow.spoiled import CHAIN, HEAD, SPOILED, chain

WORKFLOWS = Path(__file__).parent / "workflows"
CORPUS = sorted(path for path in WORKFLOWS.iterdir() if path.is_file())
EXPECTED_WARNINGS = {
    "evaluator_optimizer.yaml": {"no-effect"},
    "graph_dead_end.yaml": {"no-else"},
    "oddities.yaml": {"no-effect", "undeclared-variable"},
    "everything.yaml": {"no-effect", "prints-none", "python-boolean", "unused-agent"},
}


def load(text: str) -> LoadedWorkflow:
    return load_spec(read_document("flow.yaml", text))


def test_the_corpus_has_every_pattern() -> None:
    kinds = {loaded.spec.pattern.type for path in CORPUS if (loaded := load_spec(read_document(path))).spec}
    assert len(kinds) == 7
    assert len(CORPUS) >= 13


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_a_workflow_of_the_corpus_loads_without_errors(path: Path) -> None:
    loaded = load_spec(read_document(path))
    assert loaded.spec is not None
    assert [str(finding) for finding in loaded.findings if finding.severity == "error"] == []
    assert {finding.code for finding in loaded.findings} <= EXPECTED_WARNINGS.get(path.name, set())


@pytest.mark.parametrize(("text", "code", "line"), SPOILED.values(), ids=SPOILED)
def test_a_spoiled_workflow_is_an_error_with_its_place(text: str, code: str, line: int) -> None:
    findings = load(text).findings
    found = [(finding.code, finding.where.line if finding.where else None) for finding in findings]
    assert (code, line) in found, [str(finding) for finding in findings]


@pytest.mark.parametrize("name", SPOILED)
def test_one_mistake_is_one_finding_and_hides_no_other(name: str) -> None:
    text, code, _ = SPOILED[name]
    besides = {"unused-agent", "missing-skill"} - {code}  # true of the example

    def codes_of(text: str) -> list[str]:
        return [finding.code for finding in load(text).findings if finding.code not in besides]

    assert codes_of(text) == [code]
    if text.startswith(HEAD[:10]):
        assert sorted(codes_of(text + "telemtry: {}\n")) == sorted([code, "unknown-key"])


@pytest.mark.parametrize(("text", "code", "line"), SPOILED.values(), ids=SPOILED)
def test_no_message_speaks_of_pydantic(text: str, code: str, line: int) -> None:
    for finding in load(text).findings:
        said = f"{finding.message} {finding.fix}"
        for word in (
            "Input should",
            "pydantic",
            "discriminator",
            "dict",
            "tuple",
            "str'",
            "NoneType",
            "<agent>",
            "ctx",
        ):
            assert word not in said


def keys_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every key of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(key, str):
            yield (*path, key)
        yield from keys_in(item, (*path, key))


def misspelt(value: Any, path: tuple[Any, ...]) -> str:
    """Return a document with the last letters of one key swapped."""
    copied = copy.deepcopy(value)
    holder = functools.reduce(lambda node, key: node[key], path[:-1], copied)
    key = path[-1]
    holder[f"{key[:-2]}{key[-1]}{key[-2]}"] = holder.pop(key)
    return json.dumps(copied)


@pytest.mark.hostile
@pytest.mark.parametrize("path", [path for path in CORPUS if path.stem != "anchors"], ids=lambda path: path.name)
def test_a_misspelt_key_is_one_finding_anywhere(path: Path) -> None:
    document = read_document(path)
    before = Counter(codes(load_spec(document).findings))
    tried = 0
    for keys in keys_in(document.value):
        if len(keys[-1]) > 3 and keys[-1][-1] != keys[-1][-2]:
            text = misspelt(document.value, keys)
            after = Counter(codes(load_spec(read_document(path, text)).findings)) - before
            is_shared = "inference" in keys  # by an anchor
            if after["unknown-key"] and not is_shared and keys[-1] != "callable":
                tried += 1
                assert after == Counter({"unknown-key": 1}), keys
    assert tried > 5


def test_nothing_is_reported_twice() -> None:
    for text, _, _ in SPOILED.values():
        findings = load(text).findings
        assert len(set(findings)) == len(findings)


def codes(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.code for finding in findings]


def test_all_findings_come_at_once_in_the_order_of_the_file() -> None:
    text = """\
version: 2
name: x
name: y
runtime: {provider: replay, temprature: 1, max_parallel: many}
agents:
  a: {prompt: A, memory: all}
  b: {prompt: B, output_schema: {type: 5}}
pattern:
  type: chain
  config:
    steps:
      - {agent: c, input: "{{ steps[0].response }}"}
      - {agent: b, input: "{{ | }}"}
"""
    loaded = load(text)
    assert loaded.spec is None
    assert codes(loaded.findings) == [
        "duplicate-key",
        "unknown-key",
        "wrong-type",
        "bad-value",
        "bad-schema",
        "unknown-agent",
        "unknown-name",
        "bad-template",
    ]
    lines = [finding.where.line for finding in loaded.findings if finding.where]
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("task", "code"),
    [("type: hilt, prompt: Go on?", "bad-value"), ("input: x", "step-form"), ("5", "wrong-type")],
)
def test_a_task_with_a_mistake_hides_no_name_in_another_task(task: str, code: str) -> None:
    broken = task if task.isdigit() else "{id: two, " + task + "}"
    tasks = f"[{{id: one, agent: alhpa, input: x}}, {broken}]"
    text = HEAD + f"pattern: {{type: workflow, config: {{tasks: {tasks}}}}}\n"
    assert sorted(codes(load(text).findings)) == sorted(["unknown-agent", code])


@pytest.mark.parametrize("step", ["tol: 'native:shout', input: {}", "type: tools, prompt: x", "input: x"])
@pytest.mark.parametrize("pattern", ["chain, config: {steps: [{STEP}]", "workflow, config: {tasks: [{id: one, STEP}]"])
def test_a_step_with_a_mistake_needs_no_agents(step: str, pattern: str) -> None:
    text = f"version: 2\nname: x\npattern: {{type: {pattern.replace('STEP', step)}}}}}\n"
    assert len(codes(load(text).findings)) == 1


def test_a_broken_agent_is_not_also_an_unknown_agent() -> None:
    text = (HEAD + CHAIN).replace("beta: {prompt: B}", "beta: 5")
    assert codes(load(text).findings) == ["wrong-type"]


def test_a_workflow_with_wrong_references_still_has_a_spec() -> None:
    loaded = load(chain("{agent: gamma}", "{agent: alpha}", "{agent: beta}"))
    assert loaded.spec is not None
    assert has_errors(loaded.findings)


def test_unknown_keys_get_a_close_word(wording: Wording) -> None:
    (finding,) = load((HEAD + CHAIN).replace("{provider: replay}", "{provider: replay, temprature: 1}")).findings
    wording(finding.fix)
    assert finding.where is not None
    assert (finding.where.line, finding.where.column, finding.where.pointer) == (3, 29, "/runtime/temprature")


def test_a_position_deep_in_a_step_is_named() -> None:
    loaded = load(chain("{agent: alpha}", "{agent: beta, tool_overrides: [x, {tool: y, cfg: {}}]}"))
    assert [(f.code, f.where.pointer) for f in loaded.findings if f.where] == [
        ("unknown-key", "/pattern/config/steps/1/tool_overrides/1/cfg")
    ]
    assert "config" in str(loaded.findings[0].fix)


def test_an_error_in_a_block_of_text_names_its_line() -> None:
    steps = "      - agent: alpha\n        input: |\n          one\n          {{ x y }}\n"
    text = HEAD + "pattern:\n  type: chain\n  config:\n    steps:\n" + steps
    found = [(f.code, f.where.line) for f in load(text).findings if f.where and f.severity == "error"]
    assert found == [("bad-template", 13)]


def test_notes_are_free_wherever_keys_have_meaning() -> None:
    text = chain("{agent: alpha, x-why: [1]}", "{agent: beta}").replace("inputs: {", "inputs: {x-a: 1, ")
    text = text.replace("{prompt: A}", "{prompt: A, x-b: {c: d}}, x-draft: {anything: goes}")
    assert load(text).findings == ()


def test_free_mappings_keep_keys_that_look_like_notes() -> None:
    loaded = load(chain("{tool: t, input: {x-header: 1}}", "{agent: alpha}", "{agent: beta}"))
    assert loaded.spec is not None
    step = loaded.spec.pattern.config.steps[0]  # type: ignore[union-attr]
    assert isinstance(step, CallStep)
    assert step.input == {"x-header": 1}


def test_a_step_is_known_by_its_keys() -> None:
    loaded = load(chain("{agent: alpha}", "{type: hitl, prompt: x}", "{tool: y}", "{agent: beta}"))
    assert loaded.spec is not None
    kinds = [type(step) for step in loaded.spec.pattern.config.steps]  # type: ignore[union-attr]
    assert kinds == [AgentStep, GateStep, CallStep, AgentStep]


def test_tools_are_read_in_all_their_spellings() -> None:
    text = (HEAD + CHAIN).replace("{prompt: A}", "{prompt: A, tools: [a, {callable: b}, {tool: c, as: d}]}")
    spec = load(text).spec
    assert spec is not None
    assert spec.agents["alpha"].tools == (ToolEntry(tool="a"), ToolEntry(tool="b"), ToolEntry(tool="c", as_="d"))
    assert spec.agents["beta"].tools is None


def test_words_of_yaml_1_1_are_names_and_booleans_where_meant() -> None:
    text = (HEAD + CHAIN).replace("alpha", "on").replace("beta", "no") + "security: {guardrails: {deny_network: yes}}\n"
    loaded = load(text)
    assert loaded.findings == ()
    assert loaded.spec is not None
    assert set(loaded.spec.agents) == {"on", "no"}
    assert loaded.spec.security.guardrails.deny_network is True


def test_absent_sections_are_empty() -> None:
    spec = load(HEAD + CHAIN).spec
    assert spec is not None
    assert spec.tools.python == ()
    assert spec.outputs.artifacts == ()
    assert spec.runtime.max_parallel == 5
    assert spec.runtime.failure_policy.retries == 2
    assert spec.runtime.budgets.warn_threshold == 0.8


def test_inputs_are_read_as_their_types() -> None:
    spec = load_spec(read_document(WORKFLOWS / "everything.yaml")).spec
    assert spec is not None
    declared = spec.inputs.declared()
    assert declared["topic"].type == "string"
    assert declared["draft_only"].default is False
    assert declared["language"].type == "string"
    assert declared["note"].default is None
    assert declared["depth"].enum == (1, 2, 3)


def test_a_frozen_workflow_cannot_be_changed() -> None:
    spec = load(HEAD + CHAIN).spec
    assert spec is not None
    with pytest.raises(ValueError, match="frozen"):
        spec.name = "other"  # type: ignore[misc]


def test_an_agent_used_as_a_tool_is_used() -> None:
    text = (HEAD + CHAIN).replace(
        "beta: {prompt: B}}", "beta: {prompt: B, tools: ['agent:gamma']}, gamma: {prompt: G}}"
    )
    assert load(text).findings == ()


def test_a_large_graph_of_tasks_is_checked_without_recursion() -> None:
    tasks = "".join(
        f"      - {{id: t{i}, agent: alpha, deps: [{f't{i - 1}' if i else 't2999'}]}}\n" for i in range(3000)
    )
    findings = load(HEAD + "pattern:\n  type: workflow\n  config:\n    tasks:\n" + tasks).findings
    assert "task-cycle" in codes(findings)
