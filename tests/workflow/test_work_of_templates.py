"""What a large workflow costs: a template is parsed once or not at all, and steps are found and compared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strands_cli.workflow import graph_paths
from strands_cli.workflow.checks import check_workflow
from strands_cli.workflow.checks.check_pattern import LOST_CONVERSATION
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.model import LoadedWorkflow
from strands_cli.workflow.pattern_model import PlacedStep
from strands_cli.workflow.patterns import workflow
from strands_cli.workflow.patterns.chain import Chain
from strands_cli.workflow.sections import Inputs
from strands_cli.workflow.templates.plugin_filters import TemplateError
from strands_cli.workflow.templates.sandbox import Sandbox
from strands_cli.workflow.templates.template import NOT_PLAIN, Templates, plain_facts
from strands_cli.yaml_files.document_reader import read_document

HEAD = "version: 2\nname: w\nruntime: {provider: ollama, model_id: m}\n"
PLAIN = [
    "{{ a }}",
    "Say {{a}} and {{ a.b }}\n{{\tsteps[0].response }}, {{ steps[12].output.k }} or {{ a.not }}.",
    "{{ a_1.b[0][1].c }}{{ a_1 }}{{ a }}",
    "naïve {{ a }} ünd",
]
OTHERS = [
    "{{ a | upper }}",
    "{{ a }}{% if a %}{% endif %}",
    "{{ a }}{# c #}",
    "{{- a -}}",
    "{{ a }} {",
    "{{ a.0 }}",
    "{{ ä }}",
    "{{ not }}",
    "{{ none }}",
    "{{ range.x }}",
    "{{ self.a }}",
    "{{ a\n}}",
    "{{ a }} }}",
    "{{ a[-1] }}",
    "no template",
]


def chain(step: Callable[[int], str], steps: int = 1500) -> str:
    """Return a workflow of more steps than the sandbox keeps trees."""
    lines = "".join(f"      - {step(n)}\n" for n in range(steps))
    agents = "agents: {a: {prompt: p, tools: []}, b: {prompt: p, tools: []}}\n"
    return f"{HEAD}{agents}pattern:\n  type: chain\n  config:\n    steps:\n{lines}"


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """Count the calls of a function of a class or module."""
    calls: list[Any] = []
    function = getattr(owner, name)

    def call(*given: Any, **named: Any) -> Any:
        calls.append(given)
        return function(*given, **named)

    monkeypatch.setattr(owner, name, call)
    return calls


@pytest.mark.parametrize("text", PLAIN)
def test_a_template_that_prints_names_says_the_same_without_the_parser(text: str) -> None:
    parsed = Sandbox().facts(text)
    assert plain_facts(text) == parsed
    assert parsed.paths


@pytest.mark.parametrize("text", OTHERS)
def test_other_templates_are_left_to_the_parser(text: str) -> None:
    assert plain_facts(text) is None


def test_the_names_that_templates_always_have_are_not_plain() -> None:
    assert {name for name in Sandbox().globals if name.isascii()} <= NOT_PLAIN


def test_each_template_of_a_large_workflow_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = counted(monkeypatch, Sandbox, "_parse")
    text = chain(lambda n: f"{{agent: a, input: 'once {n}: {{{{ steps | length }}}} {{{{ x | upper }}}}'}}")
    loaded = load_spec(read_document("flow.yaml", text))
    assert loaded.spec is not None
    assert len(parsed) == 1500


def test_a_template_of_names_is_not_parsed_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = counted(monkeypatch, Sandbox, "_parse")
    load_spec(read_document("flow.yaml", chain(lambda n: f"{{agent: a, input: '{n}: {{{{ x }}}}'}}")))
    assert parsed == []


def test_the_steps_of_a_pattern_are_found_once_and_a_copy_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = counted(monkeypatch, Chain, "steps")
    loaded = load_spec(read_document("flow.yaml", chain(lambda n: "{agent: a, input: x}", steps=20)))
    assert loaded.spec is not None
    assert len(found) == 1
    pattern = loaded.spec.pattern
    assert isinstance(pattern, Chain)
    fewer = pattern.config.model_copy(update={"steps": pattern.config.steps[:3]})
    assert (len(pattern.placed), len(pattern.model_copy(update={"config": fewer}).placed)) == (20, 3)


def test_the_graph_is_walked_once_for_all_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = counted(monkeypatch, graph_paths, "components")
    steps = "".join(f"      - {{agent: a{n % 30}, input: x}}\n" for n in range(50))
    agents = "agents:\n" + "".join(f"  a{n}: {{prompt: p, tools: []}}\n" for n in range(30))
    text = f"{HEAD}{agents}pattern:\n  type: chain\n  config:\n    steps:\n{steps}"
    loaded = load_spec(read_document("flow.yaml", text))
    assert [finding.code for finding in loaded.findings].count(LOST_CONVERSATION) == 20
    assert len(walked) == 1


@pytest.mark.parametrize("depth", [250, 500, 900, 3000])
@pytest.mark.parametrize("condition", [False, True])
def test_an_expression_that_is_too_deep_to_compile_is_an_error(depth: int, *, condition: bool) -> None:
    expression = "1" + "+1" * depth
    templates = Templates()
    found = templates.condition_error(expression) if condition else templates.template_error(f"{{{{ {expression} }}}}")
    assert isinstance(found, TemplateError)
    assert "deep" in found.message


def test_reads_and_agents_of_many_tasks_walk_the_graph_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = counted(monkeypatch, graph_paths, "components")
    searched = counted(monkeypatch, workflow, "reached_from")
    tasks = "".join(
        f"      - {{id: t{n}, agent: a, deps: [{f't{n - 1}' if n else ''}], input: '{{{{ tasks.t{n // 2} }}}}'}}\n"
        for n in range(300)
    )
    loaded = load_spec(
        read_document(
            "flow.yaml",
            f"{HEAD}agents: {{a: {{prompt: p, memory: run}}}}\n"
            f"pattern:\n  type: workflow\n  config:\n    tasks:\n{tasks}"
            "      - {id: alone, agent: a, input: '{{ tasks.t5.response }}'}\n",
        )
    )
    codes = sorted(finding.code for finding in loaded.findings if finding.severity == "error")
    assert codes == ["concurrent-memory", "missing-dependency", "unknown-name"]
    assert len(walked) <= 6
    assert len(searched) <= 1


def test_what_prompts_of_many_tasks_may_read_is_found_in_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = counted(monkeypatch, workflow, "leading_to_each")
    searched = counted(monkeypatch, workflow, "reached_from")
    tasks = "".join(f"      - {{id: t{n}, agent: a, deps: [{f't{n - 1}' if n else ''}]}}\n" for n in range(300))
    text = (
        f"{HEAD}agents: {{a: {{prompt: '{{{{ tasks.t1.response }}}}'}}}}\n"
        f"pattern:\n  type: workflow\n  config:\n    tasks:\n{tasks}"
    )
    loaded = load_spec(read_document("flow.yaml", text))
    # A prompt has one finding, for the first of the tasks that do not wait for t1.
    (finding,) = [one for one in loaded.findings if one.code == "unknown-name"]
    assert finding.message.endswith("(where tasks.t0 uses the prompt)")
    assert len(walked) <= 3
    assert len(searched) <= 1
    assert loaded.spec is not None
    pattern = loaded.spec.pattern
    before = pattern.names_in_prompt(pattern.placed[3])["tasks"]
    assert (list(before), len(before), "t3" in before, "no" in before) == (["t0", "t1", "t2"], 3, False, False)


def test_a_check_of_inputs_makes_no_set_of_all_for_each_template(monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch, Inputs, "declared")
    text = chain(lambda n: f"{{agent: a, input: 'of {{{{ x{n} }}}} and {{x{n}}}'}}", steps=50)
    inputs = "".join(f"    x{n}: boolean\n" for n in range(50))
    loaded = load_spec(read_document("flow.yaml", f"{text}inputs:\n  required:\n{inputs}"))
    codes = [one.code for one in loaded.findings]
    assert (codes.count("python-boolean"), codes.count("single-braces")) == (50, 50)
    assert len(made) <= 5


def test_ids_are_looked_at_for_a_hyphen_only_where_a_template_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = counted(monkeypatch, check_workflow, "_hyphened")
    load_spec(read_document("flow.yaml", chain(lambda n: "{agent: a, input: '{{ steps | length }} {{ x }}'}", steps=9)))
    assert looked == []
    load_spec(read_document("flow.yaml", chain(lambda n: "{agent: a, input: '{{ x-y }}'}", steps=1)))
    assert len(looked) == 2


def test_the_texts_of_steps_are_collected_once_and_those_without_a_template_are_not_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collected = counted(monkeypatch, PlacedStep, "sites")
    checked = counted(monkeypatch, check_workflow, "check_comparisons")
    loaded = load_spec(
        read_document("w.yaml", chain(lambda n: "{agent: a, input: '" + ("y" if n else "{{ x }}") + "'}"))
    )
    assert loaded.spec is not None
    assert len(collected) == len(loaded.spec.pattern.placed)
    assert len(checked) == 1


def test_only_a_wrong_dependency_is_looked_for_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    deps = ", ".join(f"t{n}" for n in range(50))
    tasks = "".join(f"      - {{id: t{n}, agent: a, input: y}}\n" for n in range(50))
    agents = "agents: {a: {prompt: p, memory: step, tools: []}}\n"
    text = f"{HEAD}{agents}pattern:\n  type: workflow\n  config:\n    tasks:\n{tasks}"
    looked = counted(monkeypatch, LoadedWorkflow, "where")
    loaded = load_spec(read_document("w.yaml", f"{text}      - {{id: last, agent: a, input: y, deps: [{deps}, t3]}}\n"))
    assert [finding.message for finding in loaded.findings] == ["the dependency 't3' is named twice"]
    assert sum("/deps/" in given[1] for given in looked) == 1
