"""A tool that asks a person in the middle of its work: its row waits, and it is entered again with the answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Answer, Journal, Question
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.engine.waiting.questions import chosen_question, give_answer
from strands_cli.errors import RunFailed, WaitingForPerson
from strands_cli.planning.plan_values import PlannedTool
from strands_cli.tools.calls.agent_tools import CheckedToolCaller
from strands_cli.tools.calls.calling_contract import Contract
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.tool_loading import load_tools
from tests.agents.kit import YES, RunContext, Script, Site, asking, calling, error, text
from tests.wordings import Wording

HEAD = (
    "from strands import tool, ToolContext\nfrom strands.interrupt import Interrupt, InterruptException\n"
    "from strands.types.tools import AgentTool\nENTERED = []\n"
)
SHAPES = {
    "sync": "@tool(context=True)\ndef echo(text: str, tool_context: ToolContext) -> str:\n{body}",
    "async": "@tool(context=True)\nasync def echo(text: str, tool_context: ToolContext) -> str:\n{body}",
    "streaming": "@tool(context=True)\nasync def echo(text: str, tool_context: ToolContext):\n"
    "    yield 'half way'\n{yielding}",
}
BODY = """    ENTERED.append(text)
    sure = tool_context.interrupt('sure', reason='Delete ' + text + '?')
    when = tool_context.interrupt('when', reason={'days': [1, 2]})
    return sure + ' ' + when
"""
KEY = "steps.0/tool.0.echo"


def install(site: Site, shape: str = "sync", body: str = BODY, **claims: Any) -> PlannedTool:
    source = SHAPES[shape].format(body=body, yielding=body.replace("return", "yield"))
    site.install(HEAD + source, {"annotations": {"destructiveHint": False}, **claims}, entry=":echo", manifest=False)
    return site.plan("native:echo")[0]


def entered() -> list[str]:
    import strands_tool_echo  # type: ignore[import-not-found]

    return list(strands_tool_echo.ENTERED)


def answers(question: Question) -> Answer:
    return Answer("answered", {"interrupt.0": "yes", "interrupt.1": "2"}[question.key.rpartition("/")[2]])


def statuses(host: RunContext) -> dict[str, str]:
    return {key: row.status for key, row in host.rows().items()}


@pytest.mark.parametrize("shape", SHAPES)
def test_several_questions_of_a_step_s_tool_are_asked_in_turn(site: Site, shape: str, wording: Wording) -> None:
    host = RunContext(answers)
    result = calling(install(site, shape), {"text": "a"}, host=host)
    assert (result["status"], text(result)) == ("success", "yes 2")
    assert entered() == ["a", "a", "a"]
    first, second = host.questions
    assert (first.key, first.kind) == (f"{KEY}/interrupt.0", "interrupt")
    wording(first.prompt)
    assert second.prompt.endswith("asks: when")
    assert '"days"' in second.context
    assert statuses(host) == {KEY: "done", f"{KEY}/interrupt.0": "done", f"{KEY}/interrupt.1": "done"}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_tool_that_a_model_calls_gets_its_answers(site: Site, shape: str) -> None:
    model = Script([("echo", {"text": "a"})], "done")
    answer = asking(model, install(site, shape), host=RunContext(answers))
    assert answer.text == "done"
    assert text(model.results[0]) == "yes 2"


def test_two_calls_of_one_turn_with_one_id_do_not_get_each_other_s_answers(site: Site) -> None:
    def one_id(request: Any) -> Any:
        from tests.agents.kit import turn_events

        events = turn_events([("echo", {"text": "a"}), ("echo", {"text": "b"})], 1)
        for event in events:
            if "contentBlockStart" in event:
                event["contentBlockStart"]["start"]["toolUse"]["toolUseId"] = "same"
        return events

    body = "    return text + tool_context.interrupt('sure', reason=text)\n"
    model = Script(one_id, "done")
    host = RunContext([Answer("answered", "1"), Answer("answered", "2")])
    asking(model, install(site, body=body), host=host)
    assert [text(result) for result in model.results] == ["a1", "b2"]
    assert [question.prompt[-1] for question in host.questions] == ["a", "b"]


def test_a_question_that_waits_stops_the_step_and_the_calls_behind_it(site: Site, wording: Wording) -> None:
    model = Script([("echo", {"text": "a"}), ("echo", {"text": "b"})], "never")
    host = RunContext([Answer("waiting")])
    with pytest.raises(WaitingForPerson) as raised:
        asking(model, install(site), host=host)
    wording(raised.value)
    assert entered() == ["a"]
    rows = {key: status for key, status in statuses(host).items() if "/model" not in key}
    assert rows == {KEY: "waiting", f"{KEY}/interrupt.0": "waiting"}


def test_without_a_person_the_question_waits_rather_than_fails(site: Site) -> None:
    with pytest.raises(WaitingForPerson):
        calling(install(site), {"text": "a"}, host=RunContext())


def answered(journal: Journal, key: str, answer: str, reason: str | None = None) -> None:
    asyncio.run(give_answer(journal, SystemClock(), chosen_question(journal, key), answer, reason))


def test_a_waiting_call_is_entered_only_when_all_that_it_asked_is_answered(site: Site, tmp_path: Path) -> None:
    planned = install(site)
    journal = SqliteJournal.create(tmp_path / "record")
    try:
        for number, entries in enumerate([1, 2]):  # the second question waits after the first is answered
            with pytest.raises(WaitingForPerson):
                calling(planned, {"text": "a"}, host=RunContext([Answer("waiting")], journal=journal))
            assert len(entered()) == entries
            with pytest.raises(WaitingForPerson):  # not even entered while the question is open
                calling(planned, {"text": "a"}, host=RunContext([Answer("waiting")], journal=journal))
            assert len(entered()) == entries
            answered(journal, KEY, f"answer {number}")
        host = RunContext(journal=journal)
        assert text(calling(planned, {"text": "a"}, host=host)) == "answer 0 answer 1"
        assert len(entered()) == 3
        assert host.questions == []
        assert text(calling(planned, {"text": "a"}, host=RunContext(journal=journal))) == "answer 0 answer 1"
        assert len(entered()) == 3
    finally:
        journal.close()


def test_a_process_that_dies_at_the_question_leaves_nothing_to_decide(site: Site) -> None:
    planned = install(site)

    def dies(question: Question) -> Answer:
        raise KeyboardInterrupt

    host = RunContext(dies)
    with pytest.raises(KeyboardInterrupt):
        calling(planned, {"text": "a"}, host=host)
    assert statuses(host) == {KEY: "waiting"}
    again = RunContext(answers, journal=host.journal)
    assert text(calling(planned, {"text": "a"}, host=again)) == "yes 2"
    assert len(again.questions) == 2


def test_a_refused_question_ends_the_call_and_the_model_gets_the_refusal(site: Site, wording: Wording) -> None:
    model = Script([("echo", {"text": "a"})], "done")
    host = RunContext([Answer("answered", "", reason="too early")])
    asking(model, install(site), host=host)
    found = error(model.results[0])
    assert found["code"] == "denied"
    wording(found["message"])
    assert entered() == ["a"]


def test_a_refusal_that_comes_later_ends_the_call_without_entering_it(site: Site) -> None:
    planned, host = install(site), RunContext([Answer("waiting")])
    with pytest.raises(WaitingForPerson):
        calling(planned, {"text": "a"}, host=host)
    answered(host.journal, f"{KEY}/interrupt.0", "", "too early")
    assert error(calling(planned, {"text": "a"}, host=RunContext(journal=host.journal)))["code"] == "denied"
    assert entered() == ["a"]


def test_an_answer_that_a_tool_brings_itself_is_not_asked_for(site: Site) -> None:
    body = "    return tool_context.interrupt('sure', response='mine')\n"
    host = RunContext()
    assert text(calling(install(site, body=body), {"text": "a"}, host=host)) == "mine"
    assert host.questions == []


OWN = """
class Echo(AgentTool):
    tool_name = 'echo'
    tool_type = 'own'
    tool_spec = {'name': 'echo', 'description': 'Echo.', 'inputSchema': {'json': {'type': 'object', 'properties': {}}}}
    def __init__(self):
        super().__init__()
        self.open = {}
    async def stream(self, tool_use, invocation_state, **kwargs):
        ENTERED.append('x')
        asked = self.open.setdefault('sure', Interrupt('id', 'sure', 'Sure?')) if KEEPS else Interrupt('id', 'sure')
        if asked.response is None:
            raise InterruptException(asked)
        yield {'toolUseId': tool_use['toolUseId'], 'status': 'success', 'content': [{'text': asked.response}]}
"""


def test_a_tool_with_a_context_of_its_own_finds_the_answer_on_its_question(site: Site) -> None:
    site.install(HEAD + "KEEPS = True\n" + OWN, entry=":Echo", manifest=False)
    assert text(site.call("native:echo", {}, host=RunContext([Answer("answered", "yes")]))) == "yes"


def test_a_tool_that_asks_the_same_for_ever_is_ended(site: Site) -> None:
    site.install(HEAD + "KEEPS = False\n" + OWN, entry=":Echo", manifest=False)
    host = RunContext([Answer("answered", "yes")])
    found = error(site.call("native:echo", {}, host=host))
    assert (found["code"], "'sure'" in found["message"]) == ("denied", True)
    assert (len(host.questions), entered()) == (1, ["x", "x"])


def test_a_question_carries_no_secret_and_is_cut(site: Site) -> None:
    body = "    return tool_context.interrupt('sure', reason='hunter2hunter2 ' + 'x' * 9000 + chr(0xd800))\n"
    host = RunContext([Answer("answered", "yes")])
    calling(install(site, body=body), {"text": "a"}, host=host, secrets=["hunter2hunter2"])
    [question] = host.questions
    assert "hunter2hunter2" not in question.prompt
    assert len(question.prompt) < 1100


def test_the_time_a_person_takes_is_not_the_tool_s(site: Site) -> None:
    class Slow(RunContext):
        async def ask(self, question: Question) -> Answer:
            # An hour passes on the clock of the event loop: what still counts down in it is over.
            loop = asyncio.get_running_loop()
            now = loop.time
            loop.time = lambda: now() + 3600  # type: ignore[method-assign]
            for _ in range(5):
                await asyncio.sleep(0)
            return Answer("answered", "yes")

    body = "    return tool_context.interrupt('sure')\n"
    planned = install(site, body=f"    {body.strip()}\n" + "echo.tool_spec['strands_cli'] = {'timeout_s': 600}\n")
    assert text(calling(planned, {"text": "a"}, host=Slow())) == "yes"


def outside(planned: PlannedTool, person: RunContext | None) -> Any:
    async def work() -> Any:
        caller = CheckedToolCaller(await load_tools([planned]), PermissionCheck([YES], Contract({"root": "/"}, {})))
        return await caller.call_tool(planned, {"text": "a"}, StandaloneRun(person).scope())

    return asyncio.run(work())


def test_outside_a_run_a_person_is_asked_if_there_is_one_and_else_it_fails_plainly(
    site: Site, wording: Wording
) -> None:
    planned = install(site)
    assert text(outside(planned, RunContext(answers))) == "yes 2"
    for person in (None, RunContext(), RunContext([Answer("waiting")])):
        with pytest.raises(RunFailed) as raised:
            outside(planned, person)
        wording(raised.value)
