"""Check one reusable agent: as a workflow of one step, and against the tests in its file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Finding, InvalidInput, has_errors
from strands_cli.planning.folders.agent_workflow import agent_workflow_of, located_in_agent_file
from strands_cli.tools.schema.schemas import SchemaFaultError, first_problem, problem_of_text
from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE
from strands_cli.workflow.findings import BAD_SCHEMA
from strands_cli.workflow.parts.agent_file import Atomic, require_sound
from strands_cli.workflow.parts.agent_tests import BAD_TEST

if TYPE_CHECKING:
    from strands_cli.workflow.agent_sections import AgentSpec
    from strands_cli.workflow.model import WorkflowSpec

_NO_CONTRACT_ERRORS = frozenset({UNDECLARED_VARIABLE})


def check_atomic(atomic: Atomic) -> tuple[Finding, ...]:
    """Return every finding about an agent's file: structure, templates, schemas, contract and tests."""
    loaded = agent_workflow_of(atomic).load()
    # Further variables of the prompt come from the workflow that uses the agent, or from `--var`.
    found = [one for one in loaded.findings if atomic.is_workflow or one.code not in _NO_CONTRACT_ERRORS]
    findings = [*atomic.findings, *(located_in_agent_file(one, atomic) for one in found)]
    if loaded.spec is not None and not has_errors(findings):
        try:
            findings += [one for index in range(len(atomic.tests)) if (one := _test_fault(atomic, index, loaded.spec))]
        except SchemaFaultError as error:
            findings.append(Finding(BAD_SCHEMA, f"a schema cannot be used: {error}", atomic.document.where("")))
    return tuple(dict.fromkeys(findings))


def _test_fault(atomic: Atomic, index: int, spec: WorkflowSpec) -> Finding | None:
    """Return why a test contradicts the agent's contract, so that it fails for every answer of the model."""
    test, agent = atomic.tests[index], _only_agent(spec)
    wants_refusal = test.expect.error == "bad_input"
    # In a workflow of version 1 the schema is about the message that its step makes of the inputs.
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


def load_valid(atomic: Atomic) -> tuple[WorkflowSpec, AgentSpec]:
    """Return an agent's workflow and the agent in it, with the files that it names resolved.

    Raises:
        InvalidInput: The file, or one that it names, has errors.
    """
    require_sound(atomic)
    loaded = agent_workflow_of(atomic).load()
    if (spec := loaded.valid) is None:
        findings = [located_in_agent_file(one, atomic) for one in loaded.findings]
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
