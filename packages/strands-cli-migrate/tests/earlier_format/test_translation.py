"""What the translation writes for each difference, where problems are, and that no mistake in a file makes it fail."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from strands_cli_migrate.earlier.translation import earlier
from strands_cli_migrate.earlier.versions import PRESENT

CASES = Path(__file__).parent / "cases"


def flow(**more: Any) -> dict[str, Any]:
    base = {
        "version": 0,
        "name": "flow",
        "runtime": {"provider": "openai", "model_id": "m"},
        "agents": {"a": {"prompt": "A"}},
        "pattern": {"type": "chain", "config": {"steps": [{"agent": "a", "input": "x"}]}},
    }
    return {**base, **more}


def translated(**more: Any) -> dict[str, Any]:
    found = earlier(flow(**more))
    assert found.problems == []
    return dict(found.value)


def artifact(text: str, kind: str, **config: Any) -> str:
    outputs = {"artifacts": [{"path": "a.md", "from": text}]}
    made = translated(pattern={"type": kind, "config": config}, outputs=outputs)
    return str(made["outputs"]["artifacts"][0]["from"])


def test_a_small_workflow_has_what_every_file_meant() -> None:
    assert translated() == {
        **flow(version=PRESENT),
        "context_policy": {
            "memory": "path",
            "prompt_end": "# Runtime Context\n- Workflow: flow\n- Agent ID: {{ agent }}",
        },
        "inputs": {"allow_undeclared": True},
        "rendering": {"control_characters": "remove"},
    }


def test_a_file_without_agents_gets_little() -> None:
    made = translated(agents=None, pattern={"type": "chain", "config": {"steps": [{"tool": "native:calculator"}]}})
    assert "context_policy" not in made
    assert made["env"] == {"take_variables": True}


def test_the_end_of_prompts_has_the_facts_of_the_file_as_they_are() -> None:
    made = translated(
        description="Use {{ braces }}.",
        tags=["kids", "tales"],
        runtime={"provider": "openai", "budgets": {"max_duration_s": 60, "max_tokens": 9000, "max_steps": 0}},
    )
    assert made["context_policy"]["prompt_end"].splitlines()[2:] == [
        "- Description: {% raw %}Use {{ braces }}.{% endraw %}",
        "- Tags: kids, tales",
        "- Agent ID: {{ agent }}",
        "- Budgets: max_tokens=9000, max_duration_s=60",
    ]


def test_a_memory_that_a_file_names_stays_and_a_provider_may_keep_it() -> None:
    agents = {"a": {"prompt": "A", "memory": "step"}, "b": {"prompt": "B", "memory": "run"}}
    made = translated(agents=agents)
    assert {name: agent["memory"] for name, agent in made["agents"].items()} == {"a": "step", "b": "path"}
    made = translated(runtime={"provider": "openai", "options": {"stateful": True}})
    assert "memory" not in made["context_policy"]


def test_a_required_input_with_a_default_may_be_given_and_keeps_its_place() -> None:
    inputs = {"required": {"topic": {"type": "string", "default": "bees"}, "size": "integer"}, "optional": {"z": None}}
    found = earlier(flow(inputs=inputs))
    assert found.value["inputs"] == {
        "required": {"size": "integer"},
        "optional": {"topic": {"type": "string", "default": "bees"}, "z": None},
        "allow_undeclared": True,
        "keep_texts": True,
        "absent": "undefined",
    }
    assert found.places == {"/inputs/optional/topic": "/inputs/required/topic"}


@pytest.mark.parametrize(
    ("agent", "is_of_the_run"),
    [
        ({"prompt": "A"}, False),
        ({"prompt": "A", "input_schema": {"type": "string"}}, False),
        ({"prompt": "A", "input_schema": {"type": "object"}}, True),
        ({"prompt": "A", "input_schema": "schema.json"}, True),
        ({"$ref": "a.yaml"}, True),
    ],
)
def test_a_schema_of_an_object_is_that_of_the_run(agent: dict[str, Any], is_of_the_run: bool) -> None:
    found = earlier(flow(agents={"a": agent})).value["agents"]["a"]
    assert (found.get("input_schema_for") == "run") is is_of_the_run


def test_tools_have_present_names_of_keys_and_an_empty_list_of_a_step_is_none() -> None:
    steps = [{"agent": "a", "input": "x", "tool_overrides": []}, {"agent": "a", "tool_overrides": ["calculator"]}]
    found = earlier(
        flow(
            tools={
                "python": [{"callable": "strands_tools.calculator", "as": "sums"}],
                "mcp": [{"id": "d", "command": "p"}],
            },
            pattern={"type": "chain", "config": {"steps": steps}},
        )
    )
    assert found.value["tools"] == {
        "python": [{"tool": "strands_tools.calculator", "as": "sums"}],
        "mcp": [{"id": "d", "command": "p"}],
        "mcp_folder": "working",
    }
    assert found.places["/tools/python/0/tool"] == "/tools/python/0/callable"
    assert [step.get("tool_overrides") for step in found.value["pattern"]["config"]["steps"]] == [None, ["calculator"]]
    assert found.value["env"] == {"take_variables": True}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{{ t | truncate(12) }}", "{{ t | truncate(12, true) }}"),
        ("{{ t|truncate }}", "{{ t|truncate(255, true) }}"),
        ("{{ t | truncate(12, false, '!') | upper }}", "{{ t | truncate(12, true) | upper }}"),
        ("{{ t | truncate(length=12) }}", "{{ t | truncate(12, true) }}"),
        ("{% filter truncate(3) %}abcd{% endfilter %}", "{% filter truncate(3, true) %}abcd{% endfilter %}"),
        ("{{ t | truncate(u | truncate(5) | length) }}", "{{ t | truncate(u | truncate(5, true) | length, true) }}"),
        ("{{ t | regex_search('a(b)') }}", "{{ t | regex_search('a(b)', ignorecase=true) | default('', true) }}"),
        ("{{ t | regex_search('ab') }}", "{{ t | regex_search('ab()', ignorecase=true) | default('', true) }}"),
        ("{{ t.truncate }} truncate(5) {# | truncate(5) #}", "{{ t.truncate }} truncate(5) {# | truncate(5) #}"),
        ("a\n  {%- if t -%}\n b {{ t | truncate(1) }}", "a\n  {%- if t -%}\n b {{ t | truncate(1, true) }}"),
        ("{{ t | truncate(5 }}", "{{ t | truncate(5 }}"),
        ("{% raw %}{{ t | truncate(5) }}{% endraw %}", "{% raw %}{{ t | truncate(5) }}{% endraw %}"),
        ("{{ $TRACE | truncate(9) }}", "{{ TRACE | truncate(9, true) }}"),
    ],
)
def test_filters_are_written_with_those_of_the_present_format(before: str, after: str) -> None:
    made = translated(
        agents={"a": {"prompt": before}},
        pattern={"type": "chain", "config": {"steps": [{"agent": "a", "input": before, "vars": {"v": [before]}}]}},
        outputs={"artifacts": [{"path": "a.md", "from": before}]},
    )
    (step,) = made["pattern"]["config"]["steps"]
    assert (step["input"], step["vars"], made["outputs"]["artifacts"][0]["from"]) == (after, {"v": [after]}, after)
    assert made["agents"]["a"]["prompt"] == (after if "{{" in before else before)


def test_a_condition_is_a_template_too() -> None:
    edges = [{"from": "n", "choose": [{"when": "(nodes.n.response | regex_search('no')) == ''", "to": "n"}]}]
    made = translated(pattern={"type": "graph", "config": {"nodes": {"n": {"agent": "a"}}, "edges": edges}})
    (choice,) = made["pattern"]["config"]["edges"][0]["choose"]
    assert choice["when"] == "(nodes.n.response | regex_search('no()', ignorecase=true) | default('', true)) == ''"


@pytest.mark.parametrize(
    ("text", "fix"),
    [("{{ x | regex_search(p) }}", "brackets"), ("{{ [x] | map('truncate', 5) | join }}", "loop")],
)
def test_a_filter_that_cannot_be_written_otherwise_is_a_warning_with_its_place(text: str, fix: str) -> None:
    found = earlier(flow(outputs={"artifacts": [{"path": "a.md", "from": text}]}))
    (problem,) = found.problems
    assert (problem.severity, problem.pointer, str(problem.code)) == (
        "warning",
        "/outputs/artifacts/0/from",
        "not-translated",
    )
    assert fix in (problem.fix or "")


DRAFTS = {"producer": "a", "evaluator": {"agent": "a"}, "accept": {"min_score": 90.0}}


@pytest.mark.parametrize(
    ("kind", "config", "before", "after"),
    [
        ("chain", {}, "{{ cumulative_tokens }}", "{{ run.usage.total_tokens }}"),
        ("chain", {}, "{{ execution_context.cumulative_tokens }}", "{{ run.usage.total_tokens }}"),
        ("chain", {}, "{{ x.cumulative_tokens }}", "{{ x.cumulative_tokens }}"),
        ("chain", {}, "{% set cumulative_tokens = 1 %}{{ cumulative_tokens }}", None),
        ("routing", {"router": {"agent": "r"}}, "{{ router_agent }}", "{{ 'r' }}"),
        ("graph", {}, "{{ execution_path[0] }}", "{{ execution_context.execution_path[0] }}"),
        ("graph", {}, "{{ iteration_counts.b }}", "{{ execution_context.iterations.b }}"),
        ("evaluator_optimizer", DRAFTS, "{{ min_score }}/{{ max_iters }}", "{{ 90 }}/{{ 3 }}"),
        ("evaluator_optimizer", DRAFTS, "{{ last_evaluation.score }}", "{{ evaluation.score }}"),
        ("evaluator_optimizer", DRAFTS, "{{ iterations }}", "{{ (iterations | length) }}"),
        ("evaluator_optimizer", DRAFTS, "{{ iterations > 1 }}", "{{ (iterations | length) > 1 }}"),
        ("evaluator_optimizer", DRAFTS, "{{ iterations | length }} {{ iterations[0].score }}", None),
        ("evaluator_optimizer", DRAFTS, "{% for one in iterations %}{{ one.score }}{% endfor %}", None),
        ("parallel", {}, "{{ min_score }} {{ iterations }}", None),
    ],
)
def test_names_at_the_end_are_written_with_those_of_the_present_format(
    kind: str, config: dict[str, Any], before: str, after: str | None
) -> None:
    assert artifact(before, kind, **config) == (before if after is None else after)


def test_an_input_of_such_a_name_means_the_input() -> None:
    text = "{{ cumulative_tokens }}"
    made = translated(
        inputs={"values": {"cumulative_tokens": 5}}, outputs={"artifacts": [{"path": "a.md", "from": text}]}
    )
    assert made["outputs"]["artifacts"][0]["from"] == text


def test_the_number_of_a_draft_is_that_of_the_draft_that_is_asked_for() -> None:
    config = {
        **DRAFTS,
        "revise_prompt": "Draft {{ iteration }}",
        "evaluator": {"agent": "b", "input": "{{ iteration }}"},
    }
    agents = {"a": {"prompt": "Write draft {{ iteration }}."}, "b": {"prompt": "{{ iteration }}"}}
    made = translated(agents=agents, pattern={"type": "evaluator_optimizer", "config": config})
    shifted = "{{ (iteration | default(0) + 1) }}"
    assert made["agents"] == {"a": {"prompt": f"Write draft {shifted}."}, "b": {"prompt": "{{ iteration }}"}}
    assert made["pattern"]["config"]["revise_prompt"] == f"Draft {shifted}"
    assert made["pattern"]["config"]["evaluator"]["input"] == "{{ iteration }}"


@pytest.mark.parametrize(
    ("reduce", "text", "is_written"),
    [
        (None, "", True),
        ({"agent": "a"}, "", True),
        ({"agent": "a", "input": "Join."}, "", False),
        ({"agent": "a", "input": "Join {{ last_response }}."}, "", True),
    ],
)
def test_answers_that_are_read_as_one_text_have_their_names(reduce: Any, text: str, is_written: bool) -> None:
    branches = [{"id": name, "steps": [{"agent": "a", "input": "x"}]} for name in "xy"]
    config = {"branches": branches, **({"reduce": reduce} if reduce else {})}
    made = translated(pattern={"type": "parallel", "config": config})
    assert ("last_response" in made["pattern"]["config"]) is is_written


@pytest.mark.parametrize(
    ("text", "is_renamed"),
    [
        ("{{ steps[0].response }}", False),
        ("{{ steps[0].status }}", True),
        ("{{ steps[0] }}", True),
        ("{% for one in steps %}{{ one }}{% endfor %}", True),
        ("{{ execution_context.history[0].response }}", False),
    ],
)
def test_the_word_for_what_is_done_is_written_where_a_template_may_show_it(text: str, is_renamed: bool) -> None:
    made = translated(outputs={"artifacts": [{"path": "a.md", "from": text}]})
    assert (made["rendering"].get("completed") == "success") is is_renamed


@pytest.mark.parametrize(
    ("path", "is_plain"), [("a/b-c_1.md", True), ("../x y", True), ("a b.md", False), ("{{ x }}", False)]
)
def test_paths_get_few_characters_where_they_have_others(path: str, is_plain: bool) -> None:
    made = translated(outputs={"artifacts": [{"path": path, "from": "x"}]})
    assert ("plain_paths" not in made["outputs"]) is is_plain


def test_a_prompt_that_explains_templates_is_text_and_a_warning() -> None:
    prompt = "Write {{ word }}, {{ tasks.one.response }} or {{ branches.x.response }}."
    found = earlier(flow(agents={"a": {"prompt": prompt}}))
    assert found.value["agents"]["a"]["prompt"] == f"{{% raw %}}{prompt}{{% endraw %}}"
    assert [(str(one.code), one.pointer) for one in found.problems] == [("prompt-as-text", "/agents/a/prompt")]


@pytest.mark.parametrize(
    "prompt",
    [
        "On {{ topic }}: {{ word }}, {{ tasks.one.response }}, {{ branches.x.response }}",
        "{{ word }} and {{ other }}",
        "{{ last_response }} {{ steps[0].response }} {{ steps[0].agent }}",
    ],
)
def test_other_prompts_are_templates(prompt: str) -> None:
    steps = [{"agent": "b", "input": "x"}, {"agent": "a", "input": "y"}]
    made = translated(
        agents={"a": {"prompt": prompt}, "b": {"prompt": "B"}},
        inputs={"values": {"topic": "bees"}},
        pattern={"type": "chain", "config": {"steps": steps}},
    )
    assert made["agents"]["a"]["prompt"] == prompt


def test_an_orchestrator_whose_prompt_is_in_another_file_is_a_warning() -> None:
    config = {"orchestrator": {"agent": "p"}, "worker_template": {"agent": "p"}}
    found = earlier(
        flow(
            agents={"p": {"$ref": "p.yaml"}},
            inputs={"values": {"topic": "bees"}},
            pattern={"type": "orchestrator_workers", "config": config},
        )
    )
    assert [(one.severity, one.pointer) for one in found.problems] == [("warning", "/pattern/config/orchestrator")]


@pytest.mark.parametrize("version", [0, 1, 1.0, "1.0", "1.0.0", "0.1", "v1", "latest", "2024-06-01", -1, "", "1.2"])
def test_a_version_of_before_means_what_the_earlier_program_did(version: Any) -> None:
    assert translated(version=version)["version"] == PRESENT


@pytest.mark.parametrize("version", [3, 2.1, "2.1", "v2", "v3", "2.0.0", "3.0.1", 20240601])
def test_what_the_file_has_decides_what_a_later_version_means(version: Any) -> None:
    (problem,) = earlier(flow(version=version)).problems
    assert (problem.severity, str(problem.code), "`version: 0`" in str(problem.fix)) == (
        "error",
        "unknown-version",
        True,
    )
    tools = {"python": [{"callable": "strands_tools.calculator"}]}
    (problem,) = earlier(flow(version=version, tools=tools)).problems
    assert (problem.severity, str(problem.code)) == ("warning", "unknown-version")
    (problem,) = earlier(flow(version=version, agents={"a": {"prompt": "A", "memory": "step"}})).problems
    assert (problem.severity, str(problem.code), problem.pointer) == ("error", "present-field", "/agents/a/memory")


def test_a_field_that_only_the_present_format_has_is_an_error_in_a_file_of_before() -> None:
    (problem,) = earlier(flow(version=1, rendering={"completed": "done"})).problems
    assert (problem.severity, str(problem.code), problem.pointer) == ("error", "present-field", "/rendering")


WRONG: tuple[Any, ...] = (None, 5, True, "text", [], [1, None], {}, {"x": None}, "{{ broken", [[]], {"a": {"b": []}})


def _mutants(value: Any) -> Iterator[Any]:
    """Yield a document once for each node and each wrong value in its place."""
    if isinstance(value, (dict, list)):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            for wrong in WRONG:
                yield _with(value, key, wrong)
            for inner in _mutants(value[key]):
                yield _with(value, key, inner)


def _with(value: Any, key: Any, item: Any) -> Any:
    changed = copy.copy(value)
    changed[key] = item
    return changed


@pytest.mark.parametrize(
    "name", ["chain", "graph", "orchestrator", "drafts_words", "parallel", "routing", "workflow", "tools"]
)
def test_no_mistake_in_a_file_makes_it_fail(name: str) -> None:
    case = yaml.safe_load((CASES / f"{name}.yaml").read_text(encoding="utf-8"))
    document = yaml.safe_load(case["workflow"])
    for wrong in _mutants(document):
        json.dumps(earlier(copy.deepcopy(wrong)).value, default=str)
