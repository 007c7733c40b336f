"""Executors of a workflow: planned as one installed tool each, described to the model, and checked before a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli.app import load
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.errors import NotEquipped
from strands_cli.planning.name_checks import check_names
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.plan_values import Plan, PlannedTool
from strands_cli.planning.planned_tool import request_of, secrets_in
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.rule import make_rule
from strands_cli.workflow.steps import HttpExecutor
from tests.distributions import sound
from tests.fakes.plans import chain_of, found
from tests.wordings import Wording

CONFIG = {
    "type": "object",
    "properties": {
        "base_url": {"type": "string"},
        "headers": {"type": "object"},
        "timeout_ms": {"type": "integer", "maximum": 60_000},
        "response_format": {"enum": ["json", "text"]},
    },
    "required": ["base_url"],
    "additionalProperties": False,
}
INPUT = {"type": "object", "properties": {"method": {"type": "string"}, "path": {"type": "string"}}}
BEES = "{id: bees, base_url: 'https://api.bees.test/v1'}"
KEY = {"OPENAI_API_KEY": "key-of-tests", "TOKEN": "0123456789"}
STEP = "- {agent: writer, input: go}"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    claims = {"capabilities": {"network": ["*"], "secrets": []}, "timeout_s": 130}
    hints = {"readOnlyHint": False, "destructiveHint": True}
    sound(tmp_path, "http_executor", config_schema=CONFIG, input_schema=INPUT, strands_cli=claims, annotations=hints)
    sound(tmp_path, "calculator", annotations={"readOnlyHint": True})
    return tmp_path


def plan_with(site: Path | None, executors: str, tools: str | None = None, rest: str = "", **given: Any) -> Plan:
    agents = "{writer: {prompt: w}}" if tools is None else f"{{writer: {{prompt: w, tools: {tools}}}}}"
    catalog = discover_catalog([str(site)] if site else [])
    steps = given.pop("steps", STEP)
    text = f"tools: {{http_executors: [{executors}], python: {given.pop('python', '[]')}}}\n{rest}"
    return chain_of(steps, agents=agents, rest=text, catalog=catalog, environ=KEY, **given)


def tools_of(plan: Plan) -> dict[str, PlannedTool]:
    return {tool.name: tool for tool in plan.agents["writer"].tools}


def test_an_executor_is_the_installed_tool_under_its_own_name(site: Path) -> None:
    plan = plan_with(site, "{id: bees, base_url: 'https://api.bees.test/v1', headers: {X-A: b}, timeout_ms: 5000}")
    assert plan.findings == ()
    tool = tools_of(plan)["bees"]
    assert tool.record is not None
    assert (tool.record.name, tool.distribution) == ("http_executor", "strands-tool-http-executor")
    assert tool.config == {"base_url": "https://api.bees.test/v1", "headers": {"X-A": "b"}, "timeout_ms": 5000}
    claims = request_of(tool).claims
    assert claims["capabilities"] == {"network": ["api.bees.test"], "secrets": []}
    assert claims["timeout_s"] == 10
    assert tool.decision.effect == "ask"


@pytest.mark.parametrize(
    ("listed", "names"),
    [
        (None, ["bees", "wasps", "calculator"]),
        ("[]", []),
        ("[bees]", ["bees"]),
        ("[http_executors]", ["bees", "wasps"]),
        ("[python]", ["calculator"]),
        ("[http_executors, python]", ["bees", "wasps", "calculator"]),
        ("[{tool: bees, as: honey}, wasps]", ["honey", "wasps"]),
        ("[{tool: 'native:http_executor', config: {base_url: 'https://a.example'}}]", ["http_executor"]),
    ],
)
def test_an_agent_gets_the_executors_that_it_names_and_all_without_a_list(
    site: Path, listed: str | None, names: list[str]
) -> None:
    wasps = "{id: wasps, base_url: 'http://localhost:8080'}"
    plan = plan_with(site, f"{BEES}, {wasps}", listed, python="[calculator]")
    assert [finding for finding in plan.findings if finding.severity == "error"] == []
    assert list(tools_of(plan)) == names


def test_an_executor_comes_before_an_installed_tool_of_its_name_and_that_is_reported(site: Path) -> None:
    plan = plan_with(site, "{id: calculator, base_url: 'https://x.test'}", "[calculator]")
    (finding,) = plan.findings
    assert (finding.code, finding.severity) == ("shadowed-tool", "warning")
    assert tools_of(plan)["calculator"].config["base_url"] == "https://x.test"
    native = plan_with(site, "{id: calculator, base_url: 'https://x.test'}", "['native:calculator']")
    assert tools_of(native)["calculator"].config == {}


def test_two_tools_of_one_name_on_an_agent_are_found(site: Path) -> None:
    twice = plan_with(site, BEES, python="[{tool: calculator, as: bees}]")
    assert [finding.severity for finding in found(twice, "twin-tool-names")] == ["error"]


def test_a_step_can_call_an_executor(site: Path) -> None:
    plan = plan_with(site, BEES, steps="- {tool: bees, input: {method: GET, path: /hives}}")
    assert plan.findings == ()
    assert plan.call_tools["bees"].config["base_url"] == "https://api.bees.test/v1"


def test_settings_beside_the_name_of_an_executor_have_no_effect_and_are_found(site: Path) -> None:
    plan = plan_with(site, BEES, "[{tool: bees, config: {base_url: 'https://evil.test'}}]")
    assert [finding.code for finding in plan.findings] == ["tool-config"]


# -- what the model reads


def test_the_model_reads_all_that_the_workflow_says_but_no_header(site: Path, wording: Wording) -> None:
    executor = (
        "{id: bees, base_url: 'https://api.bees.test/v1', headers: {X-Key: hidden}, description: All about bees.,"
        " common_endpoints: [{method: GET, path: /hives, description: every hive}, {path: /honey, unit: kg}, /wax],"
        " examples: [{description: heavy ones, method: GET, path: /hives, query: {min: 40}}, 'see the wiki'],"
        " response_format: {hives: [{id: int}]}, authentication_info: done for you}"
    )
    record = tools_of(plan_with(site, executor))["bees"].record
    assert record is not None
    wording(record.description)


@pytest.mark.parametrize(("said", "form"), [("json", "json"), ("JSON", "json"), ("text", "text"), ("a table", None)])
def test_a_response_format_that_the_tool_knows_is_passed_to_it(site: Path, said: str, form: str | None) -> None:
    plan = plan_with(site, f"{{id: bees, base_url: 'https://x.test', response_format: {said}}}")
    assert tools_of(plan)["bees"].config.get("response_format") == form


# -- what is wrong with one


def test_without_the_tool_a_run_is_not_equipped_and_says_what_to_install() -> None:
    plan = plan_with(None, f"{BEES}, {{id: wasps, base_url: 'https://y.test'}}", "[bees, http_executors]")
    (finding,) = plan.findings
    assert finding.code == "tool-unmet"
    assert "pip install" in str(finding.fix)
    assert "strands-cli[tools]" in str(finding.fix)
    assert finding.where is not None
    assert finding.where.pointer == "/tools/http_executors"
    with pytest.raises(NotEquipped) as raised:
        require_runnable(plan)
    assert raised.value.exit_code == 18


@pytest.mark.parametrize(
    ("executor", "code", "pointer", "named"),
    [
        ("{id: acme.api, base_url: 'https://x.test'}", "bad-identifier", "id", "'acme.api'"),
        ("{id: a, base_url: x.test}", "bad-value", "base_url", None),
        ("{id: a, base_url: 'ftp://x.test'}", "bad-value", "base_url", None),
        ("{id: a, base_url: 'https://u:p@x.test'}", "bad-value", "base_url", None),
        ("{id: a, base_url: 'https://x.test/a?key=1'}", "bad-value", "base_url", None),
        ("{id: a, base_url: 'https://x.test/#a'}", "bad-value", "base_url", None),
        ("{id: a, base_url: 'https://x.test', headers: {Host: y.test}}", "bad-value", "headers/Host", "'Host'"),
        ("{id: a, base_url: 'https://x.test', headers: {'a b': c}}", "bad-value", "headers/a b", "'a b'"),
        ("{id: a, base_url: 'https://x.test', headers: {a: \"b\\nc\"}}", "bad-value", "headers/a", "printable"),
        ("{id: a, base_url: 'http://x.test', headers: {a: '${secrets.TOKEN}'}}", "bad-value", "headers/a", "plain"),
        ("{id: a, base_url: 'https://x.test', timeout_ms: 99999}", "tool-config", "", "timeout_ms"),
    ],
)
def test_what_is_wrong_with_an_executor_is_found_where_it_is(
    site: Path, executor: str, code: str, pointer: str, named: str | None, wording: Wording
) -> None:
    (finding,) = plan_with(site, executor, rest="env: {secrets: [{key: TOKEN}]}").findings
    assert (finding.code, finding.severity) == (code, "error")
    assert named is None or named in finding.message
    wording(finding.message)
    assert finding.where is not None
    assert finding.where.line
    assert str(finding.where.pointer) == f"/tools/http_executors/0/{pointer}".rstrip("/")


AT_HOME = "base_url: 'https://x.test'"
BY_TOKEN, BY_PASSWORD = "type: bearer, token: '${secrets.TOKEN}'", "type: basic, password: '${secrets.TOKEN}'"


@pytest.mark.parametrize(
    ("executor", "code", "pointer"),
    [
        (AT_HOME + ", auth: {type: header, name: Host, value: '${secrets.TOKEN}'}", "bad-value", "auth/value"),
        (AT_HOME + ", auth: {type: header, name: 'a b', value: '${secrets.TOKEN}'}", "bad-value", "auth/value"),
        (f"{AT_HOME}, auth: {{{BY_PASSWORD}, username: 'a:b'}}", "bad-value", "auth/username"),
        (f"base_url: 'http://x.test', auth: {{{BY_TOKEN}}}", "bad-value", "auth/token"),
        (f"base_url: 'http://x.test', auth: {{{BY_PASSWORD}, username: a}}", "bad-value", "auth/password"),
        (f"{AT_HOME}, auth: {{{BY_TOKEN}}}, headers: {{authorization: '${{secrets.TOKEN}}'}}", "bad-value", "auth"),
        (f"{AT_HOME}, auth: {{type: bearer, token: abc}}", "plain-credential", "auth/token"),
        (f"{AT_HOME}, auth: {{type: basic, username: a, password: b}}", "plain-credential", "auth/password"),
        (
            AT_HOME + ", auth: {type: basic, username: '${secrets.TOKEN}', password: b}",
            "plain-credential",
            "auth/password",
        ),
        (f"{AT_HOME}, auth: {{type: header, name: X-Mine, value: b}}", "plain-credential", "auth/value"),
    ],
)
def test_what_is_wrong_with_an_authentication_is_found_where_it_is(
    site: Path, executor: str, code: str, pointer: str
) -> None:
    planned = plan_with(site, f"{{id: a, {executor}}}", rest="env: {secrets: [{key: TOKEN, source: file, path: k}]}")
    found = [one for one in planned.findings if str(one.code) in ("bad-value", "plain-credential")]
    assert [str(one.code) for one in found] == [code]
    assert found[0].where is not None
    assert found[0].where.pointer == f"/tools/http_executors/0/{pointer}"
    assert found[0].where.line


def test_a_header_of_the_name_auth_is_sent_too() -> None:
    auth = {"type": "bearer", "token": "${secrets.B}"}
    written = {"id": "a", "base_url": "https://x.test", "headers": {"auth": "${secrets.A}"}, "auth": auth}
    assert set(secrets_in(HttpExecutor.model_validate(written).sent)) == {"A", "B"}


def test_no_plan_has_the_base64_of_a_password(site: Path) -> None:
    rest = "env: {secrets: [{key: TOKEN}]}"
    (tool,) = tools_of(
        plan_with(site, f"{{id: a, {AT_HOME}, auth: {{{BY_PASSWORD}, username: ada}}}}", rest=rest)
    ).values()
    assert tool.config["basic"] == {"username": "ada", "password": "${secrets.TOKEN}"}
    assert "authorization" not in str(tool.config).lower()


def test_all_that_is_wrong_is_found_at_once(site: Path) -> None:
    plan = plan_with(site, "{id: a.b, base_url: x, headers: {Host: y}}, {id: c, base_url: y}", "[a.b, c]")
    assert [finding.code for finding in plan.findings] == ["bad-identifier", "bad-value", "bad-value", "bad-value"]


# -- secrets


def test_a_header_names_a_declared_secret_and_the_tool_gets_that_one(site: Path) -> None:
    executor = "{id: bees, base_url: 'https://x.test', headers: {Authorization: 'Bearer ${secrets.TOKEN}'}}"
    plan = plan_with(site, executor, rest="env: {secrets: [{key: TOKEN}, {key: OPENAI_API_KEY, name: OTHER}]}")
    assert plan.findings == ()
    tool = tools_of(plan)["bees"]
    assert tool.secrets() == ("TOKEN",)
    assert request_of(tool).capabilities["secrets"] is True
    assert "TOKEN" not in str(tool.record.description if tool.record else "")


@pytest.mark.parametrize("name", ["Authorization", "cookie", "X-API-Key"])
def test_a_credential_that_is_in_the_file_is_a_warning(site: Path, name: str) -> None:
    executor = f"{{id: bees, base_url: 'https://x.test', headers: {{{name}: abc, Accept: text/plain}}}}"
    (finding,) = plan_with(site, executor).findings
    assert (finding.code, finding.severity) == ("plain-credential", "warning")
    assert "abc" not in finding.message


def test_a_reference_to_a_secret_that_is_not_declared_is_one_finding(site: Path) -> None:
    text = "version: 2\nname: w\nruntime: {provider: openai, model_id: m}\nagents: {a: {prompt: p}}\n"
    text += (
        "tools: {http_executors: [{id: b, base_url: 'https://x.test', headers: {Authorization: 'Bearer ${GONE}'}}]}\n"
    )
    text += "pattern: {type: chain, config: {steps: [{agent: a, input: x}]}}\n"
    (site / "flow.yaml").write_text(text)
    assert [finding.code for finding in check_names(load(site / "flow.yaml")).findings] == ["unknown-secret"]


def test_a_secret_over_plain_http_goes_to_this_machine_only(site: Path) -> None:
    for host in ("localhost:8080", "127.0.0.1", "[::1]:9"):
        executor = f"{{id: a, base_url: 'http://{host}/x', headers: {{a: '${{secrets.TOKEN}}'}}}}"
        assert plan_with(site, executor, rest="env: {secrets: [{key: TOKEN}]}").findings == ()


def test_a_missing_secret_of_an_executor_is_found_before_the_first_call(site: Path) -> None:
    executor = "{id: bees, base_url: 'https://x.test', headers: {a: '${secrets.GONE}'}}"
    plan = plan_with(site, executor, rest="env: {secrets: [{key: GONE}]}")
    assert [finding.code for finding in plan.findings] == ["missing-secret"]
    with pytest.raises(NotEquipped):
        require_runnable(plan)


def test_a_config_schema_can_say_that_a_text_is_the_name_of_a_secret(tmp_path: Path) -> None:
    named = {"type": "string", "format": "secret-name"}
    items = {"type": "array", "items": {"type": "object", "properties": {"secret": named, "note": {"type": "string"}}}}
    sound(tmp_path, "fetch", config_schema={"type": "object", "properties": {"secrets": items}})
    catalog = discover_catalog([str(tmp_path)])
    rest = (
        "tools: {python: [{tool: fetch, config: {secrets: [{secret: TOKEN, note: OTHER}, {secret: GONE}]}}]}\n"
        "env: {secrets: [{key: TOKEN}]}"
    )
    plan = chain_of(STEP, agents="{writer: {prompt: w}}", rest=rest, catalog=catalog, environ=KEY)
    (finding,) = plan.findings
    assert finding.code == "unknown-secret"
    assert "'GONE'" in finding.message
    assert plan.agents["writer"].tools[0].secrets() == ("TOKEN", "GONE")


# -- policy


@pytest.mark.parametrize(
    ("rest", "effect"),
    [
        ("security: {permissions: {deny: [bees]}}", "deny"),
        ("security: {permissions: {deny: ['native:http_executor']}}", "deny"),
        ("security: {permissions: {deny: [calculator]}}", "ask"),
        ("security: {guardrails: {allow_tools: [bees]}}", "ask"),
        ("security: {guardrails: {allow_tools: [calculator]}}", "deny"),
        ("security: {guardrails: {deny_network: true}}", "deny"),
    ],
)
def test_rules_know_an_executor_by_its_id_and_as_the_tool_that_it_is(site: Path, rest: str, effect: str) -> None:
    plan = plan_with(site, BEES, rest=rest)
    assert tools_of(plan)["bees"].decision.effect == effect


def test_a_rule_on_arguments_speaks_of_some_calls_of_an_executor(site: Path) -> None:
    plan = plan_with(site, BEES, options=RunRequest(allow=("bees(method=GET,path=/hives/**)",)))
    tool = tools_of(plan)["bees"]
    assert [rule.effect for rule in tool.conditional] == ["allow"]
    rule = make_rule("deny", "bees(path=/admin/**)", "workflow", "here")
    for path, is_denied in (("/admin/x", True), ("/%61dmin/x", True), ("/hives", False)):
        request = request_of(tool, arguments={"method": "GET", "path": path})
        assert rule.matches(request) == is_denied
