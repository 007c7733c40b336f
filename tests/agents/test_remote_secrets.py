"""Secrets that a cloud keeps are read when a run begins, from a service that speaks its protocol on loopback."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from strands_cli import Workflow
from strands_cli.agents.remote_secrets import RemoteSecrets
from strands_cli.errors import NotEquipped
from strands_cli.secrets.secret_sources import SecretFault, SecretReference
from tests.agents.kit import READS, Site
from tests.wordings import Wording

VALUE = "hunter2-hunter2-hunter2"
STORE: dict[str, dict[str, Any]] = {
    "prod/key": {"SecretString": VALUE},
    "prod/several": {"SecretString": json.dumps({"user": "robot", "port": 5432, "deep": {}})},
    "prod/binary": {"SecretBinary": "aHVudGVyMg=="},
    "prod/broken": {"SecretBinary": "//8="},
    "prod/long": {"SecretString": "x" * 65537},
    "prod/empty": {"SecretString": ""},
    "arn:aws:secretsmanager:eu-west-1:123456789012:secret:far": {"SecretString": "from-afar"},
}
PARAMETERS = {"/prod/token": "from-a-parameter"}


class Cloud(ThreadingHTTPServer):
    """Answers GetSecretValue and GetParameter; what it was asked, and under which signature, is kept."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any], str]] = []
        self.refuses: tuple[int, str] | None = None
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Cloud

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        operation = self.headers["X-Amz-Target"].rpartition(".")[2]
        self.server.asked.append((operation, given, self.headers["Authorization"]))
        status, answer = self.server.refuses or self.answer(operation, given)
        body = json.dumps(answer if isinstance(answer, dict) else {"__type": answer, "message": VALUE}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self, operation: str, given: dict[str, Any]) -> tuple[int, Any]:
        if operation == "GetSecretValue":
            found = STORE.get(given["SecretId"])
            return (200, found) if found else (400, "ResourceNotFoundException")
        found = PARAMETERS.get(given["Name"])  # type: ignore[assignment]
        shown = found if given.get("WithDecryption") else "sealed"
        return (200, {"Parameter": {"Value": shown}}) if found else (400, "ParameterNotFound")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cloud]:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    serving = Cloud()
    known = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{serving.server_address[1]}",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "any-secret-key",
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
    }
    for name, value in known.items():
        monkeypatch.setenv(name, value)
    thread = threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield serving
    serving.shutdown()
    serving.server_close()
    thread.join(120)


def secret(source: str, key: str, path: str = "") -> SecretReference:
    return SecretReference("KEY", key, source, path, Path())


def read(*secrets: SecretReference, region: str | None = None) -> list[str]:
    remote = RemoteSecrets(region)
    try:
        return [remote.read(one) for one in secrets]
    finally:
        remote.close()


def test_a_value_comes_from_the_name_at_path_else_from_key(cloud: Cloud) -> None:
    values = read(
        secret("secrets_manager", "prod/key"),
        secret("secrets_manager", "any", "prod/key"),
        secret("ssm", "any", "/prod/token"),
        secret("ssm", "/prod/token"),
    )
    assert values == [VALUE, VALUE, "from-a-parameter", "from-a-parameter"]
    assert all("/eu-central-1/" in signature for _, _, signature in cloud.asked)


def test_key_names_a_field_where_several_values_are_kept_together(cloud: Cloud) -> None:
    several = "prod/several"
    assert read(secret("secrets_manager", "user", several), secret("secrets_manager", "port", several)) == [
        "robot",
        "5432",
    ]
    assert json.loads(read(secret("secrets_manager", several))[0])["user"] == "robot"
    for key in ("password", "deep"):
        with pytest.raises(SecretFault, match=f"'{key}'") as raised:
            read(secret("secrets_manager", key, several))
        assert "robot" not in str(raised.value)


def test_bytes_that_are_text_are_a_value_and_others_are_not(cloud: Cloud, wording: Wording) -> None:
    assert read(secret("secrets_manager", "prod/binary")) == ["hunter2"]
    for name in ("prod/broken", "prod/long"):
        with pytest.raises(SecretFault) as raised:
            read(secret("secrets_manager", name))
        wording(raised.value)


def test_the_region_comes_from_the_name_else_from_the_environment_else_from_the_workflow(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:far"
    assert read(secret("secrets_manager", "k", arn)) == ["from-afar"]
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert read(secret("ssm", "/prod/token"), region="us-west-2") == ["from-a-parameter"]
    assert ["/eu-west-1/" in cloud.asked[0][2], "/us-west-2/" in cloud.asked[1][2]] == [True, True]
    with pytest.raises(SecretFault) as raised:
        read(secret("ssm", "/prod/token"))
    assert "runtime.region" in raised.value.fix


@pytest.mark.parametrize(
    ("refuses", "said", "fix"),
    [
        (None, "/prod/none", "AWS_REGION"),
        ((400, "AccessDeniedException"), "AccessDeniedException", "get-caller-identity"),
        ((400, "InternalThing"), "InternalThing", None),
    ],
)
def test_a_missing_secret_says_why_and_nothing_of_the_answer_of_the_service(
    cloud: Cloud, refuses: tuple[int, str] | None, said: str, fix: str | None, wording: Wording
) -> None:
    source = "ssm" if refuses is None else "secrets_manager"
    cloud.refuses = refuses
    with pytest.raises(SecretFault, match=said) as raised:
        read(secret(source, "/prod/none"))
    assert fix is None or fix in raised.value.fix
    wording([str(raised.value), raised.value.fix])
    assert VALUE not in f"{raised.value} {raised.value.fix}"
    assert (raised.value.__cause__, raised.value.__suppress_context__) == (None, True)


def test_without_credentials_or_a_service_nothing_hangs(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(SecretFault, match="EndpointConnectionError"):
        read(secret("ssm", "/prod/token"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(SecretFault, match="NoCredentialsError"):
        read(secret("ssm", "/prod/token"))


TOOL = """
TOOL_SPEC = {
    "name": "ask", "description": "Ask.", "annotations": {"readOnlyHint": True},
    "inputSchema": {"json": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
    "strands_cli": {"capabilities": {"secrets": ["ONE", "TWO"]}},
}
def ask(tool, strands_cli, **kwargs):
    return {"status": "success", "content": [{"text": repr(sorted(strands_cli["secrets"].items()))}]}
"""
DECLARED = {**READS, "strands_cli": {"capabilities": {"secrets": ["ONE", "TWO"]}}}
FLOW = """
version: 2
name: remote
runtime: {provider: replay, recording: r.yaml}
env:
  secrets:
    - {key: prod/key, name: ONE, source: secrets_manager}
    - {key: /prod/token, name: TWO, source: ssm}
agents: {a: {prompt: p}}
tools: {python: [ask]}
pattern: {type: chain, config: {steps: [{tool: ask, input: {text: x}}]}}
"""


def test_a_run_reads_them_before_its_first_call_and_a_plan_never(cloud: Cloud, site: Site, tmp_path: Path) -> None:
    site.install(TOOL, DECLARED, name="ask")
    (tmp_path / "r.yaml").write_text("recording: 1\nsteps: {}\n")
    flow = Workflow.from_text(FLOW, base_dir=tmp_path)
    flow.plan()
    assert cloud.asked == []
    result = flow.run(runs_dir=tmp_path / "runs", yes=True)
    assert [operation for operation, _, _ in cloud.asked] == ["GetSecretValue", "GetParameter"]
    assert result.response == "[('ONE', '[secret]'), ('TWO', '[secret]')]"
    assert not any(VALUE.encode() in path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file())


def test_every_one_that_is_missing_is_named_before_the_first_call(cloud: Cloud, site: Site, tmp_path: Path) -> None:
    site.install(TOOL, DECLARED, name="ask")
    (tmp_path / "r.yaml").write_text("recording: 1\nsteps: {}\n")
    text = FLOW.replace("prod/key", "prod/none").replace("/prod/token", "/prod/none")
    with pytest.raises(NotEquipped) as raised:
        Workflow.from_text(text, base_dir=tmp_path).run(runs_dir=tmp_path / "runs", yes=True)
    assert [finding.code for finding in raised.value.findings] == ["missing-secret"] * 2
    assert not list((tmp_path / "runs").rglob("*.sqlite"))
