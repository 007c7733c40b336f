"""Plan a run of one reusable agent, as a workflow of one step: with its model, or with the recording of a test."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from strands_cli import app
from strands_cli.agent_files.agent_checks import load_agent, problem_of_input, text_of
from strands_cli.errors import Finding, InvalidInput, UsageError
from strands_cli.planning.folders.agent_workflow import INPUT, AgentWorkflow, agent_workflow_of, located_in_agent_file
from strands_cli.planning.run_inputs import BAD_INPUT
from strands_cli.texts.canonical_json import json_object
from strands_cli.tools.schema.schemas import SchemaFaultError
from strands_cli.workflow.files.recording_file import VERSION
from strands_cli.workflow.findings import BAD_SCHEMA
from strands_cli.workflow.parts.agent_file import Atomic
from strands_cli.workflow.parts.agent_tests import STEP, AgentTest
from strands_cli.workflow.templates.template import Templates
from strands_cli.yaml_files.file_source import stored_name

if TYPE_CHECKING:
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.workflow.agent_sections import AgentSpec
    from strands_cli.workflow.model import WorkflowSpec
    from strands_cli.workflow.sections import InputSpec

# The name of a file that does not exist: its text is in memory, and in the journal of the run.
_TURNS = ".atomic.recording.yaml"


def plan_atomic(atomic: Atomic, typed: Any, request: RunRequest, test: AgentTest | None = None) -> Plan:
    """Return what running an agent once would do; its input is checked first.

    Args:
        typed: Its input, a text or JSON; for a workflow, an object of its inputs, or the text of the only one.
        test: The test whose recording is played; None calls the agent's model.

    Raises:
        UsageError: The input does not fit the agent's `input_schema`, or its model has no provider.
        InvalidInput: The file has errors.
    """
    (spec, agent), agent_input = load_agent(atomic), text_of(typed)
    if atomic.is_workflow:
        request = dataclasses.replace(request, values=_inputs(spec, agent_input, request))
        return app.plan((_with_turns(atomic, test) if test else agent_workflow_of(atomic)).load(), request)
    if INPUT in {**request.variables, **request.values}:
        raise UsageError("the agent's input is not a variable", fix="pass it with --input")
    try:
        problem = problem_of_input(agent, agent_input)
    except SchemaFaultError as error:
        found = Finding(BAD_SCHEMA, f"the schema cannot be used: {error}", atomic.document.where("/input_schema"))
        raise InvalidInput(f"{atomic.document.file} is not a valid agent", findings=[found]) from error
    if problem:
        message = f"the input does not fit the input_schema of {atomic.name}: {problem}"
        where = atomic.document.where("/input_schema")
        raise UsageError("the agent does not accept this input", findings=[Finding(BAD_INPUT, message, where)])
    names = _names_for_prompt(agent)
    provider = "replay" if test else _provider(atomic, agent, request)
    whole = _with_turns(atomic, test, names) if test else agent_workflow_of(atomic, provider, inputs=names)
    parts = {name: value for name, value in _object_of(agent_input).items() if name in names and value is not None}
    given = {name: names[name].coerced(value) for name, value in parts.items()}
    request = dataclasses.replace(request, values={**given, **request.values, INPUT: agent_input})
    planned = app.plan(whole.load(), request)
    return dataclasses.replace(planned, findings=tuple(located_in_agent_file(one, atomic) for one in planned.findings))


def _names_for_prompt(agent: AgentSpec) -> dict[str, InputSpec]:
    """Return the properties of an agent's input that its prompt reads: an object gives them by their names."""
    templates, known = Templates(), agent.described_inputs()
    return {name: one for name, one in known.items() if name != INPUT and templates.reads_in(agent.prompt or "", name)}


def _object_of(text: str) -> Mapping[str, Any]:
    try:
        return json_object(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _provider(atomic: Atomic, agent: AgentSpec, request: RunRequest) -> str:
    provider = request.provider or agent.provider
    if provider is None:
        fix = "write `provider:` and `model_id:` into the file, or pass --provider NAME --model NAME"
        raise UsageError(f"{atomic.document.file} names no model provider for {atomic.name}", fix=fix)
    return provider


def _inputs(spec: WorkflowSpec, agent_input: str, request: RunRequest) -> dict[str, Any]:
    """Return the inputs of a workflow that has one agent."""
    declared = list(spec.inputs.declared())
    try:
        value = json.loads(agent_input)
    except ValueError:
        value = agent_input
    if isinstance(value, dict):
        return {**request.values, **value}
    if len(declared) != 1:
        names = ", ".join(declared) or "none"
        raise UsageError(
            f"a text can be passed only to a single input; the inputs are: {names}", fix="pass a JSON object"
        )
    return {**request.values, declared[0]: agent_input}


def _with_turns(atomic: Atomic, test: AgentTest, names: Mapping[str, InputSpec] | None = None) -> AgentWorkflow:
    """Return an agent as a workflow that plays the test's recording."""
    if isinstance(test.recording, str):
        return agent_workflow_of(atomic, recording=test.recording, inputs=names)
    whole = agent_workflow_of(atomic, recording=_TURNS, inputs=names)
    turns = {"recording": VERSION, "steps": {STEP: [dict(turn) for turn in test.recording or ()]}}
    texts = {**whole.snapshot.texts, stored_name(atomic.folder / _TURNS): json.dumps(turns)}
    return dataclasses.replace(whole, snapshot=dataclasses.replace(whole.snapshot, texts=texts))
