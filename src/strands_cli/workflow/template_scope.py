"""The names that a template may use, as a tree that paths are checked against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from strands_cli.quick_dataclass import dataclass
from strands_cli.workflow.sections import Runtime
from strands_cli.workflow.templates.template_errors import Path


@dataclass(frozen=True, slots=True)
class Items:
    """A list of items with the same names.

    Attributes:
        each: The names of an item.
        count: The number of items, or None where only the run knows it.
        own: More exactly, the names of those whose place is known; there may be more than `count`.
    """

    each: Any
    count: int | None = None
    own: Sequence[Any] = ()

    def at(self, index: int) -> Any:
        """Return the names of an item by its place, which may count from the end."""
        place = index + (self.count or 0) if index < 0 else index
        return self.own[place] if 0 <= place < len(self.own) else self.each


@dataclass(frozen=True, slots=True)
class Unnamed:
    """A value with a content that is not known before the run."""


@dataclass(frozen=True, slots=True)
class Text:
    """The text of an answer, which has the attributes of a text only.

    Attributes:
        agents: Who may have given it, where that is known.
        output: The path of the same answer as its schema describes it, or nothing where there is none; one that begins
            with `.` is beside the text.
    """

    agents: tuple[str, ...] = ()
    output: Path = ()


@dataclass(frozen=True, slots=True)
class Output:
    """An answer of these agents as their schema describes it."""

    agents: tuple[str, ...]


BESIDE: Path = (".", "output")


class Answered(dict[str, Any]):
    """The names that a model's answer always has; it may have more."""


ANY = Unnamed()
Scope = Mapping[str, Any]


def scope_of(*words: str) -> dict[str, Any]:
    """Return names whose values are known only in the run."""
    return dict.fromkeys(words, ANY)


# What a result has besides what its text shows.
UNSHOWN = ("type", "prompt", "tokens_estimated")
STEP: Scope = {**scope_of("output", "agent", "index", "status", "approved", *UNSHOWN), "response": Text(output=BESIDE)}


def answered_by(*agents: str) -> dict[str, Any]:
    """Return the names of an answer that one of these agents gives."""
    return {"response": Text(agents, BESIDE), "output": Output(agents)}


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
        if isinstance(place, (Unnamed, Text, Output)) or (part == "*" and not isinstance(place, Items)):
            return None
        if isinstance(place, Items):
            if part == "*":
                place = place.each
                continue
            if not isinstance(part, int):
                return Problem(f"`{spoken_path(path[:position])}` is a list, which has no `{part}`", str(part), ())
            if place.count is not None and not -place.count <= part < place.count:
                return Problem(_beyond(path[: position + 1], place.count), str(part), ())
            place = place.at(part)
        elif part in place:
            place = place[part]
        else:
            return _absent(path, position, place)
    return None


def answer_in(path: Path, scope: Scope) -> tuple[int, Text | Output] | None:
    """Return the answer that a path leads into, and how many parts lead to it."""
    place: Any = scope
    for position, part in enumerate(path):
        if isinstance(place, (Text, Output)):
            return position, place
        if isinstance(place, Items):
            place = place.at(part) if isinstance(part, int) else place.each if part == "*" else None
        else:
            place = place.get(part) if isinstance(place, Mapping) else None
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
