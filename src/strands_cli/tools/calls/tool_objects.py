"""The objects of tools: where earlier calls have used one that is gone, a person decides about the next call."""

from __future__ import annotations

import contextlib
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strands.types.tools import AgentTool

from strands_cli.engine.effects.effect import WITHOUT
from strands_cli.texts.canonical_json import digest_of

if TYPE_CHECKING:
    from strands_cli.tools.calls.execution import Attempt
    from strands_cli.tools.forms.manifest_check import LoadedTool
    from strands_cli.tools.forms.tool_forms import RawTool

# In the detail of a row: the object in which the call may have left something.
OBJECT = "object"

# Which objects the calls of which runs have used in this process, by the object's id.
_USED: dict[tuple[str | None, int], weakref.ref[Any]] = {}


@dataclass(slots=True)
class ToolObjects:
    """The objects of a run's tools.

    Attributes:
        workflow: The workflow's file: one that is a tool has objects of its own.
    """

    workflow: str | None = None
    _whole: set[str] = field(default_factory=set)

    async def require_state(self, attempt: Attempt, *, only_reads: bool) -> None:
        """Check before a call that its object has what earlier calls of the run have left in it.

        Args:
            attempt: The call.
            only_reads: Whether the call leaves nothing in the object.

        Raises:
            NeedsDecision: Earlier calls used an object of a process that has ended, and no person has decided yet.
        """
        thing = object_of(attempt.tool.raw)
        if thing is None:
            return
        name = self._name_of(attempt.tool, thing)
        if name not in self._whole:
            run_id = attempt.scope.run_id
            lost = [] if _is_used(thing, run_id) else _lost(attempt, name)
            if lost:
                await attempt.effect.decide_without(lost)
            self._whole.add(name)
            _use(thing, run_id)
        if not only_reads:
            attempt.effect.keep(**{OBJECT: name})

    def _name_of(self, tool: LoadedTool, thing: Any) -> str:
        """Return the name of an object in the journal: its class, its settings, its workflow."""
        planned, kind = tool.planned, type(thing)
        parts = [planned.record.module, kind.__module__, kind.__qualname__, planned.config, self.workflow]
        return f"{kind.__qualname__}#{digest_of(parts)[:16]}"


def object_of(raw: RawTool) -> Any:
    """Return the object with which a tool may keep values from call to call, or None: a function has none."""
    if raw.is_remote or raw.made_of is None:
        return None
    bound = getattr(getattr(raw.made_of, "_tool_func", None), "__self__", None)
    if bound is not None:
        return bound
    is_own_class = isinstance(raw.made_of, AgentTool) and not type(raw.made_of).__module__.startswith("strands.")
    return raw.made_of if is_own_class else None


def _lost(attempt: Attempt, name: str) -> list[str]:
    """Return the calls that may have left something in an object, without those that a person has given up."""
    rows = list(attempt.scope.run.rows_below("", "tool"))
    given_up = {call for row in rows for call in row.detail.get(WITHOUT, ())}
    used = [row for row in rows if row.detail.get(OBJECT) == name and row.key != attempt.effect.key]
    return [call for row in used if (call := f"{row.key} ({row.attempt})") not in given_up]


def _is_used(thing: Any, run_id: str | None) -> bool:
    """Return whether this very object has served the run: a program may continue a run with its own object."""
    known = _USED.get((run_id, id(thing)))
    return known is not None and known() is thing


def _use(thing: Any, run_id: str | None) -> None:
    key = (run_id, id(thing))
    # What cannot be referred to weakly counts as new in the next session of the run.
    with contextlib.suppress(TypeError):
        _USED[key] = weakref.ref(thing, lambda _: _USED.pop(key, None))
