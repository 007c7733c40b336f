"""Agents in files of their own: checks, plans of single runs, and faults of an answer to a test."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from strands_cli import app
from strands_cli.errors import Finding, InvalidAnswer, InvalidInput, StrandsCliError, UsageError, has_errors
from strands_cli.planning.row_planner import BAD_INPUT, MISSING_INPUT
from strands_cli.planning.workflow_folder import INPUT, AgentWorkflow, agent_workflow_of, located_in_agent_file
from strands_cli.texts.canonical_json import json_object
from strands_cli.texts.phrases import short_json
from strands_cli.tools.schema.schemas import SchemaFaultError, first_problem, problem_of_text
from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE
from strands_cli.workflow.findings import BAD_SCHEMA
from strands_cli.workflow.parts.agent_file import BAD_TEST, STEP, AgentTest, Atomic, require_sound
from strands_cli.workflow.recording_file import VERSION
from strands_cli.workflow.templates.regular_expressions import SlowPattern, search
from strands_cli.workflow.templates.template import Templates
from strands_cli.yaml_files.document_reader import stored_name

if TYPE_CHECKING:
    from strands_cli.planning.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.workflow.agent_sections import AgentSpec
    from strands_cli.workflow.model import WorkflowSpec
    from strands_cli.workflow.sections import InputSpec


_NO_CONTRACT_ERRORS = frozenset({UNDECLARED_VARIABLE})


def check_atomic(atomic: Atomic) -> tuple[Finding, ...]:
    """Return every finding about an agent's file: structure, templates, schemas, contract and tests."""
    loaded = agent_workflow_of(atomic).load()
    # Further variables of the prompt come from the workflow that uses the agent, or from `--var`.
    spec_findings = [
        finding for finding in loaded.findings if atomic.is_workflow or finding.code not in _NO_CONTRACT_ERRORS
    ]
    findings = [*atomic.findings, *(located_in_agent_file(finding, atomic) for finding in spec_findings)]
    if loaded.spec is not None and not has_errors(findings):
        try:
            findings += [
                fault for index in range(len(atomic.tests)) if (fault := _test_fault(atomic, index, loaded.spec))
            ]
        except SchemaFaultError as error:
            findings.append(Finding(BAD_SCHEMA, f"a schema cannot be used: {error}", atomic.document.where("")))
    return tuple(dict.fromkeys(findings))


def _test_fault(atomic: Atomic, index: int, spec: WorkflowSpec) -> Finding | None:
    """Return why a test contradicts the agent's contract, so that it fails for every answer of the model."""
    test, agent = atomic.tests[index], _only_agent(spec)
    wants_refusal = test.expect.error == "bad_input"
    # In a workflow the schema is about the message that its step makes of the inputs.
    is_known = not atomic.is_workflow or spec.schema_of_inputs is not None
    problem = problem_of_input(agent, text_of(test.input)) if is_known else None
    if wants_refusal and problem is None and is_known:
        message = f"the test {test.name!r} expects bad_input, and its input fits the input_schema"
        return Finding(BAD_TEST, message, atomic.where_of_test(index, "/input"))
    if problem is not None and not wants_refusal:
        message = f"the input of the test {test.name!r} does not fit the input_schema: {problem}"
        fix = "correct the input, or say `expect: {error: bad_input}`"
        return Finding(BAD_TEST, message, atomic.where_of_test(index, "/input"), fix)
    if "output" not in test.expect.model_fields_set or agent.output_schema is None:
        return None
    problem = first_problem(_schema(agent.output_schema), test.expect.output)
    if problem is None:
        return None
    message = f"the test {test.name!r} expects an output that the output_schema refuses: {problem}"
    return Finding(BAD_TEST, message, atomic.where_of_test(index, "/expect/output"))


def load_agent(atomic: Atomic) -> tuple[WorkflowSpec, AgentSpec]:
    """Return an agent's workflow and the agent in it, with the files that it names resolved.

    Raises:
        InvalidInput: The file, or one that it names, has errors.
    """
    require_sound(atomic)
    loaded = agent_workflow_of(atomic).load()
    if (spec := loaded.valid) is None:
        findings = [located_in_agent_file(finding, atomic) for finding in loaded.findings]
        raise InvalidInput(f"{atomic.document.file} is not a valid agent", findings=findings)
    return spec, _only_agent(spec)


def _only_agent(spec: WorkflowSpec) -> AgentSpec:
    return next(iter(spec.agents.values()))


def _schema(schema: Any) -> dict[str, Any]:
    return dict(schema) if not isinstance(schema, str) else {}


def text_of(value: Any) -> str:
    """Return an input as the agent gets it: text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def problem_of_input(agent: AgentSpec, text: str) -> str | None:
    """Return why an input does not fit the agent's `input_schema`, parsed as the engine does it; None if it fits."""
    if agent.input_schema is None or (problem := problem_of_text(_schema(agent.input_schema), text)) is None:
        return None
    return problem + _why_no_json(text)


def _why_no_json(text: str) -> str:
    """Return why a text that begins as JSON is none, for the end of a message."""
    try:
        json.loads(text)
    except ValueError as error:
        return f"; as JSON it cannot be read: {error}" if text.lstrip().startswith(("{", "[")) else ""
    except RecursionError:
        return "; as JSON it is nested too deeply"
    return ""


Verdict = Literal["passed", "failed", "error"]


def verdict_of_test(atomic: Atomic, test: AgentTest, ended: str | StrandsCliError) -> tuple[Verdict, tuple[str, ...]]:
    """Return whether an agent passes a test, and the problems if it does not; `error` is an end without an answer.

    Args:
        ended: The answer of the agent, or the error that its run ended with.
    """
    if not isinstance(ended, StrandsCliError):
        problems = _problems(atomic, test, ended)
        return ("failed" if problems else "passed", problems)
    refused = _side_of(ended)
    if refused is not None and refused == test.expect.error:
        return "passed", ()
    messages = tuple(finding.message for finding in ended.findings if finding.severity == "error") or (ended.message,)
    return ("error" if refused is None else "failed", messages)


def _side_of(error: StrandsCliError) -> str | None:
    """Return which part of the contract an error is about, if any."""
    if any(finding.code in (BAD_INPUT, MISSING_INPUT) for finding in error.findings):
        return "bad_input"
    return "invalid_output" if isinstance(error, InvalidAnswer) else None


def _problems(atomic: Atomic, test: AgentTest, response: str) -> tuple[str, ...]:
    """Return the differences of an answer from the test's expectation."""
    expectation, problems = test.expect, []
    structured = load_agent(atomic)[1].output_schema is not None
    output = json.loads(response) if structured else response
    if expectation.error is not None:
        problems.append(f"expected {expectation.error}, and the agent answered")
    if "output" in expectation.model_fields_set and output != (
        expectation.output if structured else _stripped(expectation.output)
    ):
        problems.append(f"expected the output {short_json(expectation.output, 200)}, got {short_json(output, 200)}")
    problems += [f"the answer does not contain {text!r}" for text in expectation.texts if text not in response]
    problems += _unmatched(expectation.matches, response)
    if expectation.schema_ is not None and (problem := first_problem(expectation.schema_, output)):
        problems.append(f"the output does not fit the schema of the test: {problem}")
    return tuple(problems)


def _unmatched(pattern: str | None, response: str) -> list[str]:
    try:
        matches = pattern is None or search(pattern, response) is not None
    except (SlowPattern, re.error) as error:
        return [f"the pattern cannot be searched for: {error}"]
    return [] if matches else [f"the answer does not match {pattern!r}"]


def _stripped(value: Any) -> Any:
    # As the engine strips an answer: a block of YAML ends in an unmeant line end.
    return value.rstrip("\n") if isinstance(value, str) else value


# Plan a run of one reusable agent, as a workflow of one step: with its model, or with the recording of a test.


# The name of a file that does not exist: its text is in memory, and in the journal of the run.
_TURNS = ".atomic.recording.yaml"


def plan_atomic(atomic: Atomic, typed: Any, request: RunRequest, test: AgentTest | None = None) -> Plan:
    """Return the plan of running an agent once; its input is checked first.

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
        bad_schema = Finding(BAD_SCHEMA, f"the schema cannot be used: {error}", atomic.document.where("/input_schema"))
        raise InvalidInput(f"{atomic.document.file} is not a valid agent", findings=[bad_schema]) from error
    if problem:
        message = f"the input does not fit the input_schema of {atomic.name}: {problem}"
        where = atomic.document.where("/input_schema")
        raise UsageError("the agent does not accept this input", findings=[Finding(BAD_INPUT, message, where)])
    names = _names_for_prompt(agent)
    provider = "replay" if test else _provider(atomic, agent, request)
    whole = _with_turns(atomic, test, names) if test else agent_workflow_of(atomic, provider, inputs=names)
    parts = {name: value for name, value in _object_of(agent_input).items() if name in names and value is not None}
    agent_values = {name: names[name].coerced(value) for name, value in parts.items()}
    request = dataclasses.replace(request, values={**agent_values, **request.values, INPUT: agent_input})
    planned = app.plan(whole.load(), request)
    return dataclasses.replace(
        planned, findings=tuple(located_in_agent_file(finding, atomic) for finding in planned.findings)
    )


def _names_for_prompt(agent: AgentSpec) -> dict[str, InputSpec]:
    """Return the properties of an agent's input that its prompt reads: an object gives them by their names."""
    templates, input_specs = Templates(), agent.described_inputs()
    return {
        name: input_spec
        for name, input_spec in input_specs.items()
        if name != INPUT and templates.reads_in(agent.prompt or "", name)
    }


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
    """Return the inputs of a workflow with one agent."""
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
