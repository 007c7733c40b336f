"""HTTP tools in real runs: a service gets the secret that is meant for it, and nothing that a run leaves holds it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strands_cli.secrets.redactor import MARK
from tests.cli.strands import Folder, Ran
from tests.fakes.http_service import HttpService, make_certificate
from tests.fakes.model_server import ModelServer, Turn

SECRET = "s3cr3t-of-the-service-0042"
FORMS = {
    "value": SECRET,
    "hex": SECRET.encode().hex(),
    "base64": base64.b64encode(SECRET.encode()).decode().rstrip("=")[:-1],
}
ENV = {"secrets": [{"key": "MY_TOKEN", "name": "TOKEN"}]}
LIVE = {"provider": "openai", "model_id": "m"}
BEARER = {"Authorization": "Bearer ${secrets.TOKEN}"}


@pytest.fixture(autouse=True)
def _trusted(folder: Folder) -> None:
    folder.trusts_every_workflow()


@pytest.fixture
def service() -> Iterator[HttpService]:
    # The service repeats what it was sent, in several forms: a careless one, or one that means harm.
    with HttpService({"/v1/leak": {"you_sent": list(FORMS.values()), SECRET: True}}) as running:
        yield running


def executor(service: HttpService, **more: Any) -> dict[str, Any]:
    return {"http_executors": [{"id": "bees", "base_url": f"{service.url}/v1", "headers": BEARER, **more}]}


def leaks(folder: Folder, *ran: Ran) -> list[tuple[str, str]]:
    """Return where a form of the secret is, among all files of the run and what was printed."""
    places = (folder.work, folder.runs, folder.root / "home")
    held = [(str(path), path.read_bytes()) for place in places for path in place.rglob("*") if path.is_file()]
    held += [(name, text.encode()) for one in ran for name, text in (("stdout", one.out), ("stderr", one.err))]
    return [(where, form) for where, content in held for form, text in FORMS.items() if text.encode() in content]


def test_an_executor_sends_its_secret_and_no_sink_holds_what_comes_back(folder: Folder, service: HttpService) -> None:
    agents = {"clerk": {"prompt": "You look things up."}}
    steps = [
        {"tool": "bees", "input": {"method": "GET", "path": "/leak"}},
        {"agent": "clerk", "input": "Use {{ steps[0].response }}"},
    ]
    outputs = {"artifacts": [{"path": "out.md", "from": "{{ steps[0].response }} {{ last_response }} {{ TRACE }}"}]}
    folder.workflow(steps, agents=agents, runtime=LIVE, env=ENV, tools=executor(service), outputs=outputs)
    turns = [Turn(calls=[("bees", {"method": "GET", "path": "/leak"})]), Turn(f"It said {SECRET}.")]
    with ModelServer(turns) as model:
        keys = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": model.url, "MY_TOKEN": SECRET}
        ran = folder.strands(
            "run", "flow.yaml", "--record", "rec.yaml", "--events", "events.jsonl", "--verbose", **keys
        )
        asked = [json.dumps(json.loads(request.body)) for request in model.requests]
    assert ran.code == 0, ran.err
    assert [request.headers["authorization"] for request in service.asked] == [f"Bearer {SECRET}"] * 2
    (run,) = folder.runs.iterdir()
    shown = folder.strands("runs", "show", run.name, "--json")
    assert leaks(folder, ran, shown) == []
    assert [form for form, text in FORMS.items() for body in asked if text in body] == []
    # It was there to be seen: what the model and the artifact got has the mark in its place.
    assert MARK in asked[-1]
    for name in ("rec.yaml", "events.jsonl", "artifacts/out.md"):
        assert MARK in (folder.work / name).read_text(), name
    # The model reads of the executor, and of no header of it.
    assert "bees" in asked[0]
    assert "secrets.TOKEN" not in asked[0]


def test_http_request_sends_a_bound_secret_to_its_host_only(folder: Folder, tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    if certificate is None:
        pytest.skip("openssl makes the certificate")
    with HttpService(certificate=certificate) as own, HttpService() as other:
        own.answers |= {"/": {"you_sent": f"Bearer {SECRET}"}, "/out": f"{other.url}/"}
        config = {
            "allow_private": [f"127.0.0.1:{own.port}", f"127.0.0.1:{other.port}"],
            "ca_file": str(certificate[1]),
            "secrets": [{"host": f"127.0.0.1:{own.port}", "secret": "TOKEN", "prefix": "Bearer "}],
        }
        steps = [
            {"tool": "http_request", "input": {"method": "GET", "url": f"{own.url}{path}"}} for path in ("/", "/out")
        ]
        outputs = {"artifacts": [{"path": "out.md", "from": "{{ steps[0].response }} {{ steps[1].response }}"}]}
        tools = {"python": [{"tool": "native:http_request", "config": config}]}
        folder.workflow(steps, env=ENV, tools=tools, outputs=outputs)
        ran = folder.strands("run", "flow.yaml", "--events", "events.jsonl", "--verbose", MY_TOKEN=SECRET)
    assert ran.code == 0, ran.err
    assert [asked.headers.get("authorization") for asked in own.asked] == [f"Bearer {SECRET}"] * 2
    assert [asked.headers.get("authorization") for asked in other.asked] == [None]
    assert f"Bearer {MARK}" in (folder.work / "artifacts" / "out.md").read_text()
    assert leaks(folder, ran) == []


@pytest.mark.parametrize(
    ("env", "code", "said"),
    [(ENV, 18, "error[missing-secret]"), ({}, 3, "error[unknown-secret]")],
)
def test_a_secret_without_a_value_is_found_before_the_first_call(
    folder: Folder, service: HttpService, env: dict[str, Any], code: int, said: str
) -> None:
    step = {"tool": "bees", "input": {"method": "GET", "path": "/leak"}}
    folder.workflow([step], env=env, tools=executor(service))
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == code
    assert said in ran.err
    assert "TOKEN" in ran.err
    assert service.asked == []


def test_a_secret_of_every_source_arrives(folder: Folder, service: HttpService) -> None:
    folder.write("kept.txt", "from-the-file\n")
    folder.write("printed.txt", "from-the-command\n")
    (folder.site / "keyring.py").write_text(
        "def get_password(service, key):\n    return {('hive', 'robot'): 'from-the-keyring'}.get((service, key))\n"
    )
    sources = [
        {"key": "MY_TOKEN", "name": "A"},
        {"key": "B", "source": "file", "path": "kept.txt"},
        {"key": "C", "source": "command", "path": "cat printed.txt"},
        {"key": "robot", "name": "D", "source": "keyring", "path": "hive"},
    ]
    headers = {f"X-{name}": f"${{secrets.{name}}}" for name in "ABCD"}
    step = {"tool": "bees", "input": {"method": "GET", "path": "/echo"}}
    folder.workflow([step], env={"secrets": sources}, tools=executor(service, headers=headers))
    ran = folder.strands("run", "flow.yaml", "--events", "events.jsonl", MY_TOKEN="from-the-variable")
    assert ran.code == 0, ran.err
    (asked,) = service.asked
    values = [asked.headers[f"x-{name}"] for name in "abcd"]
    assert values == ["from-the-variable", "from-the-file", "from-the-command", "from-the-keyring"]
    left = ran.out + ran.err + (folder.work / "events.jsonl").read_text()
    assert [value for value in values if value in left] == []
    assert ran.out.count(MARK) == 4


def test_a_hostile_path_from_a_model_is_an_error_that_it_reads_and_the_run_goes_on(
    folder: Folder, service: HttpService
) -> None:
    folder.workflow(
        [{"agent": "writer", "input": "Go."}],
        {
            "steps.0": [
                {"calls": [{"bees": {"path": f"//127.0.0.1:{service.port}/admin"}}, {"bees": {"path": "/../admin"}}]},
                {"when": "bees: error\nbees: error", "calls": [{"bees": {"path": "/hives"}}]},
                {"when": "bees: success", "text": "Three hives."},
            ]
        },
        env=ENV,
        tools=executor(service),
    )
    ran = folder.strands("run", "flow.yaml", MY_TOKEN=SECRET)
    assert (ran.code, ran.out) == (0, "Three hives.\n"), ran.err
    assert [asked.path for asked in service.asked] == ["/v1/hives"]


def test_what_changes_something_asks_and_a_rule_on_its_arguments_allows_it(
    folder: Folder, service: HttpService
) -> None:
    step = {"tool": "bees", "input": {"method": "POST", "path": "/hives", "json": {"name": "new"}}}
    folder.workflow([step], env=ENV, tools=executor(service))
    waits = folder.strands("run", "flow.yaml", MY_TOKEN=SECRET)
    assert waits.code == 19
    denied = folder.strands("run", "flow.yaml", "--deny", MY_TOKEN=SECRET)
    assert denied.code == 21
    assert "--allow bees" in denied.err
    elsewhere = folder.strands("run", "flow.yaml", "--deny", "--allow", "bees(path=/honey)", MY_TOKEN=SECRET)
    assert elsewhere.code == 21
    assert service.asked == []
    ran = folder.strands("run", "flow.yaml", "--allow", "bees(method=POST,path=/hives)", MY_TOKEN=SECRET)
    assert ran.code == 0, ran.err
    assert [(asked.method, json.loads(asked.body)) for asked in service.asked] == [("POST", {"name": "new"})]


@pytest.mark.parametrize(
    ("rule", "is_followed"),
    [
        (None, True),
        ({"deny": "*", "connects": "{}/**"}, False),
        ({"deny": "http_request(url={}/**)"}, False),
        ({"ask": "*", "connects": "{}/**"}, False),
        ({"deny": "http_request(url={}/other/**)"}, True),
    ],
)
def test_a_rule_about_addresses_holds_for_each_redirect(
    folder: Folder, rule: dict[str, str] | None, *, is_followed: bool
) -> None:
    with HttpService() as far, HttpService({"/go": f"{far.url}/private"}) as near:
        opened = [one.url.removeprefix("http://") for one in (far, near)]
        entry = {"tool": "native:http_request", "config": {"allow_private": opened}}
        step = {"tool": "http_request", "input": {"method": "GET", "url": f"{near.url}/go"}}
        folder.workflow([step], tools={"python": [entry]})
        if rule is not None:
            rules = [{name: text.replace("{}", far.url) for name, text in rule.items()}]
            folder.write("strands-policy.yaml", {"version": 1, "rules": rules})
        ran = folder.strands("run", "flow.yaml", "--json")
        assert len(near.asked) == 1, ran.err
        assert len(far.asked) == int(is_followed)
        assert ("strands-policy.yaml" in ran.out) is not is_followed


@pytest.mark.parametrize(
    "config",
    [
        {"allow_private": ["127.0.0.1"]},
        {"allow_private": ["localhost:80"]},
        {"allow_hosts": ["https://a.example"]},
        {"deny_hosts": ["a b"]},
        {"proxy": "http://a.example:1"},
        {"proxy": "https://a.example:1", "allow_hosts": ["b.example"]},
    ],
)
def test_settings_that_no_call_could_have_are_found_before_the_run(folder: Folder, config: dict[str, Any]) -> None:
    folder.workflow(
        [{"tool": "http_request", "input": {"url": "https://b.example"}}],
        tools={"python": [{"tool": "native:http_request", "config": config}]},
    )
    planned = folder.strands("plan", "flow.yaml")
    assert planned.code == 3
    assert "tool-config" in planned.codes


def test_settings_in_every_documented_form_are_taken(folder: Folder) -> None:
    private = ["[::1]:80", "10.0.0.0/8:1", "[fd00::/8]:4", "[fd00::]/8:443", "127.0.0.1:8080"]
    hosts = ["*.a.example:80", "10.0.0.0/8", "fd00::/8", "[fd00::1]:8", "b.example", "bücher.example"]
    config = {"allow_private": private, "allow_hosts": hosts, "deny_hosts": hosts[:1], "proxy": "http://[::1]:80/"}
    given = ("--config", json.dumps(config), "--input", '{"url": "https://c.example"}')
    for name in ("http_request", "web_fetch"):
        ran = folder.strands("tools", "run", name, *given)
        assert (ran.code, "c.example is not in allow_hosts" in ran.err) == (10, True), ran.err
