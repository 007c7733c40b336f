"""Files with one reusable agent: its name, its contract and its tests."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from strands_cli.errors import Code, Finding, InvalidInput, StrandsCliError, Where, has_errors
from strands_cli.texts.canonical_json import json_object
from strands_cli.texts.phrases import joined
from strands_cli.workflow.agent_sections import AgentSpec
from strands_cli.workflow.checks.check_pattern import check_regex, check_schema
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.packaged_listing import located
from strands_cli.workflow.recording_file import VERSION, load_recording
from strands_cli.workflow.sections import FormatModel, Identifier
from strands_cli.workflow.validation_errors import first_findings_of
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.document_reader import SUFFIXES, read_document

# Tests of an agent, in its file or in a file beside it.


BAD_TEST = Code(
    "bad-test",
    "A test of an agent expects nothing, or fails for every answer of the model.",
    "Correct the test.",
)

STEP = "steps.0"
TESTS_FILE = "tests.yaml"


class Expectation(FormatModel):
    """The conditions that an answer must meet; every given key is required."""

    output: Any = Field(default=None, description="The whole answer: JSON where there is an output_schema, else text.")
    contains: str | tuple[str, ...] = Field(default=(), description="Texts that are in the answer.")
    matches: str | None = Field(default=None, description="A regular expression that is found in the answer.")
    schema_: Mapping[str, Any] | None = Field(
        default=None, alias="schema", description="A JSON Schema that the answer satisfies, narrower than its own."
    )
    error: Literal["bad_input", "invalid_output"] | None = Field(
        default=None, description="The side of the contract that refuses: `bad_input` or `invalid_output`."
    )

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that must be in the answer."""
        return (self.contains,) if isinstance(self.contains, str) else self.contains


class AgentTest(FormatModel):
    """One test of an agent: its input, the turns of its model, and the conditions for its answer."""

    name: str = Field(min_length=1, description="What the test claims; each test has another name.")
    input: Any = Field(default="", description="The input of the agent: text, or a value that is passed as JSON.")
    vars: Mapping[str, Any] = Field(default_factory=dict, description="Values for the templates of the prompt.")
    recording: str | tuple[Mapping[str, Any], ...] | None = Field(
        default=None, description="The model's turns, or a file that `--record` wrote. Without it: with --live only."
    )
    expect: Expectation = Field(default_factory=Expectation, description="What is required of the answer.")


class TestsFile(FormatModel):
    """A file with the tests of the agent beside it."""

    tests: tuple[AgentTest, ...] = Field(description="The tests.")


def is_tests_file(name: str) -> bool:
    """Return whether a file has the name of one with tests: `tests.yaml`, or that of its agent and `.tests.yaml`."""
    return name == TESTS_FILE or name.endswith(f".{TESTS_FILE}")


def tests_beside(file: Path) -> Path | None:
    """Return the file with the tests of the agent in another file, if there is one beside it."""
    places = (file.with_name(f"{file.stem}.{TESTS_FILE}"), file.with_name(TESTS_FILE))
    return next((path for path in places if path.is_file()), None)


def read_tests(file: Path) -> tuple[Document, tuple[AgentTest, ...], tuple[Finding, ...]]:
    """Return a file of tests, its tests, and the faults in them."""
    from strands_cli.yaml_files.document_reader import read_document

    document = read_document(file)
    if isinstance(document.value, list):
        document = _below_tests(document)
    if (large := too_many_tests(document)) is not None:
        return document, (), (large,)
    try:
        tests = TestsFile.model_validate(document.value, context={"document": True}).tests
    except ValidationError as error:
        findings = first_findings_of(error.errors(include_url=False), TestsFile, document)
        return document, (), (*document.findings, *findings)
    return document, tests, (*document.findings, *check_tests(tests, document))


def too_many_tests(document: Document) -> Finding | None:
    """Return the finding about more tests, tools or keys than are checked in a bounded time."""
    value = json_object(document.value)
    parts = {"": document.value, "/tests": value.get("tests"), "/tools": value.get("tools")}
    return document.first_too_large({pointer: (part, 1_000) for pointer, part in parts.items()})


def _below_tests(document: Document) -> Document:
    """Return a list of tests as a mapping with that list; its places stay."""

    def moved(places: Mapping[str, Any]) -> dict[str, Any]:
        return {f"/tests{pointer}": position for pointer, position in places.items()}

    return dataclasses.replace(
        document, value={"tests": document.value}, positions=moved(document.positions), keys=moved(document.keys)
    )


def check_tests(tests: Sequence[AgentTest], document: Document) -> Iterator[Finding]:
    """Report tests that cannot work: two with one name, or a wrong pattern, schema or recording."""
    seen: set[str] = set()
    for index, test in enumerate(tests):
        at = f"/tests/{index}"
        if test.name in seen:
            message = f"two tests have the name {test.name!r}"
            yield Finding(BAD_TEST, message, document.where(f"{at}/name"), "give each a name of its own")
        seen.add(test.name)
        yield from _check_expectation(test, at, document)
        if test.recording is not None:
            yield from _check_turns(test.recording, f"{at}/recording", document)


def _check_expectation(test: AgentTest, at: str, document: Document) -> Iterator[Finding]:
    expectation = test.expect
    if not expectation.model_fields_set:
        message = f"the test {test.name!r} expects nothing"
        fix = "add `expect:` with output, contains, matches, schema or error"
        yield Finding(BAD_TEST, message, document.where(at), fix)
    if expectation.error is not None and expectation.model_fields_set != {"error"}:
        message = f"the test {test.name!r} expects an error, and an answer too"
        yield Finding(BAD_TEST, message, document.where(f"{at}/expect"), "keep one of the two")
    if expectation.matches is not None and (
        problem := check_regex(expectation.matches, document.where(f"{at}/expect/matches"))
    ):
        yield problem
    if expectation.schema_ is not None and (
        problem := check_schema(expectation.schema_, document.where(f"{at}/expect/schema"))
    ):
        yield problem


def _check_turns(recording: str | tuple[Mapping[str, Any], ...], at: str, document: Document) -> Iterator[Finding]:
    from strands_cli.yaml_files.document_reader import read_document

    if not isinstance(recording, str):
        written = {"recording": VERSION, "steps": {STEP: [dict(turn) for turn in recording]}}
        _, findings = load_recording(Document(document.file, "", written, {}))
        # The places are those of the list in the test, not of the recording made of it.
        for problem in findings:
            below = problem.where.pointer.removeprefix(f"/steps/{STEP}") if problem.where else ""
            yield Finding(problem.code, problem.message, document.where(at + below), problem.fix)
        return
    try:
        _, findings = load_recording(read_document(Path(document.file).parent / recording))
    except StrandsCliError as error:
        yield from (
            Finding(finding.code, finding.message, document.where(at), finding.fix) for finding in error.findings
        )
        return
    yield from findings


REF_NOT_ONE_AGENT = Code(
    "ref-not-one-agent", "A `$ref` to a file that does not define exactly one agent.", "Name a file with one agent."
)
_NOT_IN_IDENTIFIERS = re.compile(r"[^A-Za-z0-9._:-]")


class AgentFile(AgentSpec):
    """A file with one agent: the keys of an agent, and those for people and for tests."""

    version: int | float | str | None = Field(default=None, description="Version of the agent, for people.")
    name: Identifier | None = Field(default=None, description="The agent's name; that of the file if not given.")
    description: str | None = Field(default=None, description="What the agent does, for people.")
    tests: tuple[AgentTest, ...] = Field(default=(), description="Tests that `strands workflows agent test` runs.")


FOR_PEOPLE = AgentFile.model_fields.keys() - AgentSpec.model_fields.keys()


@dataclass(frozen=True, slots=True)
class Atomic:
    """One agent by itself: a file of an agent, or a workflow of one agent and one step.

    `whole` is None where the mistakes in the file leave no agent; `findings` are those of its shape and its tests.
    `tests_beside` are the tests in a file of their own, and `beside` is that file. `packaged` is the name `DIST/NAME`
    of an agent that an installed distribution brings.
    """

    document: Document
    name: str
    description: str | None
    version: str | None
    is_workflow: bool
    whole: AgentFile | None
    findings: tuple[Finding, ...] = ()
    tests_beside: tuple[AgentTest, ...] = ()
    beside: Document | None = None
    packaged: str = ""

    @property
    def folder(self) -> Path:
        """The folder that relative paths in the file start from."""
        return Path(self.document.file).absolute().parent

    @property
    def tests(self) -> tuple[AgentTest, ...]:
        """The tests in the file, and those beside it."""
        return (*(self.whole.tests if self.whole else ()), *self.tests_beside)

    def where_of_test(self, index: int, part: str = "") -> Where:
        """Return the place of a test, or of a part of it, in its file."""
        inside = len(self.tests) - len(self.tests_beside)
        document, number = (self.document, index) if index < inside else (self.beside or self.document, index - inside)
        return document.where(f"/tests/{number}{part}")


def is_agent_file(value: Any) -> bool:
    """Return whether a document looks like a file of one agent; recordings, schemas and workflows do not."""
    return (
        isinstance(value, dict)
        and not {"agents", "pattern", "recording"} & value.keys()
        and isinstance(value.get("prompt", value.get("$ref")), str)
    )


def is_single_step(value: Any) -> bool:
    """Return whether a document is a workflow of one agent that takes one step, the older form of such an agent."""
    try:
        spec = WorkflowSpec.model_validate(value, context={"document": True})
    except ValidationError:
        return False
    return spec.only_agent is not None


def open_atomic(name: str | Path, *, with_tests: bool = True, text: str | None = None) -> Atomic:
    """Return the one agent of a file, or of an installed distribution that `DIST/NAME` names.

    Args:
        name: The file.
        with_tests: Whether a file of tests beside it is read.
        text: The text to read in place of that of the file.

    Raises:
        UsageError: The file cannot be opened, or no distribution has that name.
        InvalidInput: It is not a document, or does not have one agent.
    """
    source, snapshot = located(name, "agent")
    document = read_document(source, text)
    atomic = read_atomic(document) if with_tests else _atomic(document)
    return atomic if snapshot is None else replace(atomic, packaged=snapshot.packaged)


def find_atomic(path: Path) -> Atomic | None:
    """Return the one agent of a file; None if the file has something else, or cannot be read as YAML or JSON."""
    try:
        document = read_document(path)
    except StrandsCliError:
        return None
    return read_atomic(document) if _has_one_agent(document.value) else None


def _has_one_agent(value: Any) -> bool:
    return is_agent_file(value) or (isinstance(value, dict) and "agents" in value and is_single_step(value))


def read_atomic(document: Document) -> Atomic:
    """Return the one agent of a file with every mistake in its shape and its tests, also those beside it.

    Raises:
        InvalidInput: It has no agent, or several, or an agent that takes more than one step.
    """
    atomic, file = _atomic(document), Path(document.file)
    if not file.is_file() or (path := tests_beside(file)) is None:
        return atomic
    others = list(_agents_beside(file)) if path.name == TESTS_FILE else []
    if others:
        message = f"it is not known whose tests these are: {joined([file.name, *others])} are beside it"
        fix = f"name it after its agent: {file.stem}.{TESTS_FILE}"
        unclear = Finding(BAD_TEST, message, Where(str(path)), fix, "warning")
        return replace(atomic, findings=(*atomic.findings, unclear))
    beside, tests, findings = read_tests(path)
    return replace(atomic, tests_beside=tests, beside=beside, findings=(*atomic.findings, *findings))


def _agents_beside(file: Path) -> Iterator[str]:
    """Yield the names of the other files of one agent in a file's folder."""
    for path in sorted(file.parent.iterdir()):
        if path.name == file.name or path.suffix not in SUFFIXES or is_tests_file(path.name):
            continue
        try:
            value = read_document(path).value
        except StrandsCliError:
            continue
        if _has_one_agent(value):
            yield path.name


def _atomic(document: Document) -> Atomic:
    value = document.value
    if isinstance(value, dict) and "agents" in value:
        if not is_single_step(value):
            raise _no_agent(document, "it is a workflow, but not one of one agent and one step")
        text = value.get("description")
        return Atomic(document, str(value["name"]), text, str(value["version"]), is_workflow=True, whole=None)
    if not isinstance(value, dict):
        raise _no_agent(document, "it is not a mapping")
    return _agent_file(document)


def _no_agent(document: Document, why: str) -> InvalidInput:
    fix = "an agent has `prompt:` at the top of its file; `strands run` runs workflows"
    finding = Finding(REF_NOT_ONE_AGENT, f"this is not a file of one agent: {why}", document.where(""), fix)
    return InvalidInput(f"{document.file} does not have one agent", findings=[finding, *document.findings])


def _agent_file(document: Document) -> Atomic:
    name = _NOT_IN_IDENTIFIERS.sub("-", Path(document.file).stem) or "agent"
    findings = list(document.findings)
    if (large := too_many_tests(document)) is not None:
        return Atomic(document, name, None, None, is_workflow=False, whole=None, findings=(*findings, large))
    try:
        whole = AgentFile.model_validate(document.value, context={"document": True})
    except ValidationError as error:
        findings += first_findings_of(error.errors(include_url=False), AgentFile, document)
        return Atomic(document, name, None, None, is_workflow=False, whole=None, findings=tuple(findings))
    findings += check_tests(whole.tests, document)
    version = None if whole.version is None else str(whole.version)
    return Atomic(document, whole.name or name, whole.description, version, False, whole, tuple(findings))


def require_sound(atomic: Atomic) -> None:
    """Check that the shape and the tests of an agent's file are right.

    Raises:
        InvalidInput: They are not.
    """
    if has_errors(atomic.findings):
        raise InvalidInput(f"{atomic.document.file} is not a valid agent", findings=atomic.findings)
