"""The calls of a run that were denied, from its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from strands_cli.engine.journal import Row
from strands_cli.errors import CallDenied
from strands_cli.events import NO_PERSON, Denials, never_asked
from strands_cli.phrases import joined


def denials_of(rows: Iterable[Row]) -> tuple[Denials, ...]:
    """Return the denied calls among rows of tool calls, one value for each tool and reason."""
    calls: Counter[str] = Counter()
    denied: Counter[tuple[str, str, bool]] = Counter()
    for row in rows:
        tool = tool_of(row.key)
        calls[tool] += 1
        if row.detail.get("decision") == "deny":
            denied[tool, row.detail.get("rule", ""), bool(row.detail.get(NO_PERSON))] += 1
    return tuple(
        Denials(tool, rule, number, calls[tool], no_person) for (tool, rule, no_person), number in denied.items()
    )


def require_done(denials: Sequence[Denials], *, fail_on_denied: bool) -> None:
    """Check that denied calls do not mean that the work of a run was not done.

    They mean it where no call of a tool was made and a person could have allowed one, and with `fail_on_denied` always.

    Raises:
        CallDenied: They do; its fix is added where the store of the run is known.
    """
    failing = list(dict.fromkeys(one.tool for one in denials)) if fail_on_denied else never_asked(denials)
    if failing:
        which = "calls" if fail_on_denied else "every call"
        rules = "; ".join(f"{one.tool}: {one.rule}" for one in denials if one.tool in failing)
        error = CallDenied(f"denied: {which} of {joined(failing)} ({rules})")
        error.brief = f"{which} of {joined(failing)} {'were' if fail_on_denied else 'was'} denied"
        raise error


def has_denial(rows: Iterable[Row]) -> bool:
    """Return whether a call among the rows of a step was denied without the answer of a person."""
    found = list(rows)
    answered = {row.key for row in found if row.kind == "human"}
    denied = [row for row in found if row.detail.get("decision") == "deny"]
    return any(row.detail.get(NO_PERSON) or f"{row.key}/approval" not in answered for row in denied)


def tool_of(key: str) -> str:
    """Return the name of the tool from the key of a call."""
    return key.rpartition("/")[2].split(".", 2)[-1]
