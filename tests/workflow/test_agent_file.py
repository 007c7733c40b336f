"""A file of one agent: what is one, what is wrong in it, and where its schemas are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from strands_cli.errors import InvalidInput
from strands_cli.workflow.format_schema import agent_schema
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.parts.agent_file import FOR_PEOPLE, AgentTest, Expectation, is_agent_file, read_atomic
from strands_cli.yaml_files.document_reader import read_document
from tests.wordings import Wording
from tests.yaml_texts import read_yaml

CLONE = Path(__file__).parent.parent.parent


def codes(text: str) -> list[tuple[str, str, int | None]]:
    found = read_atomic(read_document("mood.yaml", text)).findings
    return [(one.code, one.where.pointer, one.where.line) for one in found if one.where]


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ("[{name: a, expect: {contains: x}}, {name: a, expect: {contains: x}}]", ("bad-test", "/tests/1/name", 2)),
        ("[{name: a}]", ("bad-test", "/tests/0", 2)),
        ("[{name: a, expect: {error: bad_input, contains: x}}]", ("bad-test", "/tests/0/expect", 2)),
        ("[{name: a, expect: {matches: '('}}]", ("bad-regex", "/tests/0/expect/matches", 2)),
        ("[{name: a, expect: {schema: {type: objekt}}}]", ("bad-schema", "/tests/0/expect/schema", 2)),
        ("[{name: a, expect: {error: bad_inputs}}]", ("bad-value", "/tests/0/expect/error", 2)),
        ("[{name: a, expect: {contains: x}, recording: [{txt: x}]}]", ("bad-recording", "/tests/0/recording/0", 2)),
        ("[{name: a, expect: {contains: x}, recording: no.yaml}]", ("file-unreadable", "/tests/0/recording", 2)),
        ("[{expect: {contains: x}}]", ("missing-key", "/tests/0", 2)),
        ("{a: b}", ("wrong-type", "/tests", 2)),
    ],
)
def test_a_test_that_tells_nothing_is_reported(tests: str, expected: tuple[str, str, int]) -> None:
    assert expected in codes(f"prompt: You say.\ntests: {tests}\n")


@pytest.mark.parametrize(
    "text", ["[1]", "agents: {a: {prompt: p}, b: {prompt: p}}", "agents: {}", "agents: 3", "agents: {a: {prompt: p}}"]
)
def test_what_holds_no_single_agent_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_atomic(read_document("x.yaml", text))
    assert [one.code for one in refused.value.findings] == ["ref-not-one-agent"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"prompt": "p"}, True),
        ({"$ref": "other.yaml"}, True),
        ({"prompt": 3}, False),
        ({"recording": 1, "prompt": "p"}, False),
        ({"agents": {}, "prompt": "p"}, False),
        (["prompt"], False),
    ],
)
def test_an_agent_is_known_by_its_prompt(value: Any, expected: bool) -> None:
    assert is_agent_file(value) is expected


def workflow(folder: Path, ref: str) -> Any:
    file = folder / "flow.yaml"
    step = {"agent": "a", "input": "x"}
    file.write_text(
        json.dumps(
            {
                "version": 2,
                "name": "f",
                "runtime": {"provider": "openai"},
                "agents": {"a": {"$ref": ref}},
                "pattern": {"type": "chain", "config": {"steps": [step]}},
            }
        )
    )
    return load_spec(read_document(file))


def test_a_schema_is_beside_the_agent_or_the_workflow(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/a.yaml").write_text("prompt: p\noutput_schema: out.json\n", "utf-8")
    (tmp_path / "out.json").write_text('{"title": "workflow"}', "utf-8")
    assert workflow(tmp_path, "parts/a.yaml").spec.agents["a"].output_schema == {"title": "workflow"}
    (tmp_path / "parts/out.json").write_text('{"title": "agent"}', "utf-8")
    assert workflow(tmp_path, "parts/a.yaml").spec.agents["a"].output_schema == {"title": "agent"}


def test_a_schema_outside_the_folder_is_refused_from_an_agent_too(tmp_path: Path) -> None:
    (tmp_path / "flows/parts").mkdir(parents=True)
    (tmp_path / "out.json").write_text("{}", "utf-8")
    (tmp_path / "flows/parts/a.yaml").write_text("prompt: p\noutput_schema: ../../out.json\n", "utf-8")
    assert [one.code for one in workflow(tmp_path / "flows", "parts/a.yaml").findings] == ["bad-path"]


def test_mistakes_in_a_file_are_reported_where_it_is_used(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "a.yaml").write_text("name: a\nprompt: p\nversion: 1\ndescripton: x\n", "utf-8")
    (found,) = workflow(tmp_path, "a.yaml").findings
    assert (found.code, found.where.line) == ("unknown-key", 4)
    assert "`description`" in found.fix
    wording(found.message)


def test_the_schema_takes_the_examples_and_refuses_a_wrong_key() -> None:
    from jsonschema import Draft202012Validator

    schema = agent_schema()
    Draft202012Validator.check_schema(schema)
    for path in CLONE.glob("examples/**/*.yaml"):
        document = read_yaml(path.read_text("utf-8"))
        if is_agent_file(document):
            Draft202012Validator(schema).validate(document)
    assert not Draft202012Validator(schema).is_valid({"promt": "p"})


def test_the_reference_lists_every_key() -> None:
    page = (CLONE / "docs/reference/agent-files.md").read_text("utf-8")
    listed = re.findall(r"^- `([^`]+)`:", page, re.M)

    def names(kind: Any) -> list[str]:
        return [field.alias or name for name, field in kind.model_fields.items() if name != "expect"]

    tests = [f"tests[].{name}" for name in names(AgentTest)] + [f"tests[].expect.{name}" for name in names(Expectation)]
    assert (set(listed[:4]), listed[4:]) == (set(FOR_PEOPLE) - {"tests"} | {"tests[]"}, tests)
