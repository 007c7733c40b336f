"""The waterfall of a run: a row for each effect with its bar, which links to the effect or opens to it."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from strands_cli.api import Branch, shortened
from strands_cli_ui.pages.effect_parts import SHORT, effect_html
from strands_cli_ui.pages.html_text import anchor_of, bar_of, current, escape, icon, money
from strands_cli_ui.pages.run_page import RunPage
from strands_cli_ui.pictures.svg_parts import time_span

EffectLink = Callable[[str], str]
Rows = Sequence[tuple[int, Branch]]

# More effects of a file are put into groups of this size.
GROUP = 100
# Effects nested deeper are shown at this depth.
DEEPEST = 8
_ICONS = {"step": "step", "model": "model", "tool": "tools", "gate": "person", "question": "person"}
_WORDS = {"model": "model turn", "tool": "tool call"}
# With another status than these its icon takes the place of that of the kind.
_USUAL = ("done", "reused")
_STATUS_ICONS = {"failed": "failed", "waiting": "waiting", "running": "running"}


def linked_rows(page: RunPage, rows: Rows, link: EffectLink, selected: str) -> str:
    """Return rows that lead to their effects.

    Args:
        link: Returns the address of a page with an effect by its key.
        selected: The key of the effect that the page shows.
    """
    items = (
        f'<li id="{anchor_of(branch.key)}" class="{_classes(depth, branch)}"><a href="{escape(link(branch.key))}"'
        f"{current(branch.key == selected)}>{_row(page, branch)}</a></li>"
        for depth, branch in rows
    )
    page = replace(page, waterfall=page.waterfall.part(rows))
    return f'<div class="waterfall">{_axis(page)}<ol class="plain">{"".join(items)}</ol></div>'


def opening_rows(page: RunPage) -> str:
    """Return rows that open to their effects, of which the page has as many as it can."""
    rows = page.waterfall.rows
    if not rows:
        return "<p>Nothing has been done.</p>"
    listed = f'<ol class="plain">{"".join(_items(page, rows))}</ol>'
    return f'{_left_out(page)}<div class="waterfall">{_axis(page)}{listed}</div>'


def _items(page: RunPage, rows: Rows) -> Iterator[str]:
    if len(rows) <= GROUP:
        yield from (_item(page, *row) for row in rows)
        return
    for start in range(0, len(rows), GROUP):
        group = rows[start : start + GROUP]
        counts = Counter(branch.status for _, branch in group)
        words = ", ".join(f"{number} {escape(status)}" for status, number in counts.most_common())
        yield (
            f'<li class="group"><details><summary>{start + 1:,} to {start + len(group):,} of {len(rows):,}: {words}'
            f'</summary><ol class="plain">{"".join(_item(page, *row) for row in group)}</ol></details></li>'
        )


def _item(page: RunPage, depth: int, branch: Branch) -> str:
    whole = page.whole.get(branch.key)
    if isinstance(whole, str):
        inside = f'<p class="error">It cannot be read: {escape(whole)}</p>'
    elif whole is not None:
        inside = effect_html(whole, limit=SHORT, show_command=f"{page.show_command} {shlex.quote(branch.key)}")
    else:
        inside = ""
    begins, row = f'<li id="{anchor_of(branch.key)}" class="{_classes(depth, branch)}">', _row(page, branch)
    if not inside:
        return f'{begins}<div class="line">{row}</div></li>'
    return f'{begins}<details><summary>{row}</summary><div class="inside">{inside}</div></details></li>'


def _classes(depth: int, branch: Branch) -> str:
    return f"d{min(depth, DEEPEST)} {branch.kind} {branch.status}"


def _row(page: RunPage, branch: Branch) -> str:
    """Return what a row shows: the kind, the name, who did it, its bar, how long it took, and what it cost."""
    number = branch.name.rpartition(".")[2]
    names = {"model": f"turn {int(number) + 1}" if number.isdecimal() else branch.name, "tool": branch.who}
    name = names.get(branch.kind, branch.name)
    words = _WORDS.get(branch.kind, branch.kind)
    state = "" if branch.status in _USUAL else f", {branch.status}"
    shape = _ICONS.get(branch.kind, "file") if branch.status in _USUAL else _STATUS_ICONS.get(branch.status, "stopped")
    denied = f' <b class="error">{page.text(branch.decision)}</b>' if branch.decision == "deny" else ""
    bar = page.waterfall.bar(branch)
    drawn = bar_of(bar.place, bar.width, is_open=bar.is_open) if bar else '<svg class="bar" aria-hidden="true"></svg>'
    cost = money(branch.cost) if branch.cost else "?" if branch.cost is None else ""
    return (
        f'<span class="name">{icon(shape)}<span class="hidden">{words}{state}: </span><bdi>{page.text(name)}</bdi>'
        f'{denied} <bdi class="soft">{page.text(_about(branch))}</bdi></span>{drawn}'
        f'<span class="number">{time_span(bar.seconds) if bar else ""}</span><span class="number">{cost}</span>'
    )


def _about(branch: Branch) -> str:
    """Return the agent of a step, the model of a turn, or the beginning of the arguments of a call."""
    detail = branch.effect.row.detail if branch.effect is not None else {}
    if branch.kind == "tool":
        arguments = detail.get("arguments")
        values = arguments.values() if isinstance(arguments, dict) else ()
        words = (value if isinstance(value, str) else json.dumps(value, default=str) for value in values)
        return shortened(" ".join(", ".join(word[:80] for word in words).split()), 60)
    return str(detail.get("model") or branch.who) if branch.kind == "model" else branch.who


def _axis(page: RunPage) -> str:
    """Return the marks of the axis, and the stretches that are drawn short with how long they were."""
    scale, parts = page.waterfall.scale, []
    since = scale.times[0] - page.waterfall.started_at
    for gap in scale.gaps:
        words = f"{time_span(gap.seconds)} {'waited' if gap.is_waiting else 'idle'}"
        x, width = f"{gap.place * 100:.5g}%", f"{gap.width * 100:.4g}%"
        parts.append(f'<rect x="{x}" width="{width}" y="0" height="100%"><title>{words}</title></rect>')
    for mark in scale.marks():
        x, anchor = f"{mark.place * 100:.5g}%", ' class="end"' if mark.place > 0.9 else ""
        words = time_span(mark.seconds + since)
        parts.append(f'<line x1="{x}" x2="{x}" y1="0" y2="100%"/><text x="{x}" y="11"{anchor}>{words}</text>')
    return f'<svg class="axis" aria-hidden="true">{"".join(parts)}</svg>'


def _left_out(page: RunPage) -> str:
    """Return the note about effects whose texts the page does not have."""
    every = [branch.key for _, branch in page.waterfall.rows if branch.effect is not None]
    without = [key for key in every if key not in page.whole]
    if not without:
        return ""
    where = f"<code>{escape(page.show_command)} KEY</code>"
    return f'<p class="cut">The texts of {len(without):,} of {len(every):,} effects are left out: {where}</p>'
