"""Check one reusable agent: as a workflow of one step, against the tests in its file, and what it answers to them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

from strands_cli.errors import Finding, InvalidAnswer, InvalidInput, StrandsCliError, has_errors
from strands_cli.planning.folders.agent_workflow import agent_workflow_of, located_in_agent_file
from strands_cli.planning.run_inputs import BAD_INPUT, MISSING_INPUT
from strands_cli.texts.phrases import short_json
from strands_cli.tools.schema.schemas import SchemaFaultError, first_problem, problem_of_text
from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE
from strands_cli.workflow.findings import BAD_SCHEMA
from strands_cli.workflow.parts.agent_file import Atomic, require_sound
from strands_cli.workflow.parts.agent_tests import BAD_TEST, AgentTest
from strands_cli.workflow.templates.regular_expressions import SlowPattern, search

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
    messages = tuple(one.message for one in ended.findings if one.severity == "error") or (ended.message,)
    return ("error" if refused is None else "failed", messages)


def _side_of(error: StrandsCliError) -> str | None:
    """Return which part of the contract an error is about, if any."""
    if any(finding.code in (BAD_INPUT, MISSING_INPUT) for finding in error.findings):
        return "bad_input"
    return "invalid_output" if isinstance(error, InvalidAnswer) else None


def _problems(atomic: Atomic, test: AgentTest, response: str) -> tuple[str, ...]:
    """Return how an answer differs from what the test expects."""
    wanted, problems = test.expect, []
    structured = load_agent(atomic)[1].output_schema is not None
    output = json.loads(response) if structured else response
    if wanted.error is not None:
        problems.append(f"expected {wanted.error}, and the agent answered")
    if "output" in wanted.model_fields_set and output != (wanted.output if structured else _stripped(wanted.output)):
        problems.append(f"expected the output {short_json(wanted.output, 200)}, got {short_json(output, 200)}")
    problems += [f"the answer does not contain {text!r}" for text in wanted.texts if text not in response]
    problems += _unmatched(wanted.matches, response)
    if wanted.schema_ is not None and (problem := first_problem(wanted.schema_, output)):
        problems.append(f"the output does not fit the schema of the test: {problem}")
    return tuple(problems)


def _unmatched(pattern: str | None, response: str) -> list[str]:
    try:
        found = pattern is None or search(pattern, response) is not None
    except (SlowPattern, re.error) as error:
        return [f"the pattern cannot be searched for: {error}"]
    return [] if found else [f"the answer does not match {pattern!r}"]


def _stripped(value: Any) -> Any:
    # As the engine strips an answer: a block of YAML ends in a line end that is not meant.
    return value.rstrip("\n") if isinstance(value, str) else value
