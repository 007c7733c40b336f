"""Makes the page of measured figures and its pictures from `bench/results.jsonl`."""

from __future__ import annotations

import html
import sys
from collections.abc import Sequence
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CLONE))

from bench.history import Measured, read_history  # noqa: E402 - the clone is not installed
from bench.rows import ROWS  # noqa: E402
from bench.scale_rows import SCALE_ROWS  # noqa: E402

INTRODUCTION = """# Measurements

What start-up and runs cost, against their budgets. A figure is a ratio to like work in the same run of the bench,
mostly to `python -c "import strands"`, or a peak of memory in MB; budgets are in brackets. The list has
the newest figures; each picture has those of one row from commit to commit, and its budget as a broken line. `busy`:
other programs used the processor.

`nox -s bench` appends its figures to `bench/results.jsonl`, and `python scripts/make_reference.py` makes this page.

"""
WIDTH, HEIGHT = 640, 180
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 34, 40
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1b1f24}.soft{fill:#57606a}.m{text-anchor:middle}.e{text-anchor:end}"
    ".paper{fill:#fff;stroke:#d0d7de}.budget{stroke:#c11f2b;stroke-dasharray:6 4}.value{fill:none;stroke:#0959c4;"
    "stroke-width:2}.dot{fill:#0959c4}.over{fill:#c11f2b}.axis{stroke:#d0d7de}"
)
MOST = 40


def measurements() -> dict[Path, str]:
    """Return the page and its pictures, by their files."""
    by_row: dict[str, list[Measured]] = {}
    for one in read_history():
        by_row.setdefault(one.row, []).append(one)
    what = {row.name: row.what for row in (*ROWS, *SCALE_ROWS) if row.name in by_row}
    pictures = {f"measurements-{name}.svg": picture_of(name, what[name], by_row[name][-MOST:]) for name in what}
    rows = "".join(_row(by_row[name][-1], what[name]) for name in what)
    shown = "".join(f"\n![{name}](../pictures/measurements-{name}.svg)\n" for name in what)
    return {
        CLONE / "docs" / "reference" / "measurements.md": INTRODUCTION + rows + shown,
        **{CLONE / "docs" / "pictures" / name: text for name, text in pictures.items()},
    }


def _row(one: Measured, what: str) -> str:
    ratio, memory = map(_figure, (one.ratio, one.mb), (one.ratio_budget, one.mb_budget))
    numbers = ", ".join(part for part in (ratio, f"{memory} MB" * bool(memory)) if part)
    return f"- `{one.row}` ({what}{', busy' * _is_busy(one)}): {numbers or 'no ratio'}\n"


def _figure(value: float | None, budget: float | None) -> str:
    """Return a figure with its budget, where there are any."""
    limit = "" if budget is None else f"({budget:.3g})"
    return limit if value is None else f"{value:.3g} {limit}".rstrip()


def _is_busy(one: Measured) -> bool:
    return one.load > 1


def picture_of(name: str, what: str, figures: Sequence[Measured]) -> str:
    """Return the figures of a row as a picture of its own, on paper of its own: the page may be light or dark."""
    is_ratio = figures[-1].ratio is not None
    values = [(one.ratio if is_ratio else one.mb) or 0.0 for one in figures]
    budgets = [one.ratio_budget if is_ratio else one.mb_budget for one in figures]
    top = 1.15 * max([*values, *(one for one in budgets if one is not None)]) or 1.0
    step = (WIDTH - LEFT - RIGHT) / len(figures)
    places = [(LEFT + step * (number + 0.5), _y(value, top)) for number, value in enumerate(values)]
    title = f"{name}: {what}"
    about = f"{'ratio' if is_ratio else 'MB'}, from {figures[0].commit} to {figures[-1].commit}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        f' role="img" aria-label="{html.escape(title)}">',
        f"<title>{html.escape(title)}</title><desc>{about}</desc><style>{STYLE}</style>",
        f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="6"/>',
        f'<text x="12" y="20">{html.escape(title)}</text>',
        *(_axis_mark(value, top) for value in (0.0, top / 2, top)),
        *_budget_line(budgets, step, top),
        f'<polyline class="value" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>',
    ]
    apart = -(-len(figures) // 10)
    for number, (one, (x, y), budget) in enumerate(zip(figures, places, budgets, strict=True)):
        is_over = budget is not None and values[number] > budget
        note = f"{one.commit} {one.date}: {values[number]:.3g}{', busy' * _is_busy(one)}"
        parts.append(f'<circle class="{"over" if is_over else "dot"}" cx="{x:.1f}" cy="{y:.1f}" r="3.5">')
        parts.append(f"<title>{note}</title></circle>")
        if number % apart == 0:
            parts.append(f'<text class="soft m" x="{x:.1f}" y="{HEIGHT - 14}">{one.commit}</text>')
    return "".join(parts) + "</svg>\n"


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top


def _axis_mark(value: float, top: float) -> str:
    y = _y(value, top)
    return (
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="soft e" x="{LEFT - 6}" y="{y + 4:.1f}">{value:.2g}</text>'
    )


def _budget_line(budgets: Sequence[float | None], step: float, top: float) -> list[str]:
    """Return the budget at each commit as a line, which has a step where it was changed."""
    lines = [
        f'<line class="budget" x1="{LEFT + step * number:.1f}" x2="{LEFT + step * (number + 1):.1f}"'
        f' y1="{_y(budget, top):.1f}" y2="{_y(budget, top):.1f}"/>'
        for number, budget in enumerate(budgets)
        if budget is not None
    ]
    last = budgets[-1]
    if last is None:
        return lines
    word = f'<text class="soft e" x="{WIDTH - RIGHT - 4}" y="{_y(last, top) - 5:.1f}">budget {last:g}</text>'
    return [*lines, word]
