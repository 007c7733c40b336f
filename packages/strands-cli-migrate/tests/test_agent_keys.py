"""Each key that a file of an agent has besides those of an agent is missed when it is dropped."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strands_cli.app.agent_files import check_atomic
from strands_cli.errors import InvalidInput
from strands_cli.planning.run_request import RunRequest
from strands_cli.workflow.parts.agent_file import FOR_PEOPLE, AgentTest, Atomic, Expectation, read_atomic, require_sound
from strands_cli.yaml_files.document_reader import read_document
from strands_cli_migrate.agent_runs import run_test
from strands_cli_migrate.junit import Outcome
from tests.covers.kit import drop
from tests.yaml_texts import write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

TURN = {"text": '{"mood": "good"}'}
SCHEMA = {"type": "object", "properties": {"mood": {"enum": ["good", "bad"]}}, "required": ["mood"]}
TEST: dict[str, Any] = {"name": "a", "input": "lovely", "recording": [TURN], "expect": {"contains": "good"}}


def one_test(**more: Any) -> dict[str, Any]:
    return {"prompt": "You say.", "input_schema": {"minLength": 3}, "output_schema": SCHEMA, "tests": [TEST | more]}


def read(document: dict[str, Any], folder: Path) -> Atomic:
    file = folder / "mood.yaml"
    file.write_text(write_yaml(document, sort_keys=False), encoding="utf-8")
    atomic = read_atomic(read_document(file))
    require_sound(atomic)
    return atomic


def outcome(document: dict[str, Any], folder: Path) -> Outcome:
    atomic, options = read(document, folder), RunRequest(runs_dir=folder / "runs")
    assert check_atomic(atomic) == ()
    return asyncio.run(run_test(atomic, 0, options, live=False))


def status(document: dict[str, Any], folder: Path) -> str:
    return outcome(document, folder).status


CASES: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any], Path], Any], Any]] = {
    "/name": ({"prompt": "p", "name": "feeling"}, lambda d, f: read(d, f).name, "feeling"),
    "/description": ({"prompt": "p", "description": "Says."}, lambda d, f: read(d, f).description, "Says."),
    "/version": ({"prompt": "p", "version": 2}, lambda d, f: read(d, f).version, "2"),
    "/tests": (one_test(), lambda d, f: len(read(d, f).tests), 1),
    "/tests/*/name": (one_test(), lambda d, f: outcome(d, f).test, "a"),
    "/tests/*/input": (one_test(), status, "passed"),
    "/tests/*/recording": (one_test(), status, "passed"),
    "/tests/*/expect": (one_test(), status, "passed"),
    "/tests/*/vars": (
        {**one_test(vars={"who": "bees"}), "prompt": "You say what {{ who }} feel."},
        status,
        "passed",
    ),
    "/tests/*/expect/output": (one_test(expect={"output": {"mood": "bad"}, "contains": "good"}), status, "failed"),
    "/tests/*/expect/contains": (one_test(expect={"contains": ["bad"], "matches": "good"}), status, "failed"),
    "/tests/*/expect/matches": (one_test(expect={"contains": "good", "matches": "^good"}), status, "failed"),
    "/tests/*/expect/schema": (
        one_test(expect={"contains": "good", "schema": {"properties": {"mood": {"const": "bad"}}}}),
        status,
        "failed",
    ),
    "/tests/*/expect/error": (one_test(input="no", expect={"error": "bad_input"}), status, "passed"),
}


@pytest.mark.parametrize("pointer", CASES)
def test_a_key_of_an_agent_file_is_missed(pointer: str, tmp_path: Path) -> None:
    document, look, expected = CASES[pointer]
    assert look(copy.deepcopy(document), tmp_path) == expected
    without = copy.deepcopy(document)
    assert drop(without, pointer.strip("/").split("/"))
    try:
        seen = look(without, tmp_path)
    except (AssertionError, InvalidInput):
        return  # without it the file is refused
    assert seen != expected


def test_every_key_of_an_agent_file_is_claimed() -> None:
    def named(kind: Any) -> set[str]:
        return {field.alias or name for name, field in kind.model_fields.items()}

    keys = {f"/{name}" for name in FOR_PEOPLE} | {f"/tests/*/{name}" for name in named(AgentTest)}
    assert keys | {f"/tests/*/expect/{name}" for name in named(Expectation)} == CASES.keys()
