"""The permission check comes before every call: input, permission, time, shape, size, one journal row."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Answer, Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import BudgetExceeded, RunRecordError, StrandsCliError, WaitingForPerson
from strands_cli.events import ToolCallDecided, ToolCallFinished, ToolProgress
from strands_cli.policy.rule import Rule
from strands_cli.texts.canonical_json import digest_of
from strands_cli.tools.calls.agent_tools import CheckedToolCaller
from strands_cli.tools.timeouts import bounded
from strands_cli.tools.tool_loading import load_tools
from strands_cli.tools.tool_results import printable_value
from strands_cli.workflow.sections import Budgets
from tests.agents.kit import READS, SCHEMA, YES, RunContext, Site, calling, error, gate_of, run
from tests.wordings import Wording

READ_ONLY, DESTROYS = {"readOnlyHint": True}, {"destructiveHint": True}
OK = "{'status': 'success', 'content': [{'text': 'said ' + tool['input']['text']}]}"


def body(code: str, *, head: str = "", is_async: bool = False, **declared: Any) -> tuple[str, dict[str, Any]]:
    """Return a module tool with this body, and what its manifest says in addition."""
    spec = {"name": "echo", "description": "Echo.", "inputSchema": {"json": declared.get("input_schema", SCHEMA)}}
    spec |= {word: declared[word] for word in ("annotations", "strands_cli") if word in declared}
    keyword = "async def" if is_async else "def"
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    source = f"{head}\nCALLS = []\nTOOL_SPEC = {spec!r}\n{keyword} echo(tool, **kwargs):\n"
    return f"{source}    CALLS.append(tool['input'])\n{lines}", declared


def install(site: Site, code: str = f"return {OK}", **declared: Any) -> Any:
    source, said = body(code, **declared)
    site.install(source, {word: value for word, value in said.items() if word not in ("head", "is_async")})
    return site.plan("native:echo")[0]


def calls() -> list[Any]:
    import strands_tool_echo  # type: ignore[import-not-found]

    found: list[Any] = strands_tool_echo.CALLS
    return found


# -- input


def test_defaults_reach_the_tool_and_the_journal(site: Site) -> None:
    schema = {"type": "object", "properties": {"text": {"default": "x"}, "at": {"properties": {"n": {"default": 1}}}}}
    planned = install(site, input_schema=schema)
    host = RunContext()
    calling(planned, {"at": {}}, host=host)
    assert calls() == [{"text": "x", "at": {"n": 1}}]
    [row] = host.rows("tool").values()
    assert row.digest == digest_of({"tool": "echo", "input": {"text": "x", "at": {"n": 1}}})


def test_a_number_in_a_string_is_a_number_for_the_tool_the_rules_and_the_question(site: Site) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}, "days": {"type": "integer"}}}
    planned = install(site, input_schema=schema)
    host = RunContext([Answer("answered", "yes", by="a person")])
    written = {"text": "5", "days": "5"}
    calling(planned, written, host=host, rules=())
    assert calls() == [{"text": "5", "days": 5}]
    assert '"days": 5' in host.questions[0].context
    [row] = host.rows("tool").values()
    assert row.detail["called_with"] == {"text": "5", "days": 5}
    # The digest is that of what was asked for, so that calls which earlier versions refused still resume.
    assert row.digest == digest_of({"tool": "echo", "input": written})
    calling(planned, written, host=RunContext(journal=host.journal), rules=())
    assert len(calls()) == 1


def test_large_arguments_are_cut_in_the_row_after_secrets_are_hidden(site: Site) -> None:
    planned = install(site, annotations=READ_ONLY, input_schema={"type": "object"})
    host, secret = RunContext(), "sk-0123456789abcdef"
    written = {"path": "a", "text": "x" * 990 + secret + "y" * 100_000, "more": {str(n): n for n in range(3)}}
    calling(planned, written, host=host, secrets=[secret])
    wide = {f"name {n}": "y" * 900 for n in range(200)}
    calling(planned, wide, host=host, key="steps.1")
    row, whole = host.rows("tool").values()
    assert row.detail["arguments_cut"] is whole.detail["arguments_cut"] is True
    assert (row.detail["arguments"]["path"], row.detail["arguments"]["more"]) == ("a", written["more"])
    assert len(json.dumps(row.detail)) < 3000
    assert secret[:6] not in json.dumps(row.detail)
    assert len(json.dumps(whole.detail)) < 100_000
    assert row.digest == digest_of({"tool": "echo", "input": written})


@pytest.mark.parametrize("rules", [(), (YES,)], ids=["asks", "allowed"])
def test_bad_input_is_an_answer_and_not_a_call(site: Site, rules: Any) -> None:
    host = RunContext()
    result = calling(install(site), {"text": 1}, host=host, rules=rules)
    assert error(result) == {
        "code": "invalid_input",
        "message": "text: 1 is not of type 'string'",
        "retryable": False,
        "details": {},
    }
    assert calls() == []
    assert host.questions == []
    assert [row.status for row in host.rows("tool").values()] == ["done"]


# -- permission


def decided(host: RunContext) -> tuple[str, str]:
    [event] = host.of(ToolCallDecided)
    return event.effect, event.rule


@pytest.mark.parametrize(
    ("declared", "rules", "effect", "rule"),
    [
        ({"annotations": READ_ONLY}, (), "allow", None),
        ({"annotations": DESTROYS}, (YES,), "allow", "--yes"),
        ({}, (YES,), "allow", "--yes"),
        ({}, (Rule("allow", "native:echo", "command line", "--allow native:echo"),), "allow", "--allow native:echo"),
        ({}, (Rule("allow", "ec*", "command line", "--allow ec*"),), "allow", "--allow ec*"),
        ({"annotations": READ_ONLY}, (Rule("deny", "echo", "workflow", "f.yaml:3"), YES), "deny", "f.yaml:3"),
        ({"annotations": READ_ONLY, "strands_cli": {"requires_confirmation": True}}, (YES,), "allow", "--yes"),
        (
            {"strands_cli": {"read_only_when": {"properties": {"text": {"const": "hi"}}}}},
            (),
            "allow",
            None,
        ),
    ],
)
def test_policy_decides_and_the_event_names_the_rule(
    site: Site, declared: dict[str, Any], rules: Any, effect: str, rule: str | None, wording: Wording
) -> None:
    host = RunContext()
    result = calling(install(site, **declared), {"text": "hi"}, host=host, rules=rules)
    found, named = decided(host)
    assert found == effect
    assert rule in (None, named)
    wording(named)
    assert (result["status"] == "success") is (effect == "allow")
    [row] = host.rows("tool").values()
    asked = {"distribution": "strands-tool-echo", "arguments": {"text": "hi"}}
    refused = {} if effect == "allow" else {"error_code": "denied"}
    assert row.detail == {**asked, "decision": effect, "rule": named, **refused}


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"annotations": DESTROYS},
        {"annotations": {"readOnlyHint": False}},
        {"annotations": {**READ_ONLY, **DESTROYS}},
        {"annotations": READ_ONLY, "strands_cli": {"requires_confirmation": True}},
        {"strands_cli": {"read_only_when": {"properties": {"text": {"const": "other"}}}}},
        {"strands_cli": {"read_only_when": {"type": "objct"}}},
        {"strands_cli": {"read_only_when": {"$ref": "#/nowhere"}}},
    ],
)
def test_where_no_person_can_be_asked_the_answer_names_the_flag(
    site: Site, declared: dict[str, Any], wording: Wording
) -> None:
    host = RunContext()
    result = calling(install(site, **declared), {"text": "hi"}, host=host, rules=())
    assert error(result)["code"] == "denied"
    wording(error(result)["message"])
    assert calls() == []
    assert host.rows("human") == {}
    assert [event.error_code for event in host.of(ToolCallFinished)] == ["denied"]


def test_a_workflow_cannot_allow_itself_anything(site: Site) -> None:
    result = calling(install(site), {"text": "hi"}, rules=(Rule("allow", "*", "workflow", "f.yaml:1"),))
    assert error(result)["code"] == "denied"


@pytest.mark.parametrize(
    ("answer", "status"),
    [(Answer("answered", "yes", "ada"), "success"), (Answer("answered", "no", "ada"), "error")],
)
def test_a_person_decides_about_these_very_arguments(site: Site, answer: Answer, status: str, wording: Wording) -> None:
    host = RunContext([answer])
    planned = install(site)
    assert calling(planned, {"text": "hi"}, host=host, rules=())["status"] == status
    assert "ada" in str(decided(host)[1])
    [question] = host.questions
    assert (question.kind, question.key) == ("approval", "steps.0/tool.0.echo/approval")
    wording([decided(host)[1], question.prompt])
    assert '"text": "hi"' in question.context
    row = host.rows("human")[question.key]
    assert row.digest == digest_of({"tool": "echo", "arguments": digest_of({"text": "hi"})})


def test_a_long_argument_cannot_push_another_out_of_the_persons_sight(site: Site, wording: Wording) -> None:
    host = RunContext([Answer("answered", "no")])
    calling(install(site), {"text": "a" * 100_000, "z_path": "/etc/passwd"}, host=host, rules=())
    (question,) = host.questions
    assert "/etc/passwd" in question.context
    wording(question.context)
    assert len(question.context) < 2000


def test_an_approval_does_not_hold_for_other_arguments(site: Site, wording: Wording) -> None:
    planned = install(site)
    host = RunContext([Answer("answered", "yes")])
    calling(planned, {"text": "hi"}, host=host, rules=())
    # As after a crash between the approval and the call, with a workflow that asks for something else by then.
    journal = MemoryJournal()
    run(journal.write(host.rows("human")["steps.0/tool.0.echo/approval"]))
    with pytest.raises(RunRecordError) as raised:
        calling(planned, {"text": "other"}, host=RunContext(journal=journal), rules=())
    wording(raised.value)
    assert calls() == [{"text": "hi"}]


def test_an_approval_given_earlier_is_not_asked_for_again(site: Site) -> None:
    planned = install(site)
    host = RunContext([Answer("answered", "yes")])
    calling(planned, {"text": "hi"}, host=host, rules=())
    journal = MemoryJournal()
    run(journal.write(host.rows("human")["steps.0/tool.0.echo/approval"]))
    again = RunContext(journal=journal)
    assert calling(planned, {"text": "hi"}, host=again, rules=())["status"] == "success"
    assert again.questions == []


def test_a_question_that_waits_stops_the_step_before_the_call(site: Site) -> None:
    host = RunContext([Answer("waiting")])
    with pytest.raises(WaitingForPerson):
        calling(install(site), {"text": "hi"}, host=host, rules=())
    assert calls() == []
    assert {key: row.status for key, row in host.rows().items()} == {"steps.0/tool.0.echo/approval": "waiting"}


# -- time


def test_an_async_tool_that_hangs_is_ended(site: Site) -> None:
    tidy = "await asyncio.sleep(0.02)\n    CALLS.append('ended')"
    code = f"import asyncio\ntry:\n    await asyncio.sleep(60)\nfinally:\n    {tidy}"
    planned = install(site, code, is_async=True, strands_cli={"timeout_s": 0.05})
    result = calling(planned, {"text": "hi"})
    found = error(result)
    assert (found["code"], found["retryable"], found["details"]) == ("timeout", True, {})
    assert "0.05 s" in found["message"]
    assert calls()[1:] == ["ended"]


def test_what_is_out_of_time_is_cancelled_and_may_put_its_things_in_order() -> None:
    log: list[str] = []

    async def tidy() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.001)
            log.append("tidied")

    async def work() -> None:
        with pytest.raises(TimeoutError):
            await bounded(tidy, 0.01)
        assert log == ["tidied"]

    run(work())


def test_an_async_tool_that_will_not_end_is_left_behind(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strands_cli.tools.timeouts.GRACE_S", 0.05)
    code = (
        "import asyncio\nfor _ in range(2):\n    try:\n        await asyncio.sleep(60)\n"
        "    except asyncio.CancelledError:\n        pass\nreturn None"
    )
    planned = install(site, code, is_async=True, strands_cli={"timeout_s": 0.05})
    assert error(calling(planned, {"text": "hi"}))["code"] == "timeout"


def test_a_sync_tool_that_hangs_holds_nothing_up_and_is_notified(site: Site) -> None:
    code = (
        "import threading\nCALLS.append(threading.current_thread())\n"
        "CALLS.append(kwargs['strands_cli']['cancel'].wait(120))"
    )
    planned = install(site, code, strands_cli={"timeout_s": 0.05})
    assert error(calling(planned, {"text": "hi"}))["code"] == "timeout"
    for thread in [one for one in threading.enumerate() if one.name == "strands-tool"]:
        thread.join(120)
    assert isinstance(calls()[1], threading.Thread)
    assert calls()[2] is True


def test_the_deadline_is_a_moment_of_the_monotonic_clock(site: Site) -> None:
    code = "import time\nleft = kwargs['strands_cli']['deadline'] - time.monotonic()\n"
    planned = install(
        site, code + "return {'status': 'success', 'content': [{'json': left}]}", strands_cli={"timeout_s": 500}
    )
    [block] = calling(planned, {"text": "hi"})["content"]
    assert 300 < block["json"] <= 500


def test_a_timeout_of_the_tools_own_is_not_taken_for_ours(site: Site) -> None:
    planned = install(site, "raise TimeoutError('the server did not answer')")
    result = error(calling(planned, {"text": "hi"}))
    assert (result["code"], result["message"]) == ("tool_failed", "TimeoutError: the server did not answer")


@pytest.mark.parametrize("stated", ["soon", True, 0, -1, float("inf"), float("nan"), None])
def test_a_limit_that_is_none_leaves_the_default(site: Site, stated: Any) -> None:
    source, _ = body(f"return {OK}")
    written = f"float('{stated}')" if isinstance(stated, float) else repr(stated)
    source += f"TOOL_SPEC['strands_cli'] = {{'timeout_s': {written}}}\n"
    site.install(source, manifest=False)
    assert site.call("native:echo")["status"] == "success"


def test_cancelling_the_run_ends_the_tool_and_leaves_a_row_that_says_started(site: Site) -> None:
    planned = install(
        site,
        "import asyncio\ntry:\n    await asyncio.sleep(60)\nfinally:\n    CALLS.append('ended')",
        is_async=True,
    )
    host = RunContext()

    async def work() -> None:
        toolbox = await load_tools([planned])
        caller = CheckedToolCaller(toolbox, gate_of())
        task = asyncio.create_task(caller.call_tool(planned, {"text": "hi"}, host.scope()))  # type: ignore[arg-type]
        while not calls() and not task.done():
            await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        run(work())
    assert calls()[1:] == ["ended"]
    assert [row.status for row in host.rows("tool").values()] == ["started"]
    assert host.of(ToolCallFinished) == []


# -- what tools raise and return


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "raised",
    [
        "ValueError('no')",
        "SystemExit('no')",
        "KeyboardInterrupt('no')",
        "GeneratorExit('no')",
        "StopIteration('no')",
        "asyncio.CancelledError('no')",
        "BaseException('no')",
        "MemoryError('no')",
        "StopAsyncIteration('no')",
    ],
)
def test_whatever_a_tool_raises_is_an_answer(site: Site, raised: str, is_async: bool) -> None:
    planned = install(site, f"raise {raised}", head="import asyncio", is_async=is_async)
    host = RunContext()
    result = calling(planned, {"text": "hi"}, host=host)
    assert error(result)["code"] == "tool_failed"
    # Python itself turns a StopIteration that leaves a coroutine into a RuntimeError without its words.
    assert "no" in error(result)["message"] or raised.startswith("StopIteration")
    assert [row.status for row in host.rows("tool").values()] == ["done"]


def test_an_exception_without_words_or_with_a_broken_str_is_still_named(site: Site, wording: Wording) -> None:
    planned = install(
        site,
        "raise KeyError() if tool['input']['text'] == 'a' else Odd()",
        head="class Odd(Exception):\n    def __str__(self):\n        raise RuntimeError",
    )
    assert error(calling(planned, {"text": "a"}))["message"] == "KeyError"
    wording(error(calling(planned, {"text": "b"}))["message"])


@pytest.mark.parametrize(
    "answer",
    [
        "'text'",
        "None",
        "{'status': 'fine', 'content': []}",
        "{'status': 'success', 'content': [{'json': {1, 2}}]}",
        "{'status': 'success', 'content': [{'json': float('nan')}]}",
        "b'x'",
        "(i for i in ())",
        "object()",
    ],
)
def test_a_wrong_shape_is_an_answer(site: Site, answer: str) -> None:
    host = RunContext()
    result = calling(install(site, f"return {answer}"), {"text": "hi"}, host=host)
    assert error(result)["code"] == "invalid_output"
    assert [event.error_code for event in host.of(ToolCallFinished)] == ["invalid_output"]


def test_a_missing_id_is_filled_in_and_a_forged_one_replaced(site: Site) -> None:
    planned = install(site, "return {'toolUseId': 'forged', 'status': 'success', 'content': [{'text': ''}]}")
    assert calling(planned, {"text": "hi"})["toolUseId"] == "steps.0.call"


def test_a_long_output_is_cut_at_the_tools_own_limit(site: Site) -> None:
    planned = install(
        site, "return {'status': 'success', 'content': [{'text': 'x' * 1000}]}", strands_cli={"max_output_bytes": 10}
    )
    host = RunContext()
    result = calling(planned, {"text": "hi"}, host=host)
    assert result["content"][0] == {"text": "x" * 10}
    assert result["content"][-1]["json"]["truncated"] is True
    assert [event.truncated for event in host.of(ToolCallFinished)] == [True]
    assert len(str(host.rows("tool"))) < 1000


def test_a_huge_exception_is_cut_too(site: Site) -> None:
    result = calling(install(site, "raise ValueError('x' * 10_000_000)"), {"text": "hi"})
    assert len(str(result)) < 100_000
    assert error(result)["message"].startswith("ValueError: xxx")


def test_a_tool_cannot_change_what_the_gate_holds(site: Site) -> None:
    code = (
        "kwargs['strands_cli']['workspace']['root'] = '/'\nkwargs['strands_cli']['config']['l'].append(1)\n"
        "tool['input']['text'] = 'changed'\nreturn {'status': 'success', 'content': [{'text': ''}]}"
    )
    source, _ = body(code)
    site.install(source, {"config_schema": {"type": "object"}})
    [planned] = site.plan({"tool": "native:echo", "config": {"l": []}})
    host = RunContext()
    gate = gate_of()

    async def work() -> None:
        toolbox = await load_tools([planned])
        await CheckedToolCaller(toolbox, gate).call_tool(planned, {"text": "hi"}, host.scope())

    run(work())
    assert gate.contract.workspace == {"root": "/nowhere"}
    assert planned.config == {"l": []}


# -- the record


AWKWARD = (
    "image = {'format': 'jpeg', 'source': {'bytes': b'\\xff\\xd8\\xff\\x00'}}\n"
    "content = [{'text': '\\udcff'}, {'json': {'$bytes': 'x', 1: (2,)}}, {'image': image}]\n"
    "return {'status': 'success', 'content': content}"
)


def test_a_recorded_call_is_not_made_again_and_its_result_is_equal(site: Site, tmp_path: Path) -> None:
    planned = install(site, AWKWARD)
    journal = SqliteJournal.create(tmp_path / "run")
    host, again = RunContext(journal=journal), RunContext(journal=journal)
    first = calling(planned, {"text": "hi"}, host=host)
    second = calling(planned, {"text": "hi"}, host=again)
    journal.close()
    assert second == first
    assert first["content"][2]["image"]["source"]["bytes"] == b"\xff\xd8\xff\x00"
    assert len(calls()) == 1
    assert [event.replayed for event in host.of(ToolCallFinished) + again.of(ToolCallFinished)] == [False, True]
    assert again.of(ToolCallDecided) == []
    assert again.budget.tool_calls == 0


def test_a_recorded_call_with_another_input_is_refused(site: Site, wording: Wording) -> None:
    planned = install(site)
    host = RunContext()
    calling(planned, {"text": "hi"}, host=host)
    with pytest.raises(RunRecordError) as raised:
        calling(planned, {"text": "other"}, host=RunContext(journal=host.journal))
    wording(raised.value)


@pytest.mark.parametrize(
    ("declared", "again"),
    [
        ({"annotations": READ_ONLY}, True),
        ({"annotations": {"idempotentHint": True}}, True),
        ({"annotations": {**READ_ONLY, **DESTROYS}}, False),
        ({"annotations": DESTROYS}, False),
        ({}, False),
    ],
)
def test_a_call_that_was_cut_off_is_made_again_only_if_that_is_harmless(
    site: Site, declared: dict[str, Any], again: bool, wording: Wording
) -> None:
    planned = install(site, **declared)
    journal = MemoryJournal()
    digest = digest_of({"tool": "echo", "input": {"text": "hi"}})
    run(journal.write(Row("steps.0/tool.0.echo", "tool", "started", digest)))
    host = RunContext(journal=journal)
    if again:
        assert calling(planned, {"text": "hi"}, host=host)["status"] == "success"
        assert host.rows("tool")["steps.0/tool.0.echo"].attempt == 2
    else:
        with pytest.raises(WaitingForPerson) as raised:
            calling(planned, {"text": "hi"}, host=host)
        wording(raised.value)
        assert calls() == []


def test_the_budget_is_checked_before_the_call(site: Site) -> None:
    with pytest.raises(BudgetExceeded, match="max_tool_calls"):
        calling(install(site), {"text": "hi"}, host=RunContext(budgets=Budgets(max_tool_calls=0)))
    assert calls() == []


def test_an_error_in_the_permission_check_ends_the_run_and_is_not_text_for_a_model(
    site: Site, wording: Wording
) -> None:
    def broken(_question: Any) -> Answer:
        raise ZeroDivisionError("ours")

    with pytest.raises(StrandsCliError) as caught:
        calling(install(site), {"text": "hi"}, host=RunContext(broken), rules=())
    wording(caught.value)
    assert caught.value.exit_code == 70


# -- secrets


def test_no_secret_enters_a_result_an_event_or_the_journal(site: Site) -> None:
    code = (
        "key = tool['input']['text']\nyield 'key is ' + key\n"
        "yield {'status': 'success', 'content': [{'text': key}, {'json': {key: 1}}]}"
    )
    planned = install(site, code, is_async=True)
    host = RunContext()
    secret = "sk-0123456789abcdef"
    result = calling(planned, {"text": secret}, host=host, secrets=[secret])
    assert result["content"] == [{"text": "[secret]"}, {"json": {"[secret]": 1}}]
    assert [event.value for event in host.of(ToolProgress)] == ["key is [secret]"]
    assert secret not in f"{host.events} {host.rows()}"


def test_no_secret_is_in_what_a_tool_raised_even_at_the_edge_of_the_cut(site: Site) -> None:
    secret = "sk-0123456789abcdef"
    planned = install(site, "raise ValueError('x' * 1985 + tool['input']['text'])")
    result = calling(planned, {"text": secret}, secrets=[secret])
    assert secret[:6] not in str(result)


# -- progress


@pytest.mark.parametrize(
    ("value", "shown"),
    [({"a": [1]}, {"a": [1]}), (None, None), (b"x", "b'x'"), ({1}, "{1}"), (float("nan"), "nan"), ((1, 2), [1, 2])],
)
def test_progress_is_json_or_text(value: Any, shown: Any) -> None:
    assert printable_value(value) == shown


def test_progress_is_small_and_as_it_was() -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError

    assert len(printable_value("x" * 100_000)) < 5000
    assert printable_value(Odd()) == "(Odd)"
    rows = [1]
    shown = printable_value(rows)
    rows.append(2)
    assert shown == [1]


def test_a_tool_left_behind_reports_no_more_progress(site: Site) -> None:
    code = (
        "import threading\nfrom strands import tool as t\n"
        "yield 'one'\nawait __import__('asyncio').sleep(60)\nyield 'two'"
    )
    planned = install(site, code, is_async=True, strands_cli={"timeout_s": 0.05})
    host = RunContext()
    assert error(calling(planned, {"text": "hi"}, host=host))["code"] == "timeout"
    assert len(host.of(ToolProgress)) <= 1


def test_a_call_leaves_no_thread_behind(site: Site) -> None:
    planned = install(site, **READS)
    before = set(threading.enumerate())
    for _ in range(20):
        calling(planned, {"text": "hi"})
    for thread in set(threading.enumerate()) - before:
        thread.join(120)
    assert set(threading.enumerate()) <= before
