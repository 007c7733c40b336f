"""A tool's calls from threads of its own: each knows its call, and a run that goes on finds them in any order."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import BudgetExceeded, WaitingForPerson
from strands_cli.policy.rule import Rule
from strands_cli.workflow.sections import Budgets
from tests.agents.kit import RunContext, Script, Site, asking, text, turn_events
from tests.tools.test_inner_calls import OUTER, SYNC, install, made

SAYS = "        return ' '.join(one.result()['content'][0]['text'] for one in every)\n"
POOL = (
    SYNC + "    with ThreadPoolExecutor(8) as pool:\n"
    "        every = [pool.submit(agent.tool.{name}, text=str(n)) for n in range(8)]\n" + SAYS
)


@pytest.mark.parametrize("name", ["inner", "later"])
@pytest.mark.parametrize("times", [1, 2])
def test_threads_of_a_pool_know_their_call(site: Site, name: str, times: int) -> None:
    """Also while calls are open inside the call, and beside it, of the same tool."""
    host, model = RunContext(), Script([("outer", {})] * times, "done")
    asking(model, *install(site, POOL.format(name=name)), host=host)
    assert [text(result) for result in model.results] == [" ".join(f"{name} {n}" for n in range(8))] * times
    for call in range(times):
        below = [row for row in host.rows_below(f"steps.0/tool.{call}.outer") if row.kind == "tool"]
        assert len(below) == 8, "each call has its own"


REVERSED = (
    SYNC + "    MADE.append('entered')\n    numbers = list(range(4))[::-1 if len(MADE) > 1 else 1]\n"
    "    with ThreadPoolExecutor(1) as pool:\n"
    "        every = [pool.submit(agent.tool.inner, text=str(n)) for n in numbers]\n" + SAYS
)


def test_calls_that_come_in_another_order_are_found_again(site: Site) -> None:
    def two(question: Question) -> Answer:
        return Answer("answered", "yes") if question.key < f"{OUTER}/tool.2" else Answer("waiting")

    journal, planned = MemoryJournal(), install(site, REVERSED)
    rules = [Rule("allow", "native:outer.outer", "command line", "--allow")]
    with pytest.raises(WaitingForPerson):
        asking(Script([("outer", {})], "never"), *planned, host=RunContext(two, journal=journal), rules=rules)
    model, host = Script("done"), RunContext(lambda _: Answer("answered", "yes"), journal=journal)
    asking(model, *planned, host=host, rules=rules)
    assert made() == ["entered", "0", "1", "entered", "3", "2"], "finished calls are not made again"
    assert text(model.results[0]) == "inner 3 inner 2 inner 1 inner 0"


SUB_AGENTS = (
    SYNC + "    MADE.append('entered')\n    again = len(MADE) > 1\n    def ask(n):\n"
    "        tools = [agent.tool_registry.registry['inner']]\n"
    "        made = Agent(model=agent.model, tools=tools, callback_handler=None)\n"
    "        return str(made(str(n))).strip()\n"
    "    with ThreadPoolExecutor(1 if again else 4) as pool:\n"
    "        return ' '.join(pool.map(ask, list(range(4))[::-1 if again else 1]))\n"
)


def says(request: Any) -> Any:
    """Call the tool with what was asked, then answer with its result."""
    last = request["messages"][-1]["content"][0]
    if "toolResult" in last:
        return turn_events(last["toolResult"]["content"][0]["text"], 0)
    return turn_events([("inner", {"text": last["text"]})], int(last["text"]))


def test_agents_that_a_tool_makes_in_threads_of_its_own_are_part_of_its_call(site: Site) -> None:
    host, model = RunContext(), Script([("outer", {})], *[says] * 8, "done")
    asking(model, *install(site, SUB_AGENTS), host=host)
    assert text(model.results[0]) == "inner 0 inner 1 inner 2 inner 3"
    below = [row.kind for row in host.rows_below(OUTER)]
    assert (below.count("model"), below.count("tool")) == (8, 4)


def test_requests_of_such_agents_are_found_again_in_another_order(site: Site) -> None:
    planned, host = install(site, SUB_AGENTS), RunContext(budgets=Budgets(max_model_calls=6))
    with pytest.raises(BudgetExceeded):
        asking(Script([("outer", {})], *[says] * 8, "never"), *planned, host=host)
    paid = len([row for row in host.rows("model").values() if row.status == "done"])
    assert paid > 1
    model, wider = Script(*[says] * (9 - paid), "done"), RunContext(journal=host.journal)
    asking(model, *planned, host=wider)
    assert text(model.results[0]) == "inner 3 inner 2 inner 1 inner 0"
    assert not model.turns, "what is in the journal is not paid again"


AS_AN_AGENT = """
    import copy
    def facts():
        with ThreadPoolExecutor(1) as pool:
            pool.submit(setattr, agent, 'noted', 1).result()
        yield isinstance(agent, Agent)
        yield agent == tool_context.invocation_state['agent'] and len({agent, tool_context.agent}) == 1
        yield agent.noted == 1 and not hasattr(copy.copy(agent), 'nothing')
        del agent.noted
        yield not hasattr(agent, 'noted')
        yield sorted(agent.tool_names) == ['inner', 'later', 'outer']
    return ' '.join(map(str, facts()))
"""


def test_what_a_tool_has_is_its_agent_in_every_other_way(site: Site) -> None:
    model = Script([("outer", {})], "done")
    asking(model, *install(site, SYNC + AS_AN_AGENT))
    assert text(model.results[0]) == "True True True True True"


def test_an_agent_that_a_tool_has_from_an_earlier_call_makes_no_calls_for_a_later_one(site: Site) -> None:
    body = SYNC + (
        "    first = getattr(outer, 'first', agent)\n    outer.first = first\n"
        "    with ThreadPoolExecutor(1) as pool:\n"
        "        answer = pool.submit(first.tool.inner, text='a').result()\n"
        "    return answer['content'][0]['text']\n"
    )
    model = Script([("outer", {})], [("outer", {})], "done")
    asking(model, *install(site, body))
    assert model.results[0]["status"] == "error"
    assert made() == ["a"]
