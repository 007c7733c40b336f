"""One reusable agent by itself: as a workflow of one step, and tried by the tests in its file."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Finding, InvalidAnswer, InvalidInput, StrandsCliError, UsageError, has_errors
from strands_cli.outputs.junit import Outcome
from strands_cli.planning.agent_workflow import INPUT, AsWorkflow, as_workflow, at_home
from strands_cli.tools.schema.schemas import SchemaFaultError, first_problem, problem_of_text
from strands_cli.workflow.agent_file import STEP, AgentTest, Atomic, require_sound
from strands_cli.workflow.file_source import FileSnapshot, place_of
from strands_cli.workflow.recording_file import VERSION
from strands_cli.workflow.templates.bounded_regex import SlowPattern, search

if TYPE_CHECKING:
    from strands_cli.engine.ports import Human
    from strands_cli.events import Event
    from strands_cli.planning.plan import Plan
    from strands_cli.planning.run_options import RunOptions
    from strands_cli.workflow.model import AgentSpec, WorkflowSpec

# Stands in a folder only by name: its text is kept in memory, and in the record of the run.
_TURNS = ".atomic.recording.yaml"
_NO_CONTRACT_ERRORS = frozenset({"undeclared-variable"})


def check_atomic(atomic: Atomic) -> tuple[Finding, ...]:
    """Return everything that is wrong with an agent's file by itself: shape, templates, schemas, contract and tests."""
    loaded = as_workflow(atomic).load()
    # What the prompt takes besides the input comes with the workflow around it, or with `--var`.
    found = [one for one in loaded.findings if atomic.is_workflow or one.code not in _NO_CONTRACT_ERRORS]
    findings = [*atomic.findings, *(at_home(one, atomic) for one in found)]
    if loaded.spec is not None and not has_errors(findings):
        try:
            findings += [
                one
                for index in range(len(atomic.tests))
                if (one := _test_fault(atomic, index, _only_agent(loaded.spec)))
            ]
        except SchemaFaultError as error:
            findings.append(Finding("bad-schema", f"a schema cannot be used: {error}", atomic.document.where("")))
    return tuple(dict.fromkeys(findings))


def _test_fault(atomic: Atomic, index: int, agent: AgentSpec) -> Finding | None:
    """Return what makes a test fail whatever the model says: the contract itself."""
    test = atomic.tests[index]
    problem = problem_of_input(agent, text_of(test.input))
    wants_refusal = test.expect.error == "bad_input"
    at = f"/tests/{index}"
    if wants_refusal and problem is None:
        message = f"the test {test.name!r} expects bad_input, and its input fits the input_schema"
        return Finding("bad-test", message, atomic.document.where(f"{at}/input"))
    if problem is not None and not wants_refusal:
        message = f"the input of the test {test.name!r} does not fit the input_schema: {problem}"
        fix = "mend the input, or say `expect: {error: bad_input}`"
        return Finding("bad-test", message, atomic.document.where(f"{at}/input"), fix)
    if "output" not in test.expect.model_fields_set or agent.output_schema is None:
        return None
    problem = first_problem(_schema(agent.output_schema), test.expect.output)
    if problem is None:
        return None
    message = f"the test {test.name!r} expects an output that the output_schema refuses: {problem}"
    return Finding("bad-test", message, atomic.document.where(f"{at}/expect/output"))


def load_sound(atomic: Atomic) -> tuple[WorkflowSpec, AgentSpec]:
    """Return an agent's workflow and the agent in it, with what its file names in its place.

    Raises:
        InvalidInput: the file, or one that it names, has mistakes.
    """
    require_sound(atomic)
    loaded = as_workflow(atomic).load()
    if loaded.spec is None or has_errors(loaded.findings):
        findings = [at_home(one, atomic) for one in loaded.findings]
        raise InvalidInput(f"{atomic.document.file} is not a valid agent", findings=findings)
    return loaded.spec, _only_agent(loaded.spec)


def _only_agent(spec: WorkflowSpec) -> AgentSpec:
    return next(iter(spec.agents.values()))


def _schema(schema: Any) -> dict[str, Any]:
    return dict(schema) if not isinstance(schema, str) else {}


def text_of(value: Any) -> str:
    """Return an input as the agent gets it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def problem_of_input(agent: AgentSpec, text: str) -> str | None:
    """Return why an input does not fit the agent's `input_schema`, read as the engine reads it; None where it fits."""
    return None if agent.input_schema is None else problem_of_text(_schema(agent.input_schema), text)


def plan_atomic(atomic: Atomic, given: str, options: RunOptions, turns: AsWorkflow | None = None) -> Plan:
    """Return what running an agent once would do; its input is checked before anything else is.

    Args:
        atomic: The agent.
        given: Its input; of a workflow, a JSON object of its inputs, or the text of the only one.
        options: How.
        turns: The agent as a workflow that plays a recording, else it asks its model.

    Raises:
        UsageError: the input does not fit the agent's `input_schema`, or nobody serves its model.
        InvalidInput: the file has mistakes.
    """
    from strands_cli.session.planned import plan_loaded

    spec, agent = load_sound(atomic)
    if atomic.is_workflow:
        options = dataclasses.replace(options, values=_inputs(spec, given, options))
        return plan_loaded(as_workflow(atomic).load(), options)
    if INPUT in {**options.given, **options.values}:
        raise UsageError("the agent's input is no variable", fix="give it with --input")
    try:
        problem = problem_of_input(agent, given)
    except SchemaFaultError as error:
        found = Finding("bad-schema", f"the schema cannot be used: {error}", atomic.document.where("/input_schema"))
        raise InvalidInput(f"{atomic.document.file} is not a valid agent", findings=[found]) from error
    if problem:
        message = f"the input does not fit the input_schema of {atomic.name}: {problem}"
        where = atomic.document.where("/input_schema")
        raise UsageError("the agent cannot be asked that", findings=[Finding("bad-input", message, where)])
    whole = turns or as_workflow(atomic, _provider(atomic, agent, options))
    options = dataclasses.replace(options, values={**options.values, INPUT: given})
    planned = plan_loaded(whole.load(), options, kept=whole.kept)
    return dataclasses.replace(planned, findings=tuple(at_home(one, atomic) for one in planned.findings))


def _provider(atomic: Atomic, agent: AgentSpec, options: RunOptions) -> str:
    provider = options.provider or agent.provider
    if provider is None:
        fix = "write `provider:` and `model_id:` into the file, or pass --provider NAME --model NAME"
        raise UsageError(f"{atomic.document.file} does not say who serves the model of {atomic.name}", fix=fix)
    return provider


def _inputs(spec: WorkflowSpec, given: str, options: RunOptions) -> dict[str, Any]:
    """Return the inputs of a workflow that stands for its one agent."""
    declared = list(spec.inputs.declared())
    try:
        value = json.loads(given)
    except ValueError:
        value = given
    if isinstance(value, dict):
        return {**options.values, **value}
    if len(declared) != 1:
        names = ", ".join(declared) or "none"
        raise UsageError(f"a text can be given where there is one input; here are: {names}", fix="give a JSON object")
    return {**options.values, declared[0]: given}


async def run_test(
    atomic: Atomic, test: AgentTest, options: RunOptions, human: Human, emit: Callable[[Event], None], *, live: bool
) -> Outcome:
    """Run one test of an agent as a run of its own, and judge what came of it.

    Args:
        atomic: The agent.
        test: One of its tests.
        options: How; the test's variables come over theirs.
        human: Who answers.
        emit: Who listens.
        live: Whether the agent's model is asked rather than the test's recording.
    """
    from strands_cli.session.carry import carry_out
    from strands_cli.session.record import begin_record

    ended = partial(Outcome, atomic.document.file, atomic.name, test.name)
    if test.recording is None and not live and test.expect.error != "bad_input":
        return ended("skipped", ("it has no recording; --live asks the model",))
    started = time.monotonic()
    options = dataclasses.replace(
        options, values={**options.values, **test.vars}, provider=options.provider if live else "replay"
    )
    try:
        planned = plan_atomic(atomic, text_of(test.input), options, None if live else _with_turns(atomic, test))
        result = await carry_out(planned, options, human, emit, partial(begin_record, planned, options))
    except StrandsCliError as error:
        refused = _side_of(error)
        seconds = time.monotonic() - started
        if refused is not None and refused == test.expect.error:
            return ended("passed", (), seconds)
        status = "failed" if refused is not None else "error"
        return ended("failed" if status == "failed" else "error", _said(error), seconds)
    problems = _problems(atomic, test, result.response)
    return ended("failed" if problems else "passed", problems, time.monotonic() - started, result.response)


def _with_turns(atomic: Atomic, test: AgentTest) -> AsWorkflow:
    """Return an agent as a workflow that plays what the test has recorded."""
    if isinstance(test.recording, str):
        return as_workflow(atomic, recording=test.recording)
    whole = as_workflow(atomic, recording=_TURNS)
    turns = {"recording": VERSION, "steps": {STEP: [dict(turn) for turn in test.recording or ()]}}
    texts = {**whole.kept.texts, place_of(atomic.folder / _TURNS): json.dumps(turns)}
    return dataclasses.replace(whole, kept=FileSnapshot(whole.kept.folder, texts))


def _side_of(error: StrandsCliError) -> str | None:
    """Return which side of the contract an error is about, if any."""
    if any(finding.code == "bad-input" for finding in error.findings):
        return "bad_input"
    return "invalid_output" if isinstance(error, InvalidAnswer) else None


def _said(error: StrandsCliError) -> tuple[str, ...]:
    return tuple(one.message for one in error.findings if one.severity == "error") or (error.message,)


def _problems(atomic: Atomic, test: AgentTest, response: str) -> tuple[str, ...]:
    """Return in which points an answer is not the expected one."""
    wanted, problems = test.expect, []
    structured = load_sound(atomic)[1].output_schema is not None
    output = json.loads(response) if structured else response
    if wanted.error is not None:
        problems.append(f"expected {wanted.error}, and the agent answered")
    if "output" in wanted.model_fields_set and output != (wanted.output if structured else _stripped(wanted.output)):
        problems.append(f"expected the output {_shown(wanted.output)}, got {_shown(output)}")
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
    # As the engine strips an answer: a block of YAML ends in a line end that nobody means.
    return value.rstrip("\n") if isinstance(value, str) else value


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:197]}..."
