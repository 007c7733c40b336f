"""The effects of a run as lines of a tree: status, time, tokens, money, and the call or answer of each."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.cli.terminal_text import columns_of, fitted, one_line, width_of, wrapped
from strands_cli.events import INSTEAD_OF
from strands_cli.texts.phrases import duration
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.engine.stored_runs.summary import EffectSummary
    from strands_cli.run_views.opened_runs import Branch

# A tree of more effects is cut: its first and its last lines stay, and those that a person has to know of.
MOST, FIRST, LAST, NOTED = 200, 120, 40, 40
# The text of an effect has so many columns where no terminal limits them, and is below its name where it would have
# less.
TEXT_COLUMNS, FEWEST = 240, 36
# The most columns of one part of the text, where it has several.
_PART = 120
HEADS = ("EFFECT", "STATUS", "TIME", "TOKENS", "COST")
# The most columns of a name at a terminal; below it no column is left out.
_NAME = 44


def result_columns() -> int | None:
    """Return how many columns the terminal at stdout has; None where stdout is none."""
    return columns_of(sys.stdout)


def money(cost: float | None) -> str:
    """Return a cost in US dollars as text: empty for nothing, `?` where it is not known."""
    if cost is None:
        return "?"
    return "" if not cost else f"${cost:.4f}" if cost >= 0.00005 else "<$0.0001"


def tree_lines(tops: Sequence[Branch], *, columns: int | None, full: bool) -> Iterator[str]:
    """Yield the lines of a tree, none longer than the terminal; a long one is cut unless it is wanted `full`.

    Args:
        columns: Of the terminal; None does not limit the lines.
    """
    nodes = list(_nodes(tops))
    indices = range(len(nodes)) if full or len(nodes) <= MOST else _chosen(nodes)
    rows = [_cells(*nodes[index][:2]) for index in indices]
    widths = _widths([HEADS, *rows], columns)
    indent = sum(widths) + 2 * len(widths)
    yield _aligned(HEADS, widths)
    before = -1
    for index, cells in zip(indices, rows, strict=True):
        if index > before + 1:
            yield f"... {index - before - 1} more"
        before = index
        depth, branch, _ = nodes[index]
        text = (text_of(branch), is_failure(branch))
        yield from _with_text(_aligned(cells, widths), text, (indent, 2 * depth + 4), columns)
    if before < len(nodes) - 1:
        yield f"... {len(nodes) - 1 - before} more"


def text_of(branch: Branch) -> str:
    """Return in one line who acted, the decision, the call, the answer, and the error."""
    effect = branch.effect
    if effect is None:
        return ""
    parts = {"step": _step, "model": _model, "tool": _tool, "gate": _question, "question": _question}
    parts["attachment"] = _attachment
    parts_of_text = [f"attempt {effect.row.attempt}"] if effect.row.attempt > 1 else []
    parts_of_text += [] if effect.damage else parts.get(branch.kind, lambda _: ())(branch)
    if effect.error:
        parts_of_text.append(effect.error)
    most = TEXT_COLUMNS if len(parts_of_text) == 1 else _PART
    reasons = [
        f"-> {effect.tool_error}" if effect.tool_error else "",
        effect.error,
        f"deny: {branch.rule or ''}",
    ]
    texts = [_whole(text) if text in reasons else _padded(_short(text), most).rstrip() for text in parts_of_text]
    return "; ".join(filter(None, texts))


def is_failure(branch: Branch) -> bool:
    """Return whether the text of an effect says why it failed or was denied, which is never cut."""
    effect = branch.effect
    return effect is not None and bool(effect.error or effect.tool_error or branch.decision == "deny")


def _nodes(tops: Sequence[Branch]) -> Iterator[tuple[int, Branch, int]]:
    """Yield each branch with its depth, and the number of the one above it; -1 above the first."""
    waiting = [(0, top, -1) for top in reversed(tops)]
    number = 0
    while waiting:
        depth, branch, above = waiting.pop()
        yield depth, branch, above
        waiting += [(depth + 1, child, number) for child in reversed(branch.children)]
        number += 1


def _chosen(nodes: Sequence[tuple[int, Branch, int]]) -> list[int]:
    """Return the numbers of the lines of a cut tree; the lines above a shown line are shown with it."""
    indices = [
        n
        for n, (_, branch, _) in enumerate(nodes)
        if branch.status not in ("done", "reused") or branch.decision == "deny"
    ]
    chosen = {*range(FIRST), *range(len(nodes) - LAST, len(nodes))}
    for number in indices[-NOTED:]:
        while number >= 0 and number not in chosen:
            chosen.add(number)
            number = nodes[number][2]
    return sorted(chosen)


def _cells(depth: int, branch: Branch) -> tuple[str, ...]:
    if branch.effect is not None:
        _ = branch.effect.text  # damage of an output is known only after reading it
    return (
        "  " * depth + " ".join(printable(branch.name).split()),
        "damaged" if branch.effect is not None and branch.effect.damage else branch.status,
        _time(branch),
        ("~" if branch.usage.estimated_tokens else "") + str(branch.usage.total_tokens or ""),
        money(branch.cost),
    )


def _time(branch: Branch) -> str:
    """Return how long an effect took, or takes so far; empty where it waits, or where its process ended."""
    if branch.status == "running" and branch.effect is not None:
        return duration(max(0.0, time.time() - branch.effect.row.started_at))
    return "" if branch.seconds is None or branch.status == "waiting" else duration(branch.seconds)


def _widths(rows: Sequence[Sequence[str]], columns: int | None) -> list[int]:
    """Return the widths of the columns, without empty ones at the end and those that do not fit the terminal."""
    cells = [list(column) for column in zip(*rows, strict=True)]
    widths = [max(map(width_of, column)) for column in cells]
    while len(widths) > 2 and not any(cells[len(widths) - 1][1:]):
        widths.pop()
    if columns is None:
        return widths
    widths[0] = min(widths[0], max(_NAME, columns // 2))
    while len(widths) > 2 and sum(widths) + 2 * len(widths) > columns:
        widths.pop()
    widths[0] = max(8, min(widths[0], columns - sum(widths[1:]) - 2 * len(widths)))
    return widths


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(_padded(cell, width) for cell, width in zip(cells, widths, strict=False)).rstrip()


def _padded(text: str, columns: int) -> str:
    if text.isascii() and len(text) <= columns:
        return text.ljust(columns)
    part, width = fitted(text, columns)
    if len(part) < len(text):
        part, width = fitted(text, columns - 2)
        part, width = f"{part}..", width + 2
    return part + " " * (columns - width)


def _with_text(
    line: str, text_and_whole: tuple[str, bool], indents: tuple[int, int], columns: int | None
) -> Iterator[str]:
    """Yield a line with the text beside it, or below it where the terminal is narrow; a reason takes several rows."""
    (text, is_whole), (beside, below) = text_and_whole, indents
    if not text:
        yield line
        return
    is_beside = columns is None or columns - beside >= FEWEST
    if not is_beside:
        yield line
    start = beside if columns is None or is_beside else min(below, columns // 3)
    first = line.ljust(beside + len(line) - width_of(line)) if is_beside else " " * start
    room = TEXT_COLUMNS if columns is None else min(TEXT_COLUMNS, columns - start - 1)
    if not is_whole:
        yield first + _padded(text, room).rstrip()
    elif columns is None:
        yield first + text
    else:
        row, *more = wrapped(text, room)
        yield first + row
        yield from (" " * start + row for row in more)


def _whole(text: str) -> str:
    """Return a text in one line, with nothing hidden in it."""
    return printable(" ".join(text.split()))


def _short(text: str) -> str:
    """Return the start of a text in one line, with nothing hidden in it."""
    return printable(" ".join(text[: 2 * TEXT_COLUMNS].split()))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _effect(branch: Branch) -> EffectSummary:
    assert branch.effect is not None  # noqa: S101 - for the type checker
    return branch.effect


def _step(branch: Branch) -> Iterable[str]:
    question = next((child.effect.asked for child in branch.children if child.kind == "model" and child.effect), None)
    yield f"{branch.who}: {question}" if question and branch.who else branch.who


def _model(branch: Branch) -> Iterable[str]:
    effect = _effect(branch)
    if instead_of := effect.row.detail.get(INSTEAD_OF):
        yield f"{effect.row.detail.get('model')} in place of {instead_of}"
    if effect.text:
        yield f"says: {effect.text}"
    if effect.calls:
        yield f"calls {', '.join(f'{tool} {_json(arguments)}' for tool, arguments in effect.calls)}"


def _attachment(branch: Branch) -> Iterable[str]:
    detail = _effect(branch).row.detail
    if "size" in detail:
        yield f"{detail['path']} ({detail['type']}, {detail['size']:,} bytes)"


def _tool(branch: Branch) -> Iterable[str]:
    effect = _effect(branch)
    detail = effect.row.detail
    if branch.decision:
        yield f"{branch.decision}: {branch.rule or ''}"
    if "loop" in detail:
        yield f"hinted at a loop, {detail['loop']} times the same"
    if "arguments" in detail:
        yield _json(detail["arguments"])
    if effect.tool_error and branch.decision != "deny":
        yield f"-> {effect.tool_error}"
    elif effect.text and branch.decision != "deny":
        yield f"-> {effect.text}"


def _question(branch: Branch) -> Iterable[str]:
    effect = _effect(branch)
    prompt = effect.row.detail.get("prompt")
    if prompt:
        yield f"asks: {one_line(prompt.strip())}"
    if effect.text is not None and branch.status in ("done", "reused"):
        yield f"-> {effect.text}"
