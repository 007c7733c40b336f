"""The JSON Schema says what the loader says about the shape of a workflow, and the committed pages are current."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from strands_cli.errors import InvalidInput
from strands_cli.workflow.format_schema import schema_text, workflow_schema
from strands_cli.yaml_files.document_reader import read_document
from tests.workflow.spoiled import SPOILED

WORKFLOWS = Path(__file__).parent / "workflows"
SHAPE_CODES = {"unknown-key", "missing-key", "wrong-type", "step-form", "unknown-pattern", "edge-form"}
# Shape of a value that depends on another one, or that JSON Schema reads otherwise (an empty key counts as absent).
BEYOND_SCHEMA = {
    "step of two forms",
    "no provider",
    "provider null",
    "version is null",
    "empty tools key",
    "allow_tools empty",
    "agent without prompt",
    "secret file without path",
}


@pytest.fixture(scope="module")
def validator() -> Any:
    return jsonschema.Draft202012Validator(workflow_schema())


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(workflow_schema())


def test_every_field_says_what_it_is_for() -> None:
    schema = workflow_schema()
    for name, definition in {"": schema, **schema["$defs"]}.items():
        for form in [definition, *definition.get("anyOf", ())]:
            for key, field in form.get("properties", {}).items():
                target = schema["$defs"].get(str(field.get("$ref")).removeprefix("#/$defs/"), {})
                assert field.get("description") or target.get("description"), f"{name}.{key}"


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.*")), ids=lambda path: path.name)
def test_the_schema_accepts_the_corpus(path: Path, validator: Any) -> None:
    if path.name == "oddities.yaml":
        pytest.skip("written with empty keys, which editors mark and the loader reads as absent")
    assert [error.message for error in validator.iter_errors(read_document(path).value)] == []


@pytest.mark.parametrize("name", [name for name, (_, code, _) in SPOILED.items() if code in SHAPE_CODES])
def test_the_schema_refuses_a_wrong_shape(name: str, validator: Any) -> None:
    if name in BEYOND_SCHEMA - {"step of two forms"}:
        pytest.skip("depends on more than the shape")
    try:
        value = read_document("f", SPOILED[name][0]).value
    except InvalidInput:
        pytest.fail("the text must be a document")
    assert not validator.is_valid(value)


def test_the_schema_text_is_the_same_every_time() -> None:
    assert schema_text() == schema_text()
