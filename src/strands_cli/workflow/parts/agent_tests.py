"""Tests of an agent, in its file or in a file beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from strands_cli.errors import Code, Finding, StrandsCliError
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.base_model import FormatModel
from strands_cli.workflow.checks.schema_checks import check_regex, check_schema
from strands_cli.workflow.files.recording_file import VERSION, load_recording
from strands_cli.workflow.validation_errors import first_findings_of
from strands_cli.yaml_files.document import Document

BAD_TEST = Code(
    "bad-test",
    "A test of an agent proves nothing: it expects nothing, or it fails for every answer of the model.",
    "Correct the test.",
)

STEP = "steps.0"
TESTS_FILE = "tests.yaml"


class Expectation(FormatModel):
    """What is required of an answer; every key that is there is required."""

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
    """One test of an agent: its input, the turns of its model, and what is required of its answer."""

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
    """Return a file of tests, its tests, and what is wrong with them."""
    from strands_cli.yaml_files.document_reader import read_document

    document = read_document(file)
    if isinstance(document.value, list):
        document = _below_tests(document)
    if (large := too_many_tests(document)) is not None:
        return document, (), (large,)
    try:
        tests = TestsFile.model_validate(document.value, context={"document": True}).tests
    except ValidationError as error:
        found = first_findings_of(error.errors(include_url=False), TestsFile, document)
        return document, (), (*document.findings, *found)
    return document, tests, (*document.findings, *check_tests(tests, document))


def too_many_tests(document: Document) -> Finding | None:
    """Return the finding about more tests, tools or keys than are checked in a bounded time."""
    value = json_object(document.value)
    parts = {"": document.value, "/tests": value.get("tests"), "/tools": value.get("tools")}
    return document.first_too_large({pointer: (part, 1_000) for pointer, part in parts.items()})


def _below_tests(document: Document) -> Document:
    """Return a list of tests as a mapping with that list; its places stay."""

    def moved(places: Mapping[str, Any]) -> dict[str, Any]:
        return {f"/tests{pointer}": place for pointer, place in places.items()}

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
    wanted = test.expect
    if not wanted.model_fields_set:
        message = f"the test {test.name!r} expects nothing"
        fix = "add `expect:` with output, contains, matches, schema or error"
        yield Finding(BAD_TEST, message, document.where(at), fix)
    if wanted.error is not None and wanted.model_fields_set != {"error"}:
        message = f"the test {test.name!r} expects an error, and an answer too"
        yield Finding(BAD_TEST, message, document.where(f"{at}/expect"), "keep one of the two")
    if wanted.matches is not None and (problem := check_regex(wanted.matches, document.where(f"{at}/expect/matches"))):
        yield problem
    if wanted.schema_ is not None and (problem := check_schema(wanted.schema_, document.where(f"{at}/expect/schema"))):
        yield problem


def _check_turns(recording: str | tuple[Mapping[str, Any], ...], at: str, document: Document) -> Iterator[Finding]:
    from strands_cli.yaml_files.document_reader import read_document

    if not isinstance(recording, str):
        written = {"recording": VERSION, "steps": {STEP: [dict(turn) for turn in recording]}}
        _, found = load_recording(Document(document.file, "", written, {}))
        # The places are those of the list in the test, not of the recording that is made of it.
        for problem in found:
            below = problem.where.pointer.removeprefix(f"/steps/{STEP}") if problem.where else ""
            yield Finding(problem.code, problem.message, document.where(at + below), problem.fix)
        return
    try:
        _, found = load_recording(read_document(Path(document.file).parent / recording))
    except StrandsCliError as error:
        yield from (Finding(one.code, one.message, document.where(at), one.fix) for one in error.findings)
        return
    yield from found
