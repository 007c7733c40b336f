"""Workflows with one thing wrong each: text, the code of the finding, and the line it must name."""

from __future__ import annotations

HEAD = """\
version: 2
name: spoiled
runtime: {provider: replay}
inputs: {required: {topic: string}}
agents: {alpha: {prompt: A}, beta: {prompt: B}}
"""
CHAIN = """\
pattern:
  type: chain
  config:
    steps:
      - {agent: alpha, input: "{{ topic }}"}
      - {agent: beta}
"""


def chain(*steps: str) -> str:
    """Return a workflow whose chain begins in line 10 with these steps, one a line."""
    return HEAD + "pattern:\n  type: chain\n  config:\n    steps:\n" + "".join(f"      - {step}\n" for step in steps)


def pattern(kind: str, config: str) -> str:
    """Return a workflow with this pattern; the config begins in line 9."""
    body = "".join(f"    {line}\n" for line in config.strip("\n").split("\n"))
    return HEAD + f"pattern:\n  type: {kind}\n  config:\n{body}"


def with_line(line: str, *, instead_of: str | None = None) -> str:
    """Return a sound chain with a line more at its end (line 12), or with a line of the head replaced."""
    whole = HEAD + CHAIN
    return whole.replace(instead_of, line) if instead_of else whole + line + "\n"


RUNTIME, INPUTS = "runtime: {provider: replay}", "inputs: {required: {topic: string}}"
AGENTS = "agents: {alpha: {prompt: A}, beta: {prompt: B}}"

SPOILED: dict[str, tuple[str, str, int]] = {
    # -- top level
    "root is a list": ("- 1\n- 2\n", "wrong-type", 1),
    "root is text": ("hello\n", "wrong-type", 1),
    "no pattern": (HEAD, "missing-key", 1),
    "no name": (with_line("tags: []", instead_of="name: spoiled"), "missing-key", 1),
    "empty name": (with_line("name: ''", instead_of="name: spoiled"), "bad-value", 2),
    "version is a list": (with_line("version: [1]", instead_of="version: 2"), "wrong-type", 1),
    "version is null": (with_line("version:", instead_of="version: 2"), "missing-key", 1),
    "unknown section": (with_line("outptus: {}"), "unknown-key", 12),
    "tags is text": (with_line("tags: a"), "wrong-type", 12),
    "a tag is a list": (with_line("tags: [[a]]"), "wrong-type", 12),
    "duplicate section": (with_line("name: again"), "duplicate-key", 12),
    "a list as the value of an input": (
        with_line("inputs: {required: {topic: string}, values: {langs: [a]}}", instead_of=INPUTS),
        "wrong-type",
        4,
    ),
    # -- runtime
    "no provider": (with_line("runtime: {}", instead_of=RUNTIME), "missing-key", 3),
    "provider null": (with_line("runtime: {provider: }", instead_of=RUNTIME), "missing-key", 3),
    "provider list": (with_line("runtime: {provider: [a]}", instead_of=RUNTIME), "wrong-type", 3),
    "runtime is text": (with_line("runtime: openai", instead_of=RUNTIME), "wrong-type", 3),
    "temperature too high": (with_line("runtime: {provider: a, temperature: 3}", instead_of=RUNTIME), "bad-value", 3),
    "max_parallel zero": (with_line("runtime: {provider: a, max_parallel: 0}", instead_of=RUNTIME), "bad-value", 3),
    "max_parallel fraction": (
        with_line("runtime: {provider: a, max_parallel: 1.5}", instead_of=RUNTIME),
        "wrong-type",
        3,
    ),
    "unknown budget": (
        with_line("runtime: {provider: a, budgets: {max_token: 5}}", instead_of=RUNTIME),
        "unknown-key",
        3,
    ),
    "unknown backoff": (
        with_line("runtime: {provider: a, failure_policy: {backoff: linear}}", instead_of=RUNTIME),
        "bad-value",
        3,
    ),
    "wait bounds crossed": (
        with_line("runtime: {provider: a, failure_policy: {wait_min: 9, wait_max: 1}}", instead_of=RUNTIME),
        "bad-value",
        3,
    ),
    "recording without replay": (
        with_line("runtime: {provider: openai, recording: r.yaml}", instead_of=RUNTIME),
        "no-effect",
        3,
    ),
    "number that JSON lacks": (
        with_line("runtime: {provider: a, temperature: .nan}", instead_of=RUNTIME),
        "number-not-usable",
        3,
    ),
    # -- inputs
    "unknown type word": (with_line("inputs: {required: {topic: text}}", instead_of=INPUTS), "bad-value", 4),
    "default of another type": (
        with_line("inputs: {optional: {topic: {type: integer, default: soon}}}", instead_of=INPUTS),
        "bad-value",
        4,
    ),
    "default not in enum": (
        with_line("inputs: {optional: {topic: {type: string, default: c, enum: [a, b]}}}", instead_of=INPUTS),
        "bad-value",
        4,
    ),
    "enum of another type": (
        with_line("inputs: {required: {topic: {type: integer, enum: [1, two]}}}", instead_of=INPUTS),
        "bad-value",
        4,
    ),
    "empty enum": (
        with_line("inputs: {required: {topic: {type: string, enum: []}}}", instead_of=INPUTS),
        "bad-value",
        4,
    ),
    "required and optional": (
        with_line("inputs: {required: {topic: string}, optional: {topic: string}}", instead_of=INPUTS),
        "duplicate-id",
        4,
    ),
    "required with default": (
        with_line("inputs: {required: {topic: {type: string, default: x}}}", instead_of=INPUTS),
        "no-effect",
        4,
    ),
    "input with a reserved name": (
        with_line("inputs: {required: {topic: string, steps: array}}", instead_of=INPUTS),
        "reserved-name",
        4,
    ),
    "a default in place of a type": (
        with_line("inputs: {optional: {topic: friendly}}", instead_of=INPUTS),
        "bad-value",
        4,
    ),
    "default of an input that is never missing": (
        with_line("inputs: {optional: {topic: {type: string, default: x}, tone: string}}", instead_of=INPUTS).replace(
            "{{ topic }}", "{{ topic }} {{ tone | default('plain') }}"
        ),
        "no-effect",
        10,
    ),
    "status that no step has": (
        chain("{agent: alpha, input: '{{ topic }}'}", "{agent: beta, input: \"{{ steps[0].status == 'success' }}\"}"),
        "unknown-status",
        11,
    ),
    "whole result": (
        chain("{agent: alpha, input: '{{ topic }}'}", "{agent: beta, input: '{{ steps[0] }} {{ steps[0] | tojson }}'}"),
        "whole-result",
        11,
    ),
    "boolean as Python has it": (
        with_line("inputs: {required: {topic: boolean}}", instead_of=INPUTS),
        "python-boolean",
        10,
    ),
    "optional input that prints None": (
        with_line("inputs: {optional: {topic: string}}", instead_of=INPUTS),
        "prints-none",
        10,
    ),
    "secret in the form of a shell": (
        with_line(
            "env: {secrets: [{key: MY_TOKEN, name: TOKEN}]}\n"
            "tools: {http_executors: [{id: s, base_url: 'https://h.example', headers: {A: 'Bearer $TOKEN'}}]}"
        ),
        "unknown-secret",
        13,
    ),
    "secret by its name at its source": (
        with_line(
            "env: {secrets: [{key: MY_TOKEN, name: TOKEN}]}\n"
            "tools: {http_executors: [{id: s, base_url: 'https://h.example', headers: {A: 'Bearer ${MY_TOKEN}'}}]}"
        ),
        "unknown-secret",
        13,
    ),
    "milliseconds": (
        with_line("tools: {http_executors: [{id: s, base_url: 'https://h.example', timeout: 30}]}"),
        "unknown-key",
        12,
    ),
    "skills of an agent by name": (
        with_line("agents: {alpha: {prompt: A, skills: [x]}, beta: {prompt: B}}", instead_of=AGENTS),
        "bad-value",
        5,
    ),
    "a score of 1": (
        pattern("evaluator_optimizer", "producer: alpha\nevaluator: {agent: beta}\naccept: {min_score: 0.8}"),
        "no-effect",
        11,
    ),
    "steps as the default of routes": (
        pattern("routing", "router: {agent: alpha}\nroutes: {x: {then: [{agent: beta}]}}\ndefault: {then: []}"),
        "wrong-type",
        11,
    ),
    "input no template can name": (
        with_line("inputs: {required: {topic: string, my-topic: string}}", instead_of=INPUTS),
        "bad-identifier",
        4,
    ),
    "value does not fit": (
        with_line("inputs: {optional: {topic: integer}, values: {topic: x}}", instead_of=INPUTS),
        "bad-value",
        4,
    ),
    # -- agents
    "no agents": (with_line("agents: {}", instead_of=AGENTS), "bad-value", 5),
    "agent is text": (with_line("agents: {alpha: hi, beta: {prompt: B}}", instead_of=AGENTS), "wrong-type", 5),
    "agent without prompt": (with_line("agents: {alpha: {}, beta: {prompt: B}}", instead_of=AGENTS), "missing-key", 5),
    "agent with a bad name": (
        with_line("agents: {alpha: {prompt: A}, beta: {prompt: B}, 'a b': {prompt: C}}", instead_of=AGENTS),
        "bad-identifier",
        5,
    ),
    "mistyped agent key": (
        with_line("agents: {alpha: {prompt: A, modelid: x}, beta: {prompt: B}}", instead_of=AGENTS),
        "unknown-key",
        5,
    ),
    "empty tools key": (
        with_line("agents: {alpha: {prompt: A, tools: }, beta: {prompt: B}}", instead_of=AGENTS),
        "wrong-type",
        5,
    ),
    "tools is text": (
        with_line("agents: {alpha: {prompt: A, tools: x}, beta: {prompt: B}}", instead_of=AGENTS),
        "wrong-type",
        5,
    ),
    "tool is a number": (
        with_line("agents: {alpha: {prompt: A, tools: [5]}, beta: {prompt: B}}", instead_of=AGENTS),
        "wrong-type",
        5,
    ),
    "tool entry without tool": (
        with_line("agents: {alpha: {prompt: A, tools: [{as: x}]}, beta: {prompt: B}}", instead_of=AGENTS),
        "missing-key",
        5,
    ),
    "python spelling of a key": (
        with_line("agents: {alpha: {prompt: A, tools: [{tool: x, as_: y}]}, beta: {prompt: B}}", instead_of=AGENTS),
        "unknown-key",
        5,
    ),
    "bad model-facing name": (
        with_line("agents: {alpha: {prompt: A, tools: [{tool: x, as: 'a b'}]}, beta: {prompt: B}}", instead_of=AGENTS),
        "bad-identifier",
        5,
    ),
    "unknown memory": (
        with_line("agents: {alpha: {prompt: A, memory: all}, beta: {prompt: B}}", instead_of=AGENTS),
        "bad-value",
        5,
    ),
    "schema is a number": (
        with_line("agents: {alpha: {prompt: A, output_schema: [5]}, beta: {prompt: B}}", instead_of=AGENTS),
        "wrong-type",
        5,
    ),
    "schema that is none": (
        with_line("agents: {alpha: {prompt: A, output_schema: {type: objekt}}, beta: {prompt: B}}", instead_of=AGENTS),
        "bad-schema",
        5,
    ),
    "schema that points outside": (
        with_line(
            "agents: {alpha: {prompt: A, output_schema: {$ref: 'http://x.org/'}}, beta: {prompt: B}}", instead_of=AGENTS
        ),
        "bad-schema",
        5,
    ),
    "unused agent": (
        with_line("agents: {alpha: {prompt: A}, beta: {prompt: B}, gamma: {prompt: C}}", instead_of=AGENTS),
        "unused-agent",
        5,
    ),
    "prompt template broken": (
        with_line("agents: {alpha: {prompt: '{{ topic'}, beta: {prompt: B}}", instead_of=AGENTS),
        "bad-template",
        5,
    ),
    "prompt that reads a step": (
        with_line("agents: {alpha: {prompt: '{{ steps[0].response }}'}, beta: {prompt: B}}", instead_of=AGENTS),
        "unknown-name",
        5,
    ),
    # -- tools
    "server without address": (with_line("tools: {mcp: [{id: a}]}"), "server-form", 12),
    "server with two addresses": (with_line("tools: {mcp: [{id: a, command: x, url: y}]}"), "server-form", 12),
    "server twice": (with_line("tools: {mcp: [{id: a, command: x}, {id: a, url: y}]}"), "duplicate-id", 12),
    "unknown server key": (with_line("tools: {mcp: [{id: a, command: x, transport: stdio}]}"), "no-effect", 12),
    "headers without url": (with_line("tools: {mcp: [{id: a, command: x, headers: {b: c}}]}"), "no-effect", 12),
    "composite without steps": (with_line("tools: {composite: [{id: a, description: b, steps: []}]}"), "bad-value", 12),
    "composite schema is none": (
        with_line("tools: {composite: [{id: a, description: b, input_schema: {type: 5}, steps: [{tool: x}]}]}"),
        "bad-schema",
        12,
    ),
    "executor without address": (with_line("tools: {http_executors: [{id: a}]}"), "missing-key", 12),
    # -- other sections
    "secret source": (with_line("env: {secrets: [{key: a, source: vault}]}"), "bad-value", 12),
    "secret file without path": (with_line("env: {secrets: [{key: a, source: file}]}"), "missing-key", 12),
    "secret path without file": (with_line("env: {secrets: [{key: a, path: b}]}"), "no-effect", 12),
    "secret twice": (with_line("env: {secrets: [{key: a}, {key: a}]}"), "duplicate-id", 12),
    "unknown retrieval server": (with_line("context_policy: {retrieval: {mcp_servers: [x]}}"), "unknown-server", 12),
    "skill twice": (with_line("skills: [{id: a, path: b}, {id: a, path: c}]"), "duplicate-id", 12),
    "skill without a folder": (with_line("skills: [{id: a, path: none}]"), "missing-skill", 12),
    "skill outside": (with_line("skills: [{id: a, path: ../../..}]"), "bad-path", 12),
    "artifact twice": (with_line("outputs: {artifacts: [{path: a, from: b}, {path: a, from: c}]}"), "duplicate-id", 12),
    "artifact template": (with_line("outputs: {artifacts: [{path: a, from: '{{ b'}]}"), "bad-template", 12),
    "artifact beyond the steps": (
        with_line("outputs: {artifacts: [{path: a, from: '{{ steps[2].response }}'}]}"),
        "unknown-name",
        12,
    ),
    "sample ratio": (with_line("telemetry: {otel: {sample_ratio: 2}}"), "bad-value", 12),
    "allow_tools empty": (with_line("security: {guardrails: {allow_tools: }}"), "wrong-type", 12),
    # -- steps
    "unknown pattern": (pattern("chian", "steps: [{agent: alpha}, {agent: beta}]"), "unknown-pattern", 7),
    "pattern without type": (HEAD + "pattern: {config: {steps: [{agent: alpha}, {agent: beta}]}}\n", "missing-key", 6),
    "no steps": (pattern("chain", "steps: []"), "bad-value", 9),
    "step of no form": (chain("{agent: alpha}", "{input: x}"), "step-form", 11),
    "step with a mistyped form": (chain("{agent: alpha}", "{agnet: beta}"), "step-form", 11),
    "step of two forms": (chain("{agent: alpha, tool: x}", "{agent: beta}"), "step-form", 10),
    "step is text": (chain("alpha", "{agent: beta}"), "wrong-type", 10),
    "gate of another type": (chain("{type: human, prompt: x}"), "bad-value", 10),
    "gate without prompt": (chain("{type: hitl}"), "missing-key", 10),
    "gate pattern broken": (chain("{type: hitl, prompt: x, validation: {pattern: '('}}"), "bad-regex", 10),
    "gate default off its pattern": (
        chain("{type: hitl, prompt: x, default: no, validation: {pattern: 'yes'}}"),
        "bad-value",
        10,
    ),
    "gate timeout without default": (chain("{type: hitl, prompt: x, timeout_seconds: 5}"), "no-effect", 10),
    "unknown agent": (chain("{agent: alpha}", "{agent: betta}"), "unknown-agent", 11),
    "mistyped step key": (chain("{agent: alpha, inptu: x}", "{agent: beta}"), "unknown-key", 10),
    "template broken": (chain("{agent: alpha, input: '{% if %}'}", "{agent: beta}"), "bad-template", 10),
    "unknown filter": (chain("{agent: alpha, input: '{{ topic | uper }}'}", "{agent: beta}"), "bad-template", 10),
    "include": (chain("{agent: alpha, input: \"{% include 'x' %}\"}", "{agent: beta}"), "bad-template", 10),
    "forward reference": (
        chain("{agent: alpha, input: '{{ steps[1].response }}'}", "{agent: beta}"),
        "unknown-name",
        10,
    ),
    "own response": (chain("{agent: alpha}", "{agent: beta, input: '{{ steps[1].response }}'}"), "unknown-name", 11),
    "attribute of a step": (
        chain("{agent: alpha}", "{agent: beta, input: '{{ steps[0].respnse }}'}"),
        "unknown-name",
        11,
    ),
    "no gate before": (chain("{agent: alpha}", "{agent: beta, input: '{{ hitl_response }}'}"), "unknown-name", 11),
    "another pattern's name": (chain("{agent: alpha, input: '{{ tasks.x.response }}'}"), "unknown-name", 10),
    "undeclared variable": (chain("{agent: alpha, input: '{{ topik }}'}", "{agent: beta}"), "undeclared-variable", 10),
    "broken call input": (chain("{tool: x, input: {a: [{b: '{{ topic '}]}}"), "bad-template", 10),
    "broken vars": (chain("{agent: alpha, vars: {a: '{{ }}'}}"), "bad-template", 10),
    # -- workflow
    "task without id": (pattern("workflow", "tasks:\n  - {agent: alpha}"), "missing-key", 10),
    "task of no form": (pattern("workflow", "tasks:\n  - {id: a}"), "step-form", 10),
    "task twice": (
        pattern("workflow", "tasks:\n  - {id: a, agent: alpha}\n  - {id: a, agent: beta}"),
        "duplicate-id",
        11,
    ),
    "unknown dependency": (pattern("workflow", "tasks:\n  - {id: a, agent: alpha, deps: [x]}"), "unknown-task", 10),
    "task waits for itself": (pattern("workflow", "tasks:\n  - {id: a, agent: alpha, deps: [a]}"), "task-cycle", 10),
    "tasks in a circle": (
        pattern("workflow", "tasks:\n  - {id: a, agent: alpha, deps: [b]}\n  - {id: b, agent: beta, deps: [a]}"),
        "task-cycle",
        10,
    ),
    "dependency twice": (
        pattern("workflow", "tasks:\n  - {id: a, agent: alpha}\n  - {id: b, agent: beta, deps: [a, a]}"),
        "no-effect",
        11,
    ),
    "unknown task in a template": (
        pattern(
            "workflow", "tasks:\n  - {id: a, agent: alpha}\n  - {id: b, agent: beta, input: '{{ tasks.c.response }}'}"
        ),
        "unknown-name",
        11,
    ),
    "hyphen in a template": (
        pattern(
            "workflow",
            "tasks:\n  - {id: a-x, agent: alpha}\n  - {id: b, agent: beta, deps: [a-x], "
            "input: '{{ tasks.a-x.response }}'}",
        ),
        "unknown-name",
        11,
    ),
    "task reads a later one": (
        pattern(
            "workflow",
            "tasks:\n  - {id: a, agent: alpha, input: '{{ tasks.b.response }}'}\n  - {id: b, agent: beta, deps: [a]}",
        ),
        "unknown-name",
        10,
    ),
    "task reads an unrelated one": (
        pattern(
            "workflow", "tasks:\n  - {id: a, agent: alpha}\n  - {id: b, agent: beta, input: '{{ tasks.a.response }}'}"
        ),
        "missing-dependency",
        11,
    ),
    "task reads an unrelated one in a branch": (
        pattern(
            "workflow",
            "tasks:\n  - {id: a, agent: alpha}\n"
            "  - {id: b, agent: beta, input: '{% if topic %}{{ tasks.a.response }}{% endif %}x'}",
        ),
        "missing-dependency",
        11,
    ),
    # -- routing
    "router with a schema": (
        with_line(
            "agents: {alpha: {prompt: A, output_schema: {type: object}}, beta: {prompt: B}}", instead_of=AGENTS
        ).replace(
            CHAIN, pattern("routing", "router: {agent: alpha}\nroutes: {x: {then: [{agent: beta}]}}").removeprefix(HEAD)
        ),
        "no-effect",
        5,
    ),
    "no routes": (pattern("routing", "router: {agent: alpha}\nroutes: {}"), "bad-value", 10),
    "unknown default route": (
        pattern("routing", "router: {agent: alpha}\nroutes: {x: {then: [{agent: beta}]}}\ndefault: y"),
        "unknown-route",
        11,
    ),
    "unknown router": (
        pattern("routing", "router: {agent: gamma}\nroutes: {x: {then: [{agent: beta}]}}"),
        "unknown-agent",
        9,
    ),
    "route without then": (
        pattern("routing", "router: {agent: alpha}\nroutes:\n  x: {thne: [{agent: beta}]}"),
        "unknown-key",
        11,
    ),
    # -- parallel
    "one branch": (pattern("parallel", "branches: [{id: a, steps: [{agent: alpha}]}]"), "bad-value", 9),
    "branch twice": (
        pattern("parallel", "branches:\n  - {id: a, steps: [{agent: alpha}]}\n  - {id: a, steps: [{agent: beta}]}"),
        "duplicate-id",
        11,
    ),
    "branch reads another": (
        pattern(
            "parallel",
            "branches:\n  - {id: a, steps: [{agent: alpha}]}\n"
            "  - {id: b, steps: [{agent: beta, input: '{{ branches.a.response }}'}]}",
        ),
        "unknown-name",
        11,
    ),
    "reduce reads no branch": (
        pattern(
            "parallel",
            "branches:\n  - {id: a, steps: [{agent: alpha}]}\n  - {id: b, steps: [{agent: beta}]}\n"
            "reduce: {agent: beta, input: '{{ branches.c.response }}'}",
        ),
        "unknown-name",
        12,
    ),
    # -- evaluator_optimizer
    "score beyond 100": (
        pattern("evaluator_optimizer", "producer: alpha\nevaluator: {agent: beta}\naccept: {min_score: 101}"),
        "bad-value",
        11,
    ),
    "unknown producer": (
        pattern("evaluator_optimizer", "producer: gamma\nevaluator: {agent: beta}\naccept: {min_score: 1}"),
        "unknown-agent",
        9,
    ),
    "draft before there is one": (
        pattern(
            "evaluator_optimizer",
            "producer: alpha\nproducer_input: '{{ draft }}'\nevaluator: {agent: beta}\naccept: {min_score: 1}",
        ),
        "unknown-name",
        10,
    ),
    "review that takes no route": (
        pattern(
            "routing",
            "router:\n  agent: alpha\n  review_router: {type: hitl, prompt: x, validation: {pattern: '[12]'}}\n"
            "routes: {x: {then: [{agent: beta}]}}",
        ),
        "bad-value",
        11,
    ),
    # -- orchestrator_workers
    "unknown worker": (
        pattern(
            "orchestrator_workers",
            "orchestrator: {agent: alpha, input: '{{ topic }}'}\nworker_template: {agent: gamma}",
        ),
        "unknown-agent",
        10,
    ),
    "review of no reduce": (
        pattern(
            "orchestrator_workers",
            "orchestrator: {agent: alpha, input: '{{ topic }}'}\nworker_template: {agent: beta}\n"
            "reduce_review: {type: hitl, prompt: x}",
        ),
        "no-effect",
        11,
    ),
    "inputs that do not reach the orchestrator": (
        pattern("orchestrator_workers", "orchestrator: {agent: alpha}\nworker_template: {agent: beta}"),
        "unread-inputs",
        9,
    ),
    # -- graph
    "edge from nowhere": (
        pattern("graph", "nodes: {x: {agent: alpha}}\nedges:\n  - {from: y, to: [x]}"),
        "unknown-node",
        11,
    ),
    "edge to nowhere": (
        pattern("graph", "nodes: {x: {agent: alpha}}\nedges:\n  - {from: x, to: [y]}"),
        "unknown-node",
        11,
    ),
    "edge with two ways": (
        pattern("graph", "nodes: {x: {agent: alpha}}\nedges:\n  - {from: x, to: [x], choose: [{when: else, to: x}]}"),
        "edge-form",
        11,
    ),
    "edge with no way": (pattern("graph", "nodes: {x: {agent: alpha}}\nedges:\n  - {from: x}"), "edge-form", 11),
    "choice to nowhere": (
        pattern("graph", "nodes: {x: {agent: alpha}}\nedges:\n  - {from: x, choose: [{when: else, to: z}]}"),
        "unknown-node",
        11,
    ),
    "choice after else": (
        pattern(
            "graph",
            "nodes: {x: {agent: alpha}}\nedges:\n  - {from: x, choose: [{when: else, to: x}, {when: 'true', to: x}]}",
        ),
        "no-effect",
        11,
    ),
    "condition broken": (
        pattern(
            "graph",
            "nodes: {x: {agent: alpha}}\nedges:\n"
            "  - {from: x, choose: [{when: 'nodes.x.response ==', to: x}, {when: else, to: x}]}",
        ),
        "bad-template",
        11,
    ),
    "condition on no node": (
        pattern(
            "graph",
            "nodes: {x: {agent: alpha}}\nedges:\n"
            "  - {from: x, choose: [{when: 'nodes.y.response', to: x}, {when: else, to: x}]}",
        ),
        "unknown-name",
        11,
    ),
    "unreachable node": (pattern("graph", "nodes:\n  x: {agent: alpha}\n  y: {agent: beta}"), "unreachable-node", 11),
    "no else": (
        pattern("graph", "nodes: {x: {agent: alpha}}\nedges:\n  - {from: x, choose: [{when: 'true', to: x}]}"),
        "no-else",
        11,
    ),
    # -- memory
    "memory in two branches": (
        pattern(
            "parallel", "branches:\n  - {id: a, steps: [{agent: alpha}]}\n  - {id: b, steps: [{agent: alpha}]}"
        ).replace("{prompt: A}", "{prompt: A, memory: run}"),
        "concurrent-memory",
        11,
    ),
    "memory in two tasks": (
        pattern("workflow", "tasks:\n  - {id: a, agent: alpha}\n  - {id: b, agent: alpha}").replace(
            "{prompt: A}", "{prompt: A, memory: run}"
        ),
        "concurrent-memory",
        11,
    ),
    "memory in two nodes behind a fork": (
        pattern(
            "graph",
            "nodes:\n  x: {agent: beta}\n  a: {agent: beta}\n  b: {agent: beta}\n  c: {agent: alpha}\n"
            "  d: {agent: alpha}\nedges: [{from: x, to: a}, {from: x, to: b}, {from: a, to: c}, {from: b, to: d}]",
        ).replace("{prompt: A}", "{prompt: A, memory: run}"),
        "concurrent-memory",
        14,
    ),
    "memory of workers": (
        pattern(
            "orchestrator_workers", "orchestrator: {agent: beta, input: '{{ topic }}'}\nworker_template: {agent: alpha}"
        ).replace("{prompt: A}", "{prompt: A, memory: run}"),
        "concurrent-memory",
        10,
    ),
}
