"""A window keeps a conversation to its latest messages: seen in the requests that the server receives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.agents.compaction import LEAST, holds, windowed
from strands_cli.errors import InvalidInput, RunFailed
from tests.agents.kit import SCHEMA, Site
from tests.agents.resumable import RECORD, going, lines_of, rows, workflow
from tests.agents.test_compaction import AGENT, CONVERSATIONS, ONE, OVERFLOW, call, counting, paired, words
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

CLONE = Path(__file__).parent.parent.parent


pytestmark = pytest.mark.usefixtures("echo_and_key")


def window(most: int) -> str:
    return f"context_policy: {{window: {{max_messages: {most}}}}}"


def test_the_server_receives_the_steps_words_and_the_latest_whole_calls(site: Site) -> None:
    with ModelServer(counting(6)) as server:
        assert going(site, workflow(server.url, ONE, agents=AGENT, rest=window(6))).response == "counted"
        requests = server.model_requests
    assert [len(lines_of(request)) for request in requests] == [1, 3, 5, 5, 5, 5, 5]
    assert all(paired(request) for request in requests)
    assert {lines_of(request)[0] for request in requests} == {"user: count to six"}
    last = lines_of(requests[-1])
    assert last[1] == "assistant calls echo"
    assert last[2].startswith("tool: said number 4")
    assert last[-1].startswith("tool: said number 5")


def test_a_window_that_is_wide_enough_changes_nothing(site: Site) -> None:
    with ModelServer(counting(3)) as server:
        going(site, workflow(server.url, ONE, agents=AGENT, rest=window(7)))
        assert [len(lines_of(request)) for request in server.model_requests] == [1, 3, 5, 7]


def test_calls_that_were_made_at_once_stay_with_all_their_results(site: Site) -> None:
    at_once = Turn(calls=[("echo", {"text": "a"}), ("echo", {"text": "b"})])
    with ModelServer([at_once, at_once, at_once, Turn("done")]) as server:
        going(site, workflow(server.url, ONE, agents=AGENT, rest=window(3)))
        requests = server.model_requests
    assert all(paired(request) for request in requests)
    assert [len(lines_of(request)) for request in requests] == [1, 4, 4, 4], "a result each, as this interface has it"


def test_the_conversation_of_an_agent_that_keeps_it_stays_cut_and_begins_with_the_user(site: Site) -> None:
    steps = ", ".join(f"{{agent: one, input: question {n}}}" for n in range(4))
    agents = AGENT.replace("tools:", "memory: run, tools:")
    with ModelServer([Turn(f"answer {n}") for n in range(4)]) as server:
        going(site, workflow(server.url, steps, agents=agents, rest=window(4)))
        requests = [lines_of(request) for request in server.model_requests]
    assert requests[-1] == ["user: question 2", "assistant: answer 2", "user: question 3"]
    assert all(len(request) <= 4 and request[0].startswith("user: ") for request in requests)
    assert [key for key, row in rows().items() if row.output.get("restated")] == ["steps.2", "steps.3"]


def test_an_answer_in_form_still_sees_what_was_asked_when_it_is_asked_for_again(site: Site) -> None:
    agents = AGENT.replace("tools:", "output_schema: {type: object, required: [n]}, tools:")
    turns = [
        *(Turn(calls=[("echo", {"text": "x"})]) for _ in range(3)),
        Turn("six"),
        Turn(calls=[("final_answer", {})]),
    ]
    with ModelServer([*turns, Turn(calls=[("final_answer", {"n": 6})])]) as server:
        assert json.loads(going(site, workflow(server.url, ONE, agents=agents, rest=window(3))).response or "") == {
            "n": 6
        }
        requests = server.model_requests
    assert all(lines_of(request)[0] == "user: count to six" and paired(request) for request in requests)
    assert all(len(lines_of(request)) <= 3 for request in requests)


# -- what a provider says is too long


def test_a_request_that_was_too_long_is_tried_again_with_half_the_messages(site: Site) -> None:
    answers = counting(6)

    def answer(request: dict[str, Any]) -> Turn:
        return OVERFLOW if len(lines_of(request)) > 6 else answers(request)

    with ModelServer(answer) as server:
        assert going(site, workflow(server.url, ONE, agents=AGENT, rest=window(40))).response == "counted"
        requests = server.model_requests
    assert [len(lines_of(request)) for request in requests] == [1, 3, 5, 7, 3, 3, 3, 3]
    assert all(paired(request) for request in requests)
    assert [key for key, row in rows().items() if row.kind == "model" and row.status == "failed"] == ["steps.0/model.3"]


def test_what_is_still_too_long_fails_with_advice_and_not_in_a_circle(site: Site, wording: Wording) -> None:
    answers = counting(6)

    def answer(request: dict[str, Any]) -> Turn:
        return OVERFLOW if "number 4" in json.dumps(request) else answers(request)

    with ModelServer(answer) as server:
        with pytest.raises(RunFailed) as caught:
            going(site, workflow(server.url, ONE, agents=AGENT, rest=window(40)))
        assert [len(lines_of(request)) for request in server.model_requests] == [1, 3, 5, 7, 9, 11, 5, 3]
    wording([caught.value, caught.value.fix])


def test_without_a_policy_the_failure_names_both_ways_to_cut(site: Site) -> None:
    with ModelServer([OVERFLOW]) as server:
        with pytest.raises(RunFailed) as caught:
            going(site, workflow(server.url, ONE, agents=AGENT))
        assert len(server.requests) == 1
    assert "context_policy.compaction" in (caught.value.fix or "")
    assert "context_policy.window" in (caught.value.fix or "")


# -- resume

DEADLY = (
    "import os, signal\n"
    f"TOOL_SPEC = {{'name': 'deadly', 'description': 'D.', 'inputSchema': {{'json': {SCHEMA!r}}},"
    " 'annotations': {'readOnlyHint': True}}\n"
    "def deadly(tool, **kwargs):\n"
    "    if tool['input']['text'] == os.environ.get('DIE_AT'):\n"
    "        os.kill(os.getpid(), signal.SIGKILL)\n"
    "    return {'status': 'success', 'content': [{'text': 'said ' + tool['input']['text']}]}\n"
)
CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.agents.kit import Site
from tests.agents.resumable import going
going(Site(Path(sys.argv[1])), Path("flow.text").read_text())
"""


def digests() -> dict[str, tuple[str, str]]:
    return {key: (row.status, row.digest) for key, row in rows().items()}


@pytest.mark.kills
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_run_that_was_killed_between_two_calls_goes_on_with_the_same_window(
    site: Site,
) -> None:
    site.install(DEADLY, {"annotations": {"readOnlyHint": True}}, name="deadly")
    agents = AGENT.replace("native:echo", "native:deadly")
    turns = [Turn(calls=[("deadly", {"text": f"number {n}"})]) for n in range(6)]
    with ModelServer([*turns, Turn("counted")]) as server:
        text = workflow(server.url, ONE, agents=agents, rest=window(5))
        Path("flow.text").write_text(text)
        command = [sys.executable, "-c", CHILD, str(site.directory)]
        environment = {**os.environ, "DIE_AT": "number 4", "PYTHONPATH": str(CLONE)}
        child = subprocess.run(command, env=environment, check=False, capture_output=True, timeout=300)
        assert child.returncode == -signal.SIGKILL, child.stderr.decode()
        assert len(server.model_requests) == 5
        assert going(site, text).response == "counted"
        sent, killed = server.model_requests, digests()
    assert [len(lines_of(request)) for request in sent] == [1, 3, 5, 5, 5, 5, 5], "no request was made twice"
    RECORD.rename("killed")
    with ModelServer([*turns, Turn("counted")], port=int(server.host.rpartition(":")[2])) as server:
        assert going(site, text).response == "counted"
        assert server.model_requests == sent
    assert digests() == killed


# -- what is refused


@pytest.mark.parametrize("policy", ["{}", "{max_messages: 2}", "{max_messages: 5, keep: 1}", "5"])
def test_a_window_without_a_usable_size_is_found(site: Site, policy: str) -> None:
    with pytest.raises(InvalidInput):
        going(site, workflow("http://127.0.0.1:9/v1", ONE, agents=AGENT, rest=f"context_policy: {{window: {policy}}}"))


@pytest.mark.parametrize("enabled", [True, False])
def test_a_window_beside_compaction_is_found_unless_that_is_switched_off(site: Site, enabled: bool) -> None:
    rest = f"context_policy: {{window: {{max_messages: 5}}, compaction: {{enabled: {json.dumps(enabled)}}}}}"
    with ModelServer([Turn("well")]) as server:
        text = workflow(server.url, ONE, agents=AGENT, rest=rest)
        if not enabled:
            assert going(site, text).response == "well"
            return
        with pytest.raises(InvalidInput) as caught:
            going(site, text)
    (finding,) = caught.value.findings
    assert (finding.code, finding.where and finding.where.pointer) == (
        "window-and-compaction",
        "/context_policy/window",
    )


# -- where a conversation is cut

SIZES = st.integers(LEAST, 12)
STEP = st.lists(st.integers(0, 9).map(call), max_size=8).map(lambda calls: [m for pair in calls for m in pair])


def conversation(earlier: list[Any], calls: list[Any]) -> tuple[list[Any], int]:
    """Return former steps that end with an answer, and a step's words with its calls."""
    former = [*earlier, *words("assistant", "so")] if earlier and holds(earlier[-1], "toolResult") else earlier
    former = former if not former or former[0]["role"] == "user" else [*words("user", "first"), *former]
    return [*former, *words("user", "now"), *calls], len(former)


@given(CONVERSATIONS, STEP, SIZES)
def test_a_cut_parts_no_pair_and_keeps_the_words_the_latest_and_the_order_of_roles(
    earlier: list[Any], calls: list[Any], most: int
) -> None:
    messages, step = conversation(alternating(earlier), calls)
    kept, place = windowed(messages, step, most)
    assert len(kept) <= max(most, 1)
    assert kept[place] == messages[step]
    assert kept[-1] == messages[-1]
    assert [message["role"] for message in kept] == [("user", "assistant")[n % 2] for n in range(len(kept))]
    assert not holds(kept[0], "toolResult")
    for before, after in pairwise(kept):
        asked = [block["toolUse"]["toolUseId"] for block in before["content"] if "toolUse" in block]
        assert asked == [block["toolResult"]["toolUseId"] for block in after["content"] if "toolResult" in block]


@given(CONVERSATIONS, STEP, SIZES)
def test_cutting_as_it_grows_is_cutting_once(earlier: list[Any], calls: list[Any], most: int) -> None:
    messages, step = conversation(alternating(earlier), [])
    growing, place = windowed(messages, step, most)
    for number in range(0, len(calls), 2):
        growing, place = windowed([*growing, *calls[number : number + 2]], place, most)
    assert (growing, place) == windowed([*messages, *calls], step, most)


def alternating(messages: list[Any]) -> list[Any]:
    """Return the messages with words of the other side wherever one side speaks twice."""
    told: list[Any] = []
    for message in messages:
        before = told[-1]["role"] if told else "assistant"
        if message["role"] == before:
            told += words("user" if before == "assistant" else "assistant", "and")
        told.append(message)
    return told if not told or told[-1]["role"] == "assistant" else [*told, *words("assistant", "so")]


def test_a_cut_never_falls_between_a_call_of_an_earlier_step_and_its_result() -> None:
    former = [*words("user", "old"), *(message for n in range(5) for message in call(n)), *words("assistant", "done")]
    messages = [*former, *words("user", "new")]
    for most in range(LEAST, len(messages) + 1):
        kept, _ = windowed(messages, len(messages) - 1, most)
        assert not holds(kept[0], "toolResult")
        assert [message["role"] for message in kept[:2]] in (["user"], ["user", "assistant"]), most


def test_a_cut_within_an_earlier_step_keeps_what_that_step_was_asked() -> None:
    messages = [
        *words("user", "old"),
        *(message for n in range(5) for message in call(n)),
        *words("assistant", "done"),
        *words("user", "new"),
    ]
    kept, place = windowed(messages, len(messages) - 1, 6)
    assert kept == [messages[0], *messages[-4:]]
    assert place == 4
