"""What calls leave in the objects of their tools: stored with them, put back when a run goes on, or asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strands_cli.canonical_json import canonical_json, digest_of
from strands_cli.engine.journal import Question
from strands_cli.errors import RunFailed
from strands_cli.events import RunWarning
from strands_cli.secrets import HIDE_NOTHING, Redactor
from strands_cli.tools.calls.object_values import (
    NotDataError,
    as_data,
    attributes_of,
    from_data,
    handles_in,
    object_of,
    put_back,
    seen_in,
)
from strands_cli.workflow.steps import is_approval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from strands_cli.engine.journal import Row
    from strands_cli.tools.calls.execution import Attempt
    from strands_cli.tools.forms import LoadedTool

# In the output of a row: what a call has changed in its tool's object.
OBJECT = "object"
# In the detail of a row of an earlier version: the digest of what the object held.
KEPT = "kept_in_object"
SECRET = "a secret"  # noqa: S105 - the words that are shown
# What a person can do who does not go on.
AGAIN = (
    "repeat the calls that changed it: strands rerun RUN --from KEY; a class whose `__getstate__` and `__setstate__` "
    "take plain data is restored"
)


@dataclass(slots=True)
class Held:
    """What an object holds.

    Attributes:
        data: Attributes as JSON.
        seen: Digests of what is seen in others, "" if that is nothing.
        why: Why those are not data.
        handles: The types of those in which nothing can be seen.
    """

    data: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    handles: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class KeptObjects:
    """The objects of a run's tools.

    Attributes:
        workflow: The workflow's file: one that is a tool has objects of its own.
        redactor: What it hides cannot be put back.
    """

    workflow: str | None = None
    redactor: Redactor = HIDE_NOTHING
    _numbers: dict[str, int] = field(default_factory=dict)
    _accepted: set[str] = field(default_factory=set)

    async def ready(self, attempt: Attempt) -> Held | None:
        """Return what an object holds before a call; before the first one it gets what earlier processes have stored.

        Raises:
            WaitingForPerson: What it held cannot be put back, and no person has allowed to go on without it.
            RunFailed: A person has refused.
        """
        thing = object_of(attempt.tool.raw)
        if thing is None:
            return None
        name = self._name_of(attempt.tool, thing)
        if name not in self._numbers:
            self._numbers[name] = 0
            stored, lost = self._stored(attempt, name)
            lost |= _put_back(thing, stored)
            if missing := {one: why for one, (why, seen) in lost.items() if not seen or seen != _seen_now(thing, one)}:
                del self._numbers[name]
                await _ask(attempt, missing)
                self._accepted.add(name)
            self._numbers[name] = max([one["number"] for one in stored], default=0)
            self._warn(attempt, stored)
        return self._held(thing)

    def changes(self, tool: LoadedTool, before: Held | None, *, repeatable: bool) -> Mapping[str, Any]:
        """Return as JSON what a call has changed in its tool's object; empty where nothing is known to have changed."""
        thing = object_of(tool.raw)
        if before is None or thing is None:
            return {}
        after = self._held(thing)
        held = before.data.keys() | before.seen.keys()
        changed = {name: value for name, value in after.data.items() if not _is_same(before.data, name, value)}
        lost = {name: [after.why[name], seen] for name, seen in after.seen.items() if seen}
        lost = {name: parts for name, parts in lost.items() if before.seen.get(name) != parts[1]}
        gone = sorted(held - after.data.keys() - after.seen.keys())
        handles = {} if repeatable else {name: kind for name, kind in after.handles.items() if not after.seen[name]}
        name = self._name_of(tool, thing)
        parts = {"set": changed, "gone": gone, "lost": lost, "handles": handles, "accepted": name in self._accepted}
        parts = {part: value for part, value in parts.items() if value}
        if not parts:
            return {}
        self._accepted.discard(name)
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return {"of": name, "number": self._numbers[name], **parts}

    def _name_of(self, tool: LoadedTool, thing: Any) -> str:
        """Return the name of an object in the journal: its class, its settings, its workflow."""
        planned, kind = tool.planned, type(thing)
        parts = [planned.record.module, kind.__module__, kind.__qualname__, planned.config, self.workflow]
        return f"{kind.__qualname__}#{digest_of(parts)[:16]}"

    def _held(self, thing: Any) -> Held:
        values, held = attributes_of(thing), Held()
        for name, value in values.items():
            try:
                data = as_data(value)
                if self.redactor.json(data) != data:
                    raise NotDataError(SECRET)
                held.data[name] = data
            except (NotDataError, RecursionError, RuntimeError, ValueError) as error:
                held.seen[name] = SECRET if str(error) == SECRET else seen_in(value, thing)
                held.why[name] = str(error)
                held.handles |= handles_in({name: value})
        return held

    def _stored(self, attempt: Attempt, name: str) -> tuple[list[Mapping[str, Any]], dict[str, tuple[str, str]]]:
        """Return what calls have stored of an object, in their order, and what of it no call has stored."""
        rows = list(attempt.scope.run.rows_below("", "tool"))
        stored = sorted(_of_object(rows, name), key=lambda one: one["number"])
        lost: dict[str, tuple[str, str]] = {}
        for row in rows:
            is_old = KEPT in row.detail and row.key.endswith(f".{attempt.name}")
            lost |= {"its attributes": ("", "")} if is_old else {}
        for one in stored:
            if one.get("accepted"):
                lost.clear()
            lost = {part: why for part, why in lost.items() if part not in one.get("set", {})}
            lost |= {part: (why, seen) for part, (why, seen) in one.get("lost", {}).items()}
        return stored, lost

    def _warn(self, attempt: Attempt, stored: Iterable[Mapping[str, Any]]) -> None:
        handles = {name: kind for one in stored for name, kind in one.get("handles", {}).items()}
        if handles:
            named = ", ".join(f"{name} ({kind})" for name, kind in sorted(handles.items()))
            message = f"what earlier calls of {attempt.name} have left in {named} is not there in this process"
            attempt.scope.emit(RunWarning(attempt.scope.now(), message))


def _of_object(rows: Iterable[Row], name: str) -> Iterable[Mapping[str, Any]]:
    for row in rows:
        if row.status == "done" and isinstance(row.output, Mapping):
            stored = row.output.get(OBJECT)
            if isinstance(stored, Mapping) and stored.get("of") == name:
                yield stored


def _put_back(thing: Any, stored: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Put stored values into an object; return what did not go."""
    values: dict[str, Any] = {}
    gone: dict[str, None] = {}
    for one in stored:
        for name in one.get("gone", ()):
            values.pop(name, None)
            gone[name] = None
        for name, value in one.get("set", {}).items():
            gone.pop(name, None)
            values[name] = value
        for name in one.get("lost", ()):
            values.pop(name, None)
    try:
        put_back(thing, {name: from_data(value) for name, value in values.items()}, gone)
    except Exception as error:  # noqa: BLE001 - foreign objects raise anything
        return {name: (f"it cannot be set: {type(error).__name__}", "") for name in values}
    return {}


def _is_same(before: Mapping[str, Any], name: str, value: Any) -> bool:
    return name in before and canonical_json(before[name]) == canonical_json(value)


def _seen_now(thing: Any, name: str) -> str:
    values = attributes_of(thing)
    return seen_in(values[name], thing) if name in values else ""


async def _ask(attempt: Attempt, missing: Mapping[str, str]) -> None:
    """Ask a person whether the run goes on without what an object held."""
    named = ", ".join(f"{name} ({why})" if why else name for name, why in sorted(missing.items()))
    prompt = (
        f"earlier calls of {attempt.name} have changed its object in ways that cannot be restored: {named}. "
        "Make this call with a new object, which does not have them?"
    )
    question = Question(f"{attempt.effect.key}/object", "gate", attempt.redactor.text(prompt))
    answer = await attempt.scope.ask(question, {"tool": attempt.name, "lost": sorted(missing)})
    if answer.reason is not None or not is_approval(answer.text):
        raise RunFailed(f"{question.key} was rejected by {answer.by}: {named} cannot be restored", fix=AGAIN)
