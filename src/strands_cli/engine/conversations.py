"""The conversations and states of agents that remember: what each step added, joined in one order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.errors import RunFailed, RunRecordError
from strands_cli.planning.plan.plan_values import tools_in_step
from strands_cli.workflow.steps.step_models import AgentStep

if TYPE_CHECKING:
    from strands_cli.engine.ports.engine_ports import AgentAnswer
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.workflow.steps.step_models import Step

# Names in the output of a step's row.
MESSAGES, RESTATED, STATE = "messages", "restated", "state"


@dataclass(frozen=True, slots=True)
class _Exchange:
    """What one step added to the conversation of its agent.

    `messages` is None where its row has none. `replaced` are the steps whose messages it restates. `in_order` says
    whether the steps after it that name none remember it. With `memory: path` an agent has a conversation for each set
    of `tools`.
    """

    messages: Sequence[Any] | None
    state: Mapping[str, Any]
    replaced: frozenset[str]
    in_order: bool
    tools: frozenset[str] | None = None


class Conversations:
    """What the steps of each agent that remembers added to its conversation, as the rows of the steps have it.

    A step remembers the steps that its pattern names, in that order. Where the pattern names none, it remembers those
    that are done and remember in the same way.
    """

    def __init__(self, plan: Plan) -> None:
        self._done: dict[str, dict[str, _Exchange]] = {
            agent.id: {} for agent in plan.agents.values() if agent.keeps_conversation
        }
        self._speaking: dict[str, str] = {}
        self._plan = plan

    def has_one(self, step: Step) -> bool:
        """Return whether a step is one of an agent that remembers."""
        return isinstance(step, AgentStep) and step.agent in self._done

    def follows_path(self, step: Step) -> bool:
        """Return whether a step is one of an agent with `memory: path`, whose steps at the same time are apart."""
        return isinstance(step, AgentStep) and self._plan.agents[step.agent].follows_path

    def history(self, step: AgentStep, remembers: Sequence[str] | None) -> tuple[Any, ...]:
        """Return the messages so far; none for an agent with `memory: step`.

        Raises:
            RunRecordError: The row of a step that it continues has none, since the agent had `memory: step` then.
        """
        exchanges = self._remembered(step, remembers)
        replaced = {key for one in exchanges.values() for key in one.replaced}
        for key, one in exchanges.items():
            if one.messages is None:
                raise RunRecordError(
                    f"{key} was done without a conversation, which the agent '{step.agent}' has to continue",
                    fix=f"do it again: strands rerun RUN --from {key}",
                )
        return tuple(message for key, one in exchanges.items() if key not in replaced for message in one.messages or ())

    def state(self, step: AgentStep, remembers: Sequence[str] | None) -> Mapping[str, Any]:
        """Return what tools have left in the agent's state; nothing for an agent with `memory: step`."""
        return next((one.state for one in reversed(self._remembered(step, remembers).values())), {})

    def _remembered(self, step: AgentStep, remembers: Sequence[str] | None) -> dict[str, _Exchange]:
        done = self._done.get(step.agent)
        if not done:  # of thousands of steps few have an agent that remembers
            return {}
        if (tools := self._tools_of(step)) is not None:
            done = {key: one for key, one in done.items() if one.tools == tools}
        if remembers is None:
            return {key: one for key, one in done.items() if one.in_order}
        return {key: done[key] for key in remembers if key in done}

    def _tools_of(self, step: AgentStep) -> frozenset[str] | None:
        """Return what tells the conversations of an agent with `memory: path` from each other."""
        if not self.follows_path(step):
            return None
        tools = tools_in_step(step, self._plan.agents, self._plan.override_tools)
        return frozenset(tool.name for tool in tools)

    @contextlib.contextmanager
    def reserved(self, step: Step, key: str) -> Iterator[None]:
        """Reserve an agent's conversation for one step; with `memory: run` a second step at once is refused.

        Raises:
            RunFailed: Another step of this agent has not ended, so the order of the conversation would not be defined.
        """
        agent_id = step.agent if isinstance(step, AgentStep) and step.agent in self._done else None
        if agent_id is None or self.follows_path(step):
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

    def add(self, step: AgentStep, key: str, output: Mapping[str, Any], remembers: Sequence[str] | None) -> None:
        """Add what the row of a finished step has of its agent's conversation."""
        if step.agent in self._done:
            replaced = frozenset(self._remembered(step, remembers)) if output.get(RESTATED) else frozenset()
            messages, state, tools = output.get(MESSAGES), output.get(STATE, {}), self._tools_of(step)
            self._done[step.agent][key] = _Exchange(messages, state, replaced, remembers is None, tools)


def fields_of(answer: AgentAnswer, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the row of a step of an agent with `memory: run` stores besides its result.

    Args:
        before: The agent's state when the step began.
    """
    state = {STATE: dict(answer.state)} if answer.state or before else {}
    return {MESSAGES: list(answer.messages), **({RESTATED: True} if answer.restated else {}), **state}


def without_fields(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result in the output of a step's row."""
    return {name: value for name, value in output.items() if name not in (MESSAGES, RESTATED, STATE)}
