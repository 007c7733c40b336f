"""The hook plugins that configuration names: how they are found, asked, contained and traced."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.hooks.hook_plugins import open_hooks
from strands_cli.hooks.hook_values import HookContext, ToolCall
from strands_cli.hooks.manager import Hooks
from strands_cli.policy.rule import Request, Rule
from tests.distributions import make_distribution, sound
from tests.wordings import Wording

IMPORTS = "from strands_cli.hooks import Check, Decision, ToolRecord, hookimpl\n\n\n"
READ_ONLY = {"readOnlyHint": True}
ALLOWED = HookContext(request=Request(("shout",), annotations=READ_ONLY))
CALL = ToolCall("shout", {"text": "a"}, "writer")


def record(name: str = "shout", distribution: str = "strands-tool-shout") -> ToolRecord:
    return ToolRecord(name, distribution, "1.0", f"strands_tool_{name}", name, f"strands_tool_{name}", None, "")


def hook_plugin(site: Path, name: str, body: str, group: str = "strands_cli.hooks") -> str:
    """Install a distribution with one hook module, and return its name."""
    module = name.replace("-", "_")
    entry_points = f"[{group}]\nhooks = {module}\n"
    make_distribution(site, name, "1.0", entry_points, {f"{module}/__init__.py": IMPORTS + body})
    return name


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed distributions that this process can import from."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    return folder


def opened(site: Path, *names: str) -> Hooks:
    hooks = open_hooks(names, path=[str(site)])
    assert hooks.findings == []
    return hooks


def deciding(effect: str, hook: str = "strands_decide_call") -> str:
    return f"@hookimpl\ndef {hook}(record):\n    return Decision({effect!r}, 'because')\n"


def test_the_scan_of_installed_distributions_is_the_cores_registration(site: Path) -> None:
    sound(site, "shout")
    assert [tool.name for tool in open_hooks(path=[str(site)]).discover(HookContext()).tools] == ["shout"]


def test_policy_is_the_cores_decision() -> None:
    hooks = open_hooks()
    rules = (Rule("deny", "shout", "user", "policy.yaml:3"),)
    context = HookContext(rules=rules, request=Request(("shout",), annotations=READ_ONLY))
    assert hooks.decide_call(record(), CALL, context).rule == "policy.yaml:3"
    assert hooks.allow_tool(record(), "shout", ALLOWED).effect == "allow"


def test_without_a_request_no_one_has_allowed_it() -> None:
    assert open_hooks().allow_tool(record(), "shout", HookContext()).effect == "deny"


def test_a_hook_plugin_that_no_one_named_is_not_even_imported(site: Path) -> None:
    hook_plugin(site, "strands-hooks-trap", "raise RuntimeError('imported')\n")
    hooks = open_hooks(path=[str(site)])
    assert (hooks.plugins, hooks.findings) == ((), [])
    assert "strands_hooks_trap" not in sys.modules


@pytest.mark.parametrize("order", [("strands-hooks-a", "strands-hooks-b"), ("strands-hooks-b", "strands-hooks-a")])
def test_deny_wins_whatever_the_order(site: Path, order: tuple[str, str]) -> None:
    hook_plugin(site, "strands-hooks-a", deciding("allow"))
    hook_plugin(site, "strands-hooks-b", deciding("deny"))
    decision = opened(site, *order).decide_call(record(), CALL, ALLOWED)
    assert (decision.effect, decision.rule) == ("deny", "strands-hooks-b: because")


def test_a_plugin_cannot_allow_what_policy_asks_or_denies(site: Path) -> None:
    hook_plugin(site, "strands-hooks-kind", deciding("allow") + deciding("allow", "strands_allow_tool"))
    hooks = opened(site, "strands-hooks-kind")
    asks = HookContext(request=Request(("shout",)))
    denies = HookContext(rules=(Rule("deny", "*", "user", "x"),), request=Request(("shout",), annotations=READ_ONLY))
    for context, effect in ((asks, "ask"), (denies, "deny")):
        assert hooks.decide_call(record(), CALL, context).effect == effect
        assert hooks.allow_tool(record(), "shout", context).effect == effect


def test_a_plugin_that_may_allow_answers_what_the_tool_asks_and_nothing_else(site: Path) -> None:
    hook_plugin(site, "strands-hooks-kind", deciding("allow"))
    hook_plugin(site, "strands-hooks-careful", deciding("ask"))
    hooks = open_hooks(["strands-hooks-kind"], path=[str(site)], may_allow=["Strands_Hooks.Kind"])
    request = Request(("shout",))
    decision = hooks.decide_call(record(), CALL, HookContext(request=request))
    assert (decision.effect, decision.rule, decision.plugin) == (
        "allow",
        "strands-hooks-kind: because",
        "strands-hooks-kind",
    )
    for effect in ("ask", "deny"):
        rules = (Rule(effect, "*", "user", "x"),)
        assert hooks.decide_call(record(), CALL, HookContext(rules=rules, request=request)).effect == effect
    both = ["strands-hooks-kind", "strands-hooks-careful"]
    asks = open_hooks(both, path=[str(site)], may_allow=both).decide_call(record(), CALL, HookContext(request=request))
    assert (asks.effect, asks.plugin) == ("ask", "strands-hooks-careful")


def test_no_plugin_allows_a_tool_that_came_late(site: Path) -> None:
    hook_plugin(site, "strands-hooks-kind", deciding("allow"))
    hooks = open_hooks(["strands-hooks-kind"], path=[str(site)], may_allow=["strands-hooks-kind"])
    request = Request(("late:shout",), sources=frozenset({"late"}), aliases=("shout",))
    assert hooks.decide_call(None, CALL, HookContext(request=request)).effect == "ask"
    assert hooks.decide_call(None, CALL, HookContext(request=Request(("shout",)))).effect == "allow"


def test_an_allow_without_power_is_reported_once_with_the_command_that_gives_it(site: Path) -> None:
    hook_plugin(site, "strands-hooks-kind", deciding("allow"))
    said: list[str] = []
    hooks = open_hooks(["strands-hooks-kind"], path=[str(site)], tell=said.append)
    for request in (Request(("shout",), annotations=READ_ONLY), Request(("shout",)), Request(("shout",))):
        hooks.decide_call(record(), CALL, HookContext(request=request))
    assert len(said) == 1
    assert "hook-without-effect" in said[0]
    assert "strands plugin enable strands-hooks-kind --may allow" in said[0]


def test_only_a_plugin_that_may_allow_grants_the_import_of_custom_python(site: Path) -> None:
    hook_plugin(site, "strands-hooks-kind", deciding("allow", "strands_allow_tool"))
    context = HookContext(request=Request(("foo",), custom="mytools:foo"))
    for powers, grant in (([], None), (["strands-hooks-kind"], "strands-hooks-kind: because")):
        hooks = open_hooks(["strands-hooks-kind"], path=[str(site)], may_allow=powers)
        decision = hooks.allow_tool(None, "mytools:foo", context)
        assert (decision.effect, decision.grant) == ("ask", grant)
    rules = (Rule("deny", "foo", "user", "x"),)
    denied = hooks.allow_tool(None, "mytools:foo", HookContext(rules=rules, request=context.request))
    assert (denied.effect, denied.grant) == ("deny", None)


def test_ask_is_stronger_than_allow_and_names_the_plugin(site: Path) -> None:
    hook_plugin(site, "strands-hooks-careful", deciding("ask"))
    decision = opened(site, "strands-hooks-careful").decide_call(record(), CALL, ALLOWED)
    assert (decision.effect, decision.rule) == ("ask", "strands-hooks-careful: because")


@pytest.mark.parametrize(
    "body",
    [
        "raise ValueError('no idea')",
        "raise SystemExit(3)",
        "return True",
        "return Decision('perhaps', 'x')",
    ],
)
@pytest.mark.parametrize("hook", ["strands_allow_tool", "strands_decide_call"])
def test_a_plugin_that_fails_to_decide_denies_and_is_named(site: Path, hook: str, body: str, wording: Wording) -> None:
    hook_plugin(site, "strands-hooks-bad", f"@hookimpl\ndef {hook}(record):\n    {body}\n")
    hooks = opened(site, "strands-hooks-bad")
    if hook == "strands_allow_tool":
        decision = hooks.allow_tool(record(), "shout", ALLOWED)
    else:
        decision = hooks.decide_call(record(), CALL, ALLOWED)
    assert decision.effect == "deny"
    wording(decision.rule)


def test_none_is_not_an_answer(site: Path, wording: Wording) -> None:
    hook_plugin(site, "strands-hooks-shy", "@hookimpl\ndef strands_decide_call(record):\n    return None\n")
    wording(opened(site, "strands-hooks-shy").decide_call(record(), CALL, ALLOWED).rule)


def test_a_plugin_registers_tools_of_installed_distributions_as_data(site: Path, wording: Wording) -> None:
    sound(site, "shout")
    body = (
        "@hookimpl\ndef strands_register_tools(context):\n"
        "    yield ToolRecord('whisper', 'strands-tool-shout', '1.0', 'w', 'w', 'strands_tool_shout.w', None, '')\n"
        "    yield ToolRecord('ghost', 'not-there', '1.0', 'g', 'g', 'g', None, '')\n"
    )
    hook_plugin(site, "strands-hooks-more", body)
    catalog = opened(site, "strands-hooks-more").discover(HookContext())
    assert [tool.name for tool in catalog.tools] == ["shout", "whisper"]
    (finding,) = catalog.findings
    wording(finding.message)


def test_a_tool_that_a_plugin_registers_twice_is_in_conflict_with_the_installed_one(site: Path) -> None:
    sound(site, "shout")
    body = (
        "@hookimpl\ndef strands_register_tools(context):\n"
        "    return [ToolRecord('shout', 'strands-hooks-twin', '1.0', 's', 's', 's', None, '')]\n"
    )
    hook_plugin(site, "strands-hooks-twin", body)
    catalog = opened(site, "strands-hooks-twin").discover(HookContext())
    assert {tool.status for tool in catalog.tools} == {"conflict"}


@pytest.mark.parametrize(
    "body", ["raise OSError('disk')", "return 3", "return [3]", "yield 1 / 0", "yield ToolRecord.from_source(None)"]
)
def test_a_plugin_that_fails_to_register_does_not_hide_the_others(site: Path, body: str, wording: Wording) -> None:
    sound(site, "shout")
    hook_plugin(site, "strands-hooks-bad", f"@hookimpl\ndef strands_register_tools(context):\n    {body}\n")
    catalog = opened(site, "strands-hooks-bad").discover(HookContext())
    assert [tool.name for tool in catalog.tools] == ["shout"]
    wording(catalog.findings[0].message)


def test_a_plugin_that_is_not_installed_is_switched_off_by_its_fix_or_means_one_with_hooks(site: Path) -> None:
    sound(site, "gone")
    (finding,) = open_hooks(["strands-hook-gone"], path=[str(site)]).findings
    assert (finding.fix or "").startswith("strands plugin disable strands-hook-gone;")
    hook_plugin(site, "strands-hooks-gone", "")
    (finding,) = open_hooks(["strands-hook-gone"], path=[str(site)]).findings
    assert (finding.fix or "").startswith("did you mean 'strands-hooks-gone'? Otherwise: strands plugin disable")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("strands-hooks-gone", "hook-missing"),
        ("strands-tool-shout", "hook-missing"),
        ("strands-hooks-raises", "hook-failed"),
        ("strands-hooks-exits", "hook-failed"),
        ("strands-hooks-empty", "hook-failed"),
        ("strands-hooks-typo", "hook-failed"),
        ("strands-hooks-wraps", "hook-failed"),
        ("strands-hooks-argument", "hook-failed"),
        ("strands-hooks-nowhere", "hook-failed"),
    ],
)
def test_a_plugin_that_is_switched_on_and_cannot_be_used_is_an_error(
    site: Path, name: str, code: str, wording: Wording
) -> None:
    sound(site, "shout")
    hook_plugin(site, "strands-hooks-raises", "raise RuntimeError('at import')\n")
    hook_plugin(site, "strands-hooks-exits", "raise SystemExit(1)\n")
    hook_plugin(site, "strands-hooks-empty", "def strands_decide_call(record):\n    return None\n")
    hook_plugin(site, "strands-hooks-typo", deciding("deny", "strands_decide_cal"))
    wrapper = "@hookimpl(wrapper=True)\ndef strands_decide_call():\n    yield\n    return [Decision('allow', 'x')]\n"
    hook_plugin(site, "strands-hooks-wraps", wrapper)
    hook_plugin(site, "strands-hooks-argument", "@hookimpl\ndef strands_decide_call(colour):\n    return None\n")
    points = "[strands_cli.hooks]\nhooks = no_such_module\n"
    make_distribution(site, "strands-hooks-nowhere", "1.0", points)
    hooks = open_hooks([name], path=[str(site)])
    (finding,) = hooks.findings
    assert (finding.code, finding.severity) == (code, "error")
    wording(finding.message)
    assert name in finding.message
    assert hooks.plugins == ()


def test_a_notification_that_fails_is_reported_and_stops_nothing(site: Path) -> None:
    body = "@hookimpl\ndef strands_after_call(result):\n    result['content'].clear()\n    raise OSError('full')\n"
    hook_plugin(site, "strands-hooks-audit", body)
    said: list[str] = []
    hooks = open_hooks(["strands-hooks-audit"], path=[str(site)], tell=said.append)
    result = {"status": "success", "content": [{"text": "a"}]}
    hooks.after_call(record(), CALL, result, ALLOWED)
    (line,) = said
    assert line.startswith("warning: ")
    assert all(part in line for part in ("strands-hooks-audit", "strands_after_call", "OSError: full"))
    assert result["content"] == [{"text": "a"}]


def test_doctor_lines_come_with_their_plugin_and_a_failing_plugin_is_a_failed_line(site: Path) -> None:
    good = "@hookimpl\ndef strands_doctor_checks(context):\n    yield Check('disk', 'ok', 'enough')\n"
    hook_plugin(site, "strands-hooks-good", good)
    hook_plugin(site, "strands-hooks-bad", "@hookimpl\ndef strands_doctor_checks(context):\n    return 1 / 0\n")
    lines = dict(opened(site, "strands-hooks-good", "strands-hooks-bad").doctor_checks(HookContext()))
    assert lines["strands-hooks-good"].message == "enough"
    assert lines["strands-hooks-bad"].status == "failed"


def test_each_call_of_a_hook_is_traced_with_its_plugin_and_time(site: Path, wording: Wording) -> None:
    hook_plugin(site, "strands-hooks-no", deciding("deny"))
    lines: list[str] = []
    hooks = open_hooks(["strands-hooks-no"], path=[str(site)], trace=lines.append)
    hooks.decide_call(record(), CALL, ALLOWED)
    (line,) = lines
    wording(line.rpartition(", ")[0])
    assert line.endswith(" ms")
