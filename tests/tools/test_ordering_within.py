"""Tools made of tools beside other calls of a turn: their parts keep to the order of the whole."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from strands_cli.errors import BudgetExceeded, StrandsCliError
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.rule import Request
from strands_cli.tools.calls.ordering import Order
from tests.agents.kit import READS, RunContext, Site, run
from tests.agents.resumable import rows
from tests.agents.world import WORLD, install_world
from tests.tools.workflow_tool_world import flow, go, record

BOTH = """
composite:
  - id: both
    description: Looks at two files.
    input_schema: {type: object, properties: {number: {type: integer}}}
    steps:
      - {tool: native:look, input: {path: a, number: "{{ number }}"}}
      - {tool: native:look, input: {path: b, number: "{{ number }}"}}
"""
LEAD = "{lead: {prompt: lead, tools: [both, native:look]}}"


@pytest.fixture(autouse=True)
def world(site: Site) -> None:
    install_world(site)
    WORLD.reset()


def asking_for(*calls: Mapping[str, Any]) -> None:
    record({"steps.0": [{"calls": list(calls)}, {"text": "done"}]})


def test_tools_made_of_tools_that_only_read_are_at_work_together(site: Site) -> None:
    barrier = asyncio.Barrier(2)

    async def meet(_name: str, _given: Mapping[str, Any]) -> None:
        await asyncio.wait_for(barrier.wait(), 120)

    WORLD.reset(meet)
    asking_for({"both": {"number": 0}}, {"both": {"number": 1}})
    assert go(site, flow("{agent: lead, input: go}", agents=LEAD, tools=BOTH)).tool_calls == 6
    assert WORLD.most == 2


@pytest.mark.parametrize(("limit", "made"), [(1, []), (2, [0]), (3, [0, 0]), (4, [0, 0, 1]), (5, [0, 0, 1])])
def test_what_a_call_spends_inside_itself_is_spent_before_the_next_one_begins(
    site: Site, limit: int, made: list[int]
) -> None:
    asking_for({"both": {"number": 0}}, {"look": {"path": "c", "number": 1}}, {"both": {"number": 2}})
    with pytest.raises(BudgetExceeded, match=f"max_tool_calls: {limit}"):
        go(
            site,
            flow("{agent: lead, input: go}", agents=LEAD, tools=BOTH).replace(
                "recording: r.yaml", f"recording: r.yaml, budgets: {{max_tool_calls: {limit}}}"
            ),
        )
    assert WORLD.begun == made
    assert len([row for row in rows().values() if row.kind == "tool"]) == limit


def test_a_run_that_a_limit_stopped_inside_such_a_call_goes_on_there(site: Site) -> None:
    asking_for({"look": {"path": "c", "number": 0}}, {"both": {"number": 1}}, {"both": {"number": 2}})
    text = flow("{agent: lead, input: go}", agents=LEAD, tools=BOTH)
    limited = text.replace("recording: r.yaml", "recording: r.yaml, budgets: {max_tool_calls: 3}")
    with pytest.raises(BudgetExceeded):
        go(site, limited)
    assert WORLD.begun == [0, 1]
    result = go(site, text, options=RunRequest(out_dir=Path("out"), yes=True))
    assert (result.response, result.tool_calls) == ("done", 7)
    assert WORLD.begun.count(1) == 2, "each part is made once"
    assert WORLD.begun.count(2) == 2


def test_what_stops_a_call_stops_what_it_is_made_of_and_the_step_when_all_calls_are_over(site: Site) -> None:
    (look,) = site.plan("native:look")
    step, reason = RunContext().scope(), StrandsCliError("enough")
    uses = [{"toolUse": {"toolUseId": name, "name": "look", "input": {}}} for name in "ab"]
    request = Request(names=("look",), annotations=READS["annotations"], claims={}, arguments={})

    async def work() -> None:
        order, messages = Order(step, [look]), [{"role": "assistant", "content": uses}]
        async with order.call("a", messages) as first:
            await first.turn(request)
            async with order.call("b", messages) as second:
                await second.turn(request)
                parts = first.within("steps.0/tool.0.look"), second.within("steps.0/tool.1.look")
                first.stop(reason)
                assert [scope.stopped for scope in (first, second, step, *parts)] == [reason, None, None, reason, None]
            assert step.stopped is None
        assert step.stopped is reason

    run(work())
