"""The agent that a tool gets: it knows the call for which the tool uses it, in every thread."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

from strands import Agent
from strands.types.exceptions import ConcurrencyException

from strands_cli.tools.calls.inner_calls import OpenCall

# Makes a call of a tool by its name: with the agent, the name, the arguments, and the call of the tool that makes it.
MakeByName = Callable[[Agent, str, Mapping[str, Any], OpenCall | None], Any]


class InnerCaller:
    """What tools have as `agent.tool`: each call passes the permission check below the call of the tool."""

    def __init__(self, agent: Agent, make: MakeByName, call: OpenCall | None = None) -> None:
        self._agent = weakref.ref(agent)
        self._make = make
        self._call = call

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return what calls the tool of this name."""

        def call(
            user_message_override: str | None = None, record_direct_tool_call: bool | None = None, **arguments: Any
        ) -> Any:
            if record_direct_tool_call:
                raise ConcurrencyException("a call that a tool makes cannot become a message of the conversation")
            if (agent := self._agent()) is None:
                raise ReferenceError("the agent's step is over")
            return self._make(agent, name, arguments, self._call)

        return call


class AgentOfCall(Agent):
    """The agent of a step as the tool of one call has it: what is read and written is that agent's.

    Only `tool` and `model` are its own: they make calls and requests for its call, where no context variable is known.
    """

    def __init__(self, agent: Agent, call: OpenCall) -> None:
        caller: Any = agent.tool_caller
        own = {"agent": agent, "call": call, "tool": InnerCaller(agent, caller._make, call)}
        object.__setattr__(self, "_own", own | {"tool_caller": own["tool"]})

    def __getattribute__(self, name: str) -> Any:
        """Return an attribute of the agent."""
        own = object.__getattribute__(self, "_own")
        if name in ("tool", "tool_caller"):
            return own[name]
        value = getattr(own["agent"], name)
        if name != "model" or not hasattr(value, "of_call"):
            return value
        return own.setdefault(name, value.of_call(own["call"]))

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the agent."""
        setattr(agent_itself(self), name, value)

    def __delattr__(self, name: str) -> None:
        """Delete an attribute of the agent."""
        delattr(agent_itself(self), name)

    def __eq__(self, other: object) -> bool:
        """Return whether this is the same agent."""
        return agent_itself(self) is agent_itself(other)

    def __hash__(self) -> int:
        """Return the agent's hash."""
        return hash(agent_itself(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copy the agent."""
        return agent_itself(self).__reduce_ex__(protocol)

    def __del__(self) -> None:
        """End nothing: the agent is still at work."""


def agent_itself(agent: Any) -> Any:
    """Return the agent of a step for what a tool has of it; anything else as it is."""
    return object.__getattribute__(agent, "_own")["agent"] if type(agent) is AgentOfCall else agent


def call_of(agent: Any) -> OpenCall | None:
    """Return the call for whose tool an agent was made, or None."""
    own: Any = object.__getattribute__(agent, "_own") if type(agent) is AgentOfCall else {"call": None}
    call: OpenCall | None = own["call"]
    return call


def for_call(state: Mapping[str, Any], call: OpenCall) -> dict[str, Any]:
    """Return an invocation state for a tool, with the agent of its call."""
    agent = agent_itself(state.get("agent"))
    if type(getattr(agent, "tool_caller", None)) is not InnerCaller:  # one that a tool has made
        return dict(state)
    return {**state, "agent": AgentOfCall(agent, call)}
