"""`explain SPEC`: a workflow in plain sentences, from its plan; nothing runs and nothing is imported."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.cli.commands.plan_command import (
    bound_words,
    loop_words,
    model_words,
    parts_of,
    shown_words,
    step_tools,
)
from strands_cli.cli.output.messages import error_document
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal.workflow_summary import about_document
from strands_cli.cli.terminal_text import one_line
from strands_cli.errors import StrandsCliError
from strands_cli.texts.phrases import shortened
from strands_cli.yaml_files.document_reader import SUFFIXES

if TYPE_CHECKING:
    from strands_cli.planning.data_flow.planned_authority import Authority
    from strands_cli.planning.plan_values import Plan, PlannedAgent, PlannedStep, PlannedTool
    from strands_cli.workflow.steps import GateStep


_BUDGETS = {
    "max_tokens": "at most {:,} tokens",
    "max_cost_usd": "at most {:g} US dollars",
    "max_duration_s": "at most {:g} s",
    "max_steps": "at most {:,} steps",
    "max_model_calls": "at most {:,} model calls",
    "max_tool_calls": "at most {:,} tool calls",
}
_LIMITS = {
    "turns": "{:,} model calls",
    "tokens": "{:,} tokens",
    "tool_calls": "{:,} tool calls",
    "cost_usd": "{:g} US dollars",
    "duration_s": "{:g} s",
}
# The labels of edges without a condition.
_LABELS = {"else": "otherwise", "revise": "while no draft is accepted"}
_TEXT = 160


def is_spec(text: str) -> bool:
    """Return whether an argument names a workflow: by its suffix, as a file, as `DIST/NAME`, or standard input."""
    from strands_cli.catalog.packaged_files import is_packaged_name

    return text == "-" or text.lower().endswith(SUFFIXES) or Path(text).is_file() or is_packaged_name(text)


def explain_spec(spec: str, policy: Path | None, *, as_json: bool) -> None:
    """Print the steps and limits of a workflow, and the findings that prevent it from running here.

    Raises:
        StrandsCliError: The workflow is invalid.
    """
    from strands_cli import app
    from strands_cli.planning.run_request import RunRequest

    try:
        planned = app.plan(spec, RunRequest(policy=policy))
    except StrandsCliError as error:
        if as_json:
            problem = error_document(error)
            print_json({"file": spec, "error": problem, "findings": problem.pop("findings")})
        raise
    sections = sections_of(planned)
    if as_json:
        print_json(_document(planned, sections))
        return
    lines = [f"{planned.spec.name}  ({planned.file})"]
    for title, sentences in sections.items():
        lines += ["", title, *(f"  {sentence}" for sentence in sentences)]
    print_result("\n".join(map(one_line, lines)))


def _document(plan: Plan, sections: dict[str, list[str]]) -> dict[str, Any]:
    from strands_cli.planning.data_flow.planned_authority import authority_of

    return {
        "workflow": plan.spec.name,
        "file": plan.file,
        "pattern": plan.spec.pattern.type,
        "sections": [{"title": title, "sentences": sentences} for title, sentences in sections.items()],
        "authority": authority_of(plan).as_dict(),
        "findings": [finding.as_dict() for finding in plan.findings],
    }


def sections_of(plan: Plan) -> dict[str, list[str]]:
    """Return the sentences about a plan by the title of their section."""
    from strands_cli.planning.authority_sentences import authority_sections
    from strands_cli.planning.data_flow.planned_authority import authority_of

    authority = authority_of(plan)
    sections = {
        "What it is for": _purpose(plan),
        "Who works": _workers(plan),
        "What happens": _events(plan),
        "Where a person is asked": list(dict.fromkeys(_questions(plan))) or ["Nowhere."],
        "What limits it": _limits(plan),
        "What it writes": _writes(plan, authority),
        **authority_sections(authority, is_complete=plan.is_complete),
        "What to look at first": [_problem(finding) for finding in plan.findings],
    }
    return {title: list(sentences) for title, sentences in sections.items() if sentences}


def _purpose(plan: Plan) -> list[str]:
    about = about_document(plan.spec)
    text = " ".join(filter(None, (about["title"] and f"{about['title']}.", about["description"])))
    sentences = [" ".join(text.split()) or "The workflow has no description."]
    fixed = plan.spec.inputs.values
    for name, declared in plan.spec.inputs.declared().items():
        is_needed = name in plan.spec.inputs.required and name not in fixed
        usual = plan.inputs.get(name)
        default = f"default {_short(usual)}" if usual is not None else "optional"
        how = "required" if is_needed else default
        meaning = f": {declared.description}" if declared.description else ""
        sentences.append(f"Input {name} ({declared.type}, {how}){meaning}")
    return sentences


def _workers(plan: Plan) -> list[str]:
    sentences: list[str] = []
    for agent in plan.agents.values():
        sentences += [f"The agent {agent.id} {_model(agent)}.", *(f"  {text}" for text in _agent_tools(agent))]
        if agent.keeps_conversation:
            sentences.append("  It remembers its earlier steps of the run.")
    if tools := step_tools(plan):
        sentences += ["Steps call these tools themselves:", *(f"  {text}" for tool in tools for text in _tool(tool))]
    return sentences


def _model(agent: PlannedAgent) -> str:
    if agent.model.provider == "replay":
        return "answers from a recording, without a model"
    return f"calls the model {model_words(agent)}"


def _agent_tools(agent: PlannedAgent) -> Iterator[str]:
    if not agent.tools:
        yield "It has no tools."
    for tool in agent.tools:
        yield from _tool(tool)
    for words in shown_words(agent):
        yield f"{words[0].upper()}{words[1:]}."


def _tool(tool: PlannedTool) -> Iterator[str]:
    """Yield a tool's permissions, and below it those of the tools that it is made of."""
    from strands_cli.planning.planned_tool import McpTool

    where = f"MCP server {tool.server.id}" if isinstance(tool, McpTool) else tool.describe()
    permissions = {
        "allow": "may be called without asking",
        "ask": "asks a person before each call",
        "reads": f"may be called without asking for {tool.reading_words}, and asks a person before each other call",
        "deny": "is denied",
    }
    also = "".join(f"; {rule.effect} for some calls ({rule.words})" for rule in tool.conditional)
    how = permissions["reads" if tool.when_reading else tool.decision.effect]
    yield f"Tool {tool.name} ({where}) {how}: {tool.decision.rule}{also}."
    yield from (f"  {text}" for part in parts_of(tool) for text in _tool(part))


def _events(plan: Plan) -> list[str]:
    before: dict[str, list[str]] = {}
    for first, then, label in plan.spec.pattern.edges():
        condition = f" ({_LABELS.get(label) or f'if {_short(label)}'})" if label else ""
        before.setdefault(then, []).append(f"{first}{condition}")
    word = " or " if plan.spec.pattern.joins_any else " and "
    start = plan.steps[0].key if plan.steps else None
    waits = {
        key: f"{'first, and again ' if key == start else ''}after {word.join(keys)}, " for key, keys in before.items()
    }
    pattern = plan.spec.pattern
    return [
        f"{pattern.type}: {pattern.purpose}",
        *pattern.limits(),
        *(_event(step, waits.get(step.key, "")) for step in plan.steps),
    ]


def _event(step: PlannedStep, waits: str) -> str:
    acts = {
        "agent": f"the agent {step.who} works on: {_short(step.input)}",
        "call": f"the tool {step.who} is called with {_short(step.input)}",
        "gate": f"a person is asked: {_short(step.input)}",
    }
    about = f" ({step.about})" if step.about else ""
    return f"{step.key}: {waits}{acts[step.kind]}{about}"


def _questions(plan: Plan) -> Iterator[str]:
    from strands_cli.planning.plan_values import with_parts
    from strands_cli.policy.decision import is_managed
    from strands_cli.workflow.steps import GateStep

    for placed in plan.spec.pattern.placed:
        if isinstance(step := placed.step, GateStep):
            late = f" after {step.timeout_seconds:g} s" if step.timeout_seconds is not None else ""
            default = f"; without an answer{late} it is {_short(step.default)}" if step.default is not None else ""
            yield f"At {placed.key}: {_short(step.prompt)}{default}{_words_of_gate(step)}"
    for tool in with_parts(plan.called()):
        if tool.decision.effect == "ask":
            allow = f"To allow it in advance: --allow {shlex.quote(tool.own_name)}"
            how = "Only a person at a terminal can allow it" if is_managed(tool.decision) else allow
            calls = f"each call of {tool.name}" + (f", but for {tool.reading_words}" if tool.when_reading else "")
            yield f"Before {calls}: {tool.decision.rule}. {how}"
        elif any(rule.effect == "ask" for rule in tool.conditional):
            yield f"Before some calls of {tool.name}, depending on their arguments."


def _words_of_gate(gate: GateStep) -> str:
    answer = "" if gate.answer is None else f"; the answer fits {_short(json.dumps(dict(gate.answer)))}"
    people = f"; {gate.approvers} people must give the same answer" if gate.approvers > 1 else ""
    ends = {"reject": "it is rejected", "fail": "the step fails", "default": "it takes the default"}[gate.on_expiry]
    expires = f"; after {gate.expires} without an answer {ends}" if gate.expires is not None else ""
    return f"{answer}{people}{expires}" + (f"; it is for {gate.delegate} to answer" if gate.delegate else "")


def _limits(plan: Plan) -> list[str]:
    runtime = plan.spec.runtime
    sentences = [f"The run: {', '.join([bound_words(plan.bounds), *_listed(runtime.budgets, _BUDGETS, 3)])}."]
    for agent in plan.agents.values():
        if agent.limits is not None and (words := _listed(agent.limits, _LIMITS)):
            sentences.append(f"One step of {agent.id}: at most {', '.join(words)}.")
        if agent.budgets is not None and (words := _listed(agent.budgets, _BUDGETS)):
            sentences.append(f"All steps of {agent.id}: {', '.join(words)}.")
        sentences += [f"Loops of {agent.id}: {words}." for words in loop_words(agent)]
    if plan.agents:
        sentences.append(f"A model call that fails is {_times(runtime.failure_policy.retries)}.")
    return sentences


def _listed(values: Any, words: dict[str, str], first: int | None = None) -> list[str]:
    chosen = list(words.items())[:first]
    return [text.format(value) for name, text in chosen if (value := getattr(values, name)) is not None]


def _times(number: int) -> str:
    return {0: "not tried again", 1: "tried again once"}.get(number, f"tried again up to {number} times")


def _writes(plan: Plan, authority: Authority) -> list[str]:
    paths = [artifact.path for artifact in plan.spec.outputs.artifacts]
    replaced = ", in place of files of these names" if plan.spec.outputs.overwrite else ""
    sentences = [f"At its end: {', '.join(paths)}, in the directory of --out{replaced}."] if paths else []
    notes = plan.spec.context_policy.notes
    sentences += [f"Notes of the agents: {notes.file}"] if notes is not None else []
    for name, is_known in authority.writers:
        unknown = f"The tool {name} does not declare whether it writes files."
        sentences.append(f"The tool {name} can write files." if is_known else unknown)
    return [*sentences, "The journal of the run, in the directory of runs."]


def _problem(finding: Any) -> str:
    return f"{'It cannot run here' if finding.severity == 'error' else 'Note'}: {finding.message}. Fix: {finding.fix}"


def _short(value: Any) -> str:
    return shortened(" ".join((value if isinstance(value, str) else repr(value)).split()), _TEXT)
