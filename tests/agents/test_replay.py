"""A recording is played turn by turn, and a turn that does not fit says what is different."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli.agents.model.replay import ReplayModel
from strands_cli.errors import RunFailed
from strands_cli.workflow.recording_file import RecordedCall, RecordedTurn
from tests.agents.kit import SCHEMA, RunContext, Site, asking
from tests.wordings import Wording

ECHO = (
    f"TOOL_SPEC = {{'name': 'echo', 'description': 'E.', 'inputSchema': {{'json': {SCHEMA!r}}}}}\n"
    "def echo(tool, **kwargs):\n    return {'status': tool['input']['text'], 'content': [{'text': 'x'}]}\n"
)


def call(tool: str = "echo", said: str = "success", when: str | None = None) -> RecordedTurn:
    return RecordedTurn(calls=(RecordedCall(tool, {"text": said}),), when=when)


def say(text: str, when: str | None = None) -> RecordedTurn:
    return RecordedTurn(text=text, when=when, usage=(7, 3))


@pytest.fixture
def planned(site: Site) -> Any:
    site.install(ECHO)
    return site.plan("native:echo")


def play(planned: Any, *turns: RecordedTurn, host: RunContext | None = None, prompt: str = "go") -> str:
    return asking(ReplayModel(turns, "steps.0"), *planned, host=host, prompt=prompt).text


def test_turns_are_played_while_tools_run_for_real(planned: Any) -> None:
    host = RunContext()
    assert play(planned, call(when="go"), say("done", when="echo: success"), host=host) == "done"
    assert (host.budget.usage.input_tokens, host.budget.usage.output_tokens) == (7, 3)
    assert list(host.rows("tool")) == ["steps.0/tool.0.echo"]


def test_text_and_calls_may_be_in_one_turn(planned: Any) -> None:
    turn = RecordedTurn(text="let me see", calls=(RecordedCall("echo", {"text": "success"}),))
    assert play(planned, turn, say("done")) == "done"


def test_too_few_turns_say_what_the_run_asks_for(planned: Any, wording: Wording) -> None:
    with pytest.raises(RunFailed) as caught:
        play(planned, call())
    wording(caught.value.message)
    wording(caught.value.fix)


def test_no_turns_at_all_are_too_few(planned: Any, wording: Wording) -> None:
    with pytest.raises(RunFailed) as raised:
        play(planned)
    wording(raised.value)


def test_turns_left_over_mean_that_the_run_went_another_way(planned: Any, wording: Wording) -> None:
    with pytest.raises(RunFailed) as raised:
        play(planned, say("done"), say("more"), say("more"))
    wording(raised.value)


def test_a_turn_for_another_request_shows_the_difference(planned: Any, wording: Wording) -> None:
    host = RunContext()
    with pytest.raises(RunFailed) as caught:
        play(planned, call(said="error"), say("done", when="echo: success"), host=host)
    lines = caught.value.message.splitlines()
    wording(lines[0])
    assert "    -echo: success" in lines
    assert "    +echo: error" in lines
    wording(lines[-1])
    assert host.rows("model")["steps.0/model.1"].status == "failed"


@pytest.mark.parametrize("when", ["go  on\n", " go on", "go...", None])
def test_spaces_do_not_count_and_dots_mean_the_rest(planned: Any, when: str | None) -> None:
    assert play(planned, say("done", when=when), prompt="go on") == "done"


@pytest.mark.parametrize("tool", ["ecko", "zzz"])
def test_a_call_of_a_tool_that_is_not_offered_names_those_that_are(planned: Any, tool: str, wording: Wording) -> None:
    with pytest.raises(RunFailed) as caught:
        play(planned, call(tool))
    wording(caught.value)
    wording(caught.value.fix)


def test_a_recorded_stop_reason_is_kept(planned: Any, wording: Wording) -> None:
    with pytest.raises(RunFailed) as raised:
        play(planned, RecordedTurn(text="half", stop_reason="max_tokens"))
    wording(raised.value)


def test_what_the_journal_answers_is_passed_over_in_the_recording(planned: Any) -> None:
    host = RunContext()
    turns = [call(), say("done")]
    play(planned, *turns, host=host)
    resumed = RunContext(journal=host.journal)
    assert play(planned, *turns, host=resumed) == "done"

    only_first = RunContext()
    with pytest.raises(RunFailed):
        play(planned, call(), host=only_first)
    assert play(planned, *turns, host=RunContext(journal=only_first.journal)) == "done"


def test_the_model_has_no_settings_and_no_way_around_its_stream(wording: Wording) -> None:
    model = ReplayModel([], "steps.0")
    assert model.get_config() == {}
    with pytest.raises(RunFailed) as raised:
        model.update_config(temperature=1)
    wording(raised.value)
    with pytest.raises(NotImplementedError):
        model.structured_output()
