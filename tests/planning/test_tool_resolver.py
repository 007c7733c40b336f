from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.errors import Denied, ExitCode, InvalidInput, NotEquipped, UsageError
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.resolve.single_tool import plan_single_tool
from strands_cli.planning.run_request import RunRequest
from tests.distributions import broken_manifest, make_distribution, manifest_of, sound, tool, twin, without_manifest
from tests.fakes.plans import chain_of, found
from tests.wordings import Wording

READ_ONLY = {"annotations": {"readOnlyHint": True}}
SETTINGS = {
    "type": "object",
    "properties": {"root": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["root"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def python_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two modules importable whose tools show only after their import."""
    folder = tmp_path / "python" / "my"
    folder.mkdir(parents=True)
    for name in ("tools", "other"):
        (folder / f"{name}.py").write_text("globals()['made'] = 1\n")
    monkeypatch.syspath_prepend(tmp_path / "python")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    sound(tmp_path, "file_read", "1.2", **READ_ONLY)
    sound(tmp_path, "file_write", annotations={"destructiveHint": True}, config_schema=SETTINGS)
    sound(tmp_path, "unmet", requires={"modules": ["no_such_module_anywhere"]})
    sound(tmp_path, "old", deprecated={"since": "2.0", "replacement": "native:file_read"})
    sound(tmp_path, "two")
    twin(tmp_path, "two", "other-tools")
    broken_manifest(tmp_path, "broken")
    entry = "strands_tool_db:Database"
    members = [tool(name, entry, kind="class", **READ_ONLY) for name in ("query", "tables")]
    files = {"strands_tool_db/__init__.py": "class Database: ..."}
    make_distribution(
        tmp_path, "strands-tool-db", "1.0", {"db": entry}, files, manifest_of("strands-tool-db", *members)
    )
    return tmp_path


def plan_with(site: Path, tools: str, **given: Any) -> Plan:
    agents = f"{{writer: {{prompt: w, tools: {tools}}}}}"
    return chain_of("- {agent: writer, input: go}", agents=agents, catalog=discover_catalog([str(site)]), **given)


def names(plan: Plan) -> list[str]:
    return [tool.name for tool in plan.agents["writer"].tools]


@pytest.mark.parametrize(
    "ref",
    [
        "file_read",
        "native:file_read",
        "native:file_read@>=1,<2",
        "native:file_read@1.2",
        "native:strands-tool-file-read/file_read",
        "strands_cli.tools.file_read",
        "{tool: file_read}",
        "{callable: native:file_read}",
    ],
)
def test_every_form_of_a_reference_finds_the_installed_tool(ref: str, site: Path) -> None:
    plan = plan_with(site, f"['{ref}']" if not ref.startswith("{") else f"[{ref}]")
    assert plan.findings == ()
    (planned,) = plan.agents["writer"].tools
    assert (planned.name, planned.distribution, planned.describe()) == (
        "file_read",
        "strands-tool-file-read",
        "strands-tool-file-read 1.2",
    )
    assert planned.decision.effect == "allow"


@pytest.mark.parametrize(
    "ref", ["strands_tools.file_read", "strands_tools.file_read.file_read", "strands_tools.file_read:file_read"]
)
def test_a_legacy_reference_finds_it_too_and_says_so_once(ref: str, site: Path) -> None:
    plan = plan_with(site, f"['{ref}']")
    assert names(plan) == ["file_read"]
    (finding,) = plan.findings
    assert (finding.code, finding.severity, finding.fix) == ("legacy-tool", "warning", "write native:file_read")
    assert ref in finding.message


@pytest.mark.parametrize(
    ("ref", "code", "exit_code"),
    [
        ("native:file_raed", "unknown-tool", 3),
        ("native:no_such", "unknown-tool", 3),
        ("native:file_read@>=2", "tool-version", 3),
        ("native:elsewhere/file_read", "unknown-tool", 3),
        ("two", "tool-conflict", 3),
        ("native:unmet", "tool-unmet", 18),
        ("native:broken", "tool-broken", 18),
        ("native:db.drop", "unknown-tool", 3),
        ("native:", "bad-tool-ref", 3),
        ("./tool.py", "bad-tool-ref", 3),
        ("my.tools:shout", "custom-tool-denied", 21),
        ("mcp:server/tool", "unknown-server", 3),
        ("agent:writer", "tool-cycle", 3),
        ("agent:writr", "unknown-agent", 3),
        ("workflow:./sub.yaml", "file-unreadable", 2),
        ("workflow:../sub.yaml", "bad-path", 3),
    ],
)
def test_a_reference_that_finds_nothing_usable_is_explained_at_its_place(
    ref: str, code: str, exit_code: int, wording: Wording, site: Path
) -> None:
    plan = plan_with(site, f"[native:file_read, '{ref}']")
    (finding,) = plan.findings
    assert finding.code == code
    wording(f"{finding.message} {finding.fix}")
    assert finding.where is not None
    assert (finding.where.line, finding.where.pointer) == (4, "/agents/writer/tools/1")
    assert names(plan) == ["file_read"], "the sound tool is planned all the same"
    with pytest.raises(Exception) as raised:
        require_runnable(plan)
    assert raised.value.exit_code == exit_code  # type: ignore[attr-defined]


@pytest.mark.parametrize("entry", ["my.tools:shout", "native:shout", "{tool: native:no_such, as: shout}"])
def test_a_step_that_calls_a_tool_with_a_finding_of_its_own_adds_none(entry: str, site: Path) -> None:
    rest = f"tools: {{python: [native:file_read, {entry!r}]}}" if entry[0] != "{" else f"tools: {{python: [{entry}]}}"
    steps = "- {tool: shout, input: {}}\n- {agent: writer, input: go}"
    plan = chain_of(steps, rest=rest, agents="{writer: {prompt: w}}", catalog=discover_catalog([str(site)]))
    (finding,) = plan.findings
    assert finding.where is not None
    assert finding.where.pointer.startswith("/tools/python/")
    with pytest.raises((Denied, InvalidInput)):
        require_runnable(plan)


def test_custom_python_is_planned_when_the_allowlist_names_it_and_its_calls_ask(site: Path) -> None:
    plan = plan_with(site, "[my.tools:shout, {tool: my.other.speak, as: say}]", custom=("my.tools:shout", "my.other.*"))
    assert plan.findings == ()
    assert names(plan) == ["shout", "say"]
    assert [tool.decision.effect for tool in plan.agents["writer"].tools] == ["ask", "ask"]
    assert plan.agents["writer"].tools[0].describe() == "custom Python"


def test_a_class_gives_all_its_tools_or_one(site: Path) -> None:
    assert names(plan_with(site, "[native:db]")) == ["query", "tables"]
    plan = plan_with(site, "[{tool: native:db.query, as: ask_db}]")
    (planned,) = plan.agents["writer"].tools
    assert (planned.name, planned.member, planned.ref) == ("ask_db", "query", "native:db.query")


def test_one_name_for_several_tools_names_none_of_them(site: Path) -> None:
    (finding,) = plan_with(site, "[{tool: native:db, as: database}]").findings
    assert finding.code == "twin-tool-names"
    assert "native:db.query" in str(finding.fix)


def test_two_tools_of_one_name_are_found_and_one_tool_named_twice_is_one(site: Path) -> None:
    plan = plan_with(site, "[{tool: native:file_read, as: query}, native:db]")
    (finding,) = plan.findings
    assert finding.code == "twin-tool-names"
    assert "native:file_read and native:db" in finding.message
    plan = plan_with(site, "[file_read, native:file_read, native:db, native:db.query]")
    assert plan.findings == ()
    assert names(plan) == ["file_read", "query", "tables"]
    (finding,) = plan_with(
        site, "[{tool: file_write, config: {root: a}}, {tool: file_write, config: {root: b}}]"
    ).findings
    assert finding.code == "twin-tool-names"


def test_without_a_list_an_agent_has_every_tool_of_the_workflow_and_with_an_empty_one_none(site: Path) -> None:
    catalog = discover_catalog([str(site)])
    rest = "tools: {python: [native:file_read, {tool: native:file_write, as: save, config: {root: x}}]}"
    agents = "{all: {prompt: a}, none: {prompt: n, tools: []}, one: {prompt: o, tools: [save]}}"
    steps = "- {agent: all, input: x}\n- {agent: none, input: x}\n- {agent: one, input: x}"
    plan = chain_of(steps, agents=agents, rest=rest, catalog=catalog)
    assert plan.findings == ()
    assert {agent.id: [tool.name for tool in agent.tools] for agent in plan.agents.values()} == {
        "all": ["file_read", "save"],
        "none": [],
        "one": ["save"],
    }
    assert plan.agents["one"].tools[0].config == {"root": "x"}


def test_twins_among_the_workflows_own_tools_are_found_once_at_their_place(site: Path) -> None:
    rest = "tools:\n  python: [file_read, {tool: file_write, as: file_read}]"
    plan = chain_of("- {agent: writer}\n- {agent: editor}", rest=rest, catalog=discover_catalog([str(site)]))
    (finding,) = found(plan, "twin-tool-names")
    assert finding.where is not None
    assert finding.where.line == 6


def test_a_name_of_the_workflow_that_hides_an_installed_tool_is_a_warning(site: Path) -> None:
    catalog = discover_catalog([str(site)])
    rest = "tools: {python: [{tool: native:file_write, as: file_read, config: {root: x}}]}"
    agents = "{writer: {prompt: w, tools: [file_read]}}"
    plan = chain_of("- {agent: writer, input: x}", agents=agents, rest=rest, catalog=catalog)
    (finding,) = plan.findings
    assert (finding.code, finding.severity) == ("shadowed-tool", "warning")
    assert "strands-tool-file-read" in finding.message
    assert plan.agents["writer"].tools[0].record is not None
    assert plan.agents["writer"].tools[0].record.name == "file_write"
    agents = agents.replace("file_read", "native:file_read")
    native = chain_of("- {agent: writer, input: x}", agents=agents, rest=rest, catalog=catalog)
    assert native.findings == ()
    assert native.agents["writer"].tools[0].record is not None
    assert native.agents["writer"].tools[0].record.name == "file_read"


def test_a_prefixed_name_is_looked_up_in_the_catalog_only(site: Path) -> None:
    plan = plan_with(site, "[native:file_read]", rest="tools: {mcp: [{id: file_read, command: x}]}")
    assert names(plan) == ["file_read"]


@pytest.mark.parametrize("word", ["mcp", "http_executors"])
def test_a_word_for_a_section_gives_nothing(word: str, site: Path) -> None:
    assert names(plan_with(site, f"[{word}]")) == []


def test_the_word_python_gives_the_workflows_python_tools(site: Path) -> None:
    assert names(plan_with(site, "[python]", rest="tools: {python: [file_read]}")) == ["file_read"]


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("{root: x, n: 1}", None),
        ("{n: 1}", "'file_write': `root` "),
        ("{rot: x}", "`rot` (did you mean `root`?)"),
        ("{root: 3}", "root: 3 is not of type 'string'"),
        ("{root: x, other: 1}", "`other`"),
    ],
)
def test_a_tools_settings_are_checked_by_its_schema(config: str, says: str | None, site: Path) -> None:
    plan = plan_with(site, f"[{{tool: file_write, config: {config}}}]")
    assert len(plan.findings) == (says is not None)
    if says:
        assert plan.findings[0].code == "tool-config"
        assert says in plan.findings[0].message


def test_every_fault_of_a_tools_settings_is_found(site: Path) -> None:
    plan = plan_with(site, "[{tool: file_write, config: {n: x, m: 1}}]")
    assert len(found(plan, "tool-config")) == 3


def test_a_tool_that_requires_settings_and_has_none_is_found_where_it_is_listed(site: Path) -> None:
    (finding,) = plan_with(site, "[file_write]").findings
    assert (finding.code, "`root`" in finding.message) == ("tool-config", True)
    shared = "tools: {python: [{tool: file_write, config: {root: a}}]}"
    for listed in ("[file_write]", "[python]"):
        assert plan_with(site, listed, rest=shared).findings == ()


def test_a_text_that_does_not_match_is_answered_with_what_is_meant_and_no_pattern(site: Path, tmp_path: Path) -> None:
    place = {"type": "string", "pattern": "^.+:[0-9]+$", "description": "an address with its port"}
    schema = {"type": "object", "properties": {"to": {"type": "array", "items": place}}}
    sound(tmp_path, "open", config_schema=schema)
    (finding,) = plan_with(tmp_path, "[{tool: open, config: {to: ['a:1', 'b']}}]").findings
    assert (finding.code, "to[1]: 'b' is not an address with its port" in finding.message) == ("tool-config", True)


def test_settings_for_a_tool_that_takes_none_are_an_error_unless_they_are_unknown(site: Path, wording: Wording) -> None:
    (finding,) = plan_with(site, "[{tool: file_read, config: {x: 1}}]").findings
    assert finding.code == "tool-config"
    wording(finding.message)
    without_manifest(site, "plain")
    plan = plan_with(site, "[{tool: plain, config: {x: 1}}]")
    assert plan.findings == ()
    assert plan.agents["writer"].tools[0].config == {"x": 1}


# As an error, the library's warning before it fetches would pass for the refusal.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ["no schema", "elsewhere"])
def test_a_settings_schema_that_cannot_be_used_is_a_finding_and_nothing_is_fetched(
    kind: str, tmp_path: Path, wording: Wording
) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    schemas: dict[str, Any] = {
        "no schema": {"type": "object", "properties": {"x": {"type": "nonsense"}}},
        "elsewhere": {"type": "object", "$ref": other.as_uri()},
    }
    sound(tmp_path, "odd", config_schema=schemas[kind])
    (finding,) = plan_with(tmp_path, "[{tool: odd, config: {x: 1}}]").findings
    assert finding.code == "tool-config"
    wording(finding.message)


def test_a_deprecated_tool_is_used_and_its_replacement_named(site: Path) -> None:
    plan = plan_with(site, "[native:old]")
    assert names(plan) == ["old"]
    (finding,) = plan.findings
    assert (finding.severity, finding.fix) == ("warning", "use native:file_read")


def test_tool_overrides_and_call_steps_are_resolved_at_their_places(site: Path) -> None:
    steps = """
    - {agent: writer, input: x, tool_overrides: [file_read, nothing_like_it]}
    - {tool: native:db.query, input: {text: x}}
    - {tool: native:db, input: {}}
    - {tool: python, input: {}}
    - {tool: two, input: {}}
    """
    plan = chain_of(steps, catalog=discover_catalog([str(site)]))
    assert [(f.code, f.where.pointer if f.where else "") for f in plan.findings] == [
        ("unknown-tool", "/pattern/config/steps/0/tool_overrides/1"),
        ("bad-tool-ref", "/pattern/config/steps/2/tool"),
        ("unknown-tool", "/pattern/config/steps/3/tool"),
        ("tool-conflict", "/pattern/config/steps/4/tool"),
    ]
    assert plan.steps[0].tools == ("file_read",)
    assert plan.call_tools["native:db.query"].name == "query"


def test_twins_in_tool_overrides_are_found(site: Path) -> None:
    steps = (
        "- {agent: writer, input: x, tool_overrides: [file_read, {tool: file_write, as: file_read, config: {root: a}}]}"
    )
    plan = chain_of(steps, catalog=discover_catalog([str(site)]))
    assert [finding.code for finding in plan.findings] == ["twin-tool-names"]


def test_policy_answers_for_every_tool_of_the_plan(site: Path) -> None:
    rest = "security: {permissions: {deny: [native:db], ask: [file_read]}}"
    listed = "[file_read, {tool: file_write, config: {root: a}}, native:db.query]"
    plan = plan_with(site, listed, rest=rest, options=RunRequest(allow=("file_write",)))
    assert plan.findings == ()
    assert [(tool.decision.effect, tool.decision.rule) for tool in plan.agents["writer"].tools] == [
        ("ask", "security.permissions.ask (flow.yaml:5)"),
        ("allow", "--allow file_write"),
        ("deny", "security.permissions.deny (flow.yaml:5)"),
    ]


@pytest.mark.parametrize(
    "rule",
    [
        "db",
        "native:db",
        "strands-tool-db/db",
        "native:strands-tool-db/db",
        "query",
        "db.query",
        "native:db.query",
        "strands-tool-db/db.query",
        "native:db*",
    ],
)
def test_a_rule_reaches_a_part_of_a_suite_by_all_of_its_names(rule: str, site: Path) -> None:
    plan = plan_with(site, "[{tool: native:db.query, as: q}]", rest=f"security: {{permissions: {{deny: ['{rule}']}}}}")
    assert plan.agents["writer"].tools[0].decision.effect == "deny"
    assert plan.findings == ()


def test_a_step_that_calls_a_denied_tool_is_refused_before_the_run(site: Path) -> None:
    rest = "security: {guardrails: {allow_tools: [file_write]}}"
    plan = chain_of("- {tool: file_read, input: {text: x}}", rest=rest, catalog=discover_catalog([str(site)]))
    (finding,) = plan.findings
    assert finding.code == "tool-denied"
    assert "security.guardrails.allow_tools (flow.yaml:5)" in finding.message
    with pytest.raises(Denied) as raised:
        require_runnable(plan)
    assert raised.value.exit_code == ExitCode.DENIED


def test_a_rule_that_no_tool_answers_to_is_a_warning(site: Path, wording: Wording) -> None:
    permissions = "{deny: [file_wirte, file_write], ask: ['nothing*']}"
    rest = f"security: {{permissions: {permissions}, guardrails: {{allow_tools: [file_raed, file_read]}}}}"
    plan = plan_with(site, "[file_read]", rest=rest, options=RunRequest(allow=("shell",), yes=True))
    unmatched = found(plan, "unmatched-rule")
    assert {finding.severity for finding in unmatched} == {"warning"}
    for finding, named in zip(unmatched, ("--allow shell", "'nothing*'", "'file_wirte'", "'file_raed'"), strict=True):
        assert named in finding.message
    wording(unmatched[0].message)
    wording(unmatched[2].fix)


def test_an_argument_that_no_tool_of_a_rule_takes_is_a_warning(site: Path, wording: Wording) -> None:
    denied = "['file_write(txt=secret*)', 'file_*(text=x)', 'file_*(other.part=x)', 'file_read(text.deep=x)']"
    rest = f"security: {{permissions: {{deny: {denied}}}}}"
    listed = "[file_read, {tool: file_write, config: {root: a}}]"
    plan = plan_with(site, listed, rest=rest, options=RunRequest(allow=("file_read(tex=*)",)))
    told = sorted((finding.message.rpartition(": ")[2], finding.fix) for finding in plan.findings)
    named = [("file_*", "'other.part'", "text"), ("file_read", "'tex'", "'text'"), ("file_write", "'txt'", "'text'")]
    for (message, fix), (pattern, argument, right) in zip(told, named, strict=True):
        assert message.startswith(f"{pattern} ")
        assert argument in message
        assert right in str(fix)
    wording(told)
    assert {(finding.code, finding.severity) for finding in plan.findings} == {("unmatched-rule", "warning")}


def test_a_single_tool_is_planned_without_a_workflow(site: Path, wording: Wording) -> None:
    catalog, settings = discover_catalog([str(site)]), Settings(Path("runs"), ("my.tools:shout",))
    assert plan_single_tool("native:db.query", catalog, settings).member == "query"
    assert plan_single_tool("db.query", catalog, settings).member == "query", "as `tools show` reads it"
    assert plan_single_tool("file_read", catalog, settings).member is None
    assert plan_single_tool("my.tools:shout", catalog, settings).name == "shout"
    with pytest.raises(InvalidInput, match="query"):
        plan_single_tool("native:db", catalog, settings)
    with pytest.raises(Denied) as raised:
        plan_single_tool("my.tools:whisper", catalog, settings)
    wording(raised.value)
    with pytest.raises(NotEquipped):
        plan_single_tool("unmet", catalog, settings)
    with pytest.raises(UsageError):
        plan_single_tool("not a name", catalog, settings)


def test_an_older_name_without_another_spelling_is_not_called_wrong(tmp_path: Path) -> None:
    tool = 'from strands import tool\n\n@tool\ndef {0}(x: str) -> str:\n    """Do it."""\n    return x\n'
    files = {f"strands_tools/{name}.py": tool.format(name) for name in ("shell", "echo")}
    make_distribution(tmp_path, "strands-agents-tools", "0.8.10", {}, {"strands_tools/__init__.py": "", **files})
    sound(tmp_path, "echo")
    plan = plan_with(tmp_path, "[strands_tools.shell, strands_tools.echo]")
    assert [(found.code, found.fix) for found in plan.findings if found.code == "legacy-tool"] == [
        ("legacy-tool", "write native:echo")
    ]
