from __future__ import annotations

import asyncio

from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Question
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.errors import RunFailed


def keys_of(scope: StepScope, *uses: tuple[str, str]) -> list[str]:
    return [scope.tool_effect(tool_use_id, name, {}, repeatable=True).key for tool_use_id, name in uses]


def test_tool_uses_are_numbered_in_request_order_whatever_order_they_start_in() -> None:
    scope = StandaloneRun().scope()
    scope.expect_tools(["a", "b", "c"])
    assert keys_of(scope, ("c", "z"), ("a", "x"), ("b", "y")) == ["call/tool.2.z", "call/tool.0.x", "call/tool.1.y"]
    scope.expect_tools(["d"])
    assert keys_of(scope, ("d", "x")) == ["call/tool.3.x"]


def test_a_tool_use_that_was_asked_for_and_never_made_keeps_its_number() -> None:
    scope = StandaloneRun().scope()
    scope.expect_tools(["a", "unknown-tool"])
    assert keys_of(scope, ("a", "x")) == ["call/tool.0.x"]
    scope.expect_tools(["b"])
    assert keys_of(scope, ("b", "x")) == ["call/tool.2.x"]


def test_tool_uses_with_one_id_are_distinguished_in_one_turn_and_over_turns() -> None:
    scope = StandaloneRun().scope()
    for expected in (["call/tool.0.x", "call/tool.1.x"], ["call/tool.2.x", "call/tool.3.x"]):
        scope.expect_tools(["same", "same"])
        assert keys_of(scope, ("same", "x"), ("same", "x")) == expected


def test_a_call_that_no_turn_announced_gets_the_next_number() -> None:
    scope = StandaloneRun().scope()
    assert keys_of(scope, ("steps.0.call", "x"), ("steps.0.call", "x")) == ["call/tool.0.x", "call/tool.1.x"]


def test_the_first_reason_to_stop_counts_and_the_agent_is_cancelled() -> None:
    scope, told = StandaloneRun().scope(), []
    scope.stop(RunFailed("before there was an agent"))
    scope.cancel = lambda: told.append("cancelled")
    scope.stop(RunFailed("later"))
    assert scope.stopped is not None
    assert scope.stopped.message == "before there was an agent"
    assert told == ["cancelled"]


def test_outside_a_run_no_one_is_asked_and_nothing_is_recorded() -> None:
    run = StandaloneRun()
    answer = asyncio.run(run.scope().ask(Question("call/approval", "approval", "Allow?"), {}))
    assert answer.outcome == "nobody"
    assert list(run.journal.rows()) == []
