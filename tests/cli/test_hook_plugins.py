"""Hook plugins at the command line: in force for whatever runs, silent for whatever does not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.errors import has_errors
from strands_cli.planning.machine.plan_hooks import hooks_in_force
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.decision import joined
from strands_cli.user_files.policy_file import read_policy
from tests.cli.strands import Folder
from tests.distributions import booby_trapped, make_distribution, sound

HEAD = "from pathlib import Path\nfrom strands_cli.hooks import Check, Decision, ToolRecord, hookimpl\n\n\n"
ECHO = "with open('calls.txt', 'a') as file:\n    file.write(tool['input']['text'] + '\\n')\nreturn answer('said it')"
AUDIT = """
@hookimpl
def strands_after_call(record, call, result, context):
    with open("audit.txt", "a") as file:
        print(context.step, call.who, call.name, call.arguments["text"], result["status"], context.run, file=file)
"""
DENY_HOOKED = 'version: 1\nrules: [{deny: "*", source: [hook]}]\n'
CACHE = """
class Cache:
    def __init__(self):
        self.kept = {}

    @hookimpl
    def strands_wrap_tool(self, record):
        async def wrapper(call, proceed):
            key = str(call.arguments)
            call.arguments["text"] = "changed"
            if key not in self.kept:
                self.kept[key] = await proceed()
            return self.kept[key]
        return wrapper
"""


def hook_plugin(folder: Folder, name: str, body: str, attribute: str = "") -> str:
    """Install a distribution of hooks, as pip would leave it."""
    module = name.replace("-", "_")
    points = f"[strands_cli.hooks]\nhooks = {module}{attribute}\n"
    make_distribution(folder.site, name, "1.0", points, {f"{module}/__init__.py": HEAD + body})
    return name


def switch_on(folder: Folder, *names: Any, rules: Sequence[Any] = ()) -> Path:
    """Name hook plugins in the user's policy file."""
    path = folder.root / "home" / ".config" / "strands-cli" / "policy.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": 1, "rules": list(rules), "hooks": list(names)}))
    return path


def deciding(effect: str, hook: str) -> str:
    return f"@hookimpl\ndef {hook}(record, context):\n    return Decision({effect!r}, 'because of ' + record.name)\n"


def echoing(folder: Folder, *texts: str, **spec: Any) -> Path:
    """Install the tool `echo` and write a workflow that calls it with each text."""
    folder.tool("echo", ECHO, **spec)
    return folder.workflow([{"tool": "native:echo", "input": {"text": text}} for text in texts])


def lines(folder: Folder, name: str) -> list[str]:
    path = folder.work / name
    return path.read_text().splitlines() if path.exists() else []


def details(folder: Folder) -> Iterator[Any]:
    (directory,) = folder.runs.iterdir()
    journal = SqliteJournal.open(directory, hold=False)
    try:
        yield from [row.detail for row in journal.rows("tool")]
    finally:
        journal.close()


def test_a_plugin_keeps_a_tool_from_being_imported_and_is_named(folder: Folder) -> None:
    sentinel = folder.root / "imported"
    booby_trapped(folder.site, "trap", sentinel)
    folder.workflow([{"tool": "native:trap", "input": {"text": "a"}}])
    switch_on(folder, hook_plugin(folder, "strands-hooks-no", deciding("deny", "strands_allow_tool")))
    for command in ("plan", "run"):
        ran = folder.strands(command, "flow.yaml")
        assert ran.code == 21, ran.err
        assert "tool-denied" in ran.codes
        assert re.search(r"'native:trap' \(strands-tool-trap 1\.0\) .*: strands-hooks-no: because of trap", ran.err)
        assert re.search(r"^  fix: .*\bstrands-hooks-no\b", ran.err, re.MULTILINE)
    assert folder.strands("tools", "run", "trap").code == 21
    assert not sentinel.exists()
    assert not folder.runs.exists()


def test_a_plugins_denial_holds_where_the_workflow_denies_the_tool_too(folder: Folder) -> None:
    """The workflow's own denial lets the tool be imported; the plugin's must not be lost behind it."""
    sentinel = folder.root / "imported"
    booby_trapped(folder.site, "trap", sentinel)
    agents = {"writer": {"prompt": "w", "tools": ["native:trap"]}}
    folder.workflow(
        [{"agent": "writer", "input": "go"}],
        {"steps.0": [{"text": "x"}]},
        agents=agents,
        security={"permissions": {"deny": ["trap"]}},
    )
    switch_on(folder, hook_plugin(folder, "strands-hooks-no", deciding("deny", "strands_allow_tool")))
    assert folder.strands("run", "flow.yaml").code == 21
    assert not sentinel.exists()


def test_a_plugin_denies_a_call_and_event_and_record_have_its_name(folder: Folder) -> None:
    echoing(folder, "a")
    switch_on(folder, hook_plugin(folder, "strands-hooks-no", deciding("deny", "strands_decide_call")))
    ran = folder.strands("run", "flow.yaml", "--events", "events.jsonl", "--yes")
    assert ran.code == 21
    assert "denied: echo: strands-hooks-no: because of echo" in ran.err
    assert lines(folder, "calls.txt") == []
    decided = [one for one in map(json.loads, lines(folder, "events.jsonl")) if "effect" in one]
    assert [(one["effect"], one["rule"]) for one in decided] == [("deny", "strands-hooks-no: because of echo")]
    (detail,) = details(folder)
    assert (detail["decision"], detail["rule"]) == ("deny", "strands-hooks-no: because of echo")
    by_hand = folder.strands("tools", "run", "echo", "--input", '{"text": "a"}')
    assert by_hand.code == 10
    assert "strands-hooks-no: because of echo" in by_hand.err


def test_a_plugin_that_raises_denies_and_is_named(folder: Folder) -> None:
    echoing(folder, "a")
    body = "@hookimpl\ndef strands_decide_call(record):\n    raise OSError('no answer')\n"
    switch_on(folder, hook_plugin(folder, "strands-hooks-bad", body))
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 21
    assert re.search(r"\bstrands-hooks-bad .*\bstrands_decide_call: OSError: no answer", ran.err)
    assert lines(folder, "calls.txt") == []


def test_no_option_answers_what_a_plugin_asks_but_typing_the_call_does(folder: Folder) -> None:
    echoing(folder, "a")
    switch_on(folder, hook_plugin(folder, "strands-hooks-ask", deciding("ask", "strands_decide_call")))
    ran = folder.strands("run", "flow.yaml", "--allow", "echo", "--deny")
    assert ran.code == 21
    assert "strands-hooks-ask: because of echo, " in ran.err
    assert "--allow" not in ran.err
    assert lines(folder, "calls.txt") == []
    assert folder.strands("tools", "run", "echo", "--input", '{"text": "typed"}').code == 0
    assert lines(folder, "calls.txt") == ["typed"]


def test_a_person_answers_what_a_plugin_asks(folder: Folder) -> None:
    echoing(folder, "a")
    switch_on(folder, hook_plugin(folder, "strands-hooks-ask", deciding("ask", "strands_decide_call")))
    waits = folder.strands("run", "flow.yaml", "--detach", "--yes")
    assert waits.code == 19, waits.err
    (directory,) = folder.runs.iterdir()
    assert folder.strands("approve", directory.name).code == 0
    assert lines(folder, "calls.txt") == ["a"]


def test_what_a_person_switched_on_elsewhere_stops_nothing_here_and_each_run_says_so(folder: Folder) -> None:
    echoing(folder, "a")
    folder.tool("other", ECHO)
    own = switch_on(folder, "strands-hooks-elsewhere", {"name": "strands-hooks-else", "may": "allow"})
    asks = ("tools", "run", "echo", "--input", '{"text": "b"}')
    for command in (("run", "flow.yaml"), ("plan", "flow.yaml"), asks, ("lock", "."), ("doctor", "--no-engines")):
        ran = folder.strands(*command)
        assert ran.code == 0 or command[0] == "doctor", (command, ran.err)
        said = ran.out if command[0] == "doctor" else ran.err
        assert "error[hook" not in said
        assert "'strands-hooks-elsewhere'" in said, command
    assert lines(folder, "calls.txt") == ["a", "b"]
    assert "warning[hook-absent]" in folder.strands("plugin", "list").err
    # What is to be everywhere is required, and the fix of the warning, typed as it is, ends it.
    switch_on(folder, {"name": "strands-hooks-elsewhere", "required": True})
    assert folder.strands("run", "flow.yaml").code == 21
    assert folder.strands("plugin", "disable", "strands-hooks-elsewhere").code == 0
    assert "elsewhere" not in own.read_text()
    assert "hook" not in folder.strands("plan", "flow.yaml").err


@pytest.mark.parametrize(
    ("entry", "is_required"),
    [("strands-gone", True), ({"name": "strands-gone"}, True), ({"name": "a-gone", "required": False}, False)],
)
def test_what_an_operator_names_is_required_unless_it_says_otherwise(
    folder: Folder, entry: Any, is_required: bool
) -> None:
    managed = folder.root / "managed.yaml"
    managed.write_text(json.dumps({"version": 1, "hooks": [entry]}))
    policy = read_policy(managed, "managed")
    own = read_policy(switch_on(folder, entry if isinstance(entry, str) else {**entry, "required": False}), "user")
    for both in (joined(policy, own), joined(own, policy)):
        findings = hooks_in_force(both, RunRequest()).findings
        assert has_errors(findings) is is_required
    assert ("plugin disable" in (hooks_in_force(policy, RunRequest()).findings[0].fix or "")) is not is_required


@pytest.mark.parametrize("fault", ["missing", "raises"])
def test_a_plugin_that_cannot_be_used_stops_everything_that_runs(folder: Folder, fault: str) -> None:
    echoing(folder, "a")
    folder.tool("other", ECHO)
    if fault == "raises":
        hook_plugin(folder, "strands-hooks-gone", "raise SystemExit('trapped')\n")
    code = "hook-missing" if fault == "missing" else "hook-failed"
    switch_on(folder, {"name": "strands-hooks-gone", "required": True} if fault == "missing" else "strands-hooks-gone")
    run = ("run", "flow.yaml")
    for command in (run, ("plan", "flow.yaml"), ("tools", "run", "echo", "--input", '{"text": "a"}'), ("lock", ".")):
        ran = folder.strands(*command)
        assert ran.code == 21, (command, ran.err)
        assert f"error[{code}]" in ran.err
        assert "strands-hooks-gone" in ran.err
    assert lines(folder, "calls.txt") == []
    assert not folder.runs.exists()
    listed = folder.strands("list-tools")
    assert listed.code == 0
    assert f"error[{code}]" in listed.err
    assert "echo" in listed.out
    for command in (("--help",), ("--version",), ("validate", "flow.yaml"), ("runs", "list")):
        ran = folder.strands(*command)
        assert (ran.code, "hook" in ran.err) == (0, False), command
    # The way out, for a plugin of one's own.
    assert folder.strands("run", "flow.yaml", "--no-plugins").code == 0


def test_an_audit_sees_each_call_once_also_when_the_run_goes_on(folder: Folder) -> None:
    folder.tool("echo", ECHO)
    folder.tool("danger", ECHO, annotations={"destructiveHint": True})
    calls = [{"echo": {"text": "a"}}, {"danger": {"text": "b"}}]
    turns = {"steps.0": [{"calls": [calls[0]]}, {"calls": [calls[1]]}, {"text": "done"}]}
    agents = {"writer": {"prompt": "w", "tools": ["native:echo", "native:danger"]}}
    folder.workflow([{"agent": "writer", "input": "go"}], turns, agents=agents)
    switch_on(folder, hook_plugin(folder, "strands-hooks-audit", AUDIT))
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    (directory,) = folder.runs.iterdir()
    # The step is entered again, and the record answers its first call.
    assert folder.strands("approve", directory.name).code == 0
    assert lines(folder, "audit.txt") == [
        f"steps.0 writer echo a success {directory.name}",
        f"steps.0 writer danger b success {directory.name}",
    ]


def test_a_wrapper_keeps_results_and_cannot_change_the_arguments(folder: Folder) -> None:
    echoing(folder, "a", "b", "a")
    switch_on(folder, hook_plugin(folder, "strands-hooks-cache", CACHE, ":Cache"))
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 0, ran.err
    assert lines(folder, "calls.txt") == ["a", "b"]
    assert ran.out == "said it\n"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise ValueError('broken')", "ValueError: broken"),
        ("return 'fine'", r"\bstr\b"),
        ("await proceed()\n        return await proceed()", r"RuntimeError: proceed\(\)"),
    ],
)
def test_a_wrapper_that_fails_is_an_error_result_that_names_its_plugin(folder: Folder, body: str, said: str) -> None:
    echoing(folder, "a")
    wrapper = f"    async def wrapper(call, proceed):\n        {body}\n    return wrapper\n"
    switch_on(folder, hook_plugin(folder, "strands-hooks-bad", f"@hookimpl\ndef strands_wrap_tool(record):\n{wrapper}"))
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 10
    assert re.search(rf"\bstrands-hooks-bad .*\bstrands_wrap_tool: .*{said}", ran.err)


def test_a_plugin_that_cannot_say_what_it_wraps_stops_the_run_before_it_begins(folder: Folder) -> None:
    echoing(folder, "a")
    switch_on(
        folder, hook_plugin(folder, "strands-hooks-bad", "@hookimpl\ndef strands_wrap_tool(record):\n    1 / 0\n")
    )
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 21
    assert re.search(r"\bstrands-hooks-bad .*\bstrands_wrap_tool: ZeroDivisionError", ran.err)
    assert not folder.runs.exists()


def test_plugins_learn_of_each_import_with_its_time_and_its_error(folder: Folder) -> None:
    echoing(folder, "a")
    sound(folder.site, "broken")
    (folder.site / "strands_tool_broken" / "__init__.py").write_text("raise OSError('no disk')\n")
    body = (
        "def note(*words):\n    with open('loads.txt', 'a') as file:\n        print(*words, file=file)\n\n\n"
        "@hookimpl\ndef strands_before_load(record):\n    note('before', record.name)\n\n"
        "@hookimpl\ndef strands_after_load(record, spec, seconds, error):\n"
        "    note('after', record.name, spec and spec['name'], seconds > 0, type(error).__name__)\n"
    )
    switch_on(folder, hook_plugin(folder, "strands-hooks-loads", body))
    assert folder.strands("run", "flow.yaml").code == 0
    assert folder.strands("tools", "run", "broken", "--input", '{"text": "a"}').code == 18
    assert lines(folder, "loads.txt") == [
        "before echo",
        "after echo echo True NoneType",
        "before broken",
        "after broken None True NotEquipped",
    ]


def test_tools_that_a_plugin_registers_are_listed_planned_locked_and_run(folder: Folder) -> None:
    body = (
        "from strands import tool\n\n\n"
        "@tool\ndef again(text: str) -> str:\n    'Say it again.'\n    return text + text\n\n\n"
        "@hookimpl\ndef strands_register_tools(context):\n"
        "    return [ToolRecord('again', 'Strands.Hooks_More', '9', 'strands_hooks_more:again', 'again', "
        "'strands_hooks_more', 'again', '', kind='object')]\n"
    )
    switch_on(folder, hook_plugin(folder, "strands-hooks-more", body))
    assert "strands-hooks-more 1.0" in folder.strands("list-tools").out
    assert folder.strands("tools", "show", "again").code == 0
    folder.workflow([{"tool": "native:again", "input": {"text": "a"}}])
    assert "again" not in folder.strands("list-tools", "--no-plugins").out
    assert folder.strands("plan", "flow.yaml", "--no-plugins").code == 3
    # Whatever the plugin says of it, rules and the lock hold for it as for any installed tool.
    assert folder.strands("plan", "flow.yaml", "--policy", folder.write("no.yaml", DENY_HOOKED)).code == 21
    (folder.work / "no.yaml").unlink()
    assert folder.strands("lock", ".").code == 0
    ran = folder.strands("run", "flow.yaml", "--locked", "--yes")
    assert (ran.code, ran.out) == (0, "aa\n"), ran.err
    with (folder.site / "strands_hooks_more" / "__init__.py").open("a") as file:
        file.write("CHANGED = True\n")
    changed = folder.strands("plan", "flow.yaml")
    assert (changed.code, "error[lock" in changed.err) == (21, True), changed.err


def test_no_plugins_leaves_out_those_of_the_users_file_and_says_so(folder: Folder) -> None:
    echoing(folder, "a")
    path = switch_on(folder, hook_plugin(folder, "strands-hooks-no", deciding("deny", "strands_decide_call")))
    ran = folder.strands("run", "flow.yaml", "--no-plugins")
    assert ran.code == 0
    assert re.search(rf"--no-plugins: .*\bstrands-hooks-no\b.* \({re.escape(str(path))}", ran.err)
    for command in (["list-tools"], ["plan", "flow.yaml"], ["tools", "run", "echo", "--input", '{"text": "a"}']):
        assert re.search(r"--no-plugins: .*\bstrands-hooks-no\b", folder.strands(*command, "--no-plugins").err), command


def test_each_call_of_a_hook_is_traced_on_stderr(folder: Folder) -> None:
    echoing(folder, "a")
    registering = "@hookimpl\ndef strands_register_tools(context):\n    return []\n"
    body = registering + deciding("allow", "strands_decide_call")
    switch_on(folder, hook_plugin(folder, "strands-hooks-no", body))
    ran = folder.strands("run", "flow.yaml", "--trace-hooks", "--json")
    assert ran.code == 0
    assert ran.document["status"] == "completed"
    assert re.search(r"\bstrands_register_tools\(\) \w+ strands-hooks-no: ", ran.err)
    assert re.search(r"\bstrands_decide_call\(echo\) \w+ strands-hooks-no: allow \(because of echo\), ", ran.err)
    for command in (["list-tools"], ["plan", "flow.yaml"], ["tools", "run", "echo", "--input", '{"text": "a"}']):
        assert "strands_register_tools() " in folder.strands(*command, "--trace-hooks").err, command


def test_explain_policy_names_the_plugin_that_is_stricter_than_the_rules(folder: Folder) -> None:
    folder.tool("echo", ECHO)
    switch_on(folder, hook_plugin(folder, "strands-hooks-no", deciding("deny", "strands_decide_call")))
    explain = ("explain", "policy", "echo", "--json")
    (tool,) = folder.strands(*explain).document["tools"]
    assert tool["call"]["effect"] == "allow"
    (tool,) = folder.strands(*explain, "--input", '{"text": "a"}').document["tools"]
    assert tool["load"]["effect"] == "allow"
    assert tool["call"] == {"effect": "deny", "rule": "strands-hooks-no: because of echo"}
    assert ["strands-hooks-no" in change for change in tool["changes"]] == [True]
    switch_on(folder, hook_plugin(folder, "strands-hooks-never", deciding("deny", "strands_allow_tool")))
    (tool,) = folder.strands(*explain).document["tools"]
    assert tool["load"] == {"effect": "deny", "rule": "strands-hooks-never: because of echo"}


def test_doctor_asks_plugins_for_their_lines(folder: Folder) -> None:
    body = "@hookimpl\ndef strands_doctor_checks(context):\n    yield Check('audit disk', 'failed', 'it is full')\n"
    switch_on(folder, hook_plugin(folder, "strands-hooks-audit", body))
    ran = folder.strands("doctor")
    assert "audit disk" in ran.out
    assert "it is full" in ran.out


ALLOWING = """
@hookimpl
def strands_decide_call(record, call):
    return Decision("allow", "the platform team allows it")


@hookimpl
def strands_allow_tool(record, ref):
    return Decision("allow", "the platform team allows it") if record is None else None
"""


def custom(folder: Folder) -> None:
    """Write a workflow with its own Python."""
    folder.write("mytools.py", "from strands import tool\n\n@tool\ndef foo() -> str:\n    'Foo.'\n    return 'FOO'\n")
    folder.workflow([{"tool": "mytools:foo", "input": {}}], tools={"python": ["mytools:foo"], "python_path": ["."]})


def test_a_plugin_that_may_allow_allows_calls_and_custom_python(folder: Folder) -> None:
    name = hook_plugin(folder, "strands-hooks-kind", ALLOWING)
    echoing(folder, "a", annotations={})
    switch_on(folder, {"name": name, "may": "allow"})
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 0, ran.err
    assert lines(folder, "calls.txt") == ["a"]
    assert "hook-without-effect" not in ran.err
    (tool,) = folder.strands("explain", "policy", "echo", "--json", "--input", '{"text": "a"}').document["tools"]
    assert tool["call"] == {"effect": "allow", "rule": "strands-hooks-kind: the platform team allows it"}
    custom(folder)
    assert folder.strands("run", "flow.yaml").code == 0
    (tool,) = folder.strands("explain", "policy", "mytools:foo", "--json").document["tools"]
    assert tool["load"]["effect"] == "allow"
    switch_on(folder, {"name": name, "may": "allow"}, rules=[{"deny": "mytools:foo"}])
    assert folder.strands("run", "flow.yaml").codes[-1] == "tool-denied"


def test_a_plugin_without_that_word_allows_nothing_and_is_reported_with_the_fix(folder: Folder) -> None:
    switch_on(folder, hook_plugin(folder, "strands-hooks-kind", ALLOWING))
    echoing(folder, "a", "b", annotations={})
    ran = folder.strands("run", "flow.yaml", "--deny")
    assert ran.code == 21
    assert lines(folder, "calls.txt") == []
    assert ran.codes.count("hook-without-effect") == 1
    assert "strands plugin enable strands-hooks-kind --may allow" in ran.err
    custom(folder)
    assert folder.strands("plan", "flow.yaml").codes[0] == "hook-without-effect"


def test_a_wrong_word_for_what_a_hook_plugin_may_is_reported_with_its_line(folder: Folder) -> None:
    path = switch_on(folder, {"name": "strands-hooks-kind", "may": "everything", "mai": 1}, {"may": "allow"})
    ran = folder.strands("tools", "run", "calculator", "--input", '{"expression": "1"}')
    assert ran.code == 21
    assert ran.codes == ["bad-policy"] * 3
    assert f"{path}:1" in ran.err


REGISTERED = """
TOOL_SPEC = {
    "name": "shout",
    "description": "Say it loud.",
    "inputSchema": {"json": {"type": "object", "properties": {"text": {"type": "string"}}}},
    "annotations": {"readOnlyHint": True},
}


def shout(tool, **kwargs):
    return {"status": "success", "content": [{"text": tool["input"]["text"].upper()}]}


@hookimpl
def strands_register_tools(context):
    yield ToolRecord.from_source(SOURCE)
"""


@pytest.mark.parametrize("source", ["TOOL_SPEC", "__name__"])
def test_a_plugin_registers_a_tool_by_its_spec_or_its_module_and_the_listing_names_it(
    folder: Folder, source: str
) -> None:
    switch_on(folder, hook_plugin(folder, "strands-hooks-more", REGISTERED.replace("SOURCE", source)))
    assert folder.strands("tools", "run", "shout", "--input", '{"text": "hello"}').out == "HELLO\n"
    (listed,) = [
        tool for tool in folder.strands("list-tools", "--source", "--json").document["tools"] if tool["name"] == "shout"
    ]
    assert (listed["description"], listed["distribution"]) == ("Say it loud.", "strands-hooks-more")
    assert listed["source"]["registered_by"] == "strands-hooks-more"
    assert listed["source"]["line"] > 1
    table = folder.strands("list-tools", "--source").out
    assert re.search(r"^shout .*Say it loud\.$", table, re.MULTILINE)
    assert table.count("the hook plugin strands-hooks-more") == 1
    folder.workflow([{"tool": "native:shout", "input": {"text": "a"}}])
    ran = folder.strands("run", "flow.yaml")  # it says that it only reads, so no call asks
    assert (ran.code, ran.out) == (0, "A\n")


def test_a_registered_module_that_does_not_exist_is_a_finding_and_a_part_of_a_module_is_a_tool(folder: Folder) -> None:
    body = "@hookimpl\ndef strands_register_tools(context):\n    yield ToolRecord.from_source('nowhere')\n"
    switch_on(folder, hook_plugin(folder, "strands-hooks-more", body))
    ran = folder.strands("list-tools")
    assert ran.code == 0
    assert "missing-module" in ran.codes
    parts = "from strands import tool\n\n@tool\ndef whisper(text: str) -> str:\n    'Say it low.'\n    return text\n"
    (folder.site / "more_tools.py").write_text(parts)
    hook_plugin(folder, "strands-hooks-more", body.replace("'nowhere'", "'more_tools:whisper'"))
    assert re.search(r"^whisper .*Say it low\.$", folder.strands("list-tools").out, re.MULTILINE)
