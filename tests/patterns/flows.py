"""One workflow of each pattern with every kind of step, a model that knows what they ask for, and who answers."""

from __future__ import annotations

import json
from typing import NamedTuple

from tests.fakes.model_server import Turn
from tests.patterns.kit import Minding

MARK = '{tool: mark, input: {text: "called", file: "{{ marks }}"}}'


def use(text: str) -> Turn:
    """Call the tool with the file that a prompt names: what killed runs do must lie in folders of their own."""
    words = text.split()
    done = "used better" if "better" in words[3:] else "used"
    return Turn(calls=[("mark", {"text": done, "file": words[2]})])


USES_TOOL = (r"^use it", use)


def tool_steps() -> str:
    """An agent that uses its tool, a gate, and a call without a model, one after another."""
    return (
        '[{agent: writer, input: "use it {{ marks }}"}, {type: hitl, prompt: "{{ last_response }}?"}, '
        f"{MARK}]"
    )


class Flow(NamedTuple):
    """A workflow: its pattern as YAML, the answers to its gates by key, its response, what the tool does in it."""

    pattern: str
    answers: dict[str, str]
    response: str
    marks: dict[str, int]


ONCE_EACH = {"used": 1, "called": 1}
PATTERNS: dict[str, Flow] = {
    "chain": Flow(f"type: chain\nconfig: {{steps: {tool_steps()}}}", {"steps.1": "yes"}, "called", ONCE_EACH),
    "workflow": Flow(
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
        ONCE_EACH,
    ),
    "routing": Flow(
        f"""
type: routing
config:
  router: {{agent: judge, input: which?}}
  routes: {{no: {{then: []}}, go: {{then: {tool_steps()}}}}}
""",
        {"routes.go.steps.1": "yes"},
        "called",
        ONCE_EACH,
    ),
    "parallel": Flow(
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
        ONCE_EACH,
    ),
    "evaluator_optimizer": Flow(
        """
type: evaluator_optimizer
config:
  producer: writer
  producer_input: "use it {{ marks }}"
  evaluator: {agent: judge, input: "judge {{ draft }}"}
  accept: {min_score: 80}
  revise_prompt: "use it {{ marks }} better {{ hitl_response }}"
  review_gate: {type: hitl, prompt: "Go on?"}
""",
        {"iterations.0.review": "please"},
        "<used better>",
        {"used": 1, "used better": 1},
    ),
    "orchestrator_workers": Flow(
        f"""
type: orchestrator_workers
config:
  orchestrator: {{agent: judge, input: "split {{{{ marks }}}}", limits: {{max_rounds: 2}}}}
  decomposition_review: {{type: hitl, prompt: "Good?"}}
  worker_template: {{agent: writer}}
  reduce: {MARK}
  writeup: {{agent: editor, input: "{{{{ reduce_response }}}} {{{{ workers[2].response }}}}"}}
""",
        {"decomposition_review": "yes"},
        "<called <used better>>",
        {"used": 1, "used better": 1, "called": 1},
    ),
    "graph": Flow(
        f"""
type: graph
config:
  nodes:
    use-it: {{agent: writer, input: "use it {{{{ marks }}}}"}}
    gate: {{type: hitl, prompt: "Well?"}}
    call: {MARK}
    again: {MARK}
    end: {{agent: editor, input: "{{{{ hitl_response }}}} {{{{ nodes.call.response }}}}"}}
  edges:
    - {{from: use-it, to: [gate, call]}}
    - {{from: gate, choose: [{{when: "nodes.gate.response == 'yes'", to: end}}]}}
    - {{from: call, to: end}}
    - {{from: end, choose: [{{when: "nodes.end.iteration < 2", to: again}}]}}
    - {{from: again, to: end}}
""",
        {"nodes.gate#1": "yes"},
        "<yes called>",
        {"used": 1, "called": 2},
    ),
}


def tasks(*words: str) -> Turn:
    """Return an orchestrator's answer."""
    return Turn(json.dumps([{"task": one} for one in words]))


def model() -> Minding:
    """A model that knows what each of these workflows asks for; its prompts say where the tool writes."""
    return Minding(
        USES_TOOL,
        (r"^which", Turn('{"route": "go"}')),
        (r"^split.*\s+Done so far", lambda text: tasks(f"use it {text.split()[1]} better")),
        (r"^split", lambda text: tasks(f"use it {text.split()[1]}", "second")),
        (r"^judge <used better", Turn('```json\n{"score": 90}\n```')),
        (r"^judge", Turn(calls=[("final_answer", {"score": 10, "issues": ["dull"], "fixes": []})])),
    )
