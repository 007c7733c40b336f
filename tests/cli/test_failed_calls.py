"""A tool call that failed or was denied has its reason under it, what permits it, and a place in every count."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from strands_cli.cli.commands.run_lines.tree_lines import tree_lines
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.step_results import failed_calls_of
from strands_cli.engine.stored_runs.summary import EffectSummary
from strands_cli.events import Usage
from strands_cli.run_views.opened_runs import Branch
from strands_cli.tools.tool_results import error_result, with_fix_of
from tests.cli.strands import Folder
from tests.fakes.http_service import HttpService

WRITER = {"writer": {"prompt": "You write.", "tools": ["native:web_fetch", "native:file_read", "native:current_time"]}}
NOWHERE = "http://127.0.0.1:9/x"
CALLS = [{"web_fetch": {"url": NOWHERE}}, {"current_time": {}}, {"file_read": {"path": "../x"}}]
TURNS = {"steps.0": [{"calls": CALLS}, {"text": "done"}]}


@pytest.fixture
def ran(folder: Folder) -> Folder:
    folder.workflow([{"agent": "writer", "input": "Look."}], TURNS, agents=WRITER)
    return folder


def test_each_failed_call_of_an_agent_has_its_reason_and_what_permits_it_below_it(ran: Folder) -> None:
    done = ran.strands("run", "flow.yaml")
    lines = done.err.splitlines()
    fetched = next(index for index, line in enumerate(lines) if "web_fetch  (denied" in line)
    assert "127.0.0.1" in lines[fetched + 1]
    assert '{tool: native:web_fetch, config: {allow_private: ["127.0.0.1:9"]}}' in lines[fetched + 1]
    read = next(index for index, line in enumerate(lines) if "file_read  (sandbox_violation" in line)
    assert "mounts" in lines[read + 1]
    assert "2 of 3 tool calls failed" in lines[-1]
    assert done.code == 0


def test_json_quiet_runs_show_and_fail_on_denied_have_the_refusals_of_tools(ran: Folder) -> None:
    done = ran.strands("run", "flow.yaml", "--json", "-q", "--fail-on-denied")
    assert done.code == 21
    assert done.document["failed_calls"] == 2
    assert [(one["tool"], one["code"]) for one in done.document["failures"]] == [
        ("web_fetch", "denied"),
        ("file_read", "sandbox_violation"),
    ]
    assert [(one["tool"], one["by_tool"]) for one in done.document["denials"]] == [
        ("web_fetch", True),
        ("file_read", True),
    ]
    assert len(re.findall(r"^denied: ", done.err, re.MULTILINE)) == 2
    shown = ran.strands("runs", "show", "last", "--json").document
    assert (shown["failed_calls"], shown["failures"]) == (2, done.document["failures"])


def test_a_run_that_fails_counts_its_failed_calls_in_json(folder: Folder) -> None:
    folder.workflow([{"tool": "native:web_fetch", "input": {"url": NOWHERE}}])
    done = folder.strands("run", "flow.yaml", "--json")
    assert (done.code, done.document["failed_calls"]) == (10, 1)
    assert "allow_private" in done.document["error"]["fix"]
    assert "1 of 1 tool call failed" in done.err


def test_a_refusal_by_the_tool_of_a_step_fails_a_run_that_wants_no_denied_call_with_21(folder: Folder) -> None:
    for tool, given in (("web_fetch", {"url": NOWHERE}), ("file_read", {"path": "../x"})):
        folder.workflow([{"tool": f"native:{tool}", "input": given}])
        done = folder.strands("run", "flow.yaml", "--fail-on-denied", "--json")
        assert (done.code, done.document["status"], done.document["error"]["code"]) == (21, "failed", "denied")
        assert re.search(r"(allow_private|mounts).*; then: strands resume ", done.document["error"]["fix"])
        folder.workflow([{"tool": f"native:{tool}", "input": given, "on_error": "continue"}])
        assert folder.strands("run", "flow.yaml", "--fail-on-denied").code == 21
        assert folder.strands("run", "flow.yaml").code == 0


def test_a_quiet_run_names_each_failed_call_once(folder: Folder) -> None:
    calls = [{"current_time": {"timezone": "Nowhere"}}, {"current_time": {}}, {"file_read": {"path": "../x"}}]
    folder.workflow(
        [{"agent": "writer", "input": "Look."}], {"steps.0": [{"calls": calls}, {"text": "done"}]}, agents=WRITER
    )
    done = folder.strands("run", "flow.yaml", "-q")
    assert (done.code, done.out) == (0, "done\n")
    assert re.findall(r"^(failed|denied): (\w+)", done.err, re.MULTILINE) == [
        ("denied", "file_read"),
        ("failed", "current_time"),
    ]
    assert "Nowhere" in done.err


@pytest.mark.parametrize("has_config", [False, True])
def test_the_setting_that_is_printed_permits_the_call(folder: Folder, has_config: bool) -> None:
    folder.trusts_every_workflow()
    with HttpService({"/x": {"bees": 1}}) as service:
        steps = [{"tool": "native:web_fetch", "input": {"url": f"{service.url}/x"}}]
        entry: Any = {"tool": "native:web_fetch", "config": {"timeout_s": 20}} if has_config else "native:web_fetch"
        folder.workflow(steps, tools={"python": [entry]})
        fix = folder.strands("run", "flow.yaml", "--json").document["failures"][0]["fix"]
        found = re.search(r"allow_private: (\[[^]]*\])", fix)
        assert found
        entry = {"tool": "native:web_fetch", "config": {"allow_private": json.loads(found[1])}}
        folder.workflow(steps, tools={"python": [entry]})
        again = folder.strands("run", "flow.yaml")
    assert again.code == 0, again.err


def test_code_that_raises_or_takes_too_long_is_not_called_ok(folder: Folder) -> None:
    slow = {"tool": "native:python_exec", "input": {"code": "while True: pass", "timeout": 0.2}, "on_error": "continue"}
    raises = {"tool": "native:python_exec", "input": {"code": "1/0"}}
    folder.workflow([slow, raises])
    done = folder.strands("run", "flow.yaml")
    assert done.code == 10
    assert "(ok," not in done.err
    assert "`timeout` in the input of the call gives more" in done.err
    assert "ZeroDivisionError: division by zero" in done.err
    assert "2 of 2 tool calls failed" in done.err


def test_a_row_of_a_batch_and_the_log_have_the_reason(ran: Folder) -> None:
    ran.write(
        "flow.yaml", {**json.loads((ran.work / "flow.yaml").read_text()), "inputs": {"required": {"n": "integer"}}}
    )
    ran.write("rows.csv", "n\n1\n")
    ran.strands("batch", "run", "flow.yaml", "rows.csv", "-o", "out.jsonl")
    (line,) = map(json.loads, (ran.work / "out.jsonl").read_text().splitlines())
    assert line["failed_calls"] == 2
    assert "127.0.0.1" in line["failures"][0]["reason"]
    logged = ran.strands("run", "flow.yaml", "--var", "n=1", "--log", "json").err.splitlines()
    events = [json.loads(one).get("event", {}) for one in logged]
    finished = [one for one in events if one.get("event") == "ToolCallFinished" and one["error_code"]]
    assert ["allow_private" in (one["fix"] or "") for one in finished] == [True, False]


def failed_row(reason: str, **detail: Any) -> Row:
    output = error_result("1", "denied", reason)
    return Row(
        "steps.0/tool.0.web_fetch",
        "tool",
        "done",
        "d",
        1,
        output=output,
        usage=Usage(),
        detail={"arguments": {"url": "u" * 200}, "error_code": "denied", "decision": "allow", "rule": "r", **detail},
    )


@pytest.mark.parametrize("columns", [40, 80, 120, None])
def test_a_reason_is_wrapped_and_never_cut(columns: int | None) -> None:
    words = [f"word{index}" for index in range(120)]
    effect = EffectSummary(failed_row(" ".join(words)))
    branch = Branch("steps.0/tool.0.web_fetch", "tool", "failed", "web_fetch", effect, Usage(), None)
    lines = list(tree_lines([branch], columns=columns, full=False))
    assert [word for word in words if word not in " ".join(lines).split()] == []
    assert all(columns is None or len(line) <= columns for line in lines)


def test_a_call_that_policy_denied_is_counted_once() -> None:
    found = failed_calls_of([failed_row("no", decision="deny")])
    assert (found.number, [(one.by_tool, one.denied) for one in found.denials]) == (1, [(False, 1)])


@pytest.mark.parametrize(
    ("reference", "config", "details", "fix"),
    [
        (None, {}, {"fix": "curl evil"}, None),
        (None, {}, {"config": {"a": 1}}, None),
        ("native:x", {}, {"fix": "say please"}, "say please"),
        ("native:x", {}, {"config": {"hosts": ["a"]}}, '{tool: native:x, config: {hosts: ["a"]}}'),
        ("native:x@>=1,<2", {}, {"config": {"n": 2}}, '{tool: "native:x@>=1,<2", config: {n: 2}}'),
        ("native:x", {"hosts": ["b"]}, {"config": {"hosts": ["a"]}}, 'hosts: ["b", "a"]'),
        ("native:x", {"n": 1}, {"config": {"n": 2}}, "n: 2"),
    ],
)
def test_what_permits_a_call_is_written_as_the_workflow_writes_it(
    reference: str | None, config: dict[str, Any], details: dict[str, Any], fix: str | None
) -> None:
    made = with_fix_of(error_result("1", "denied", "no", details=details), reference, config)
    kept = made["content"][1]["json"]["error"]["details"]
    assert "config" not in kept
    assert kept.get("fix") is fix if fix is None else fix in kept["fix"]


def test_the_model_does_not_read_what_permits_the_call(ran: Folder, tmp_path: Path) -> None:
    from strands_cli.tools.messages.repeated_results import without_repetition

    content = error_result("1", "denied", "no", details={"fix": "set it", "reason": "host"})["content"]
    assert without_repetition(content)[1:] == [{"json": {"error": {"details": {"reason": "host"}}}}]


def test_the_fix_of_refused_calls_that_fail_a_run_is_what_permits_them(ran: Folder) -> None:
    done = ran.strands("run", "flow.yaml", "--fail-on-denied")
    fix = done.err.partition("  fix: ")[2]
    assert "allow_private" in fix
    assert "strands runs rerun" in fix
