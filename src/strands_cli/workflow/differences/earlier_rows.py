"""Rows of the migration page: what the earlier format means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from strands_cli.graph_paths import in_loops
from strands_cli.workflow.differences.file_parts import (
    Concerns,
    Difference,
    at,
    both,
    found,
    texts,
    written_at,
)
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.patterns import OrchestratorConfig
from strands_cli.workflow.steps import AgentStep
from strands_cli.workflow.template_scope import YIELDING
from strands_cli.workflow.yaml import escape

# Patterns in which each agent works more than once.
_REPEATING = ("evaluator_optimizer", "orchestrator_workers")


def _agents_that_come_again(loaded: Loaded, _codes: object) -> Iterator[str]:
    """Yield the agents of several steps whose file leaves open what they remember."""
    spec = loaded.readable
    if spec is None:
        return
    steps = [placed.step.agent for placed in spec.pattern.steps() if isinstance(placed.step, AgentStep)]
    for name in dict.fromkeys(steps):
        pointer = f"/agents/{escape(name)}"
        comes_again = steps.count(name) > 1 or spec.pattern.type in _REPEATING or name in _in_loops(spec)
        if comes_again and written_at(loaded, f"{pointer}/memory") is None:
            yield pointer


def _in_loops(spec: WorkflowSpec) -> set[str]:
    """Return the agents of the nodes of a graph to which a path leads back."""
    if spec.pattern.type != "graph":
        return set()
    placed = {one.key: one.step for one in spec.pattern.steps()}
    followers: dict[str, list[str]] = {key: [] for key in placed}
    for edge in spec.pattern.edges():
        if edge.before in followers and edge.after in followers:
            followers[edge.before].append(edge.after)
    looping = (placed[key] for key in in_loops(followers))
    return {step.agent for step in looping if isinstance(step, AgentStep)}


def _orchestrator_with_inputs(loaded: Loaded, _codes: object) -> Iterator[str]:
    """Yield an orchestrator to whose message version 0 adds the inputs."""
    spec, pointer = loaded.readable, "/pattern/config/orchestrator"
    if spec is None or not isinstance(spec.pattern.config, OrchestratorConfig):
        return
    if spec.pattern.config.orchestrator.input != written_at(loaded, f"{pointer}/input"):
        yield pointer


def _in_a_graph(concerns: Concerns) -> Concerns:
    return lambda loaded, codes: (
        concerns(loaded, codes) if loaded.readable and loaded.readable.pattern.type == "graph" else ()
    )


def _is_outside(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("../", "/"))


def _prints_boolean(value: Any) -> bool:
    """Return whether a text seems to print a comparison, an approval, or a part of an answer that has a form."""
    printed = r"\{\{(?![^}]* if )[^}]*(?:[=!<>]=| is | in |\bnot |\.approved\b|\.output\b)"
    return isinstance(value, str) and re.search(printed, value) is not None


_REFERENCE = r"\$\{[^{}]+\}"

EARLIER: tuple[Difference, ...] = (
    Difference(
        1,
        "memory",
        "several steps of one agent, without `memory`",
        "it remembers its earlier steps; steps at the same time each have a conversation of their own, with a warning",
        "each step begins a new conversation, unless the agent has `memory: run`; an agent that comes again "
        "with an input "
        "that reads nothing of what was before gets a warning",
        "`concurrent-memory`, `lost-conversation`",
        _agents_that_come_again,
    ),
    Difference(
        1,
        "compaction",
        "compaction that can never act",
        "a finding",
        "",
        "`no-effect`",
        found("/context_policy"),
    ),
    Difference(
        2,
        "skills",
        "`skills`",
        "every agent can load them, also one with a list of `tools`, and its prompt lists them; `skills: []` "
        "of an agent takes "
        "them away",
        "the same, but the list is in the description of the tool `Skill` only",
        "",
        at("/skills"),
    ),
    Difference(
        3,
        "review-of-a-route",
        "the review of a route",
        "a route's name or `route:NAME` chooses it, an approval confirms, any other answer is asked again",
        "",
        "",
        at("/pattern/config/router/review_router"),
    ),
    Difference(
        3,
        "review-of-a-draft",
        "the review of a draft",
        "`stop`, `abort`, `end` or `accept` takes the draft and ends; another answer asks for the next draft",
        "",
        "",
        at("/pattern/config/review_gate"),
    ),
    Difference(
        3,
        "gates",
        "a gate, and `strands approve` without `--answer`",
        "the answer is an approval that the conditions after the gate compare with; where they compare with "
        "other words only, "
        "it asks which. A pause, `runs show` and `approve` show `context_display`",
        "",
        "",
        at("/pattern/.*/type", lambda value: value == "hitl"),
    ),
    Difference(
        3,
        "timeout-of-a-gate",
        "`timeout_seconds: 0` of a gate",
        "no limit",
        "",
        "",
        at("/pattern/.*/timeout_seconds", lambda value: value == 0),
    ),
    Difference(
        4,
        "references-to-secrets",
        "`${NAME}` in headers, `auth` and addresses of executors, `env` and `url` of MCP servers, and `runtime`",
        "the value of the declared secret; one that `env.secrets` does not have is an error where secrets are sent",
        "",
        "`unknown-secret`",
        both(texts(_REFERENCE, "/tools/(?:mcp|http_executors)"), texts(_REFERENCE, "/runtime")),
    ),
    Difference(
        4,
        "authentication",
        "`auth` of an executor",
        "a header of every request: `type` is `bearer` with `token`, `basic` with `username` and `password`, or "
        "`header` with `name` and `value`; anything else is an error, and a credential that is written out a warning",
        "",
        "`missing-key`, `bad-value`, `plain-credential`",
        at(r"/tools/http_executors/\d+/auth"),
    ),
    Difference(
        4,
        "unnamed-secrets",
        "a tool that needs a secret which `env.secrets` does not name",
        "it gets the variable of that name, with a warning; without the variable the run does not begin",
        "the run does not begin (exit code 18), and the fix is the line to write",
        "`unnamed-secret`, `missing-secret`",
        found(),
    ),
    Difference(
        5,
        "inputs-of-an-orchestrator",
        "the inputs of an orchestrator",
        "they are added to its message where neither that nor its prompt names one",
        "it gets those that its message or prompt names, and a warning if that is none",
        "`unread-inputs`",
        both(_orchestrator_with_inputs, found()),
    ),
    Difference(
        5,
        "max-workers",
        "`max_workers`",
        "how many tasks are done at the same time; all of them are done. `max_tasks` makes a run with more tasks fail",
        "",
        "",
        at("/pattern/config/orchestrator/limits/max_workers"),
    ),
    Difference(
        6,
        "names-in-prompts",
        "`prompt` of an agent with `{{`",
        "it has the names of the step that uses the agent, and is checked for each use; an input wins over such a name",
        "",
        "`unknown-name`",
        at("/agents/[^/]+/prompt", lambda value: isinstance(value, str) and "{{" in value),
    ),
    Difference(
        6,
        "nodes-not-executed",
        "a graph's node that has not run",
        "`response` is empty, `status` is `not_executed`, `iteration` is 0; `is defined` is true",
        "the same fields; `is defined` is false",
        "",
        _in_a_graph(both(texts(r"\bnodes\b", "/pattern/config/nodes"), texts(r"\bnodes\b", "/outputs"))),
    ),
    Difference(
        6,
        "names-at-the-end",
        "`timestamp`, `total_steps`, `terminal_node`, `chosen_route`, `task_count`, `worker_count`, "
        "`execution_context`",
        "names at the end of a run, and of their pattern; but for `execution_context` an input of such a name wins",
        "",
        "",
        texts(rf"\b({'|'.join(sorted(YIELDING - {'name'}))}|execution_context)\b"),
    ),
    Difference(
        6,
        "names",
        "a name that no template can have there",
        "an error before the first call, where it was one in the middle of a run",
        "",
        "`unknown-name`, `undeclared-variable`, `undefined-variable`",
        found(),
    ),
    Difference(
        7,
        "files-of-the-project",
        "`$ref`, skills and schemas outside the folder of the file",
        "they may be anywhere in the project, that is the repository, else the working directory; links and "
        "`..` do not lead "
        "out of it",
        "",
        "`bad-path`",
        both(
            at(r"/agents/[^/]+/(?:\$ref|input_schema|output_schema)|/skills/\d+/path", _is_outside),
            found(),
        ),
    ),
    Difference(
        8,
        "input-schema",
        "`input_schema` of an agent",
        "where the workflow has one agent and one step, it is about the object of the inputs (`--var`, `atomic run "
        "--input`); with several steps that of an object has no effect, which is reported",
        "it is about the message of each step",
        "`bad-input`, `no-effect`",
        at("/agents/[^/]+/input_schema"),
    ),
    Difference(
        8,
        "tests-of-agents",
        "`tests.yaml` beside the file of an agent",
        "its tests; without any, `strands atomic test` ends with exit code 3",
        "",
    ),
    Difference(
        9,
        "words-of-tools",
        "`mode` of `web_fetch`, `json_data`, `headers_override` and a query in `path` of executors, `timezone: local`, "
        "`search_type: news`",
        "read as `format`, `json`, `headers`, `query`, the zone of the machine and a search for news; rules "
        "and questions are about the present words, models see only these. `mode: raw` and `mode: html` are refused",
        "",
        "",
        both(
            texts(r"\b(?:json_data|headers_override|search_type)\b"),
            at(r"/pattern/.*/(?:json_data|headers_override|search_type|mode)"),
            at("/pattern/.*/path", lambda value: isinstance(value, str) and "?" in value),
            at("/pattern/.*/timezone", lambda value: value == "local"),
        ),
    ),
    Difference(
        9,
        "names-of-artifacts",
        "a space in the path of an artifact",
        "becomes `_`",
        "stays",
        "`artifact-twice`",
        at(r"/outputs/artifacts/\d+/path", lambda value: isinstance(value, str) and (" " in value or "{{" in value)),
    ),
    Difference(
        9,
        "booleans",
        "a boolean in a text",
        "`true`, `false`",
        "`True`, `False`, and a warning for an input",
        "`python-boolean`",
        both(
            at("/inputs/(?:required|optional)/[^/]+(?:/type)?", lambda value: value == "boolean"),
            at("/inputs/values/[^/]+", lambda value: isinstance(value, bool)),
            at("/pattern/.*/(?!when)[^/]+|/agents/[^/]+/prompt|/outputs/.*", _prints_boolean),
        ),
    ),
    Difference(
        10,
        "failed-templates",
        "a template that cannot be rendered, after calls that were paid",
        "the run fails and stores what was done; `strands resume RUN --spec FILE` continues it with the "
        "corrected file, and "
        "`strands rerun RUN --from KEY` begins a new run from one step or from `artifacts`",
        "",
    ),
    Difference(
        11,
        "folder-of-servers",
        "the program of an MCP server",
        "it runs in the working directory, with `PATH`, `HOME`, `LANG` and the like, and what `env` names",
        "it runs in the folder of the file",
        "",
        at("/tools/mcp/[0-9]+/command"),
    ),
    Difference(
        11,
        "traces",
        "`telemetry`: ports of gRPC, and `redact`",
        "traces go by OTLP over HTTP, and a warning names the port for it (4318 for 4317); `pii` and `custom_patterns` "
        "of `redact` are about traces only, and a pattern that can be slow is an error",
        "",
        "`grpc-port`, `bad-regex`",
        both(at("/telemetry/redact/(?:pii|custom_patterns)"), found("/telemetry")),
    ),
    Difference(
        12,
        "options-and-python",
        "options of the command line, and Python",
        "the two tables below have the present form of each",
        "",
    ),
    Difference(
        13,
        "explain-differences",
        "which rows of this table concern a file",
        "`strands validate --explain-differences FILE`",
        "",
    ),
    Difference(
        14,
        "everything-else",
        "everything that no row names",
        "what it was, as far as this program has tests of it: workflows of the earlier format, with the "
        "requests and the "
        "artifacts of each",
        "",
    ),
    Difference(
        15,
        "clients-of-providers",
        "a client of a provider in a version that the SDK does not admit, such as `anthropic` 1.0",
        "an error before the run, and a finding of `strands doctor`; the extras admit what the SDK does",
        "",
        "`missing-extra`",
        at("/(?:runtime|agents/[^/]+)/provider", lambda value: value == "anthropic"),
    ),
)
