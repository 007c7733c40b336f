"""`tools run` with settings and with what a file declares; MCP servers from the files of other clients."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.cli.strands import EXAMPLES, SCHEMA, Folder
from tests.yaml_texts import read_yaml, write_yaml

ABOUT = json.dumps({"about": "bees"})
FOUND = [{"title": "The Honey Year", "about": "bees", "shelf": 3}]
FIND = "mcp:my-shelf/find_books"


@pytest.fixture(autouse=True)
def _trusted(folder: Folder) -> None:
    folder.trusts_every_workflow()


def client_file(folder: Folder, **more: Any) -> str:
    """Write what another client would have for the example's server."""
    shelf = {"command": sys.executable, "args": [str(EXAMPLES / "mcp" / "shelf.py")], "type": "stdio", **more}
    off = {"command": "no-such-program", "disabled": True}
    (folder.work / "client.json").write_text(json.dumps({"mcpServers": {"my shelf": shelf, "off": off}}))
    return "client.json"


@pytest.mark.parametrize("field", ["mcpServers", "servers"])
def test_a_tool_of_a_server_of_another_client_is_listed_and_called(folder: Folder, field: str) -> None:
    name = client_file(folder)
    (folder.work / name).write_text((folder.work / name).read_text().replace("mcpServers", field))
    listed = folder.strands("list-tools", "--mcp", name, "--json").document["tools"]
    assert [tool["ref"] for tool in listed] == [FIND, "mcp:my-shelf/throw_away"]
    ran = folder.strands("tools", "run", FIND, "--of", name, "--input", ABOUT)
    assert (ran.code, json.loads(ran.out)) == (0, FOUND), ran.err


def test_a_variable_of_another_client_is_a_secret_that_the_server_gets(folder: Folder) -> None:
    name = client_file(folder, env={"A": "${SHELF_TOKEN}", "B": "${env:OTHER}", "C": "${input:asked-for}"})
    sections = read_yaml(folder.strands("tools", "import", name).out)
    (server,) = sections["tools"]["mcp"]
    assert server["env"] == {"A": "${secrets.SHELF_TOKEN}", "B": "${secrets.OTHER}", "C": "${secrets.asked_for}"}
    assert sections["env"]["secrets"] == [{"key": "SHELF_TOKEN"}, {"key": "OTHER"}, {"key": "asked_for"}]
    assert folder.strands("tools", "run", FIND, "--of", name, "--input", ABOUT).code == 18
    names = {"SHELF_TOKEN": "a", "OTHER": "b", "asked_for": "c"}
    ran = folder.strands("tools", "run", FIND, "--of", name, "--input", ABOUT, **names)
    assert ran.code == 0, ran.err


def test_the_sections_that_are_imported_complete_a_workflow(folder: Folder) -> None:
    sections = folder.strands("tools", "import", client_file(folder)).out
    step = {"tool": FIND, "input": {"about": "bees"}}
    head = write_yaml({"version": 2, "name": "f", "pattern": {"type": "chain", "config": {"steps": [step]}}})
    (folder.work / "flow.yaml").write_text(head + sections)
    assert folder.strands("validate", "flow.yaml").code == 0


def test_the_servers_of_another_client_are_asked_about_like_those_of_a_workflow(folder: Folder) -> None:
    (folder.root / "home" / ".config" / "strands-cli" / "policy.yaml").unlink()
    name = client_file(folder)
    for command in (("list-tools", "--mcp", name), ("tools", "run", FIND, "--of", name, "--input", ABOUT)):
        ran = folder.strands(*command)
        assert (ran.code, ran.codes) == (21, ["untrusted-workflow"]), ran.err
        assert f"strands workflows trust {name}" in ran.err
    assert folder.strands("workflows", "trust", name).code == 0
    assert folder.strands("tools", "run", FIND, "--of", name, "--input", ABOUT).code == 0
    client_file(folder, args=["other.py"])
    assert folder.strands("list-tools", "--mcp", name).code == 21


def test_a_value_that_looks_like_a_secret_is_not_imported(folder: Folder) -> None:
    literal = {
        "a": {"command": "x", "env": {"API_KEY": "value-of-a-0123", "LEVEL": "debug", "GH": "ghp_0123456789abcdef"}},
        "b": {"command": "x", "args": ["--api-key", "value-of-b-0123", "--token=value-of-t-0123", "--level", "debug"]},
        "c d": {
            "url": "https://c.example/mcp?key=value-of-c-0123",
            "headers": {"Authorization": "Bearer value-of-h-0123"},
        },
        "e": {"command": "x", "env": {"API_KEY": "value-of-e-0123"}, "cwd": "/srv", "type": "stdio"},
        "off": {"command": "x", "disabled": True},
    }
    (folder.work / "client.json").write_text(json.dumps({"mcpServers": literal}))
    ran = folder.strands("tools", "import", "client.json")
    assert ran.code == 3  # a command line and an address would show secrets
    assert [word for word in ("value-of", "ghp_") if word in ran.out + ran.err] == []
    sections = read_yaml(ran.out)
    a, b, c, e = sections["tools"]["mcp"]
    assert a["env"] == {"API_KEY": "${secrets.API_KEY}", "LEVEL": "debug", "GH": "${secrets.GH}"}
    assert b["args"] == ["--api-key", "${secrets.B_API_KEY}", "--token=${secrets.TOKEN}", "--level", "debug"]
    assert c["url"] == "https://c.example/mcp?key=${secrets.KEY}"
    assert c["headers"] == {"Authorization": "Bearer ${secrets.AUTHORIZATION}"}
    assert e["env"] == {"API_KEY": "${secrets.E_API_KEY}"}
    names = [secret["key"] for secret in sections["env"]["secrets"]]
    assert names == ["API_KEY", "GH", "B_API_KEY", "TOKEN", "AUTHORIZATION", "KEY", "E_API_KEY"]
    assert [name for name in names if f"export {name}=" not in ran.err] == []
    assert "'off'" in ran.err
    assert "'cwd' of the server 'e'" in ran.err
    assert "'type'" not in ran.err


@pytest.mark.parametrize(("text", "code"), [('{"mcpServers": {"a": {}}}', 3), ('{"a": 1}', 2), ("{", 3)])
def test_a_file_that_has_no_servers_is_an_error(folder: Folder, text: str, code: int) -> None:
    (folder.work / "client.json").write_text(text)
    assert folder.strands("tools", "import", "client.json").code == code


def test_the_arguments_of_a_call_are_not_templates(folder: Folder) -> None:
    literal = json.dumps({"about": "{{ 6 * 7 }}"})
    ran = folder.strands("tools", "run", FIND, "--of", client_file(folder), "--input", literal)
    assert (ran.code, ran.out) == (0, "[]\n"), ran.err


def test_a_tool_gets_the_settings_that_are_typed(folder: Folder) -> None:
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "additionalProperties": False}
    body = "return answer(kwargs['strands_cli']['config']['word'])"
    needs_text = {"json": {**SCHEMA, "required": ["text"]}}
    folder.tool("echo", body, strands_cli={"config_schema": schema}, inputSchema=needs_text)
    ran = folder.strands("tools", "run", "echo", "--config", '{"word": "typed"}', "--input", '{"text": "x"}')
    assert (ran.code, ran.out) == (0, "typed\n"), ran.err
    ran = folder.strands("tools", "run", "echo", "--config", '{"word": "typed"}', "--input", "{}")
    assert (ran.code, "'text' is missing" in ran.err) == (2, True), ran.err
    assert folder.strands("tools", "run", "echo", "--config", "[]").code == 2
    # Its schema requires an input, which the plan of the call does not have yet.
    wanted = ["tools", "run", "calculator", "--config", "{}", "--input"]
    ran = folder.strands(*wanted, '{"expression": "6 * 7"}')
    assert (ran.code, ran.out) == (0, "42\n"), ran.err
    ran = folder.strands(*wanted, "{}")
    assert ran.code == 2
    assert "expression" in ran.err


def test_a_tool_that_a_workflow_declares_is_called_as_the_workflow_declares_it(folder: Folder) -> None:
    schema = {"type": "object", "properties": {"word": {"type": "string"}}}
    body = "return answer(kwargs['strands_cli']['config']['word'] + tool['input']['text'])"
    folder.tool("echo", body, strands_cli={"config_schema": schema})
    declared = {"tool": "native:echo", "as": "shout", "config": {"word": "loud "}}
    tools = {"python": [declared, "native:calculator"]}
    folder.workflow([{"agent": "writer", "input": "go"}], {"steps.0": [{"text": "a"}]}, tools=tools)
    ran = folder.strands("tools", "run", "shout", "--of", "flow.yaml", "--input", '{"text": "hello"}')
    assert (ran.code, ran.out) == (0, "loud hello\n"), ran.err


def test_what_policy_denies_is_not_called(folder: Folder) -> None:
    (folder.work / "deny.yaml").write_text("version: 1\nrules: [{deny: 'mcp:*'}]\n")
    words = ["tools", "run", FIND, "--of", client_file(folder), "--input", ABOUT, "--policy", "deny.yaml"]
    assert folder.strands(*words).code == 21


def test_a_secret_of_a_server_that_is_not_set_is_named(folder: Folder) -> None:
    name = client_file(folder, env={"A": "${NOT_SET_ANYWHERE}"})
    ran = folder.strands("list-tools", "--mcp", name)
    assert ran.code == 18
    assert "NOT_SET_ANYWHERE" in ran.err


def test_a_call_needs_neither_the_programs_nor_the_secrets_of_other_servers(folder: Folder) -> None:
    name = client_file(folder, env={"A": "${SHELF_TOKEN}"})
    document = json.loads((folder.work / name).read_text())
    document["mcpServers"]["other"] = {"command": "no-such-program", "env": {"B": "${OTHER_TOKEN}"}}
    (folder.work / name).write_text(json.dumps(document))
    ran = folder.strands("tools", "run", FIND, "--of", name, "--input", ABOUT, SHELF_TOKEN="a")
    assert (ran.code, json.loads(ran.out)) == (0, FOUND), ran.err
    assert "OTHER_TOKEN" not in ran.err
    unset = folder.strands("tools", "run", FIND, "--of", name, "--input", ABOUT)
    assert unset.code == 18
    assert "OTHER_TOKEN" not in unset.err


def test_a_call_gets_a_secret_that_the_server_names_without_a_prefix(folder: Folder) -> None:
    shelf = {"id": "my-shelf", "command": sys.executable, "args": [str(EXAMPLES / "mcp" / "shelf.py")]}
    other = {"id": "other", "command": "no-such-program", "env": {"K": "${OTHER}"}}
    servers = [{**shelf, "env": {"K": "of ${SHELF_KEY}"}}, other]
    secrets = [{"key": "SHELF_KEY"}, {"key": "OTHER", "source": "file", "path": "none"}]
    asks = [{"type": "hitl", "prompt": "Go on?"}]
    folder.workflow(asks, tools={"mcp": servers}, env={"secrets": secrets})
    ran = folder.strands("tools", "run", FIND, "--of", "flow.yaml", "--input", ABOUT, SHELF_KEY="0123456789")
    assert (ran.code, json.loads(ran.out or "0")) == (0, FOUND), ran.err


def test_a_call_by_hand_takes_variables_where_the_file_does(folder: Folder) -> None:
    folder.tool(
        "sees",
        "return answer(','.join(kwargs['strands_cli']['secrets']))",
        strands_cli={"capabilities": {"secrets": ["TOKEN"]}},
    )
    for env, code in (({"take_variables": True}, 0), ({}, 18)):
        folder.workflow([{"type": "hitl", "prompt": "Go on?"}], env=env, tools={"python": ["sees"]})
        ran = folder.strands("tools", "run", "sees", "--of", "flow.yaml", "--input", "{}", TOKEN="0123456789")
        assert (ran.code, ran.out) == (code, "" if code else "TOKEN\n"), ran.err


def test_a_finding_about_a_call_has_no_place_in_a_file_that_does_not_exist(folder: Folder) -> None:
    wrong = folder.strands("tools", "run", "calculator", "--config", '{"a": 1}', "--input", '{"expression": "1"}')
    assert "tool-config" in wrong.err
    assert "-->" not in wrong.err
    name = client_file(folder, env={"A": "${SHELF_TOKEN}"})
    unset = folder.strands("tools", "run", FIND, "--of", name, "--input", ABOUT)
    assert f"--> {name}\n" in unset.err
