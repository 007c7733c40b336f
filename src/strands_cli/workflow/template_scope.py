"""The names that a template may use, as a tree that paths are checked against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.quick_dataclass import dataclass
from strands_cli.workflow.sections import Runtime
from strands_cli.workflow.templates import Path


@dataclass(frozen=True, slots=True)
class Items:
    """A list of items with the same names; `count` is their number, or None where only the run knows it."""

    each: Any
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Unnamed:
    """A value with a content that is not known before the run."""


class Answered(dict[str, Any]):
    """The names that a model's answer always has; it may have more."""


ANY = Unnamed()
Scope = Mapping[str, Any]


def scope_of(*words: str) -> dict[str, Any]:
    """Return names whose values are known only in the run."""
    return dict.fromkeys(words, ANY)


STEP: Scope = scope_of("response", "output", "agent", "index", "status", "approved")

# Names that templates of every pattern may use somewhere; a pattern adds its own.
COMMON_NAMES = frozenset({"steps", "last_response", "hitl_response", "TRACE", "run", "runtime", "execution_context"})

# Names that an input wins over everywhere, also one that only `--var` gives.
YIELDING = frozenset(
    {"name", "timestamp", "total_steps", "terminal_node", "chosen_route", "task_count", "worker_count"}
)

# What artifacts may use besides inputs and the pattern's own names.
AT_END: Scope = {
    **scope_of("last_response", "hitl_response", "TRACE", "name", "timestamp", "total_steps"),
    "runtime": dict.fromkeys(Runtime.model_fields, ANY),
    "run": {
        **scope_of("id", "duration_s", "cost_usd"),
        "usage": scope_of("input_tokens", "output_tokens", "total_tokens", "model_calls", "tool_calls"),
    },
    # Has the names of the pattern too.
    "execution_context": {
        **scope_of("last_response", "hitl_response", "total_steps"),
        "history": Items(scope_of("step", "agent", "response", "iteration")),
        "execution_path": Items(ANY),
    },
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A path that does not exist: what is wrong, the wrong word, and the words that would be right."""

    message: str
    word: str
    known: tuple[str, ...]
    is_certain: bool = True


def problem_of(path: Path, scope: Scope) -> Problem | None:
    """Follow a path whose first name the scope has; return the problem where it does not exist."""
    place: Any = scope
    for position, part in enumerate(path):
        if isinstance(place, Unnamed) or (part == "*" and not isinstance(place, Items)):
            return None
        if isinstance(place, Items):
            if part == "*":
                place = place.each
                continue
            if not isinstance(part, int):
                return Problem(f"`{spoken_path(path[:position])}` is a list, which has no `{part}`", str(part), ())
            if place.count is not None and not -place.count <= part < place.count:
                return Problem(_beyond(path[: position + 1], place.count), str(part), ())
            place = place.each
        elif part in place:
            place = place[part]
        else:
            return _absent(path, position, place)
    return None


def _absent(path: Path, position: int, place: Mapping[str, Any]) -> Problem:
    owner, part = spoken_path(path[:position]), str(path[position])
    known = tuple(sorted(place))
    if isinstance(place, Answered):
        return Problem(f"`{owner}` has `{part}` only where the model answers with it", part, known, is_certain=False)
    return Problem(f"`{owner}` has no `{part}`", part, known)


def is_result(path: Path, scope: Scope) -> bool:
    """Return whether a path names a whole result of a step."""
    place: Any = scope
    for part in path:
        place = place.each if isinstance(place, Items) else place.get(part) if isinstance(place, Mapping) else None
    return isinstance(place, Mapping) and "response" in place


def _beyond(path: Path, count: int) -> str:
    there = {0: "no step", 1: "only one step"}.get(count, f"only {count} steps")
    return f"`{spoken_path(path)}` cannot be known here: {there} before"


def spoken_path(path: Path) -> str:
    """Return a path as templates spell it: `steps[0].response`."""
    return "".join(_spoken(path))


def _spoken(path: Path) -> Iterator[str]:
    for position, part in enumerate(path):
        if isinstance(part, int) or part == "*":
            yield f"[{part}]" if part != "*" else "[...]"
        elif position and not part.isidentifier():
            yield f"[{part!r}]"
        else:
            yield f".{part}" if position else part
