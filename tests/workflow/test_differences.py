"""The rows of the migration page: each subject, each refusal and each row's findings, and what of a file they find."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from strands_cli import app
from strands_cli.codes import declared_codes
from strands_cli.planning import check_names
from strands_cli.workflow.differences import DIFFERENCES, differences_in

CLONE = Path(__file__).parent.parent.parent
PAGE = (CLONE / "docs" / "how-to" / "migrate.md").read_text(encoding="utf-8")
CASES = CLONE / "tests" / "earlier_format" / "cases"
NAMED = {code for row in DIFFERENCES for code in row.codes}
GATE = "{type: hitl, prompt: Well?}"
HEAD = "version: 0\nname: w\nruntime: {provider: openai, model_id: m}\nagents: {a: {prompt: p}, b: {prompt: q}}\n"


def chain(*steps: str) -> str:
    return f"pattern: {{type: chain, config: {{steps: [{', '.join(steps)}]}}}}\n"


def flow(*sections: str, head: str = HEAD) -> str:
    """Return a workflow; what its test is about is in its last lines."""
    pattern = "" if any(one.startswith("pattern") for one in sections) else chain("{agent: a}", "{agent: b}")
    return head + pattern + "".join(sections)


GRAPH = (
    "pattern: {type: graph, config: {nodes: {x: {agent: a}, y: {agent: b, input: '{{ nodes.x.response }}'}}, edges: "
)
ORCHESTRATED = "{orchestrator: {agent: a%s}, worker_template: {agent: b}, reduce: {agent: b}}}\n"
TEAM = "pattern: {type: orchestrator_workers, config: "
# For each row that looks at files, a workflow that it is about, and the line.
FOUND: dict[str, tuple[str, int]] = {
    "memory": (flow(chain("{agent: a}", "{agent: a, input: '{{ last_response }}'}")), 4),
    "compaction": (flow("context_policy:\n  compaction: {when_tokens_over: 9}\n"), 7),
    "skills": (flow("skills: [{id: s, path: s}]\n"), 6),
    "review-of-a-route": (
        flow(
            "pattern:\n  type: routing\n  config:\n    router:\n      agent: a\n"
            f"      review_router: {GATE}\n    routes: {{x: {{then: [{{agent: b}}]}}}}\n"
        ),
        10,
    ),
    "review-of-a-draft": (
        flow(
            "pattern:\n  type: evaluator_optimizer\n  config:\n    producer: a\n    evaluator: {agent: b}\n"
            f"    accept: {{min_score: 1}}\n    review_gate: {GATE}\n"
        ),
        11,
    ),
    "gates": (flow(chain(GATE)), 5),
    "names-at-the-end": (flow("outputs:\n  artifacts: [{path: a, from: '{{ total_steps }}'}]\n"), 7),
    "timeout-of-a-gate": (flow(chain("{type: hitl, prompt: Well?, timeout_seconds: 0}")), 5),
    "references-to-secrets": (flow("tools:\n  mcp:\n    - {id: s, command: x, env: {K: '${K}'}}\n"), 8),
    "inputs-of-an-orchestrator": (flow(f"{TEAM}{ORCHESTRATED % ''}", "inputs: {values: {x: y}}\n"), 5),
    "max-workers": (flow(f"{TEAM}{ORCHESTRATED % ', limits: {max_workers: 2}'}"), 5),
    "names-in-prompts": (flow(head=HEAD.replace("prompt: q", "prompt: '{{ last_response }}'")), 4),
    "nodes-not-executed": (flow(f"{GRAPH}[{{from: x, to: y}}]}}}}\n"), 5),
    "names": (flow(chain("{agent: a, input: '{{ nodes.x }}'}")), 5),
    "files-of-the-project": (flow(head=HEAD.replace("{prompt: q}", "{$ref: ../../../b.yaml}")), 4),
    "authentication": (
        flow(
            "env: {secrets: [{key: T}]}\n"
            "tools: {http_executors: [{id: h, base_url: 'https://x.org', auth: {type: bearer, token: '${T}'}}]}\n"
        ),
        7,
    ),
    "unnamed-secrets": (flow("tools: {python: [tavily_search]}\n"), 6),
    "folder-of-servers": (flow("tools: {mcp: [{id: s, command: env}]}"), 6),
    "traces": (flow("telemetry:\n  otel: {endpoint: 'http://h:4317'}\n"), 7),
    "words-of-tools": (flow(chain("{tool: current_time, input: {timezone: local}}")), 5),
    "names-of-artifacts": (flow("outputs: {artifacts: [{path: a b, from: x}]}\n"), 6),
    "booleans": (flow("inputs: {optional: {x: {type: boolean, default: true}}}\n"), 6),
    "budgets": (flow(head=HEAD.replace("model_id: m", "model_id: m, budgets: {max_tokens: 9}")), 3),
    "input-schema": (flow(head=HEAD.replace("{prompt: q}", "{prompt: q, input_schema: {type: object}}")), 4),
    "clients-of-providers": (flow(head=HEAD.replace("openai", "anthropic")), 3),
    "keys": (flow("colour: red\n"), 6),
    "provider": (flow(head=HEAD.replace("provider: openai, ", "")), 3),
    "tools": (flow(head=HEAD.replace("{prompt: q}", "{prompt: q, tools: [nothing]}")), 4),
    "strands-tools": (flow("tools: {python: [strands_tools.nothing]}\n"), 6),
    "conditions": (flow("outputs: {artifacts: [{path: t, from: '{{ $TRACE }}'}]}\n"), 6),
    "callable": (flow("tools: {python: [{callable: 'strands_cli.tools.calculator'}]}\n"), 6),
    "own-python": (flow("tools: {python: ['mine.tools:go']}\n"), 6),
    "credentials": (
        flow(
            "tools:\n  http_executors:\n    - id: h\n      base_url: https://x.org\n      headers: {X-Key: abcdefgh}\n"
        ),
        10,
    ),
    "secret-forms": (
        flow(
            "env: {secrets: [{key: T}]}\n"
            "tools: {http_executors: [{id: h, base_url: 'https://x.org', headers: {A: $T}}]}\n"
        ),
        7,
    ),
    "statuses": (flow(chain("{agent: a, input: \"{{ steps[0].status == 'success' }}\"}")), 5),
    "whole-results": (flow(chain("{agent: a, input: x}, {agent: a, input: '{{ steps[0] }}'}")), 5),
    "optional-inputs": (flow("inputs: {optional: {x: string}}\n"), 6),
    "graphs-without-else": (flow(f"{GRAPH}[{{from: x, choose: [{{when: 'true', to: y}}]}}]}}}}\n"), 5),
    "fields-of-providers": (flow(head=HEAD.replace("model_id: m", "model_id: m, region: r")), 3),
    "schemas": (flow(head=HEAD.replace("{prompt: q}", "{prompt: q, output_schema: {type: object}}")), 4),
    "questions": (flow(head=HEAD.replace("{prompt: q}", "{prompt: q, tools: [strands_tools.file_write]}")), 4),
    "confinement": (flow(chain("{tool: 'native:web_fetch', input: {url: x}}")), 5),
    "trust": (flow("env: {mounts: {data: data}}\n"), 6),
}


def explained(tmp_path: Path, text: str) -> dict[str, list[int | None]]:
    """Return the lines of each row that concerns a workflow."""
    file = tmp_path / "flow.yaml"
    file.write_text(text)
    loaded = check_names(app.load(file))
    return {row.name: [loaded.where(one, key=True).line for one in at] for row, at in differences_in(loaded)}


@pytest.mark.parametrize("name", FOUND)
def test_each_row_finds_its_line(name: str, tmp_path: Path) -> None:
    text, line = FOUND[name]
    assert line in explained(tmp_path, text)[name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("booleans", flow(chain(GATE, "{agent: a, input: 'So: {{ steps[0].approved }}'}"))),
        ("questions", flow("tools: {mcp: [{id: s, command: env}]}")),
        ("confinement", flow("context_policy: {retrieval: {jit_tools: [grep]}}")),
    ],
)
def test_a_row_finds_each_form_of_its_subject(name: str, text: str, tmp_path: Path) -> None:
    assert name in explained(tmp_path, text)


def test_a_condition_prints_no_boolean(tmp_path: Path) -> None:
    when = "[{from: x, choose: [{when: \"{{ nodes.x.response == 'y' }}\", to: y}, {when: else, to: y}]}]"
    assert "booleans" not in explained(tmp_path, flow(f"{GRAPH}{when}}}}}\n"))


def test_each_row_that_looks_at_files_has_a_file_here() -> None:
    assert {row.name for row in DIFFERENCES if row.looks_at_files} == FOUND.keys()
    assert len({row.name for row in DIFFERENCES}) == len(DIFFERENCES)


def test_a_file_without_any_of_them_has_no_row(tmp_path: Path) -> None:
    assert explained(tmp_path, flow()) == {}


def test_each_subject_has_a_row() -> None:
    assert {row.item for row in DIFFERENCES} >= set(range(16))


def test_each_finding_of_a_row_exists() -> None:
    assert NAMED - {str(code) for code in declared_codes()} == set()


def test_each_refusal_that_the_page_names_has_a_row() -> None:
    prose = re.sub(r"<!-- made from the code: \w+ -->.*?<!-- end -->", "", PAGE, flags=re.DOTALL)
    codes = {str(code) for code in declared_codes()}
    assert {word for word in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", prose) if word in codes} <= NAMED


def refusals() -> set[str]:
    cases: list[dict[str, Any]] = [yaml.safe_load(case.read_text(encoding="utf-8")) for case in CASES.glob("*.yaml")]
    return {
        one.partition(":")[0] if isinstance(one, str) else next(iter(one))
        for c in cases
        for one in c.get("refused", ())
    }


def test_each_refusal_of_a_case_of_the_earlier_format_has_a_row() -> None:
    assert refusals() - NAMED == set()
    assert refusals()
