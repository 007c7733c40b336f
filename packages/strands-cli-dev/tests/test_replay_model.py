"""The model that plays turns: for an agent of the SDK, and strict about what it is asked."""

from __future__ import annotations

import pytest
from strands import Agent, tool

from strands_cli.api import StrandsCliError
from strands_cli_dev import replay_model


@tool
def shout(text: str) -> str:
    """Write a text in capital letters.

    Args:
        text: The text.
    """
    return text.upper()


def test_an_agent_makes_the_calls_and_ends_with_the_text() -> None:
    turns = [{"calls": [{"tool": "shout", "input": {"text": "fire"}}]}, {"text": "done", "when": "shout: success"}]
    agent = Agent(model=replay_model(turns), tools=[shout], callback_handler=None)
    assert str(agent("go")).strip() == "done"
    result = agent.messages[2]["content"][0]["toolResult"]
    assert (result["toolUseId"], result["content"]) == ("model.1.0", [{"text": "FIRE"}])


def test_a_request_more_than_there_are_turns_is_an_error() -> None:
    agent = Agent(model=replay_model([{"text": "one"}], "words"), callback_handler=None)
    agent("go")
    with pytest.raises(StrandsCliError, match="words"):
        agent("again")


@pytest.mark.parametrize("turn", [{"txt": "one"}, {"calls": [{"name": "shout"}]}])
def test_a_key_that_no_turn_has_is_an_error(turn: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        replay_model([turn])
