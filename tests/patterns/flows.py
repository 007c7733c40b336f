"""One workflow of each pattern with every kind of step, a model that knows what they ask for, and who answers."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.model_server import Turn
from tests.patterns.kit import Minding

MARK = '{tool: mark, input: {text: "called", file: "{{ marks }}"}}'
USES_TOOL = (r"^use it", lambda text: Turn(calls=[("mark", {"text": "used", "file": text.split()[2]})]))


def tool_steps() -> str:
    """An agent that uses its tool, a gate, and a call without a model, one after another."""
    return (
        '[{agent: writer, input: "use it {{ marks }}"}, {type: hitl, prompt: "{{ last_response }}?"}, '
        f"{MARK}]"
    )


# Pattern -> its YAML, the answers to its gates by key, the response of the run.
PATTERNS: dict[str, tuple[str, dict[str, str], str]] = {
    "chain": (f"type: chain\nconfig: {{steps: {tool_steps()}}}", {"steps.1": "yes"}, "called"),
    "workflow": (
        f"""
type: workflow
config:
  tasks:
    - {{id: end, deps: [gate, call], agent: editor, input: "{{{{ hitl_response }}}} {{{{ tasks.use.response }}}}"}}
    - {{id: call, deps: [use], {MARK[1:-1]}}}
    - {{id: use, agent: writer, input: "use it {{{{ marks }}}}"}}
    - {{id: gate, deps: [use], type: hitl, prompt: "Well?"}}
""",
        {"tasks.gate": "yes"},
        "yes",
    ),
    "routing": (
        f"""
type: routing
config:
  router: {{agent: judge, input: which?}}
  routes: {{no: {{then: []}}, go: {{then: {tool_steps()}}}}}
""",
        {"routes.go.steps.1": "yes"},
        "called",
    ),
    "parallel": (
        f"""
type: parallel
config:
  branches:
    - {{id: a, steps: {tool_steps()}}}
    - {{id: b, steps: [{{agent: editor, input: b}}]}}
  reduce: {{agent: editor, input: "{{{{ branches.a.response }}}} {{{{ branches.b.response }}}}"}}
""",
        {"branches.a.steps.1": "yes"},
        "<called <b>>",
    ),
    "evaluator_optimizer": (
        """
type: evaluator_optimizer
config:
  producer: writer
  producer_input: "use it {{ marks }}"
  evaluator: {agent: judge, input: "judge {{ draft }}"}
  accept: {min_score: 80}
  revise_prompt: "better {{ hitl_response }}"
  review_gate: {type: hitl, prompt: "Go on?"}
""",
        {"iterations.0.review": "please"},
        "<better please>",
    ),
    "orchestrator_workers": (
        f"""
type: orchestrator_workers
config:
  orchestrator: {{agent: judge, input: split}}
  decomposition_review: {{type: hitl, prompt: "Good?"}}
  worker_template: {{agent: writer}}
  reduce: {MARK}
  writeup: {{agent: editor, input: "{{{{ reduce_response }}}} {{{{ workers[1].response }}}}"}}
""",
        {"decomposition_review": "yes"},
        "<called <second>>",
    ),
    "graph": (
        f"""
type: graph
config:
  nodes:
    use-it: {{agent: writer, input: "use it {{{{ marks }}}}"}}
    gate: {{type: hitl, prompt: "Well?"}}
    call: {MARK}
    end: {{agent: editor, input: "{{{{ hitl_response }}}} {{{{ nodes.call.response }}}}"}}
  edges:
    - {{from: use-it, to: [gate, call]}}
    - {{from: gate, choose: [{{when: "nodes.gate.response == 'yes'", to: end}}]}}
    - {{from: call, to: end}}
""",
        {"nodes.gate#1": "yes"},
        "<yes called>",
    ),
}


def model(directory: Path) -> Minding:
    """A model that knows what each of these workflows asks for."""
    task = [{"task": f"use it {directory / 'marks'}"}, {"task": "second"}]
    return Minding(
        USES_TOOL,
        (r"^which", Turn('{"route": "go"}')),
        (r"^split", Turn(json.dumps(task))),
        (r"^judge <better", Turn('```json\n{"score": 90}\n```')),
        (r"^judge", Turn(calls=[("final_answer", {"score": 10, "issues": ["dull"], "fixes": []})])),
    )
