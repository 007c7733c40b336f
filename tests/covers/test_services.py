"""What the fields of `tools.http_executors` and of `env.secrets` do to what a service receives."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.covers.kit import World, covers, covers_each
from tests.fakes.model_server import Turn
from tests.yaml_texts import write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

CALL = Turn(calls=[("hives", {"method": "GET", "path": "/all"})])


class Service(ThreadingHTTPServer):
    """Answers every path with JSON, `/slow` after two seconds; what it receives is kept."""

    daemon_threads = True

    def __init__(self) -> None:
        self.received: list[tuple[str, dict[str, str]]] = []
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        self.server.received.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        if self.path.endswith("/slow"):
            self.server.closing.wait(2)
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(b'{"kg": 40}')

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    serving = Service()
    thread = threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield serving
    serving.closing.set()
    serving.shutdown()
    serving.server_close()
    thread.join(120)


def run(world: World, service: Service, more: dict[str, Any], call: Turn = CALL, **sections: Any) -> None:
    world.turns = [call, Turn("done")]
    executor = {"id": "hives", "base_url": f"{service.url}/v1", **more}
    world.run(write_yaml({"tools": {"http_executors": [executor]}, **sections}))


def offered(world: World) -> dict[str, Any]:
    (tool,) = world.requests[0]["tools"]
    described: dict[str, Any] = tool["function"]
    return described


def answered(world: World) -> str:
    return json.dumps(world.requests[1]["messages"][-1])


@covers("/tools/http_executors/*/id")
def test_a_service_is_a_tool_by_its_id(world: World, service: Service) -> None:
    run(world, service, {})
    assert offered(world)["name"] == "hives"


@covers("/tools/http_executors/*/base_url")
def test_requests_go_below_its_address(world: World, service: Service) -> None:
    run(world, service, {})
    assert [path for path, _ in service.received] == ["/v1/all"]


@covers("/tools/http_executors/*/headers")
def test_every_request_has_its_headers(world: World, service: Service) -> None:
    run(world, service, {"headers": {"X-Colony": "west"}})
    assert service.received[0][1]["x-colony"] == "west"


@covers("/tools/http_executors/*/timeout_ms")
def test_a_request_ends_in_its_time(world: World, service: Service) -> None:
    run(world, service, {"timeout_ms": 300}, Turn(calls=[("hives", {"method": "GET", "path": "/slow"})]))
    assert not service.closing.is_set()
    assert "timeout" in answered(world)


@covers("/tools/http_executors/*/response_format")
def test_an_answer_is_read_as_configured(world: World, service: Service) -> None:
    run(world, service, {"response_format": "json"})
    assert json.loads(world.requests[1]["messages"][-1]["content"])["json"] == {"kg": 40}


TOLD = {
    "description": ("Scales under the hives.", "Scales under the hives."),
    "examples": ([{"method": "GET", "path": "/heavy"}], "/heavy"),
    "common_endpoints": ([{"method": "GET", "path": "/light"}], "/light"),
    "authentication_info": ("Done for you by a key.", "Done for you by a key."),
}


@covers_each({name: f"/tools/http_executors/*/{name}" for name in TOLD})
def test_the_model_is_shown_what_the_service_does(world: World, service: Service, case: str) -> None:
    written, told = TOLD[case]
    run(world, service, {case: written})
    assert told in offered(world)["description"]


def with_secret(world: World, service: Service, secret: dict[str, Any], name: str) -> None:
    run(world, service, {"headers": {"X-Key": f"${{secrets.{name}}}"}}, env={"secrets": [secret]})


AUTH = "/tools/http_executors/*/auth"
FORMS: dict[str, tuple[dict[str, str], tuple[str, str]]] = {
    "type": ({"type": "bearer", "token": "${KEY}"}, ("authorization", "Bearer hunter2-hunter2")),
    "token": ({"type": "bearer", "token": "${secrets.KEY}"}, ("authorization", "Bearer hunter2-hunter2")),
    "username": (
        {"type": "basic", "username": "ada", "password": "${KEY}"},
        ("authorization", "Basic YWRhOmh1bnRlcjItaHVudGVyMg=="),
    ),
    "password": (
        {"type": "basic", "username": "${KEY}", "password": "a-${secrets.KEY}"},
        ("authorization", "Basic aHVudGVyMi1odW50ZXIyOmEtaHVudGVyMi1odW50ZXIy"),
    ),
    "name": ({"type": "header", "name": "X-Key", "value": "${KEY}"}, ("x-key", "hunter2-hunter2")),
    "value": ({"type": "header", "name": "X-Key", "value": "Key ${KEY}"}, ("x-key", "Key hunter2-hunter2")),
}


@covers_each({name: f"{AUTH}/{name}" for name in FORMS})
def test_every_request_authenticates(
    world: World, service: Service, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "hunter2-hunter2")
    auth, (name, value) = FORMS[case]
    for version in (0, 1):
        run(world, service, {"auth": auth}, version=version, env={"secrets": [{"key": "KEY"}]})
        assert service.received.pop()[1][name] == value


@covers("/env/secrets/*/key")
def test_a_secret_comes_from_the_variable_of_its_key(
    world: World, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVE_KEY", "hunter2-hunter2")
    with_secret(world, service, {"key": "HIVE_KEY"}, "HIVE_KEY")
    assert service.received[0][1]["x-key"] == "hunter2-hunter2"


@covers("/env/secrets/*/name")
def test_a_secret_has_a_name_of_its_own(world: World, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_KEY", "hunter2-hunter2")
    with_secret(world, service, {"key": "HIVE_KEY", "name": "hive"}, "hive")
    assert service.received[0][1]["x-key"] == "hunter2-hunter2"


@covers("/env/secrets/*/source", "/env/secrets/*/path")
def test_a_secret_comes_from_its_source(world: World, service: Service) -> None:
    file: Path = world.folder / "key.txt"
    file.write_text("from-a-file-1234\n", encoding="utf-8")
    file.chmod(0o600)
    with_secret(world, service, {"key": "HIVE_KEY", "source": "file", "path": str(file)}, "HIVE_KEY")
    assert service.received[0][1]["x-key"] == "from-a-file-1234"
    with_secret(
        world,
        service,
        {"key": "HIVE_KEY", "source": "command", "path": f'{sys.executable} -c \'print("from-" + "a-program")\''},
        "HIVE_KEY",
    )
    assert service.received[1][1]["x-key"] == "from-a-program"
