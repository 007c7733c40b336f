"""What calls leave behind in their agent: values in its state, and tools."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.texts.canonical_json import canonical_json

if TYPE_CHECKING:
    from strands import Agent

# What a call has changed in its agent, in the output of its row.
AGENT = "agent"
# What hooks have changed before a request to the model, in the detail of its row.
BY_HOOKS = "changed_by_hooks"


@dataclass(frozen=True, slots=True)
class LateSpecs:
    """How the tools that came during the run are read and put back.

    Attributes:
        take: Returns what would make each again, by name; takes the tool whose call has just ended.
        put: Puts a tool in their place that tells what has become of it, or takes one out if it gets None.
    """

    take: Callable[[str], Mapping[str, Any]]
    put: Callable[[str, Any], None]


class AgentChanges:
    """Stores with each call what it has changed in the agent, and changes it again when the journal answers the call.

    What hooks change is stored with the next request to the model. A later change of the same name wins, in whatever
    order the calls are replayed.

    Attributes:
        unstored: For the detail of the request's row: what hooks have changed since the call or request before.
    """

    def __init__(self, agent: Agent, late: LateSpecs) -> None:
        self._agent = weakref.ref(agent)
        self._late = late
        self._number = 0
        self._latest: dict[tuple[str, str], int] = {}
        self._known = self.now()
        self.unstored: Mapping[str, Any] = {}

    def before_request(self, stored: Mapping[str, Any] | None) -> None:
        """Make the changes of hooks again that are stored with a request, or note the new ones for its row."""
        if stored is None:
            changes = self.since(self._known, "")
            self.unstored = {BY_HOOKS: changes} if changes else {}
        else:
            self.restore(stored)

    def now(self, by: str = "") -> Mapping[str, Mapping[str, Any]]:
        """Return what is in the agent; a call of the tool `by` has just ended."""
        agent = self._agent()
        return {"state": agent.state.get() if agent is not None else {}, "tools": self._late.take(by)}

    def since(self, before: Mapping[str, Mapping[str, Any]], by: str) -> Mapping[str, Any]:
        """Return the changes as JSON; empty where nothing has changed."""
        changes: dict[str, Any] = {}
        self._known = self.now(by)
        for part, values in self._known.items():
            held = before[part]
            new = {name: value for name, value in values.items() if not _is_same(held, name, value)}
            gone = [name for name in held if name not in values]
            if new or gone:
                changes[part] = {"set": new, "gone": gone}
        if changes:
            self._number += 1
            changes["number"] = self._number
        return changes

    def restore(self, changes: Mapping[str, Any]) -> None:
        """Make changes again that an earlier process has stored."""
        number, agent = changes["number"], self._agent()
        self._number = max(self._number, number)
        for part in ("state", "tools"):
            stored = changes.get(part) or {"set": {}, "gone": []}
            for name in (*stored["set"], *stored["gone"]):
                if agent is None or self._latest.get((part, name), 0) > number:
                    continue
                self._latest[part, name] = number
                if part == "tools":
                    self._late.put(name, stored["set"].get(name))
                elif name in stored["set"]:
                    agent.state.set(name, stored["set"][name])
                else:
                    agent.state.delete(name)
        self._known = self.now()


def _is_same(held: Mapping[str, Any], name: str, value: Any) -> bool:
    return name in held and (held[name] is value or canonical_json(held[name]) == canonical_json(value))
