"""An agent that repeats itself is hinted at it, then stopped: by what the journal has, so in a resumed run too."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from strands_cli.errors import AgentLoop, ExitCode, RunFailed, exit_code_of
from strands_cli.events import Event, RunWarning
from strands_cli.tools.calls.loops import AGENT_LOOP
from tests.agents.kit import SCHEMA, Site
from tests.agents.resumable import RECORD, going, lines_of, rows, workflow
from tests.agents.test_window import CHILD, CLONE
from tests.fakes.model_server import ModelServer, Turn

ONE = "{agent: one, input: go}"
TICKS = (
    f"TOOL_SPEC = {{'name': 'ticks', 'description': 'T.', 'inputSchema': {{'json': {SCHEMA!r}}}, "
    "'annotations': {'readOnlyHint': True}%s}\n"
    "MADE = []\n"
    "def ticks(tool, **kwargs):\n"
    "    MADE.append(1)\n"
    "    return {'status': 'success', 'content': [{'text': 'tick %%d' %% (len(MADE) // %d)}]}\n"
)
POLLS = ", 'strands_cli': {'polls': True}"

pytestmark = pytest.mark.usefixtures("echo_and_key")


def agents(more: str = "", tools: str = "native:echo") -> str:
    return f"{{one: {{prompt: p, tools: [{tools}]{more}}}}}"


def turn(*texts: str, tool: str = "echo") -> Turn:
    return Turn(calls=[(tool, {"text": text}) for text in texts])


def played(site: Site, turns: Sequence[Turn], *, more: str = "", tools: str = "native:echo") -> Any:
    """Run the agent on these turns; return the requests, and the events."""
    events: list[Event] = []
    with ModelServer(turns) as server:
        going(site, workflow(server.url, ONE, agents=agents(more, tools)), events=events)
        return server.model_requests, events


def hints(requests: Sequence[Any]) -> list[int]:
    """Return the tool results of the last request that have a hint, by their number."""
    results = [message for message in requests[-1]["messages"] if message["role"] == "tool"]
    return [number for number, result in enumerate(results) if "[strands: " in json.dumps(result)]


def install_ticks(site: Site, same: int, claims: str = "") -> None:
    described = {"annotations": {"readOnlyHint": True}} | ({"strands_cli": {"polls": True}} if claims else {})
    site.install(TICKS % (claims, same), described, name="ticks")


LOOPS: dict[str, tuple[list[Turn], list[int]]] = {
    "the same call": ([turn("a")] * 5, [2]),
    "the same two calls at once": ([turn("a", "b")] * 4, [4]),
    "two that alternate": ([turn("a"), turn("b")] * 4, [5]),
    "three that go round": ([turn("a"), turn("b"), turn("c")] * 3, [8]),
    "one that goes on after something new": ([turn("a")] * 3 + [turn("b")] + [turn("a")] * 3, [2, 6]),
    "a name that no tool has": ([turn("a", tool="nothing")] * 3, [2]),
    "arguments that are refused": ([Turn(calls=[("echo", {})])] * 3, [2]),
}


@pytest.mark.parametrize("way", LOOPS)
def test_the_third_time_has_one_hint(site: Site, way: str) -> None:
    turns, expected = LOOPS[way]
    requests, events = played(site, [*turns, Turn("done")], more=", loops: {stop_after: off}")
    assert hints(requests) == expected
    warnings = [event for event in events if isinstance(event, RunWarning)]
    assert [warning.code for warning in warnings] == [AGENT_LOOP] * len(expected)
    hinted = [key for key, row in rows().items() if "loop" in row.detail]
    assert [int(key.split(".")[2]) for key in hinted] == expected
    assert {row.detail["loop"] for row in rows().values() if "loop" in row.detail} == {3}


NO_LOOPS: dict[str, list[Turn]] = {
    "a call twice": [turn("a")] * 2,
    "other arguments": [turn(f"number {number}") for number in range(12)],
    "one call many times in a turn": [turn(*["a"] * 9)],
    "something new in each turn": [turn("a", f"number {number}") for number in range(9)],
    "something new between": [turn(text) for number in range(6) for text in ("a", f"number {number}")],
}


@pytest.mark.parametrize("way", NO_LOOPS)
def test_work_that_goes_on_has_no_hint(site: Site, way: str) -> None:
    requests, events = played(site, [*NO_LOOPS[way], Turn("done")])
    assert hints(requests) == []
    assert not [event for event in events if isinstance(event, RunWarning)]


def test_a_call_whose_result_changes_has_no_hint(site: Site) -> None:
    install_ticks(site, 2)
    turns = [turn("a", tool="ticks")] * 9
    assert hints(played(site, [*turns, Turn("done")], tools="native:ticks")[0]) == []


def test_a_tool_that_polls_may_have_the_same_result_as_often_as_it_likes(site: Site) -> None:
    install_ticks(site, 100, POLLS)
    turns = [turn("a", tool="ticks")] * 9
    assert hints(played(site, [*turns, Turn("done")], tools="native:ticks")[0]) == []


def test_the_seventh_time_is_not_made_and_ends_the_run_with_its_own_code(site: Site) -> None:
    with pytest.raises(AgentLoop) as error:
        played(site, [turn("a")] * 9)
    assert exit_code_of(error.value) == ExitCode.AGENT_LOOP == 22
    assert "polls" in str(error.value.fix)
    stored = rows()
    assert [key for key, row in stored.items() if row.kind == "tool"] == [f"steps.0/tool.{n}.echo" for n in range(6)]
    assert stored["steps.0/model.6"].status == "failed"
    assert stored["steps.0"].detail["error"] == error.value.message


def test_a_stopped_run_asks_the_model_again_and_goes_on_if_it_has_something_else(site: Site) -> None:
    with ModelServer([turn("a")] * 7) as server:
        text = workflow(server.url, ONE, agents=agents())
        with pytest.raises(AgentLoop):
            going(site, text)
        with pytest.raises(RunFailed):  # the model has the loop's last request again, and the script has ended
            going(site, text)
        server.script = lambda request: Turn("done") if "said b" in json.dumps(request["messages"][-1]) else turn("b")
        assert going(site, text).response == "done"
    assert rows()["steps.0/tool.6.echo"].detail["arguments"] == {"text": "b"}


@pytest.mark.parametrize(
    ("agent", "runtime", "expected"),
    [
        (", loops: off", "", []),
        ("", ", loops: off", []),
        (", loops: {hint_after: 2}", ", loops: off", [1]),
        (", loops: {hint_after: off}", "", []),
    ],
)
def test_the_words_of_an_agent_count_before_those_of_the_runtime(
    site: Site, agent: str, runtime: str, expected: list[int]
) -> None:
    with ModelServer([*[turn("a")] * 5, Turn("done")]) as server:
        text = workflow(server.url, ONE, agents=agents(agent)).replace("retries: 0}", f"retries: 0}}{runtime}")
        going(site, text)
        assert hints(server.model_requests) == expected


@pytest.mark.parametrize("broken_at", range(1, 6))
def test_a_resumed_run_gives_the_same_hint_at_the_same_call(site: Site, broken_at: int) -> None:
    turns = [turn("a"), turn("a"), turn("a"), turn("b"), turn("a"), Turn("done")]
    whole, _ = played(site, turns)
    shutil.rmtree(RECORD)
    with ModelServer([*turns[:broken_at], Turn(status=400), *turns[broken_at:]]) as server:
        text = workflow(server.url, ONE, agents=agents())
        with pytest.raises(RunFailed):
            going(site, text)
        going(site, text)
        assert lines_of(server.model_requests[-1]) == lines_of(whole[-1])
    assert hints(whole) == [2]


def test_a_resumed_run_counts_the_calls_of_the_one_before_it(site: Site) -> None:
    with ModelServer([*[turn("a")] * 4, Turn(status=400), turn("a"), turn("a"), turn("a")]) as server:
        text = workflow(server.url, ONE, agents=agents())
        with pytest.raises(RunFailed):
            going(site, text)
        with pytest.raises(AgentLoop):
            going(site, text)
        assert server.remaining == 0
    assert [key for key, row in rows().items() if "loop" in row.detail] == ["steps.0/tool.2.echo"]


FATAL = (
    "import os, signal\n"
    f"TOOL_SPEC = {{'name': 'fatal', 'description': 'F.', 'inputSchema': {{'json': {SCHEMA!r}}},"
    " 'annotations': {'readOnlyHint': True}}\n"
    "MADE = []\n"
    "def fatal(tool, **kwargs):\n"
    "    MADE.append(1)\n"
    "    if len(MADE) == int(os.environ.get('DIE_AT', 99)):\n"
    "        os.kill(os.getpid(), signal.SIGKILL)\n"
    "    return {'status': 'success', 'content': [{'text': 'said'}]}\n"
)


@pytest.mark.kills
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("dies_at", [2, 3, 4])
def test_a_run_that_was_killed_in_a_call_goes_on_with_the_same_hint_and_the_same_tools(
    site: Site, dies_at: int
) -> None:
    site.install(FATAL, {"annotations": {"readOnlyHint": True}}, name="fatal")
    turns = [Turn(calls=[("find_tool", {"names": ["fatal"]})]), *[turn("a", tool="fatal")] * 4, Turn("done")]
    with ModelServer(turns) as server:
        text = workflow(server.url, ONE, agents=agents(", tools_shown: deferred", "native:fatal"))
        Path("flow.text").write_text(text)
        command = [sys.executable, "-c", CHILD, str(site.directory)]
        environment = {**os.environ, "DIE_AT": str(dies_at), "PYTHONPATH": str(CLONE)}
        child = subprocess.run(command, env=environment, check=False, capture_output=True, timeout=300)
        assert child.returncode == -signal.SIGKILL, child.stderr.decode()
        assert going(site, text).response == "done"
        sent = server.model_requests
    assert len(sent) == len(turns), "no request was made twice"
    RECORD.rename("killed")
    with ModelServer(turns, port=int(server.host.rpartition(":")[2])) as server:
        assert going(site, text).response == "done"
        assert server.model_requests == sent
    assert hints(sent) == [3]
