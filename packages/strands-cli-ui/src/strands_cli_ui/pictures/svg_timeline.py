"""The timeline of a run as SVG: a line for each step or agent, bars, the shortened stretches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from strands_cli.api import counted
from strands_cli_ui.pictures.svg_parts import legend, line, linked, picture, rectangle, text_at, time_span

if TYPE_CHECKING:
    from strands_cli_ui.pictures.timeline import Lane, Timeline
    from strands_cli_ui.pictures.timeline_bars import Bar

_WIDTH, _LEFT, _RIGHT, _TOP = 960.0, 220.0, 20.0, 30.0
_ROW, _BAR, _BETWEEN = 18.0, 13.0, 6.0
_SPAN = _WIDTH - _LEFT - _RIGHT
_COLUMNS = 32
# With more bars than this, only those lead to their effects that need a look, besides the names of the steps.
_MOST_LINKS = 40
_NOTABLE = ("failed", "waiting", "running")
_WORDS = {"model": "model turn", "tool": "tool call", "person": "waits for a person", "step": "step"}


def svg_timeline(timeline: Timeline) -> str:
    """Return the picture of who worked when; empty where nothing has begun."""
    if not timeline.lanes:
        return ""
    bars = sum(len(row) for lane in timeline.lanes for row in lane.rows)
    tops, y = [], _TOP
    for lane in timeline.lanes:
        tops.append(y)
        y += len(lane.rows) * _ROW + _BETWEEN
    parts = [*_axis(timeline, y), *_gaps(timeline, y)]
    for lane, top in zip(timeline.lanes, tops, strict=True):
        parts += _lane(lane, top, timeline, links_all=bars <= _MOST_LINKS)
    if timeline.scale.gaps:
        y += 16
    y += 18
    parts.append(legend(_LEFT, y, _legend(timeline)))
    notes = _notes(timeline)
    for text in notes:
        y += 18
        parts.append(text_at(_LEFT, y, text, "soft", 130))
    about = f"{counted(len(timeline.lanes), 'lane')}, {counted(timeline.effects, 'effect')}. {' '.join(notes)}"
    return picture("timeline", (_WIDTH, y + 10), "Timeline: who worked when", about, parts, has_links=True)


def _at(timeline: Timeline, time: float) -> float:
    return _LEFT + timeline.scale.place_of(time) * _SPAN


def _axis(timeline: Timeline, bottom: float) -> Iterator[str]:
    for mark in timeline.scale.marks():
        x = _LEFT + mark.place * _SPAN
        yield line([(x, _TOP - 6), (x, bottom)], "grid")
        part = "" if mark.place < 0.05 else " end" if mark.place > 0.95 else " middle"
        yield text_at(x, _TOP - 12, time_span(mark.seconds), f"soft{part}")


def _lane(lane: Lane, top: float, timeline: Timeline, *, links_all: bool) -> Iterator[str]:
    who = f" {lane.who}" if lane.who and lane.who != lane.name else ""
    name = text_at(_LEFT - 8, top + _BAR - 2, f"{lane.name}{who}", "end", _COLUMNS)
    yield linked(lane.key, f"{lane.name}{who}", name) if lane.key else name
    for number_of_row, row in enumerate(lane.rows):
        for bar in row:
            yield _bar(bar, top + number_of_row * _ROW, timeline, is_link=links_all or bar.status in _NOTABLE)


def _bar(bar: Bar, y: float, timeline: Timeline, *, is_link: bool) -> str:
    x, end = _at(timeline, bar.started_at), _at(timeline, bar.ended_at)
    height, down = (_BAR - 6, 3) if bar.kind == "person" else (_BAR, 0)
    shape = rectangle(x, y + down, max(2.0, end - x), height, f"bar {bar.kind} {bar.status}{' open' * bar.is_open}")
    return linked(bar.key if is_link else None, bar_words(bar), shape)


def bar_words(bar: Bar) -> str:
    """Return the meaning of a bar: `steps.0/model.0: model turn of writer, done, 2.1 s`."""
    if bar.count > 1:
        who = f" of {bar.who}" if bar.who else ""
        return f"{bar.key} and {counted(bar.count - 1, 'other')}{who}, {bar.status}, {time_span(bar.seconds)}"
    who = f" of {bar.who}" if bar.who and bar.kind != "person" else ""
    so_far = " so far" if bar.is_open else ""
    return f"{bar.key}: {_WORDS[bar.kind]}{who}, {bar.status}, {time_span(bar.seconds)}{so_far}"


def _gaps(timeline: Timeline, bottom: float) -> Iterator[str]:
    """Yield a broken band with its length over each shortened stretch."""
    for gap in timeline.scale.gaps:
        x, width = _LEFT + gap.place * _SPAN, gap.width * _SPAN
        yield rectangle(x + 1, _TOP - 4, width - 2, bottom - _TOP + 4, "gap", 0)
        words = f"{time_span(gap.seconds)} {'waited' if gap.is_waiting else 'idle'}"
        yield text_at(x + width / 2, bottom + 12, words, "soft middle")


def _legend(timeline: Timeline) -> dict[str, str]:
    """Return the classes of the kinds of bars that there are, with their meanings."""
    kinds = {bar.kind for lane in timeline.lanes for row in lane.rows for bar in row}
    return {f"bar {kind}": words for kind, words in _WORDS.items() if kind in kinds}


def _notes(timeline: Timeline) -> list[str]:
    notes = []
    if timeline.scale.gaps:
        seconds = sum(gap.seconds for gap in timeline.scale.gaps)
        notes.append(
            f"Drawn short: {counted(len(timeline.scale.gaps), 'gap')} without work, {time_span(seconds)} in all."
        )
    single_count = sum(bar.count == 1 for lane in timeline.lanes for row in lane.rows for bar in row)
    if grouped := sum(bar.count for lane in timeline.lanes for row in lane.rows for bar in row) - single_count:
        notes.append(f"{grouped:,} effects are too close to be drawn apart: they share bars.")
    if timeline.left_out:
        notes.append(f"{timeline.left_out:,} lanes more are not drawn.")
    if timeline.reused:
        notes.append(f"{counted(timeline.reused, 'effect')} of another run have no bar.")
    return notes
