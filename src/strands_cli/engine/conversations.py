"""What agents with `memory: run` have said in the run so far, step after step in one order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.errors import RunFailed
from strands_cli.workflow.model import AgentStep

if TYPE_CHECKING:
    from strands_cli.engine.ports import AgentAnswer
    from strands_cli.planning.plan import PlannedAgent
    from strands_cli.workflow.model import Step

# Beside a step's result in its row.
MESSAGES, RESTATED = "messages", "restated"


class Conversations:
    """The conversation of each agent that keeps one; it lives in the rows of the finished steps."""

    def __init__(self, agents: Mapping[str, PlannedAgent]) -> None:
        self._said: dict[str, tuple[Any, ...]] = {agent.id: () for agent in agents.values() if agent.keeps_conversation}
        self._speaking: dict[str, str] = {}

    def history(self, agent_id: str) -> tuple[Any, ...]:
        """Return the messages so far; none for an agent that starts each step afresh."""
        return self._said.get(agent_id, ())

    @contextlib.contextmanager
    def held(self, step: Step, key: str) -> Iterator[None]:
        """Keep an agent's conversation for one step, and refuse a second one at the same time.

        Raises:
            RunFailed: another step of this agent has not ended; the conversation would have no one order.
        """
        agent_id = step.agent if isinstance(step, AgentStep) and step.agent in self._said else None
        if agent_id is None:
            yield
            return
        if agent_id in self._speaking:
            raise RunFailed(
                f"{key} and {self._speaking[agent_id]} would use the agent '{agent_id}' at once, and it keeps one "
                "conversation (`memory: run`)",
                fix="use an agent for each, or `memory: step`",
            )
        self._speaking[agent_id] = key
        try:
            yield
        finally:
            del self._speaking[agent_id]

    def row_of(self, answer: AgentAnswer, agent_id: str) -> dict[str, Any]:
        """Return what the step's row keeps besides its result."""
        if agent_id not in self._said:
            return {}
        return {MESSAGES: list(answer.messages), **({RESTATED: True} if answer.restated else {})}

    def go_on(self, output: Mapping[str, Any]) -> dict[str, Any]:
        """Take a finished step's row into its agent's conversation; return the row's result without it."""
        result = {name: value for name, value in output.items() if name not in (MESSAGES, RESTATED)}
        if MESSAGES in output and output["agent"] in self._said:
            before = () if output.get(RESTATED) else self._said[output["agent"]]
            self._said[output["agent"]] = (*before, *output[MESSAGES])
        return result
