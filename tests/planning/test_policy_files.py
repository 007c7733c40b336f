from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.errors import Denied, ExitCode
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.resolve.single_tool import find_single_tool, plan_single_tool
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.decision import Policy
from strands_cli.policy.rule import Rule
from strands_cli.user_files.policy_files import read_policies
from tests.distributions import sound
from tests.fakes.plans import chain_of, found
from tests.wordings import Wording

READ_ONLY = {"annotations": {"readOnlyHint": True}}


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
    folder = tmp_path / "site"
    sound(folder, "file_read", "1.2", **READ_ONLY)
    sound(folder, "shell", annotations={"destructiveHint": True})
    return folder


def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "runs", (), tmp_path / "managed.yaml", tmp_path / "user.yaml")


def rule(effect: Any, tools: str, level: Any = "managed", **fields: Any) -> Rule:
    return Rule(effect, tools, level, f"{level}.yaml:3", **fields)


def plan_with(site: Path, tools: str, *rules: Rule, steps: str = "- {agent: writer, input: go}", **given: Any) -> Plan:
    agents = f"{{writer: {{prompt: w, tools: {tools}}}}}"
    catalog = discover_catalog([str(site)])
    return chain_of(steps, agents=agents, catalog=catalog, policy=Policy(rules), **given)


def test_without_files_there_is_no_policy_and_nothing_is_read(tmp_path: Path) -> None:
    assert read_policies(settings(tmp_path), tmp_path) == Policy()


def test_files_of_all_levels_are_joined_and_a_given_one_takes_the_projects_place(tmp_path: Path) -> None:
    for name, tool in (("managed", "a"), ("user", "b"), ("strands-policy", "c"), ("other", "d")):
        (tmp_path / f"{name}.yaml").write_text(f"version: 1\nrules: [{{deny: {tool}}}]")
    rules = read_policies(settings(tmp_path), tmp_path).rules
    assert [(made.level, made.tools) for made in rules] == [("managed", "a"), ("user", "b"), ("project", "c")]
    rules = read_policies(settings(tmp_path), tmp_path, tmp_path / "other.yaml").rules
    assert [(made.level, made.tools) for made in rules] == [("managed", "a"), ("user", "b"), ("project", "d")]


def test_faults_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "managed.yaml").write_text("version: 2")
    (tmp_path / "user.yaml").mkdir()
    with pytest.raises(Denied) as raised:
        read_policies(settings(tmp_path), tmp_path, tmp_path / "none.yaml")
    files = {Path(str(finding.where.file)).name for finding in raised.value.findings if finding.where}
    assert files == {"managed.yaml", "user.yaml", "none.yaml"}
    assert raised.value.exit_code == ExitCode.DENIED


def test_a_dead_link_is_a_policy_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "managed.yaml").symlink_to(tmp_path / "gone.yaml")
    with pytest.raises(Denied):
        read_policies(settings(tmp_path), None)


@pytest.mark.parametrize("level", ["managed", "user", "project"])
def test_a_tool_that_a_file_denies_stops_the_plan_at_its_place(level: str, site: Path) -> None:
    plan = plan_with(site, "[file_read, shell]", rule("deny", "shell", level, reason="no shells here"))
    (finding,) = plan.findings
    assert finding.code == "tool-denied"
    assert f"{level}.yaml:3: no shells here" in finding.message
    assert finding.where is not None
    assert (finding.where.line, finding.where.pointer) == (4, "/agents/writer/tools/1")
    with pytest.raises(Denied):
        require_runnable(plan)


def test_what_the_workflow_denies_itself_is_refused_call_by_call(site: Path) -> None:
    rest = "security: {permissions: {deny: [shell]}}"
    plan = plan_with(site, "[shell]", rest=rest)
    assert plan.findings == ()
    assert plan.agents["writer"].tools[0].decision.effect == "deny"
    plan = plan_with(site, "[shell]", rule("deny", "shell", "project"), rest=rest)
    assert [finding.code for finding in plan.findings] == ["tool-denied"]


def test_a_step_that_calls_a_denied_tool_is_reported_once(site: Path) -> None:
    steps = "- {tool: shell, input: {text: x}}"
    plan = plan_with(site, "[]", rule("deny", "*"), steps=steps)
    assert [finding.code for finding in plan.findings] == ["tool-denied"]


def test_another_name_does_not_free_a_tool_from_a_rule(site: Path) -> None:
    disguised = "[{tool: native:shell, as: calculator}]"
    plan = plan_with(site, disguised, rule("deny", "*", unless=("calculator",)))
    assert [finding.code for finding in plan.findings] == ["tool-denied"]
    plan = plan_with(site, disguised, rule("allow", "calculator", "user"))
    assert plan.agents["writer"].tools[0].decision.effect == "ask"
    plan = plan_with(site, disguised, rule("allow", "shell", "user"))
    assert plan.agents["writer"].tools[0].decision.effect == "allow"


def test_a_rule_on_arguments_is_shown_as_conditional(site: Path, wording: Wording) -> None:
    some = rule("deny", "shell", arguments=(("text", "rm **"),))
    rest = "security: {permissions: {ask: ['shell(text=x)']}}"
    tool = plan_with(site, "[shell]", some, rest=rest).agents["writer"].tools[0]
    assert tool.decision.effect == "ask"
    wording(tool.decision.rule)
    assert [made.pattern for made in tool.conditional] == ["shell(text=rm **)", "shell(text=x)"]


def test_a_permission_that_is_not_a_pattern_is_found_at_its_place(site: Path) -> None:
    plan = plan_with(site, "[shell]", rest="security: {permissions: {deny: [shell, 'shell(']}}")
    (finding,) = found(plan, "bad-value")
    assert finding.where is not None
    assert finding.where.pointer == "/security/permissions/deny/1"


@pytest.mark.parametrize(
    ("made", "codes"),
    [
        (rule("allow", "my.tools:fn", "project"), []),
        (rule("allow", "my.*", "user"), []),
        (rule("allow", "*", "managed"), ["custom-tool-denied"]),
        (rule("allow", "fn", "managed"), ["custom-tool-denied", "unmatched-rule"]),
        (rule("allow", "my.tools:fn", "managed", arguments=(("a", "b"),)), ["custom-tool-denied"]),
        (rule("allow", "my.tools:fn", "command line"), ["custom-tool-denied", "unmatched-rule"]),
    ],
)
def test_custom_python_is_allowed_by_a_rule_of_a_file_that_names_it(made: Rule, codes: list[str], site: Path) -> None:
    plan = plan_with(site, "[my.tools.fn]", made)
    assert [finding.code for finding in plan.findings] == codes
    assert len(plan.agents["writer"].tools) == (not codes)


def test_a_deny_rule_is_stronger_than_the_allowlist(site: Path) -> None:
    plan = plan_with(site, "[my.tools:fn]", rule("deny", "my.*"), custom=("my.tools:fn",))
    assert [finding.code for finding in plan.findings] == ["tool-denied"]


def test_an_editable_tool_is_known_by_its_source(site: Path) -> None:
    record = next(site.glob("strands_tool_shell-*.dist-info"))
    (record / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')
    plan = plan_with(site, "[shell, file_read]", rule("deny", "*", sources=("editable",)))
    assert [finding.where.pointer for finding in plan.findings if finding.where] == ["/agents/writer/tools/0"]
    (record / "direct_url.json").write_text("{")
    plan = plan_with(site, "[shell, file_read]", rule("deny", "*", sources=("vcs",)))
    assert len(found(plan, "tool-denied")) == 1, "what cannot be told counts"


def test_a_tool_called_by_hand_is_denied_by_the_same_rules(site: Path) -> None:
    catalog, some = discover_catalog([str(site)]), [rule("deny", "native:shell"), rule("deny", "my.tools:fn")]
    for name in ("shell", "strands-tool-shell/shell", "my.tools:fn"):
        reference = f"native:{name}" if "/" in name else name
        with pytest.raises(Denied, match=r"managed\.yaml:3"):
            plan_single_tool(reference, catalog, Settings(Path("runs")), some)
    assert find_single_tool("shell", catalog).decision.effect == "ask"


def test_a_version_is_compared_with_the_installed_one(site: Path) -> None:
    old = rule("deny", "*", version="<1.2")
    plan = plan_with(site, "[shell, file_read]", old)
    assert [finding.where.pointer for finding in plan.findings if finding.where] == ["/agents/writer/tools/0"]


def test_an_option_on_the_command_line_may_have_arguments(site: Path) -> None:
    options = RunRequest(allow=("shell(text=ls **)",))
    tool = plan_with(site, "[shell]", options=options).agents["writer"].tools[0]
    assert tool.decision.effect == "ask"
    assert [made.pattern for made in tool.conditional] == ["shell(text=ls **)"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_entered_may_hold_a_policy(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    with pytest.raises(Denied):
        read_policies(Settings(tmp_path, (), tmp_path / "closed" / "policy.yaml"), None)
