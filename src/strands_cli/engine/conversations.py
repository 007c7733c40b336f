"""The conversations and states of agents with `memory: run`, step after step in one order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.errors import RunFailed
from strands_cli.workflow.steps import AgentStep

if TYPE_CHECKING:
    from strands_cli.engine.ports import AgentAnswer
    from strands_cli.planning.plan import PlannedAgent
    from strands_cli.workflow.steps import Step

# Names in the output of a step's row.
MESSAGES, RESTATED, STATE = "messages", "restated", "state"


class Conversations:
    """The conversation and the state of each agent with `memory: run`, stored in the rows of finished steps."""

    def __init__(self, agents: Mapping[str, PlannedAgent]) -> None:
        self._messages: dict[str, tuple[Any, ...]] = {
            agent.id: () for agent in agents.values() if agent.keeps_conversation
        }
        self._states: dict[str, Mapping[str, Any]] = {}
        self._speaking: dict[str, str] = {}

    def history(self, agent_id: str) -> tuple[Any, ...]:
        """Return the messages so far; none for an agent with `memory: step`."""
        return self._messages.get(agent_id, ())

    def state(self, agent_id: str) -> Mapping[str, Any]:
        """Return what tools have left in the agent's state; nothing for an agent with `memory: step`."""
        return self._states.get(agent_id, {})

    @contextlib.contextmanager
    def reserved(self, step: Step, key: str) -> Iterator[None]:
        """Reserve an agent's conversation for one step; a second step at the same time is refused.

        Raises:
            RunFailed: Another step of this agent has not ended, so the order of the conversation would not be defined.
        """
        agent_id = step.agent if isinstance(step, AgentStep) and step.agent in self._messages else None
        if agent_id is None:
            yield
            return
        if agent_id in self._speaking:
            raise RunFailed(
                f"{key} and {self._speaking[agent_id]} would use the agent '{agent_id}' at the same time, "
                "and it has one conversation (`memory: run`)",
                fix="use an agent for each, or `memory: step`",
            )
        self._speaking[agent_id] = key
        try:
            yield
        finally:
            del self._speaking[agent_id]

    def fields_of(self, answer: AgentAnswer, agent_id: str) -> dict[str, Any]:
        """Return what the step's row stores besides its result."""
        if agent_id not in self._messages:
            return {}
        state = {STATE: dict(answer.state)} if answer.state or self.state(agent_id) else {}
        return {MESSAGES: list(answer.messages), **({RESTATED: True} if answer.restated else {}), **state}

    def apply(self, output: Mapping[str, Any]) -> dict[str, Any]:
        """Append a finished step's messages to its conversation, and take its state; return the result without them."""
        result = {name: value for name, value in output.items() if name not in (MESSAGES, RESTATED, STATE)}
        if MESSAGES in output and output["agent"] in self._messages:
            before = () if output.get(RESTATED) else self._messages[output["agent"]]
            self._messages[output["agent"]] = (*before, *output[MESSAGES])
            self._states[output["agent"]] = output.get(STATE, {})
        return result
