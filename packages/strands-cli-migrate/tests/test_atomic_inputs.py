"""`strands workflows agent` with what agents of before have: an object as input, and tests in a file of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.strands import Folder
from tests.covers.kit import text_of
from tests.fakes.model_server import ModelServer, Turn
from tests.yaml_texts import write_yaml

SUBJECT = {"type": "object", "required": ["subject"], "properties": {"words": {"type": "integer", "default": 5}}}
AGENT: dict[str, Any] = {"prompt": "You write {{ words }} words on {{ subject }}.", "input_schema": SUBJECT}
STEP = {"agent": "a", "input": "Subject: {{ subject }}"}
FLOW: dict[str, Any] = {
    "version": 0,
    "name": "older",
    "runtime": {"provider": "openai", "model_id": "m"},
    "agents": {"a": {"prompt": "Summarize.", "input_schema": SUBJECT}},
    "pattern": {"type": "chain", "config": {"steps": [STEP]}},
}
TEST = {"name": "bees", "input": {"subject": "bees"}, "recording": [{"text": "done"}], "expect": {"contains": "done"}}
# What a file of version 0 adds to the prompt of its agent.
CONTEXT = "\n\n# Runtime Context\n- Workflow: {}\n- Agent ID: a"
REFUSED = {"name": "empty", "input": {}, "expect": {"error": "bad_input"}}


@pytest.fixture
def server(folder: Folder) -> Iterator[ModelServer]:
    with ModelServer([Turn("done")] * 2) as server:
        folder.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "key-of-tests"}
        folder.write("older.yaml", FLOW)
        folder.write("agent.yaml", {**AGENT, "provider": "openai", "model_id": "m"})
        yield server


def asked(server: ModelServer) -> list[list[str]]:
    return [[text_of(message) for message in request["messages"]] for request in server.model_requests]


def test_an_object_gives_a_workflow_of_before_its_inputs(folder: Folder, server: ModelServer) -> None:
    ran = folder.strands("workflows", "agent", "run", "older.yaml", "--input", '{"subject": "bees"}')
    assert (ran.code, ran.out, ran.codes) == (0, "done\n", [])
    assert folder.strands("run", "older.yaml", "--var", "subject=bees").codes == []
    assert asked(server) == [["Summarize." + CONTEXT.format("older"), "Subject: bees"]] * 2


@pytest.mark.parametrize(
    "arguments",
    [["run", "older.yaml"], ["workflows", "agent", "run", "older.yaml", "--input", "{}"], ["run", "agent.yaml"]],
)
def test_without_what_the_schema_requires_no_model_is_asked(
    arguments: list[str], folder: Folder, server: ModelServer
) -> None:
    words = ["workflows", "agent", *arguments, "--input", "{}"] if arguments[-1] == "agent.yaml" else arguments
    ran = folder.strands(*words)
    assert (ran.code, asked(server)) == (2, [])
    assert "'subject'" in ran.err
    assert not folder.runs.exists()


@pytest.mark.parametrize("option", ["--input", "--input-file"])
def test_the_prompt_of_an_agent_file_reads_the_object_by_its_names(
    option: str, folder: Folder, server: ModelServer
) -> None:
    folder.write("in.json", '{"subject": "bees", "words": 3}')
    given = "in.json" if option == "--input-file" else '{"subject": "bees", "words": 3}'
    ran = folder.strands("workflows", "agent", "run", "agent.yaml", option, given)
    assert (ran.code, ran.codes) == (0, []), ran.err
    assert asked(server) == [["You write 3 words on bees.", '{"subject": "bees", "words": 3}']]
    folder.strands("workflows", "agent", "run", "agent.yaml", "--input", '{"subject": "tea"}', "--var", "subject=ants")
    assert asked(server)[1][0] == "You write 5 words on ants.", "a variable has precedence, and a default counts"


@pytest.mark.parametrize("version", [None, 0])
def test_the_parts_of_an_object_have_their_defaults(version: int | None, folder: Folder, server: ModelServer) -> None:
    """A default below the top of the schema, in an object and in each item of a list."""
    author = {"type": "object", "properties": {"name": {"type": "string"}, "tags": {"type": "array", "default": ["x"]}}}
    authors = {"type": "array", "items": {"properties": {"mail": {"default": "none"}}}}
    described = {"type": "object", "required": ["who"], "properties": {"who": author, "all": authors}}
    prompt = "{{ who.name }} {{ who.tags | join }} {{ all[0].mail }} {{ all[1].mail }}"
    agent = {"prompt": prompt, "input_schema": described}
    runtime = {"provider": "openai", "model_id": "m"}
    step = {"agent": "a", "input": "Begin."}
    pattern = {"type": "chain", "config": {"steps": [step]}}
    flow = {"version": 0, "name": "flow", "runtime": runtime, "agents": {"a": agent}, "pattern": pattern}
    folder.write("made.yaml", {**agent, **runtime} if version is None else flow)
    given = '{"who": {"name": "Ann"}, "all": [{}, {"mail": "b"}]}'
    ran = folder.strands("workflows", "agent", "run", "made.yaml", "--input", given)
    prompt = "Ann x none b" + (CONTEXT.format("flow") if version == 0 else "")
    assert (ran.code, [request[0] for request in asked(server)]) == (0, [prompt]), ran.err


def test_a_mistake_in_the_json_of_an_input_has_its_place(folder: Folder, server: ModelServer) -> None:
    ran = folder.strands("workflows", "agent", "run", "agent.yaml", "--input", '{"subject": "bees",}')
    assert (ran.code, ran.codes, asked(server)) == (2, ["bad-input"], [])
    assert "line 1 column" in ran.err
    ran = folder.strands("workflows", "agent", "run", "agent.yaml", "--input", "bees")
    assert "line 1 column" not in ran.err


def test_the_input_is_given_once(folder: Folder, server: ModelServer) -> None:
    ran = folder.strands("workflows", "agent", "run", "agent.yaml", "--input", "{}", "--input-file", "in.json")
    assert (ran.code, asked(server)) == (2, [])


@pytest.mark.parametrize("name", ["tests.yaml", "one.tests.yaml"])
@pytest.mark.parametrize("form", ["list", "mapping"])
@pytest.mark.parametrize("manifest", [AGENT, FLOW])
def test_tests_beside_a_manifest_are_run(name: str, form: str, manifest: dict[str, Any], folder: Folder) -> None:
    folder.write("agents/one.yaml", manifest)
    tests = [TEST, REFUSED, {**TEST, "name": "wrong", "expect": {"contains": "tea"}}]
    folder.write(f"agents/{name}", write_yaml(tests if form == "list" else {"tests": tests}))
    ran = folder.strands("workflows", "agent", "test", "agents/one.yaml", f"agents/{name}", "--json")
    assert ran.code == 10, ran.err
    assert [(one["test"], one["status"]) for one in ran.document["tests"]] == [
        ("bees", "passed"),
        ("empty", "passed"),
        ("wrong", "failed"),
    ]
    (listed,) = folder.strands("workflows", "agent", "list", "--all", "agents", "--json").document["agents"]
    assert listed["tests"] == ["bees", "empty", "wrong"]


def test_a_mistake_in_a_file_of_tests_has_its_place(folder: Folder) -> None:
    folder.write("one.yaml", {**AGENT, "tests": [TEST]})
    folder.write("tests.yaml", "- name: a\n  input: {}\n  expect: {contains: x}\n- nam: b\n")
    ran = folder.strands("workflows", "agent", "validate", "one.yaml")
    assert (ran.code, ran.codes, {place.split("  ")[0] for place in ran.places}) == (
        3,
        ["unknown-key"],
        {"tests.yaml:4:3"},
    )
    folder.write("tests.yaml", "- name: a\n  input: {}\n  expect: {contains: x}\n")
    ran = folder.strands("workflows", "agent", "validate", "one.yaml")
    assert (ran.codes, ran.places) == (["bad-test"], ["tests.yaml:2:10  (/tests/0/input)"])


def test_a_file_of_tests_beside_two_agents_is_of_neither(folder: Folder) -> None:
    folder.write("one.yaml", AGENT)
    folder.write("two.yaml", FLOW)
    folder.write("tests.yaml", [TEST])
    ran = folder.strands("workflows", "agent", "test", "one.yaml")
    assert (ran.code, ran.codes) == (3, ["bad-test"])
    assert "one.tests.yaml" in ran.err
    folder.write("one.tests.yaml", [TEST])
    assert folder.strands("workflows", "agent", "test", "one.yaml").out == "1 passed\n"


def test_no_tests_are_an_error(folder: Folder) -> None:
    folder.write("one.yaml", AGENT)
    assert folder.strands("workflows", "agent", "test", "one.yaml").code == 3
    ran = folder.strands("workflows", "agent", "test", "one.yaml", "--json")
    assert (ran.code, ran.document["tests"], ran.document["error"]["exit_code"]) == (3, [], 3)
    folder.write("two.yaml", {**AGENT, "tests": [TEST]})
    both = folder.strands("workflows", "agent", "test", "one.yaml", "two.yaml")
    assert (both.code, both.out) == (0, "1 passed\n")
    assert "one.yaml" in both.err


def test_an_agent_is_made_by_the_older_name_of_the_command(folder: Folder) -> None:
    assert folder.strands("workflows", "agent", "init", "first").out.splitlines()[0] == "made first.yaml"
    shown = folder.strands("workflows", "agent", "--help").out
    assert "init" not in shown
    assert "--all" not in folder.strands("workflows", "agent", "list", "--help").out
