"""Tools that call other tools of their agent: each call passes the permission check and has a row, on any thread."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli.agents.agent_runner import SdkAgentRunner
from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.ports import AgentRequest
from strands_cli.engine.waiting.questions import cut_off_call, redo_call
from strands_cli.errors import BudgetExceeded, StrandsCliError, WaitingForPerson
from strands_cli.events import ToolCallDecided, ToolCallFinished
from strands_cli.policy.rule import Rule
from strands_cli.system.daemon_threads import DaemonThreads
from strands_cli.tools.tool_loading import load_tools
from strands_cli.workflow.sections import Budgets
from tests.agents.kit import YES, RunContext, Script, Site, agent_of, asking, gate_of, run, text
from tests.agents.world import WORLD, install_world

HEAD = """
import asyncio, contextvars, os, signal, threading, time
from concurrent.futures import ThreadPoolExecutor
from strands import Agent, tool, ToolContext
from strands.tools.executors import ConcurrentToolExecutor
MADE = []

@tool
def inner(text: str) -> str:
    '''Says something.'''
    MADE.append(text)
    return 'inner ' + text

@tool
async def later(text: str) -> str:
    '''Says something.'''
    await asyncio.sleep(0)
    MADE.append(text)
    return 'later ' + text

"""
SYNC = """@tool(context=True)
def outer(tool_context: ToolContext) -> str:
    '''Calls.'''
    agent = tool_context.agent
"""
ASYNC = SYNC.replace("def outer", "async def outer")
# Ways in which a tool calls another of its agent, each with the name of the inner tool.
WAYS = {
    "direct": SYNC + "    answer = agent.tool.{name}(text='a')\n",
    "not recorded": SYNC + "    answer = agent.tool.{name}(text='a', record_direct_tool_call=False)\n",
    "in a thread that knows": ASYNC + "    answer = await asyncio.to_thread(agent.tool.{name}, text='a')\n",
    "in a thread of its own": SYNC + "    with ThreadPoolExecutor() as pool:\n"
    "        answer = pool.submit(agent.tool.{name}, text='a').result()\n",
    "by the registry": ASYNC + "    use = dict(toolUseId='x', name='{name}', input=dict(text='a'))\n"
    "    async for event in agent.tool_registry.registry['{name}'].stream(use, dict(agent=agent)):\n"
    "        answer = event['tool_result']\n",
    "by the registry, in another loop": SYNC + "    async def work():\n"
    "        use = dict(toolUseId='x', name='{name}', input=dict(text='a'))\n"
    "        async for event in agent.tool_registry.registry['{name}'].stream(use, dict(agent=agent)):\n"
    "            return event['tool_result']\n"
    "    answer = asyncio.run(work())\n",
    "by the SDK's own caller": SYNC + "    from strands.tools._caller import _ToolCaller\n"
    "    answer = getattr(_ToolCaller(agent), '{name}')(text='a', record_direct_tool_call=False)\n",
}
SAID = "    return answer['status'] + ': ' + answer['content'][0]['text']\n"
OUTER = "steps.0/tool.0.outer"
NAMES = [f"native:outer.{name}" for name in ("outer", "inner", "later")]


def install(site: Site, source: str) -> Any:
    site.install(HEAD + source, name="outer", manifest=False)
    return site.plan(*NAMES)


def made() -> list[str]:
    import strands_tool_outer  # type: ignore[import-not-found]

    return list(strands_tool_outer.MADE)


@pytest.mark.parametrize("name", ["inner", "later"])
@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_a_tool_makes_is_checked_counted_and_journaled(site: Site, way: str, name: str) -> None:
    host, model = RunContext(), Script([("outer", {})], "done")
    asking(model, *install(site, WAYS[way].format(name=name) + SAID), host=host)
    assert text(model.results[0]) == f"success: {name} a"
    row = host.rows("tool")[f"{OUTER}/tool.0.{name}"]
    assert (row.status, row.detail["decision"]) == ("done", "allow")
    assert host.budget.tool_calls == 2
    assert [one.tool for one in host.of(ToolCallDecided)] == ["outer", name]
    assert [one.tool for one in host.of(ToolCallFinished)] == [name, "outer"]


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_a_tool_makes_can_be_denied(site: Site, way: str) -> None:
    model = Script([("outer", {})], "done")
    rules = [Rule("deny", "inner", "user", "policy.yaml:1"), YES]
    asking(model, *install(site, WAYS[way].format(name="inner") + SAID), rules=rules)
    assert text(model.results[0]).startswith("error: denied")
    assert made() == []


def test_a_call_that_a_tool_makes_asks_a_person(site: Site) -> None:
    model = Script([("outer", {})], "done")
    host = RunContext([Answer("answered", "yes")])
    rules = [Rule("allow", "native:outer.outer", "command line", "--allow")]
    asking(model, *install(site, WAYS["direct"].format(name="inner") + SAID), rules=rules, host=host)
    assert [question.key for question in host.questions] == [f"{OUTER}/tool.0.inner/approval"]
    assert made() == ["a"]


def test_a_limit_that_is_reached_inside_a_call_stops_the_run(site: Site) -> None:
    swallowing = (
        SYNC + "    try:\n        agent.tool.inner(text='a')\n    except Exception:\n        MADE.append('went on')\n"
    )
    host = RunContext(budgets=Budgets(max_tool_calls=1))
    with pytest.raises(BudgetExceeded):
        asking(Script([("outer", {})], "never"), *install(site, swallowing + "    return 'x'\n"), host=host)
    assert made() == []
    assert host.rows()[OUTER].status == "waiting", "with a larger budget it is entered again"


def test_an_async_tool_that_would_wait_for_itself_gets_the_way_that_works(site: Site) -> None:
    model = Script([("outer", {})], "done")
    asking(model, *install(site, ASYNC + "    answer = agent.tool.inner(text='a')\n" + SAID))
    assert "asyncio.to_thread(agent.tool.inner" in text(model.results[0])
    assert made() == []


def test_a_call_cannot_become_a_message(site: Site) -> None:
    body = SYNC + "    answer = agent.tool.inner(text='a', record_direct_tool_call=True)\n"
    model = Script([("outer", {})], "done")
    asking(model, *install(site, body + SAID))
    assert model.results[0]["status"] == "error"
    assert made() == []


def test_a_tool_that_is_not_there_is_an_attribute_error(site: Site) -> None:
    body = SYNC + "    try:\n        agent.tool.nope()\n    except AttributeError:\n        return 'none'\n"
    model = Script([("outer", {})], "done")
    asking(model, *install(site, body))
    assert text(model.results[0]) == "none"


def test_calls_cannot_be_made_when_the_outer_one_is_over(site: Site) -> None:
    body = (
        SYNC + "    context = contextvars.copy_context()\n    outer.over = threading.Event()\n    def work():\n"
        "        outer.over.wait(5)\n        try:\n            agent.tool.inner(text='late')\n"
        "        except BaseException as error:\n            MADE.append(type(error).__name__)\n"
        "    outer.thread = threading.Thread(target=context.run, args=(work,))\n"
        "    outer.thread.start()\n    return 'x'\n"
    )
    planned = install(site, body)

    def end(request: Any) -> Any:
        import strands_tool_outer

        from tests.agents.kit import turn_events

        strands_tool_outer.outer.over.set()
        return turn_events("done", 2)

    asking(Script([("outer", {})], end), *planned)
    import strands_tool_outer

    strands_tool_outer.outer.thread.join(10)
    assert made() in (["RuntimeError"], ["CancelledError"])


def test_many_calls_side_by_side_find_threads_and_do_not_wait_for_each_other(site: Site) -> None:
    body = (
        SYNC + "    with ThreadPoolExecutor(30) as pool:\n"
        "        contexts = [contextvars.copy_context() for _ in range(30)]\n"
        "        every = [pool.submit(c.run, lambda n=n: agent.tool.inner(text=str(n)))\n"
        "            for n, c in enumerate(contexts)]\n"
        "        return ' '.join(one.result()['content'][0]['text'] for one in every)\n"
    )
    host, model = RunContext(), Script([("outer", {})] * 12, "done")
    asking(model, *install(site, body), host=host)
    assert all(text(result).count("inner") == 30 for result in model.results)
    assert host.budget.tool_calls == 12 * 31


def test_the_time_of_inner_calls_does_not_count_for_the_outer_one(site: Site) -> None:
    """A person takes longer over the inner call than the outer one may take by itself."""
    import time

    def slow(question: Any) -> Answer:
        time.sleep(0.4)
        return Answer("answered", "yes")

    body = "from strands_cli.metadata import tool_metadata\n" + SYNC.replace(
        "@tool(", "@tool_metadata(timeout_s=0.2)\n@tool("
    )
    host, model = RunContext(slow), Script([("outer", {})], "done")
    rules = [Rule("allow", "native:outer.outer", "command line", "--allow")]
    asking(model, *install(site, body + "    answer = agent.tool.inner(text='a')\n" + SAID), host=host, rules=rules)
    assert text(model.results[0]) == "success: inner a"


def test_a_tool_that_calls_itself_has_an_end(site: Site) -> None:
    body = SYNC + "    return str(agent.tool.outer()['content'][0]['text'])\n"
    host, model = RunContext(), Script([("outer", {})], "done")
    asking(model, *install(site, body), host=host)
    assert "16" in text(model.results[0])
    assert host.budget.tool_calls == 17


def test_tools_that_wait_for_each_other_leave_threads_for_the_others(site: Site) -> None:
    """Several agents at once: more calls wait than there are threads, each for one more."""
    planned = install(site, WAYS["direct"].format(name="inner") + SAID)

    async def many() -> list[Any]:
        async def one(number: int) -> str:
            toolbox = await load_tools(planned)
            model = Script([("outer", {})] * 16, "done")
            runner = SdkAgentRunner(lambda _agent, _key: model, toolbox, gate_of())
            request = AgentRequest(agent_of(*planned), "go", "be brief", planned)
            return (await runner.run_agent(request, RunContext().scope())).text

        async with asyncio.timeout(100):  # without an end the suite would wait for ever
            return list(await asyncio.gather(*map(one, range(6))))

    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(DaemonThreads(4))
        assert runner.run(many()) == ["done"] * 6


# -- agents that a tool makes


SUB_AGENT = (
    ASYNC + "    tools = [agent.tool_registry.registry['inner']]\n"
    "    made = Agent(model=agent.model, tools=tools, callback_handler=None)\n"
    "    result = await made.invoke_async('go')\n    return str(result).strip()\n"
)
SUB_AGENT_IN_A_THREAD = SUB_AGENT.replace("async def", "def").replace("await made.invoke_async('go')", "made('go')")


@pytest.mark.parametrize("body", [SUB_AGENT, SUB_AGENT_IN_A_THREAD])
def test_an_agent_that_a_tool_makes_with_its_own_agent_s_model_and_tools_is_part_of_the_call(
    site: Site, body: str
) -> None:
    host, model = RunContext(), Script([("outer", {})], [("inner", {"text": "a"})], "from below", "done")
    answer = asking(model, *install(site, body), host=host)
    assert answer.text == "done"
    assert text(model.results[0]) == "from below"
    assert sorted(host.rows()) == [
        "steps.0/model.0",
        "steps.0/model.1",
        OUTER,
        f"{OUTER}/model.0",
        f"{OUTER}/model.1",
        f"{OUTER}/tool.0.inner",
    ]
    assert (host.budget.model_calls, host.budget.tool_calls) == (4, 2)


def test_a_tool_that_a_tool_gives_to_an_agent_of_its_own_is_a_part_of_its_code(site: Site) -> None:
    """The permission check is around the tools of the run; what the outer tool calls besides is its own work."""
    own = "    from strands import tool\n    @tool\n    def own() -> str:\n        'Own.'\n        return 'own work'\n"
    body = SUB_AGENT.replace("    tools = [agent.tool_registry.registry['inner']]\n", f"{own}    tools = [own]\n")
    host, model = RunContext(), Script([("outer", {})], [("own", {})], "from below", "done")
    assert asking(model, *install(site, body), host=host).text == "done"
    assert sorted(host.rows("tool")) == [OUTER]
    assert (host.budget.model_calls, host.budget.tool_calls) == (4, 1)


@pytest.mark.parametrize("body", [SUB_AGENT, SUB_AGENT_IN_A_THREAD])
def test_a_limit_stops_the_run_in_an_agent_that_a_tool_makes(site: Site, body: str) -> None:
    host = RunContext(budgets=Budgets(max_model_calls=2))
    model = Script([("outer", {})], [("inner", {"text": "a"})], "never")
    with pytest.raises(BudgetExceeded):
        asking(model, *install(site, body), host=host)
    wider = RunContext(journal=host.journal)
    answer = asking(Script("below", "done"), *site.plan(*NAMES), host=wider)
    assert answer.text == "done"
    assert made() == ["a"], "what is in the journal is not done again"


# -- the order of calls


def test_a_call_waits_for_earlier_calls_that_touch_what_an_inner_call_touches(site: Site) -> None:
    """The outer call says that it touches nothing, so that it begins at once; the call inside it waits."""
    names = ["native:look", "native:outer.outer", *install_world(site)[:2]]
    body = "from strands_cli.metadata import tool_metadata\n" + ASYNC.replace(
        "@tool(", "@tool_metadata(read_only=True, resources={'reads': [], 'writes': []})\n@tool("
    )
    install(site, body + "    await asyncio.to_thread(agent.tool.note, path='x', number=1)\n    return 'x'\n")
    WORLD.reset()
    turn = [("look", {"path": "x", "number": 0, "ticks": 200}), ("outer", {})]
    asking(Script(turn, "done"), *site.plan(*dict.fromkeys(names)))
    assert WORLD.log == [("begin", 0), ("end", 0), ("begin", 1), ("end", 1)]


# -- a run that goes on


TWICE = (
    SYNC
    + "    MADE.append('entered')\n    agent.tool.inner(text='a')\n    answer = agent.tool.inner(text='b')\n"
    + SAID
)


def test_an_approval_that_waits_inside_a_call_is_found_again(site: Site) -> None:
    from strands_cli.engine.standalone import MemoryJournal

    journal = MemoryJournal()
    planned = install(site, TWICE)
    rules = [Rule("allow", "native:outer.outer", "command line", "--allow")]
    first = RunContext([Answer("answered", "yes"), Answer("waiting")], journal=journal)
    with pytest.raises(WaitingForPerson):
        asking(Script([("outer", {})], "never"), *planned, host=first, rules=rules)
    assert made() == ["entered", "a"]
    assert journal.row(OUTER).status == "waiting"  # type: ignore[union-attr]
    model, second = Script("done"), RunContext([Answer("answered", "yes")], journal=journal)
    asking(model, *planned, host=second, rules=rules)
    assert made() == ["entered", "a", "entered", "b"], "the finished call is not made again"
    assert [question.key for question in second.questions] == [f"{OUTER}/tool.1.inner/approval"]
    assert text(model.results[0]) == "success: inner b"


def test_a_recorded_call_replays_without_the_calls_in_it_and_counts_them(site: Site) -> None:
    from strands_cli.engine.standalone import MemoryJournal

    journal = MemoryJournal()
    planned = install(site, TWICE)

    def dies(request: Any) -> Any:
        raise ConnectionError("gone")

    with pytest.raises(StrandsCliError):
        asking(Script([("outer", {})], dies), *planned, host=RunContext(journal=journal))
    host = RunContext(journal=journal)
    asking(Script("done"), *planned, host=host)
    assert made() == ["entered", "a", "b"]
    assert journal.row(OUTER).detail["calls"] == 2  # type: ignore[union-attr]


def killed(site: Site, directory: Path, body: str) -> None:
    """Run the workflow in a process that a tool ends by SIGKILL."""
    install(site, body)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (site.directory, *filter(None, sys.path))))}
    child = subprocess.run(
        [sys.executable, "-m", "tests.tools.test_inner_calls", str(directory), str(site.directory)],
        env=environment,
        check=False,
        capture_output=True,
        cwd=Path(__file__).parents[2],
    )
    assert child.returncode == -signal.SIGKILL, child.stderr


def resumed(site: Site, directory: Path, *redo: str) -> Script:
    journal = SqliteJournal.open(directory / "run")
    try:
        for key in redo:
            run(redo_call(journal, cut_off_call(journal, key)))
        model = Script("done")
        asking(model, *site.plan(*NAMES), host=RunContext(journal=journal))
        return model
    finally:
        journal.close()


DIES_BETWEEN = (
    SYNC + "    agent.tool.inner(text='a')\n    if not os.path.exists('died'):\n        open('died', 'w').close()\n"
    "        os.kill(os.getpid(), signal.SIGKILL)\n    answer = agent.tool.inner(text='b')\n" + SAID
)
DIES_INSIDE = (
    "@tool\ndef deadly(text: str) -> str:\n    '''Dies.'''\n    if not os.path.exists('died'):\n"
    "        open('died', 'w').close()\n        os.kill(os.getpid(), signal.SIGKILL)\n"
    "    MADE.append(text)\n    return 'alive'\n"
    + SYNC
    + "    agent.tool_registry.registry['inner']\n    agent.tool.inner(text='a')\n"
    "    agent.tool_registry.register_tool(deadly)\n    answer = agent.tool.deadly(text='b')\n" + SAID
)


@pytest.mark.kills
def test_a_run_killed_between_two_inner_calls_makes_only_the_second(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = DIES_BETWEEN.replace("'died'", repr(str(tmp_path / "died")))
    killed(site, tmp_path, body)
    with pytest.raises(WaitingForPerson):
        resumed(site, tmp_path)
    assert made() == [], "the outer call may have done anything: a person decides"
    model = resumed(site, tmp_path, OUTER)
    assert made() == ["b"]
    assert text(model.results[0]) == "success: inner b"


@pytest.mark.kills
def test_a_run_killed_inside_an_inner_call_asks_about_both(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = DIES_INSIDE.replace("'died'", repr(str(tmp_path / "died")))
    killed(site, tmp_path, body)
    for redo in ((), (OUTER,)):
        with pytest.raises(WaitingForPerson):
            resumed(site, tmp_path, *redo)
    model = resumed(site, tmp_path, f"{OUTER}/tool.1.deadly")
    assert made() == ["b"]
    assert text(model.results[0]) == "success: alive"


def test_calls_in_another_order_are_found_and_others_are_made(site: Site) -> None:
    """The outer call is entered again after a question, and makes its calls in the opposite order, and one more."""
    body = (
        SYNC + "    order = 'ba' if MADE else 'ab'\n    said = [agent.tool.inner(text=one) for one in order]\n"
        "    tool_context.interrupt('sure')\n    agent.tool.inner(text='c')\n"
        "    return ' '.join(one['content'][0]['text'] for one in said)\n"
    )
    host, model = RunContext([Answer("answered", "yes")]), Script([("outer", {})], "done")
    asking(model, *install(site, body), host=host)
    assert made() == ["a", "b", "c"]
    assert text(model.results[0]) == "inner b inner a"


if __name__ == "__main__":
    place, at = Path(sys.argv[1]), Path(sys.argv[2])
    sys.path.insert(0, str(at))
    journal = SqliteJournal.create(place / "run")
    asking(Script([("outer", {})], "never"), *Site(at).plan(*NAMES), host=RunContext(journal=journal))
