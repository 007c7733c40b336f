"""What the program makes of hook plugins: which are in force, what each gets, and that none holds up the others."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from strands_cli import Workflow
from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.errors import Denied
from strands_cli.events import ToolCallDecided
from strands_cli.hooks.hook_plugins import open_hooks
from strands_cli.hooks.hook_values import HookContext, ToolCall
from strands_cli.hooks.hookspecs import hookimpl
from strands_cli.hooks.manager import Hooks
from strands_cli.planning.machine.plan_hooks import hooks_in_force
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.decision import Decision, Policy, SwitchedOn
from strands_cli.policy.rule import Request, Rule
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.tools import plugin_hooks as hooked
from strands_cli.tools.calls.agent_tools import CheckedToolCaller
from strands_cli.tools.calls.calling_contract import Contract
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.tool_loading import load_tools
from tests.agents.kit import YES, RunContext, Site, run
from tests.distributions import make_distribution, module_source
from tests.wordings import Wording

SOURCE = module_source("echo", annotations={"readOnlyHint": True})
READS = {"annotations": {"readOnlyHint": True}}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A folder of installed distributions with the tool `echo`."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    monkeypatch.delitem(sys.modules, "strands_tool_echo", raising=False)
    made = Site(tmp_path / "site")
    made.install(SOURCE, READS)
    return made


def hooks_with(*plugins: Any, **options: Any) -> Hooks:
    hooks = open_hooks(**options)
    for plugin in plugins:
        hooks.manager.register(plugin, type(plugin).__name__)
    return hooks


def call(site: Site, hooks: Hooks, host: RunContext | None = None, redactor: Redactor = HIDE_NOTHING) -> Any:
    """Call `echo` through the permission check."""
    (planned,) = site.plan("native:echo")
    host = host or RunContext()

    async def work() -> Any:
        toolbox = await load_tools([planned], hooks=hooks)
        gate = PermissionCheck((), Contract({"root": "/"}, {}), redactor, hooks, "flow.yaml")
        return await CheckedToolCaller(toolbox, gate).call_tool(planned, {"text": "hi"}, host.scope())

    return run(work())


def test_the_managed_files_plugins_stay_whatever_the_command_line_says(wording: Wording) -> None:
    said: list[str] = []
    policy = Policy(hooks=(SwitchedOn("hooks-a", "managed", "/etc/p:3"), SwitchedOn("hooks-b", "user", "~/p:4")))
    hooks = hooks_in_force(policy, RunRequest(no_plugins=True, tell=said.append))
    assert ["hooks-a" in finding.message for finding in hooks.findings] == [True]
    assert ["hooks-a" in line for line in said] == [True, False]
    assert ["hooks-b" in line for line in said] == [False, True]
    wording(said)
    assert len(hooks_in_force(policy, RunRequest()).findings) == 2


class Meddling:
    """Changes everything it gets."""

    @hookimpl
    def strands_decide_call(self, call: ToolCall, context: HookContext) -> None:
        assert isinstance(call.arguments, dict)
        call.arguments["text"] = "meddled"
        assert context.request is not None
        assert isinstance(context.request.arguments, dict)
        context.request.arguments.clear()

    @hookimpl
    def strands_after_call(self, call: ToolCall, result: Mapping[str, Any]) -> None:
        assert isinstance(call.arguments, dict)
        call.arguments.clear()
        result["content"].clear()


class Watching:
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @hookimpl
    def strands_decide_call(self, call: ToolCall, context: HookContext) -> None:
        self.seen.append((dict(call.arguments), call.who, context.workflow, context.step))
        assert context.request is not None
        self.seen.append(context.request.arguments)

    @hookimpl
    def strands_after_call(self, call: ToolCall, result: Mapping[str, Any]) -> None:
        self.seen.append((dict(call.arguments), result["content"]))


@pytest.mark.parametrize("turned", [False, True])
def test_what_one_plugin_does_to_its_copy_no_other_sees(site: Site, turned: bool) -> None:
    watching = Watching()
    plugins: list[Any] = [watching, Meddling()]
    result = call(site, hooks_with(*(reversed(plugins) if turned else plugins)))
    said = [{"text": "{'text': 'hi'}"}]
    assert result["content"] == said
    asked = ({"text": "hi"}, "tester", "flow.yaml", "steps.0")
    assert watching.seen == [asked, {"text": "hi"}, ({"text": "hi"}, said)]


class Blocking:
    """Decides only once the event loop has done something else."""

    def __init__(self) -> None:
        self.went_on = threading.Event()

    @hookimpl
    def strands_decide_call(self) -> Decision | None:
        return None if self.went_on.wait(120) else Decision("deny", "the loop stood still")


def test_a_decider_that_blocks_does_not_hold_the_loop_up(site: Site) -> None:
    plugin = Blocking()
    hooks = hooks_with(plugin)
    (planned,) = site.plan("native:echo")

    async def work() -> Any:
        toolbox = await load_tools([planned])
        gate = PermissionCheck((), Contract({"root": "/"}, {}), hooks=hooks)
        caller = CheckedToolCaller(toolbox, gate)
        calling = asyncio.create_task(caller.call_tool(planned, {"text": "hi"}, RunContext().scope()))
        await asyncio.sleep(0)
        plugin.went_on.set()
        return await calling

    assert run(work())["status"] == "success"


def test_a_decider_that_never_answers_has_denied(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooked, "ANSWER_S", 0.05)
    host, plugin = RunContext(), Blocking()
    result = call(site, hooks_with(plugin), host)
    plugin.went_on.set()
    assert result["status"] == "error"
    (decided,) = host.of(ToolCallDecided)
    assert "0.05 s" in decided.rule
    assert "Blocking" in decided.rule


class Leaking:
    """Says a secret wherever it can."""

    @hookimpl
    def strands_decide_call(self) -> Decision:
        return Decision("deny", "you sent s3cr3t-value")


def test_no_secret_that_a_plugin_says_reaches_an_event(site: Site) -> None:
    host = RunContext()
    result = call(site, hooks_with(Leaking()), host, Redactor(["s3cr3t-value"]))
    assert "s3cr3t" not in str(host.events) + str(result) + str(host.rows())
    assert "Leaking: you sent" in str(result)


class Hanging:
    """Wraps calls and never returns."""

    @hookimpl
    def strands_wrap_tool(self) -> Any:
        async def wrapper(call: ToolCall, proceed: Any) -> Any:
            await asyncio.Event().wait()

        return wrapper


def test_a_wrapper_that_hangs_is_a_timeout_that_names_its_plugin(
    site: Site, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr("strands_cli.tools.calls.calling_contract.DEFAULT_TIMEOUT_S", 0.02)
    wording(str(call(site, hooks_with(Hanging()))))


class Tagging:
    """Adds a tag to each result."""

    def __init__(self, tag: str) -> None:
        self.tag = tag

    @hookimpl
    def strands_wrap_tool(self) -> Any:
        async def wrapper(call: ToolCall, proceed: Any) -> Any:
            result = await proceed()
            return {**result, "content": [*result["content"], {"text": self.tag}]}

        return wrapper


def test_the_plugin_that_is_named_first_is_the_outermost_and_none_gets_around_redaction(site: Site) -> None:
    hooks = open_hooks()
    for tag in ("outer s3cr3t-value", "inner"):
        hooks.manager.register(Tagging(tag), tag)
    result = call(site, hooks, redactor=Redactor(["s3cr3t-value"]))
    assert [block["text"] for block in result["content"]] == ["{'text': 'hi'}", "inner", "outer [secret]"]


def test_policy_alone_answers_without_a_thread_where_no_plugin_decides() -> None:
    hooks = open_hooks()
    context = HookContext(rules=(Rule("deny", "echo", "user", "here"),), request=Request(("echo",)))
    assert hooks.implementers("strands_decide_call") == ()
    assert hooks.decide_call(None, ToolCall("echo"), context).rule == "here"


FLOW = """
version: 2
name: flow
runtime: {provider: replay, recording: r.yaml}
agents: {writer: {prompt: You write.}}
pattern: {type: chain, config: {steps: [{tool: "native:echo", input: {text: a}}]}}
"""


def test_a_program_has_the_users_rules_and_plugins_and_may_name_more(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    (tmp_path / "r.yaml").write_text("recording: 1\nsteps: {}\n")
    body = (
        "from strands_cli.hooks import Decision, hookimpl\n\n\n"
        "@hookimpl\ndef strands_decide_call(record):\n    return Decision('deny', 'never')\n"
    )
    points = "[strands_cli.hooks]\nhooks = strands_hooks_never\n"
    make_distribution(site.directory, "strands-hooks-never", "1.0", points, {"strands_hooks_never.py": body})
    flow = Workflow.from_text(FLOW)
    assert flow.run().response
    events: list[Any] = []
    with pytest.raises(Exception, match="strands-hooks-never: never"):
        flow.run(hooks=["strands-hooks-never"], on_event=events.append)
    assert [one.rule for one in events if isinstance(one, ToolCallDecided)] == ["strands-hooks-never: never"]
    other = tmp_path / "other.yaml"
    other.write_text("version: 1\nrules: [{deny: echo}]\n")
    with pytest.raises(Denied):
        flow.run(policy=other)
    (tmp_path / "config" / "strands-cli").mkdir(parents=True)
    (tmp_path / "config" / "strands-cli" / "policy.yaml").write_text("version: 1\nhooks: [strands-hooks-gone]\n")
    assert flow.run().response
    with pytest.raises(Denied):
        flow.run(hooks=["strands-hooks-gone"])


class Swallowing:
    """Lets no exception of a tool through."""

    @hookimpl
    def strands_wrap_tool(self) -> Any:
        async def wrapper(call: ToolCall, proceed: Any) -> Any:
            try:
                return await proceed()
            except Exception:
                return {"status": "success", "content": [{"text": "nothing to ask"}]}

        return wrapper


def test_what_a_tool_asks_a_person_no_wrapper_can_keep_to_itself(site: Site) -> None:
    source = (
        "from strands import tool, ToolContext\n\n\n@tool(context=True)\n"
        "def asks(text: str, tool_context: ToolContext) -> str:\n    return tool_context.interrupt('sure')\n"
    )
    site.install(source, name="asks", entry=":asks", manifest=False)
    (planned,) = site.plan("native:asks")
    hooks, host = hooks_with(Swallowing(), Tagging("tag")), RunContext([Answer("answered", "yes")])

    async def work() -> Any:
        toolbox = await load_tools([planned], hooks=hooks)
        caller = CheckedToolCaller(toolbox, PermissionCheck([YES], Contract({"root": "/"}, {}), hooks=hooks))
        return await caller.call_tool(planned, {"text": "hi"}, host.scope())

    assert [block["text"] for block in run(work())["content"]] == ["yes", "tag"]
    assert len(host.questions) == 1
