"""A tool that is called by a step without a model finds an agent: its state, the workflow's tools, and no model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import WaitingForPerson
from strands_cli.policy.rule import Rule
from strands_cli.tools.calls.agent_tools import CheckedToolCaller
from strands_cli.tools.tool_loading import load_tools
from tests.agents.kit import YES, RunContext, Site, error, gate_of, run, text
from tests.tools.test_inner_calls import ASYNC, NAMES, SYNC, install, made


def stepping(site: Site, body: str, host: RunContext | None = None, rules: Any = (YES,)) -> dict[str, Any]:
    """Call the tool `outer` in a step, in a workflow that has the tools `inner` and `later` too."""
    planned, host = install(site, body), host or RunContext()

    async def work() -> dict[str, Any]:
        toolbox = await load_tools(planned)
        return dict(await CheckedToolCaller(toolbox, gate_of(rules)).call_tool(planned[0], {}, host.scope()))

    return run(work())


BY_NAME = "    answer = agent.tool.inner(text='a')\n    return answer['content'][0]['text']\n"


def test_a_tool_of_a_step_calls_the_tools_of_the_workflow(site: Site) -> None:
    host = RunContext()
    assert text(stepping(site, SYNC + BY_NAME, host)) == "inner a"
    assert list(host.rows("tool")) == ["steps.0/tool.0.outer", "steps.0/tool.0.outer/tool.0.inner"]
    assert host.budget.tool_calls == 2


def test_each_of_its_calls_is_checked(site: Site) -> None:
    rules = [Rule("deny", "inner", "user", "policy.yaml:1"), YES]
    assert text(stepping(site, SYNC + BY_NAME, rules=rules)).startswith("denied")
    assert made() == []


def test_a_call_in_it_that_waits_is_found_again(site: Site) -> None:
    body = SYNC + "    agent.tool.inner(text='b')\n" + BY_NAME
    journal, rules = MemoryJournal(), [Rule("allow", "native:outer.outer", "command line", "--allow")]
    answers = [Answer("answered", "yes"), Answer("waiting")]
    with pytest.raises(WaitingForPerson):
        stepping(site, body, RunContext(answers, journal=journal), rules)
    host = RunContext([Answer("answered", "yes")], journal=journal)
    assert text(stepping(site, body, host, rules)) == "inner a"
    assert made() == ["b", "a"]


def test_its_agent_has_a_state_and_names_and_no_conversation(site: Site) -> None:
    body = SYNC + (
        "    agent.state.set('seen', 1)\n"
        "    facts = [agent.state.get('seen'), sorted(agent.tool_names), agent.messages]\n"
        "    import json\n    return json.dumps(facts)\n"
    )
    assert json.loads(text(stepping(site, body))) == [1, ["inner", "later", "outer"], []]


def test_the_state_that_a_call_in_it_has_left_is_there_when_the_step_goes_on(site: Site) -> None:
    """The tool is entered again; what its finished calls have changed comes from the journal."""
    putting = (
        "@tool(context=True)\ndef later(text: str, tool_context: ToolContext) -> str:\n    '''Puts.'''\n"
        "    tool_context.agent.state.set('put', text)\n    return 'put'\n"
    )
    body = (
        putting
        + SYNC
        + (
            "    agent.tool.later(text='x')\n    answer = tool_context.interrupt('sure')\n"
            "    return str(agent.state.get('put')) + answer\n"
        )
    )
    journal = MemoryJournal()
    with pytest.raises(WaitingForPerson):
        stepping(site, body, RunContext([Answer("waiting")], journal=journal))
    host = RunContext([Answer("answered", "yes")], journal=journal)
    assert text(stepping(site, body, host)) == "xyes"


def test_an_agent_with_the_model_of_the_step_fails_and_says_that_there_is_none(site: Site) -> None:
    body = ASYNC + "    made = Agent(model=agent.model, callback_handler=None)\n    await made.invoke_async('go')\n"
    result = stepping(site, body)
    assert result["status"] == "error"
    assert "`tool:` step" in error(result)["message"]
    assert "`tool:` step" in error(stepping(site, ASYNC + "    await agent.invoke_async('go')\n"))["message"]


def test_a_name_that_several_tools_have_is_left_out_but_the_step_s_own(site: Site) -> None:
    """Two settings of one tool are two tools: only of the step's own it is clear which one is meant."""
    body = SYNC + "    return ' '.join(sorted(agent.tool_names))\n"
    install(site, body)
    configured = ["native:outer.inner", {"tool": "native:outer.inner", "config": {"a": 1}}]
    planned = [one for entry in (NAMES[0], NAMES[2], *configured) for one in site.plan(entry)]

    async def work() -> str:
        toolbox = await load_tools(planned)
        return text(await CheckedToolCaller(toolbox, gate_of()).call_tool(planned[0], {}, RunContext().scope()))

    assert run(work()) == "later outer"
