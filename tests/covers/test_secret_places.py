"""`${NAME}` of a declared secret: who receives its value, and where no value may be left."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli import Workflow
from strands_cli.errors import StrandsCliError
from strands_cli.planning.data_flow.planned_authority import authority_of
from tests.covers.kit import Ran, World
from tests.fakes.collector import Collector, collecting
from tests.fakes.http_service import HttpService
from tests.fakes.model_server import Turn
from tests.servers.conftest import PROGRAM, tool
from tests.yaml_texts import write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

VALUE = "s3cret/token-value-7f"
SECRETS = {"secrets": [{"name": "TOKEN", "source": "env", "key": "MY_TOKEN"}]}


@pytest.fixture(autouse=True)
def value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", VALUE)


def run(world: World, *calls: tuple[str, dict[str, Any]], **sections: Any) -> Ran:
    world.turns = [*(Turn(calls=[call]) for call in calls), Turn("done")]
    return world.run(write_yaml({"env": SECRETS, **sections}), yes=True)


def errors(world: World, **sections: Any) -> list[tuple[str, str]]:
    """Return the errors of a workflow, each with what is written at its place, to the end of the line."""
    file = world.folder / "flow.yaml"
    file.write_text(write_yaml(world.document(write_yaml(sections)), sort_keys=False))
    lines = file.read_text().splitlines()
    flow = Workflow.from_file(file)
    with pytest.raises(StrandsCliError) as caught:
        flow.run(yes=True)
    found = [one for one in caught.value.findings if one.severity == "error"]
    places = [(str(one.code), one.where.line, one.where.column) for one in found if one.where]
    return [(code, lines[line - 1][column - 1 :]) for code, line, column in places if line and column]


def kept(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_host_that_no_variable_gives_receives_nothing(world: World) -> None:
    file = world.folder / "flow.yaml"
    file.write_text(json.dumps(world.document('{"runtime": {"host": "${NO_SUCH_HOST}"}}')))
    planned = Workflow.from_file(file).plan()
    assert [use.what for use in authority_of(planned).uses if use.kind == "address"] == []


@pytest.mark.parametrize("reference", ["${TOKEN}", "${secrets.TOKEN}"])
@pytest.mark.parametrize("version", [0, 1])
def test_a_service_gets_the_value_in_headers_and_path(world: World, version: int, reference: str) -> None:
    with HttpService() as service:
        address = f"{service.url}/v1/{reference}"
        executor = {"id": "gh", "base_url": address, "headers": {"Authorization": f"Bearer {reference}"}}
        ran = run(world, ("gh", {"path": "/all"}), version=version, tools={"http_executors": [executor]})
    assert ran.response == "done"
    assert service.asked[0].headers["authorization"] == f"Bearer {VALUE}"
    assert service.asked[0].path == "/v1/s3cret%2Ftoken-value-7f/all"
    assert "TOKEN" not in json.dumps(world.requests), "no model reads the reference"


def test_no_value_is_left_in_the_journal_in_events_traces_or_requests(world: World) -> None:
    with HttpService() as service, collecting() as collector:
        executor = {"id": "gh", "base_url": f"{service.url}/${{TOKEN}}", "headers": {"X-Token": "${TOKEN}"}}
        otel = {"otel": {"endpoint": collector.endpoint}, "redact": {"tool_inputs": False}}
        ran = run(world, ("gh", {"path": "/all"}), tools={"http_executors": [executor]}, telemetry=otel)
    assert service.asked[0].headers["x-token"] == VALUE
    assert collector.spans
    for text in everything(world, ran, collector):
        assert b"token-value-7f" not in text


def everything(world: World, ran: Ran, collector: Collector) -> list[bytes]:
    """Return all that a run stored, showed and sent to its model and to a collector."""
    texts = [kept(world.folder), repr(ran.events).encode(), json.dumps(world.requests).encode()]
    return [*texts, *(request.body for request in collector.requests), collector.text.encode()]


@pytest.mark.parametrize("username", ["a", "ab", "abc"])
def test_a_password_is_left_nowhere_in_base64_either(world: World, username: str) -> None:
    with HttpService() as service, collecting() as collector:
        auth = {"type": "basic", "username": username, "password": "${TOKEN}"}
        executor = {"id": "gh", "base_url": service.url, "auth": auth}
        otel = {"otel": {"endpoint": collector.endpoint}, "redact": {"tool_inputs": False}}
        ran = run(world, ("gh", {"path": "/all"}), tools={"http_executors": [executor]}, telemetry=otel)
    sent = base64.b64encode(f"{username}:{VALUE}".encode())
    assert service.asked[0].headers["authorization"] == f"Basic {sent.decode()}"
    assert "Basic " in json.dumps(world.requests[-1]), "the service says what it was asked, and the model reads that"
    assert collector.spans
    for text in everything(world, ran, collector):
        assert sent[8:-8] not in text
        assert b"token-value-7f" not in text


def test_a_server_gets_the_value_in_its_environment(world: World) -> None:
    (world.folder / "docs.json").write_text(json.dumps({"tools": [tool("read")]}))
    arguments = [str(PROGRAM), "docs.json", str(world.folder / "docs.log")]
    server = {"id": "docs", "command": sys.executable, "args": arguments, "env": {"T": "is ${TOKEN}"}}
    assert run(world, tools={"mcp": [server]}).response == "done"
    started = json.loads((world.folder / "docs.log").read_text().splitlines()[0])
    assert started["started"]["T"] == f"is {VALUE}"
    assert b"token-value-7f" not in kept(world.folder / "runs")


def test_a_model_gets_the_value_in_its_options_and_the_path_of_its_host(world: World) -> None:
    runtime = {"options": {"client_args": {"api_key": "${TOKEN}", "default_headers": {"X-Team": "a ${TOKEN}"}}}}
    assert run(world, runtime=runtime).response == "done"
    headers = world.server.requests[-1].headers
    assert headers["authorization"] == f"Bearer {VALUE}"
    assert headers["x-team"] == f"a {VALUE}"
    ran = run(world, runtime={"host": f"{world.server.host}/${{TOKEN}}/v1"})
    assert world.server.requests[-1].path == "/s3cret%2Ftoken-value-7f/v1/chat/completions"
    assert ran.error is not None, "the server has no such path"
    assert "token-value-7f" not in f"{ran.error}{ran.events}"
    assert b"token-value-7f" not in kept(world.folder)


def test_a_reference_in_a_command_line_is_reported_since_nothing_fills_it_in(world: World) -> None:
    server = {"id": "x", "command": "env", "args": ["${TOKEN}", "--key=${TOKEN}", "-c", "echo ${TOKEN}"]}
    file = world.folder / "flow.yaml"
    file.write_text(json.dumps(world.document(write_yaml({"tools": {"mcp": [server]}, "env": SECRETS}))))
    planned = Workflow.from_file(file).plan()
    found = [one.where.pointer for one in planned.findings if one.code == "no-effect" and one.where]
    assert found == ["/tools/mcp/0/args/0", "/tools/mcp/0/args/1"]


UNDECLARED: dict[str, dict[str, Any]] = {
    "header": {"tools": {"http_executors": [{"id": "x", "base_url": "http://h", "headers": {"A": "b ${NOPE}"}}]}},
    "authentication": {
        "tools": {
            "http_executors": [{"id": "x", "base_url": "http://h", "auth": {"type": "bearer", "token": "b ${NOPE}"}}]
        }
    },
    "address": {"tools": {"http_executors": [{"id": "x", "base_url": "http://h/b ${NOPE}"}]}},
    "server": {"tools": {"mcp": [{"id": "x", "command": "env", "env": {"A": "b ${NOPE}"}}]}},
    "server's header": {"tools": {"mcp": [{"id": "x", "url": "http://h", "headers": {"A": "b ${NOPE}"}}]}},
    "option": {"runtime": {"options": {"client_args": {"organization": "b ${NOPE}"}}}},
}


@pytest.mark.parametrize("name", UNDECLARED)
def test_an_undeclared_secret_is_an_error_at_its_place_and_nothing_is_sent(world: World, name: str) -> None:
    found = dict(errors(world, env=SECRETS, **UNDECLARED[name]))
    assert found["unknown-secret"].endswith("${NOPE}"), found
    assert found["unknown-secret"].partition(" ")[0] in ("b", "http://h/b"), found
    assert world.requests == []


@pytest.mark.parametrize("section", ["host", "base_url"])
def test_no_host_is_a_secret(world: World, section: str) -> None:
    address = "https://${TOKEN}.example.com/v1"
    executors = {"tools": {"http_executors": [{"id": "x", "base_url": address}]}}
    sections = {"runtime": {"host": address}} if section == "host" else executors
    assert ("bad-value", address) in errors(world, env=SECRETS, **sections)


def test_a_secret_in_a_path_does_not_go_over_plain_http(world: World) -> None:
    executor = {"id": "x", "base_url": "http://example.com/${TOKEN}"}
    assert ("bad-value", "http://example.com/${TOKEN}") in errors(
        world, env=SECRETS, tools={"http_executors": [executor]}
    )
