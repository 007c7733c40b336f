"""Files of MCP servers as other clients have them: what is imported is valid, or what is left to do is named."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from strands_cli.app import plan
from strands_cli.errors import InvalidInput, has_errors
from strands_cli.planning.run_request import RunRequest
from strands_cli.workflow.parts.client_servers import has_client_servers, imported_servers
from strands_cli.yaml_files.document_reader import read_document
from tests.yaml_texts import write_yaml

RUN = sys.executable
# The name of the client, its file, and what the server is then.
FILES: list[tuple[str, str, dict[str, Any]]] = [
    (
        "claude code, defaults",
        '{"mcpServers": {"web": {"command": "RUN", "env": {"BROWSER": "${BROWSER:-chromium}", "KEY": "${KEY:-}"}}}}',
        {"id": "web", "command": RUN, "env": {"BROWSER": "chromium"}},
    ),
    (
        "claude code over http",
        '{"mcpServers": {"api": {"type": "http", "url": "${API_URL:-https://api.example.com}/mcp",'
        ' "headers": {"Authorization": "Bearer ${API_KEY}"}}}}',
        {
            "id": "api",
            "url": "https://api.example.com/mcp",
            "headers": {"Authorization": "Bearer ${secrets.API_KEY}"},
        },
    ),
    (
        "vs code",
        '\ufeff{\n  // servers\n  "inputs": [{"id": "the-key", "type": "promptString", "password": true,},],\n'
        '  "servers": {"acme/index": {"type": "stdio", "command": "RUN", /* here */\n'
        '    "args": ["s.py", "--project", "${workspaceFolder}/src", "--url=http://x//y"],'
        ' "env": {"KEY": "${input:the-key}", "LIST": "a,]"}, "cwd": "${workspaceFolder}",},},}',
        {
            "id": "acme-index",
            "command": RUN,
            "args": ["s.py", "--project", "./src", "--url=http://x//y"],
            "env": {"KEY": "${secrets.the_key}", "LIST": "a,]"},
        },
    ),
    (
        "vs code, an input with a default",
        '{"inputs": [{"id": "level", "type": "pickString", "default": "info"}],'
        ' "servers": {"a": {"command": "RUN", "args": ["${input:level}"]}}}',
        {"id": "a", "command": RUN, "args": ["info"]},
    ),
    (
        "a default in a default, and a message",
        '{"mcpServers": {"a": {"command": "${A_BIN:-${B_BIN:-RUN}}",'
        ' "env": {"P": "${A:-${B:-c}}", "Q": "${NEEDED:?must be set}"}}}}',
        {"id": "a", "command": RUN, "env": {"P": "c", "Q": "${secrets.NEEDED}"}},
    ),
    (
        "opencode",
        '{"mcp": {"a": {"type": "local", "command": ["RUN", "s.py"], "environment": {"WORD": "{env:MY_WORD}"},'
        ' "oauth": false}}}',
        {"id": "a", "command": RUN, "args": ["s.py"], "env": {"WORD": "${secrets.MY_WORD}"}},
    ),
    (
        "a project of claude code",
        '{"projects": {"/home/x": {"mcpServers": {"a": {"command": "RUN"}}}, "/home/y": {"mcpServers": {}}}}',
        {"id": "a", "command": RUN},
    ),
    (
        "a container for development",
        '{"customizations": {"vscode": {"mcp": {"servers": {"a": {"command": "RUN"}}}}}}',
        {"id": "a", "command": RUN},
    ),
    (
        "copilot, some tools",
        '{"mcpServers": {"a": {"type": "local", "command": "RUN", "tools": ["x"]}}}',
        {"id": "a", "command": RUN, "tools": {"allow": ["x"]}},
    ),
    (
        "copilot, all tools",
        '{"mcpServers": {"a": {"type": "local", "command": "RUN", "tools": ["*"]}}}',
        {"id": "a", "command": RUN},
    ),
    (
        "settings of vs code",
        '{"editor.tabSize": 2, "mcp": {"servers": {"a": {"command": "RUN"}}}}',
        {"id": "a", "command": RUN},
    ),
    (
        "cursor",
        '{"mcpServers": {"@scope/pkg": {"command": "RUN -y server", "env": {"PORT": 8080, "ON": true, "NO": null},'
        ' "autoApprove": ["x"], "timeout": 60, "envs": 1}}}',
        {"id": "scope-pkg", "command": RUN, "args": ["-y", "server"], "env": {"PORT": "8080", "ON": "true"}},
    ),
    (
        "windsurf",
        '{"mcpServers": {"w": {"serverUrl": "https://w.example.com/mcp", "headers": {"X-Id": "${env:WIND_ID}"}}}}',
        {"id": "w", "url": "https://w.example.com/mcp", "headers": {"X-Id": "${secrets.WIND_ID}"}},
    ),
    (
        "zed",
        '{"context_servers": {"z": {"source": "custom", "command": {"path": "RUN", "args": ["-v"], "env": {"A": "1"}},'
        ' "settings": {}}}}',
        {"id": "z", "command": RUN, "args": ["-v"], "env": {"A": "1"}},
    ),
    (
        "gemini cli",
        '{"mcpServers": {"g": {"httpUrl": "https://g.example.com/mcp", "headers": {"Authorization": "Bearer $G_TOKEN"},'
        ' "timeout": 5000, "trust": true, "includeTools": ["x"], "excludeTools": ["write"]}}}',
        {
            "id": "g",
            "url": "https://g.example.com/mcp",
            "headers": {"Authorization": "Bearer ${secrets.G_TOKEN}"},
            "tools": {"allow": ["x"], "deny": ["write"]},
        },
    ),
    (
        "opencode",
        '{"mcp": {"o": {"type": "local", "command": ["RUN", "-y", "x"], "environment": {"A": "b"}, "enabled": true}}}',
        {"id": "o", "command": RUN, "args": ["-y", "x"], "env": {"A": "b"}},
    ),
    (
        "a list",
        '{"mcpServers": [{"name": "l", "command": "RUN", "args": [1, true, null]}]}',
        {"id": "l", "command": RUN, "args": ["1", "true"]},
    ),
    (
        "a script of a shell",
        '{"mcpServers": {"s": {"command": "sh", "args": ["-c", "exec RUN --key ${MY_KEY} $HOME ${X:-y}"]}}}',
        {
            "id": "s",
            "command": "sh",
            "args": ["-c", f"exec {RUN} --key $MY_KEY {Path.home()} ${{X:-y}}"],
            "env": {"MY_KEY": "${secrets.MY_KEY}"},
        },
    ),
    (
        "a name of other letters",
        '{"mcpServers": {"сервер": {"command": "RUN", "args": ["~/data", "${userHome}/x", "${pathSeparator}"]}}}',
        {"id": "server", "command": RUN, "args": [f"{Path.home()}/data", f"{Path.home()}/x", "/"]},
    ),
]


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "mcp.json"
    file.write_text(text.replace("RUN", RUN), encoding="utf-8")
    return file


def faults(tmp_path: Path, sections: Any) -> list[str]:
    """Return what is wrong with a workflow that has the sections, but for secrets that have no value here."""
    step = {"tool": f"mcp:{sections['tools']['mcp'][0]['id']}/x", "input": {}}
    head = {"version": 2, "name": "n", "pattern": {"type": "chain", "config": {"steps": [step]}}}
    (tmp_path / "w.yaml").write_text(write_yaml({**head, **sections}), encoding="utf-8")
    found = plan(tmp_path / "w.yaml", RunRequest()).findings
    return [f"{one.code}: {one.message}" for one in found if has_errors([one]) and one.code != "missing-secret"]


@pytest.mark.parametrize(("text", "server"), [one[1:] for one in FILES], ids=[one[0] for one in FILES])
def test_what_is_imported_is_valid(tmp_path: Path, text: str, server: dict[str, Any]) -> None:
    document = read_document(written(tmp_path, text))
    assert has_client_servers(document)
    found = imported_servers(document)
    assert found.sections["tools"]["mcp"] == [server]
    assert found.to_do == ()
    assert faults(tmp_path, found.sections) == []


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({"args": ["--key", "${MY_API_KEY}"]}, "MY_API_KEY"),
        ({"args": ["${file}"]}, "${file}"),
        ({"args": ["${NOT_SET_ANYWHERE}"]}, "export NOT_SET_ANYWHERE="),
        ({"args": ["${input:unknown}"]}, "${input:unknown}"),
        ({"env": {"A": "${config:a.b}"}}, "${config:a.b}"),
        ({"args": ["--api-key", "sk-0123456789abcdef"]}, "API_KEY"),
        ({"cwd": "/srv/data"}, "/srv/data"),
        ({"envFile": "${workspaceFolder}/.env"}, "'envFile'"),
        ({"command": "", "url": "https://a.example.com/sse"}, "SSE"),
        ({"command": "", "type": "sse", "url": "https://a.example.com/x"}, "SSE"),
        ({"command": "", "url": "https://a.example.com/mcp?token=${A_TOKEN}"}, "A_TOKEN"),
    ],
)
def test_what_is_left_to_do_is_named(tmp_path: Path, entry: dict[str, Any], named: str) -> None:
    text = json.dumps({"mcpServers": {"a": {"command": RUN, **entry}}})
    found = imported_servers(read_document(written(tmp_path, text)))
    assert [line for line in found.to_do if named in line] != []
    assert "sk-0123" not in str(found)


def test_a_variable_that_is_set_is_filled_in_where_it_is_not_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROJECT_REF", "abc")
    monkeypatch.setenv("PROJECT_KEY", "secret")
    text = json.dumps({"mcpServers": {"a": {"command": RUN, "args": ["${PROJECT_REF}", "${env:PROJECT_KEY}"]}}})
    found = imported_servers(read_document(written(tmp_path, text)))
    assert found.sections["tools"]["mcp"][0]["args"] == ["abc", "${secrets.PROJECT_KEY}"]
    assert len(found.to_do) == 1


def test_two_names_that_become_one_stay_two(tmp_path: Path) -> None:
    text = json.dumps(
        {"mcpServers": {"a b": {"command": RUN}, "a/b": {"command": RUN}, "off": {"enabled": False, "command": "x"}}}
    )
    found = imported_servers(read_document(written(tmp_path, text)))
    assert [one["id"] for one in found.sections["tools"]["mcp"]] == ["a-b", "a-b-2"]


def sections(tmp_path: Path, value: Any) -> Any:
    """Return what a file is imported as, which must be valid."""
    document = read_document(written(tmp_path, json.dumps(value)))
    assert has_client_servers(document)
    found = imported_servers(document)
    assert found.to_do == ()
    assert faults(tmp_path, found.sections) == []
    return found


ONE, TWO = {"command": RUN, "args": ["1"]}, {"command": RUN, "args": ["2"]}
PLACES: dict[str, tuple[Any, list[str]]] = {
    "a list": ([{"name": "a", **ONE}, {"name": "b", **TWO}], ["a", "b"]),
    "a list without names": ([ONE, TWO], ["0", "1"]),
    "a list of files": ([{"mcpServers": {"a": ONE}}, {"mcpServers": {"a": TWO}}], ["a", "a-2"]),
    "names alone": ({"a": ONE, "b": TWO}, ["a", "b"]),
    "one server": ({"name": "a", **ONE}, ["a"]),
    "another name": ({"mcp_servers": {"a": ONE}}, ["a"]),
    "a dotted name": ({"mcp.servers": {"a": ONE}}, ["a"]),
    "projects": (
        {"mcpServers": {}, "projects": {"/p/1": {"mcpServers": {"a": ONE}}, "/p/2": {"mcpServers": {"a": TWO}}}},
        ["a", "a-2"],
    ),
    "projects and all": ({"mcpServers": {"g": ONE}, "projects": {"/p/1": {"mcpServers": {"a": TWO}}}}, ["g", "a"]),
    "command lines": ({"mcpServers": {"a": f"{RUN} -m x", "b": "https://a.example.com/mcp"}}, ["a", "b"]),
}


@pytest.mark.parametrize(("value", "ids"), PLACES.values(), ids=PLACES)
def test_servers_are_found_wherever_a_file_has_them(tmp_path: Path, value: Any, ids: list[str]) -> None:
    found = sections(tmp_path, value)
    assert [one["id"] for one in found.sections["tools"]["mcp"]] == ids


def test_of_several_projects_that_of_this_folder_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    projects = {"/elsewhere": {"mcpServers": {"a": ONE}}, str(tmp_path): {"mcpServers": {"b": TWO}}}
    found = sections(tmp_path, {"mcpServers": {"g": ONE}, "projects": projects})
    assert [one["id"] for one in found.sections["tools"]["mcp"]] == ["g", "b"]
    (tmp_path / "mcp.json").unlink()
    del projects[str(tmp_path)]
    projects["/other"] = {"mcpServers": {"c": TWO}}
    notes = sections(tmp_path, {"projects": projects}).notes
    assert [("/elsewhere" in notes[0], "/other" in notes[1])] == [(True, True)]


def test_a_file_without_a_server_says_so(tmp_path: Path) -> None:
    assert imported_servers(read_document(written(tmp_path, '{"mcpServers": {}}'))).notes != ()


ENVIRONMENTS: dict[str, tuple[Any, dict[str, str]]] = {
    "of each process": ({"PATH": "${PATH}", "HOME": "$HOME", "LANG": "${env:LANG}", "TEMP": "%TEMP%"}, {}),
    "of the machine": ({"PYTHONPATH": "${PYTHONPATH}", "PATH": "/opt/x:${PATH}"}, {"PATH": "/opt/x:/bin"}),
    "of Windows": ({"A": "%APPDATA%/x", "K": "%API_KEY%"}, {"A": "/data/x", "K": "${secrets.API_KEY}"}),
    "lines": (["A=1=2", "K=${K}", "L"], {"A": "1=2", "K": "${secrets.K}", "L": "${secrets.L}"}),
    "pairs": ([{"name": "A", "value": "1"}, {"key": "B", "value": 2}], {"A": "1", "B": "2"}),
    "its own": ({"B": "1", "C": "${B}/x"}, {"B": "1", "C": "1/x"}),
    "as here": ({"T": "${secrets.T}", "U": "${env.U}"}, {"T": "${secrets.T}", "U": "${secrets.U}"}),
    "hyphens": ({"T": "${a-name}"}, {"T": "${secrets.a_name}"}),
    "an object": ({"O": {"x": None}}, {"O": '{"x": null}'}),
}


@pytest.mark.parametrize(("given", "env"), ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_variables_of_the_machine_are_filled_in_and_others_are_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Any, env: dict[str, str]
) -> None:
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setenv("APPDATA", "/data")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    found = sections(tmp_path, {"mcpServers": {"a": {"command": RUN, "env": given}}})
    assert found.sections["tools"]["mcp"][0].get("env", {}) == env


def test_headers_of_any_form_are_kept(tmp_path: Path) -> None:
    address = {"url": "https://a.example.com/mcp"}
    forms: list[dict[str, Any]] = [
        {"headers": ["Authorization: Bearer ${TOK}"]},
        {"bearer_token_env_var": "TOK"},
        {"http_headers": {"X": "1"}, "env_http_headers": {"Authorization": "TOK"}},
    ]
    for form in forms:
        (server,) = sections(tmp_path, {"mcpServers": {"a": {**address, **form}}}).sections["tools"]["mcp"]
        assert server["headers"]["Authorization"].endswith("${secrets.TOK}")


@pytest.mark.parametrize("address", ["a.example.com/mcp", "ws://a.example.com/mcp"])
def test_an_address_of_another_kind_is_left_to_do(tmp_path: Path, address: str) -> None:
    found = imported_servers(read_document(written(tmp_path, json.dumps({"mcpServers": {"a": {"url": address}}}))))
    assert [address in one for one in found.to_do] == [True]


def test_thousands_of_servers_of_one_name_take_no_time(tmp_path: Path) -> None:
    document = read_document(written(tmp_path, json.dumps([{"name": "a", **ONE}] * 20_000)))
    began = time.process_time()
    assert imported_servers(document).sections["tools"]["mcp"][-1]["id"] == "a-20000"
    assert time.process_time() - began < 10


@pytest.mark.parametrize("text", ["/* " * 100_000, '{"a": "' + '\\"' * 100_000, "{" + ", " * 100_000, '"' * 100_001])
def test_comments_that_never_end_take_no_time(tmp_path: Path, text: str) -> None:
    began = time.process_time()
    with pytest.raises(InvalidInput):
        read_document(written(tmp_path, "{" + text))
    assert time.process_time() - began < 5


def test_places_in_json_with_comments_are_those_of_the_file(tmp_path: Path) -> None:
    document = read_document(written(tmp_path, '{ // one\n /* two\n */ "a": [1, 2, ],\n "b": "// no /* no",\n}\n'))
    assert document.value == {"a": [1, 2], "b": "// no /* no"}
    where = document.where("/a")
    assert (where.line, where.column) == (3, 10)


def test_what_only_a_shell_reads_and_a_server_without_a_program_are_left_to_do(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    servers = {"a": {"command": RUN, "env": {"R": "${Y:+alt}"}}, "b": {"source": "extension", "settings": {}}}
    file.write_text(json.dumps({"context_servers": servers}))
    found = imported_servers(read_document(file))
    assert found.sections["tools"]["mcp"] == [{"id": "a", "command": RUN, "env": {"R": "{Y:+alt}"}}]
    assert ["${Y:+alt}" in found.to_do[0], "'b' is left out" in found.to_do[1]] == [True, True]
