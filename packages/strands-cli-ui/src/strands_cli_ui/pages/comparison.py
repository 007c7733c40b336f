"""Two stored runs compared on a page: their totals, their inputs, and each effect that differs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from strands_cli.api import OpenedRun, counted, duration
from strands_cli_ui.history.diff import Change, Pair, RunDiff, RunSide, diff_of
from strands_cli_ui.pages.html_text import anchor_of, badge, escape, money, preformatted, table
from strands_cli_ui.pages.page_frame import document

# More effects that differ are counted and not shown.
MOST_PAIRS = 300
# Of each of two workflow files; a comparison line by line takes long.
MOST_LINES = 2000
# A text of each side.
LONG_SIDE = 6000
_TITLES = {
    "effect": "only in one run",
    "value": "output",
    "result_json": "result as JSON",
    "called_with": "called with",
}


def comparison_html(before: OpenedRun, after: OpenedRun) -> str:
    """Return the one file that compares two runs."""
    title, body = comparison(before, after)
    command = before.command("runs", "diff", before.id, after.id)
    note = f"<p>Made by strands-cli. The same as text: <code>{escape(command)}</code></p>"
    return document(title, body, note=note)


def comparison(before: OpenedRun, after: OpenedRun) -> tuple[str, str]:
    """Return the title of the page that compares two runs, as text, and its content as HTML."""
    diff = diff_of(before.summary(), after.summary())
    redactor = before.redactor.union(after.redactor)

    def text(value: Any) -> str:
        words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
        return redactor.text(words)

    names = dict.fromkeys(escape(text(side.workflow)) for side in (diff.before, diff.after))
    heading = f"<h1>Two runs of {' and '.join(f'<bdi>{name}</bdi>' for name in names)}</h1>"
    body = f"{heading}{_verdict(diff, text)}{_totals(diff)}{_of_runs(diff.of_run, text)}{_effects(diff, text)}"
    return f"{text(diff.before.workflow)}: {before.id} and {after.id}", body


def _verdict(diff: RunDiff, text: Callable[[Any], str]) -> str:
    if diff.same:
        return "<p>The runs do not differ, except in times and costs.</p>"
    if diff.first is None:
        return "<p>No effect differs.</p>"
    link = f'<a href="#{anchor_of(diff.first.key)}"><code>{escape(text(diff.first.key))}</code></a>'
    return f"<p>They differ first at {link}.</p>"


def _totals(diff: RunDiff) -> str:
    sides = (diff.before, diff.after)
    rows = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{of(side)}</td>" for side in sides)}</tr>'
        for name, of in _FACTS.items()
    )
    return table("Totals", ["Run", *(f"<code>{escape(side.id)}</code>" for side in sides)], rows)


_FACTS: dict[str, Callable[[RunSide], str]] = {
    "status": lambda side: badge(side.status),
    "worked": lambda side: duration(side.seconds) or "not known",
    "tokens in": lambda side: f"{side.usage.input_tokens:,}",
    "tokens out": lambda side: f"{side.usage.output_tokens:,}",
    "cost": lambda side: money(side.cost),
    "model calls": lambda side: f"{side.model_calls:,}",
    "tool calls": lambda side: f"{side.tool_calls:,}",
    "effects": lambda side: f"{side.effects:,}",
}


def _of_runs(changes: Sequence[Change], text: Callable[[Any], str]) -> str:
    if not changes:
        return ""
    parts = "".join(_change(change, text) for change in changes)
    return f'<section class="card" aria-labelledby="h-runs"><h2 id="h-runs">Inputs and answers</h2>{parts}</section>'


def _effects(diff: RunDiff, text: Callable[[Any], str]) -> str:
    changed = diff.changed
    same = len(diff.pairs) - len(changed)
    items = "".join(_items(changed[:MOST_PAIRS], text))
    more = len(changed) - MOST_PAIRS
    rest = f'<p class="cut">{counted(more, "more effect")} differ and are not shown.</p>' if more > 0 else ""
    differ, do = ("differs" if len(changed) == 1 else "differ"), ("does" if same == 1 else "do")
    return (
        '<section class="card" aria-labelledby="h-effects"><h2 id="h-effects">Effects</h2>'
        f"<p>{counted(len(changed), 'effect')} {differ}, {same:,} {do} not.</p>"
        f'<ol class="plain">{items}</ol>{rest}</section>'
    )


def _items(pairs: Sequence[Pair], text: Callable[[Any], str]) -> Iterator[str]:
    for pair in pairs:
        only = "only in the second" if pair.before is None else "only in the first" if pair.after is None else ""
        title = only or ", ".join(_TITLES.get(change.what, change.what) for change in pair.changes)
        parts = "".join(_change(change, text) for change in pair.changes)
        yield (
            f'<li id="{anchor_of(pair.key)}"><details><summary><bdi class="key">{escape(text(pair.key))}</bdi> '
            f'<span class="kind">{pair.kind}</span> {escape(title)}</summary><div class="inside">{parts}</div>'
            "</details></li>"
        )


def _change(change: Change, text: Callable[[Any], str]) -> str:
    if change.what == "workflow":
        return f'<p class="part">workflow</p>{preformatted(_changed_lines(text(change.before), text(change.after)))}'
    name = f"input {text(change.key)}" if change.what == "input" else _TITLES.get(change.what, change.what)
    sides = "".join(
        f'<div><p class="part">{side}</p>{_side(value, text)}</div>'
        for side, value in (("first", change.before), ("second", change.after))
    )
    return f'<p class="part">{escape(name)}</p><div class="sides">{sides}</div>'


def _changed_lines(before: str, after: str) -> str:
    """Return the lines that differ with three around them, as programs for source code show them."""
    first, second = (text.splitlines()[:MOST_LINES] for text in (before, after))
    return "\n".join(difflib.unified_diff(first, second, "first", "second", lineterm=""))


def _side(value: Any, text: Callable[[Any], str]) -> str:
    return '<p class="soft">none</p>' if value is None else preformatted(text(value), LONG_SIDE)
