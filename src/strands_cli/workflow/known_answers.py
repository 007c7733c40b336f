"""The answers to each gate that the rest of its workflow knows: those that its conditions compare with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from strands_cli.workflow.pattern_model import PlacedStep
from strands_cli.workflow.steps import APPROVALS, GateStep
from strands_cli.workflow.templates.plugin_filters import Path
from strands_cli.workflow.templates.regular_expressions import SlowPattern, fullmatch
from strands_cli.workflow.templates.template import Templates

if TYPE_CHECKING:
    from strands_cli.workflow.pattern_model import PatternModel
    from strands_cli.workflow.sections import Outputs

_NUMBER = re.compile(r"\.\d+(?=\.|$)")


class _Use(NamedTuple):
    """A word that a template compares a value with; `at` is the step that it belongs to, or that an edge leaves."""

    path: Path
    word: str
    at: str | None = None
    is_edge: bool = False


# The comparison value of a gate's `approved`: each word that approves.
_ANY_APPROVAL = ""


class KnownAnswers:
    """The answers that a workflow knows, by gate.

    They are words, not a pattern of the gate: names of routes would exceed the limit of patterns, and people read them.
    """

    def __init__(self, pattern: PatternModel, outputs: Outputs, templates: Templates) -> None:
        """Compare each word of a template or a condition with the gates before it."""
        placed = list(pattern.placed)
        gates = [step for step in placed if isinstance(step.step, GateStep)]
        uses = list(_uses(pattern, placed, outputs, templates)) if gates else []
        places = _Places(pattern, placed)
        self._words = dict[str, tuple[tuple[str, ...], bool]]()
        for gate in gates:
            words = [*gate.words, *(use.word for use in uses if places.is_answer(gate.key, use))]
            self._words[_unnumbered(gate.key)] = _fitting(gate, _with_approval(words)), gate.only_words

    def of(self, key: str) -> tuple[tuple[str, ...], bool]:
        """Return the words for a gate, and whether no other answer is accepted."""
        tail = _unnumbered(key.rpartition("/")[2])
        return self._words.get(tail) or self._words.get(_NUMBER.sub(".N", tail)) or ((), False)


def _unnumbered(key: str) -> str:
    return key.partition("#")[0]


def _with_approval(words: list[str]) -> list[str]:
    """Return the words with one that approves, where any that does is compared with and no other of them does."""
    if _ANY_APPROVAL not in words or any(_rank(word) < len(APPROVALS) for word in words):
        return words
    return [*words, APPROVALS[0]]


def _fitting(gate: PlacedStep, words: Iterable[str]) -> tuple[str, ...]:
    """Return the words that fit the gate's own pattern, each once, approvals first."""
    step = gate.step
    pattern = step.validation.pattern if isinstance(step, GateStep) and step.validation else None
    once = sorted(dict.fromkeys(word for word in words if word.strip()), key=_rank)
    return tuple(word for word in (gate.words if gate.only_words else once) if pattern is None or _fits(pattern, word))


def _rank(word: str) -> int:
    folded = word.strip().lower()
    return APPROVALS.index(folded) if folded in APPROVALS else len(APPROVALS)


def _fits(pattern: str, word: str) -> bool:
    try:
        return fullmatch(pattern, word) is not None
    except (SlowPattern, re.error):
        return True


def _uses(
    pattern: PatternModel, placed: Iterable[PlacedStep], outputs: Outputs, templates: Templates
) -> Iterator[_Use]:
    for step in placed:
        for site in step.sites():
            yield from (_Use(*fields, at=step.key) for fields in _compared_paths(templates, site.text))
    for edge in pattern.edges():
        found_in = _compared_paths(templates, edge.label, is_condition=True) if edge.label else ()
        yield from (_Use(*fields, at=edge.before, is_edge=True) for fields in found_in)
    ends = [site.text for site in pattern.templates() if not site.is_condition]
    ends += [text for artifact in outputs.artifacts for text in (artifact.path, artifact.from_)]
    for text in ends:
        yield from (_Use(*fields) for fields in _compared_paths(templates, text))


def _compared_paths(templates: Templates, text: str, *, is_condition: bool = False) -> Iterator[tuple[Path, str]]:
    """Yield each compared path of a template with the word; a gate's `approved` knows a word too."""
    yield from templates.words_in(text, is_condition=is_condition)
    if ".approved" in text:
        for name in ("nodes", "tasks", "steps"):
            for path in templates.reads_in(text, name, is_condition=is_condition):
                if path[2:3] == ("approved",):
                    yield (*path[:2], "response"), _ANY_APPROVAL


class _Places:
    """Which gate a path of a template means, by the order of the steps."""

    def __init__(self, pattern: PatternModel, placed: Iterable[PlacedStep]) -> None:
        self._before: dict[str, list[str]] = {step.key: [] for step in placed}
        self._gates = {step.key for step in placed if isinstance(step.step, GateStep)}
        for edge in pattern.edges():
            self._before.get(edge.after, []).append(edge.before)

    def is_answer(self, gate: str, use: _Use) -> bool:
        """Return whether the compared path is the answer to a gate."""
        root = use.path[0]
        if use.path == ("hitl_response",):
            return gate in self._gates_before(use)
        if use.path == ("last_response",):
            return gate in self._just_before(use)
        if len(use.path) != 3 or use.path[2] != "response":
            return False
        if root == "steps":
            return self._is_step(gate, use)
        return root in ("nodes", "tasks") and _unnumbered(gate) == f"{root}.{use.path[1]}"

    def _just_before(self, use: _Use) -> list[str]:
        if use.at is None:
            followed = {key for keys in self._before.values() for key in keys}
            return [key for key in self._before if key not in followed]
        return [use.at] if use.is_edge else self._before[use.at]

    def _gates_before(self, use: _Use) -> set[str]:
        """Return the gates that may have been answered last."""
        if use.at is None:
            return self._gates
        gates: set[str] = set()
        ahead, seen = list(self._just_before(use)), set()
        while ahead:
            key = ahead.pop()
            if key in self._gates:
                gates.add(key)
            elif key not in seen:
                seen.add(key)
                ahead += self._before.get(key, ())
        return gates

    def _is_step(self, gate: str, use: _Use) -> bool:
        """Return whether `steps[N]` of a list of steps is a gate in that list; -1 is the one before."""
        prefix, _, number = gate.rpartition(".")
        if use.at is not None and use.at.rpartition(".")[0] != prefix:
            return False
        here = int(use.at.rpartition(".")[2]) if use.at is not None else sum(k.startswith(prefix) for k in self._before)
        index = use.path[1]
        return isinstance(index, int) and number == str(index if index >= 0 else here + index)
