"""A plan with other inputs is the plan that planning from the start makes of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli import app
from strands_cli.errors import has_errors
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest
from strands_cli.workflow.model import LoadedWorkflow
from strands_cli.workflow.patterns.pattern_models import PATTERNS
from tests.cli.strands import EXAMPLES
from tests.examples.kit import WORKFLOWS as EXAMPLE_FILES

WORKFLOWS = [EXAMPLES / name for name in EXAMPLE_FILES]
OF_TYPE: dict[str, list[Any]] = {
    "string": ["bees", "two words\nand a line", "{{ not a template }}", "", 7],
    "integer": [3, "4", "many", 2.5],
    "number": [1.5, "2", "x"],
    "boolean": [True, "no", "perhaps"],
    "array": [["a", "b"], '["c"]', "c", []],
    "object": [{"a": 1}, '{"b": [2]}', "b"],
}
TEXTS = st.sampled_from(["bees", "", "3", "true", '["a"]', '{"a": {"b": null}}', "{{ x }}", "garden", "é\ud800"])
VALUES = TEXTS | st.integers(0, 9) | st.booleans() | st.none() | st.lists(TEXTS, max_size=2)


def same(row: Plan, whole: Plan) -> None:
    assert row == whole
    assert row.digest == whole.digest
    assert [*row.inputs] == [*whole.inputs]
    assert row.findings == whole.findings


def rows_of(loaded: LoadedWorkflow) -> Iterator[dict[str, Any]]:
    """Yield inputs that fit and some that do not: absent, of another type, outside the enum, not declared."""
    assert loaded.spec is not None
    declared = loaded.spec.inputs.declared()
    names = declared or dict.fromkeys(loaded.spec.inputs.values)
    for number in range(5):
        fitting = {}
        for name, spec in names.items():
            choices = (spec.enum if spec is not None else None) or OF_TYPE[spec.type if spec is not None else "string"]
            fitting[name] = choices[number % len(choices)]
        yield fitting
    yield {}
    for name in names:
        yield {**fitting, name: None}
        yield {**fitting, name: ["not", {"of": "the type"}]}
    yield {**fitting, "undeclared": "bees", "last_response": "an earlier one"}


@pytest.fixture(params=WORKFLOWS, ids=[path.relative_to(EXAMPLES).as_posix() for path in WORKFLOWS])
def loaded(request: pytest.FixtureRequest) -> LoadedWorkflow:
    return app.load(request.param)


@pytest.mark.docs
def test_a_row_of_each_example_is_the_plan_of_its_inputs(loaded: LoadedWorkflow) -> None:
    rows = app.plan_rows(loaded)
    for values in rows_of(loaded):
        same(rows.plan(values), app.plan(loaded, RunRequest(values=values)))


def test_the_examples_have_every_pattern() -> None:
    assert {app.load(path).valid.pattern.type for path in WORKFLOWS} == set(PATTERNS)  # type: ignore[union-attr]


MANY_INPUTS = """
version: 2
name: many
runtime: {provider: replay, recording: many.recording.yaml}
inputs:
  required: {place: string, count: {type: integer, enum: [1, 3]}}
  optional: {tags: {type: array, default: [a]}, loud: {type: boolean}, about: {type: object}}
  values: {fixed: 4}
agents: {one: {prompt: "Answer about {{ place }}.", tools: []}}
pattern:
  type: chain
  config:
    steps:
      - {agent: one, input: "{{ place }}: {{ tags | join(',') }}{% if loud %}!{% endif %} {{ about.a.b }}"}
      - {agent: one, input: "{{ unknown_word }}{{ fixed }}"}
outputs: {artifacts: [{path: "{{ place }}/{{ count }}.md", from: "{{ last_response }}"}, {path: a/3.md, from: x}]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("many.yaml").write_text(MANY_INPUTS)
    Path("many.recording.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: ok}], steps.1: [{text: ok}]}\n")
    return tmp_path


def any_of(**given: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=given)


NAMES = ("count", "tags", "about", "unknown_word", "fixed", "other")
ROWS = any_of(place=VALUES | st.sampled_from(["a", "..", "a b"]), **dict.fromkeys(NAMES, VALUES))


def test_any_row_is_the_plan_of_its_inputs(folder: Path) -> None:
    loaded = app.load("many.yaml")
    rows = app.plan_rows(loaded, RunRequest(values={"place": "a", "count": 3}))

    @settings(max_examples=60, deadline=None)
    @given(
        ROWS, any_of(place=TEXTS, count=TEXTS, loud=TEXTS, fixed=TEXTS), st.sampled_from([None, Path("out"), Path("a")])
    )
    def check(values: Mapping[str, Any], texts: Mapping[str, str], out_dir: Path | None) -> None:
        where = {} if out_dir is None else {"out_dir": out_dir}
        whole = app.plan(loaded, RunRequest(values=values, variables=texts, **where))  # type: ignore[arg-type]
        same(rows.plan(values, texts=texts, out_dir=out_dir), whole)

    check()


SENDING = """
version: 2
name: sending
runtime: {provider: replay, recording: many.recording.yaml}
inputs: {required: {method: string}, optional: {extra: string}}
pattern:
  type: chain
  config:
    steps:
      - {tool: native:file_read, input: {path: notes.txt}}
      - {tool: native:http_request, input: {url: "https://a.b/", method: "{{ method }}", body: "{{ last_response }}"}}
"""


def test_a_row_whose_call_policy_answers_in_another_way_has_the_findings_of_its_own(folder: Path) -> None:
    Path("sending.yaml").write_text(SENDING)
    loaded = app.load("sending.yaml")
    rows = app.plan_rows(loaded, RunRequest(values={"method": "POST"}))
    codes = {}
    for method in ("GET", "POST", "PUT", "HEAD", "GET"):
        row = rows.plan({"method": method})
        same(row, app.plan(loaded, RunRequest(values={"method": method})))
        codes[method] = [str(finding.code) for finding in row.findings]
    assert codes == {"GET": ["private-data-sent"], "POST": [], "PUT": [], "HEAD": ["private-data-sent"]}


def test_rows_share_what_does_not_depend_on_inputs(folder: Path) -> None:
    rows = app.plan_rows("many.yaml", RunRequest(values={"place": "a", "count": 3, "about": {"a": {"b": 1}}}))
    row = rows.plan({"place": "b", "count": 1, "about": {"a": {"b": 2}}})
    assert row.digest != rows.planned.digest
    for name in ("spec", "agents", "files", "rules", "policy", "hooks", "prices"):
        assert getattr(row, name) is getattr(rows.planned, name), name


def test_the_choices_of_the_first_plan_hold_for_its_rows(folder: Path) -> None:
    request = RunRequest(values={"place": "a", "count": 3}, model="other", yes=True, out_dir=folder / "there")
    row = app.plan_rows("many.yaml", request).plan({"place": "b", "count": "1", "unknown_word": "w"})
    assert row.agents["one"].model.model_id == "other"
    assert row.inputs == {"tags": ["a"], "loud": None, "about": None, "fixed": 4, "place": "b", "count": 1} | {
        "unknown_word": "w"
    }


def test_a_row_of_one_step_takes_far_less_than_planning(folder: Path) -> None:
    Path("one.yaml").write_text(
        "version: 2\nname: one\nruntime: {provider: openai, model_id: m, host: 'http://127.0.0.1:9'}\n"
        "inputs: {required: {text: string}}\nagents: {one: {prompt: Answer., tools: []}}\n"
        "pattern: {type: chain, config: {steps: [{agent: one, input: 'About {{ text }}'}]}}\n"
    )
    loaded = app.load("one.yaml")
    rows = app.plan_rows(loaded, RunRequest(values={"text": "a"}))

    def spent(number_of_rows: int, plan: Any) -> float:
        before = time.process_time()
        for number in range(number_of_rows):
            assert plan(f"text {number}").inputs["text"] == f"text {number}"
        return (time.process_time() - before) / number_of_rows

    whole = min(spent(3, lambda text: app.plan(loaded, RunRequest(values={"text": text}))) for _ in range(3))
    row = min(spent(50, lambda text: rows.plan({"text": text})) for _ in range(3))
    assert row < whole / 20, f"{row * 1000:.3f} ms a row, {whole * 1000:.1f} ms a plan"
    assert not has_errors(rows.plan({"text": "b"}).findings) or rows.planned.findings
