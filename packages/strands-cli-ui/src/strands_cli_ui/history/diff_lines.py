"""Two runs compared, as text: where they part, totals side by side, then the differences, long texts cut."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.api import counted, table
from strands_cli_ui.history.command_parts import iso_time, one_line

if TYPE_CHECKING:
    from strands_cli_ui.history.diff import Change, Pair, RunDiff, RunSide

# The most that a terminal can show at once; `--json` has everything.
MOST_EFFECTS = 40
MOST_LINES = 12
WIDTH = 160
# The lines of two long texts from the first one that differs on; a comparison costs the square of their number.
_WINDOW = 60
_BEFORE = 40
_IN_TABLE = ("status", "name")
# How a run ended, which follows from its effects.
_ENDS = ("reason", "response")
# Words that fit into one line.
_WORDS = ("status", "kind", "who", "model", "decision")


def diff_lines(diff: RunDiff) -> Iterator[str]:
    """Yield the lines of a comparison."""
    yield _headline(diff)
    yield ""
    yield from table(list(_totals(diff.before, diff.after)))
    first_shown: dict[tuple[str, str], str] = {}
    changes = [change for change in diff.of_run if change.what not in _IN_TABLE]
    yield from _run_lines([change for change in changes if change.what not in _ENDS], first_shown)
    for pair in _causes_first(diff.changed)[:MOST_EFFECTS]:
        yield from _pair_lines(pair, first_shown)
    yield from _run_lines([change for change in changes if change.what in _ENDS], first_shown)
    yield from _rest(diff)


def _run_lines(changes: Sequence[Change], first_shown: dict[tuple[str, str], str]) -> Iterator[str]:
    if changes:
        yield ""
    for change in changes:
        yield from _change_lines(change, "", first_shown)


def _causes_first(pairs: Sequence[Pair]) -> list[Pair]:
    """Return effects with those below each before it: a step differs since its model or its tools do."""
    last: dict[str, int] = {}
    for number, pair in enumerate(pairs):
        key = pair.key
        while key:
            last[key] = number
            key = key.rpartition("/")[0]
    return sorted(pairs, key=lambda pair: (last[pair.key], -pair.key.count("/")))


def _headline(diff: RunDiff) -> str:
    if diff.same:
        return "the runs do not differ"
    if diff.first is None:
        return "the effects do not differ"
    pair = diff.first
    if pair.before is None or pair.after is None:
        return f"first divergence: {one_line(pair.key)} ({pair.kind}), only in {_only(pair, diff)}"
    changed = ", ".join(_named(change.what) for change in pair.changes)
    return f"first divergence: {one_line(pair.key)} ({pair.kind}): {changed}"


def _only(pair: Pair, diff: RunDiff) -> str:
    return diff.before.id if pair.after is None else diff.after.id


def _totals(before: RunSide, after: RunSide) -> Iterator[Sequence[str]]:
    yield "", "BEFORE", "AFTER"
    for name, value in _cells(before).items():
        yield name, value, _cells(after)[name]


def _cells(side: RunSide) -> dict[str, str]:
    return {
        "run": side.id,
        "workflow": side.workflow,
        "status": side.status,
        "started": iso_time(side.started_at),
        "effects": str(side.effects),
        "model calls": str(side.model_calls),
        "tool calls": str(side.tool_calls),
        "tokens in": str(side.usage.input_tokens),
        "tokens out": str(side.usage.output_tokens),
        "cost": "unknown" if side.cost is None else f"${side.cost:.4f}" if side.cost else "$0",
        "seconds": "" if side.seconds is None else f"{side.seconds:.1f}",
    }


def _pair_lines(pair: Pair, first_shown: dict[tuple[str, str], str]) -> Iterator[str]:
    yield ""
    if pair.before is None or pair.after is None:
        side = "BEFORE" if pair.after is None else "AFTER"
        yield f"{one_line(pair.key)} ({pair.kind}), only in {side}"
        (change,) = pair.changes
        text = change.before if pair.after is None else change.after
        yield from _marked("-" if pair.after is None else "+", text)
        return
    yield f"{one_line(pair.key)} ({pair.kind})"
    for change in pair.changes:
        yield from _change_lines(change, "  ", first_shown)


def _change_lines(change: Change, indent: str, first_shown: dict[tuple[str, str], str]) -> Iterator[str]:
    """Yield one change; a text that was shown above, as a model's answer before that of its step, only by its place."""
    title = f"{indent}{_named(change.what)}{' ' + one_line(change.key) if change.what == 'input' else ''}"
    before, after = (_text(value) for value in (change.before, change.after))
    if change.what == "tokens":
        yield f"{title}: {_tokens(change.before)} -> {_tokens(change.after)}"
        return
    if change.what in _WORDS:
        yield one_line(f"{title}: {before or 'none'} -> {after or 'none'}")
        return
    pair = before.rstrip(), after.rstrip()
    if pair in first_shown:
        yield f"{title}: as {first_shown[pair]}"
        return
    if change.key and change.what != "input":
        first_shown[pair] = f"{one_line(change.key)}, {_named(change.what)}"
    yield title
    yield from (f"{indent}  {line}" for line in _difference(before, after))


def _named(fact: str) -> str:
    return fact.replace("_", " ")


def _tokens(value: Any) -> str:
    return "none" if value is None else f"{value['input_tokens']} in, {value['output_tokens']} out"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _difference(before: str, after: str) -> Iterator[str]:
    """Yield a short unified difference of two texts, from the first line on that differs."""
    first, second = _lines(before), _lines(after)
    pairs = enumerate(zip(first, second, strict=False))
    common = next(
        (number for number, (line_before, line_after) in pairs if line_before != line_after),
        min(len(first), len(second)),
    )
    start = max(0, common - 2)
    end = start + _WINDOW
    _, _, *changed = [*difflib.unified_diff(first[start:end], second[start:end], lineterm="", n=2)] or ["", ""]
    changed = [line for line in changed if not line.startswith("@@")]
    if start:
        yield f"  (line {start + 1})"
    column = _first_difference(first[common : common + 1], second[common : common + 1])
    yield from (_cut(line, column) for line in changed[:MOST_LINES])
    more = max(0, len(changed) - MOST_LINES) + sum(max(0, len(lines) - end) for lines in (first, second))
    if more:
        yield f"  ({counted(more, 'line')} more; --json has the whole)"


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _first_difference(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the column of the first difference of two long lines, else 0."""
    if not first or not second or max(len(first[0]), len(second[0])) <= WIDTH:
        return 0
    pairs = enumerate(zip(first[0], second[0], strict=False))
    return next((column for column, (left, right) in pairs if left != right), min(len(first[0]), len(second[0])))


def _cut(line: str, column: int) -> str:
    """Return a line of a difference with its mark; a long one from a little before the column on."""
    mark, text = line[:1], line[1:]
    start = max(0, column - _BEFORE) if len(text) > WIDTH and mark != " " else 0
    window = text[start : start + WIDTH]
    return f"{mark} {'...' if start else ''}{window}{'...' if start + WIDTH < len(text) else ''}"


def _marked(mark: str, value: Any) -> Iterator[str]:
    lines = _lines(_text(value))
    yield from (f"  {_cut(mark + line, 0)}" for line in lines[:3])
    if len(lines) > 3:
        yield f"    ({counted(len(lines) - 3, 'line')} more; --json has the whole)"


def _rest(diff: RunDiff) -> Iterator[str]:
    more = len(diff.changed) - MOST_EFFECTS
    if more > 0:
        yield from ["", f"{counted(more, 'effect')} more differ; --json has them all"]
    equal = len(diff.pairs) - len(diff.changed)
    if equal and not diff.same:
        yield from ["", f"{counted(equal, 'effect')} without a difference"]
