"""Remarks on a run that no reader must miss: warnings, and the decisions on tool calls with their rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from strands_cli.api import Branch, counted
from strands_cli_ui.pages.effect_rows import EffectLink
from strands_cli_ui.pages.html_text import escape, table
from strands_cli_ui.pages.run_page import RunPage

# More places are counted and not named.
MOST_PLACES = 20


def warnings(page: RunPage, link: EffectLink) -> str:
    """Return the faults of a run that may be complete all the same, as a list; empty where there are none.

    Args:
        link: Returns the address of an effect by its key.
    """
    lines = "".join(f"<li>{line}</li>" for line in _warnings(page, lambda found: _places(page, found, link)))
    return f"<ul>{lines}</ul>" if lines else ""


def _warnings(page: RunPage, places: Callable[[list[Branch]], str]) -> Iterator[str]:
    branches = [branch for _, branch in page.waterfall.rows if branch.effect is not None]
    damaged = [branch for branch in branches if _is_damaged(page, branch)]
    if damaged:
        yield f"{counted(len(damaged), 'row')} of the journal can be read only in part: {places(damaged)}"
    retried = [branch for branch in branches if branch.effect is not None and branch.effect.row.detail.get("failures")]
    if retried:
        yield f"{counted(len(retried), 'model turn')} failed before an attempt succeeded: {places(retried)}"
    yield from _failed_calls(page, branches, places)
    if page.summary.verdict is not None and not page.summary.verdict.accepted:
        yield f"The last draft is {page.text(page.summary.verdict)}."
    changed = [branch for branch in branches if branch.effect is not None and "called_with" in branch.effect.row.detail]
    if changed:
        yield f"{counted(len(changed), 'call')} got other arguments than the model wrote: {places(changed)}"
    if page.summary.spent.model_calls and page.summary.spent.cost is None:
        yield "The cost of a model call is not known, so the cost of the run is not either."
    for bar in page.pictures.budgets:
        if bar.share >= bar.warn_at:
            yield f"{page.text(bar.name)}: {bar.share * 100:.0f} % of the limit are used."


def _failed_calls(page: RunPage, branches: list[Branch], places: Callable[[list[Branch]], str]) -> Iterator[str]:
    """Yield each reason for which calls failed or were denied, with the calls."""
    calls_by_reason: dict[tuple[str, str], list[Branch]] = {}
    for branch in branches:
        if branch.effect is not None and branch.effect.tool_error is not None:
            if str(branch.effect.tool_error) in (page.summary.run.reason or ""):
                continue  # the page begins with it
            calls_by_reason.setdefault((branch.who, str(branch.effect.tool_error)), []).append(branch)
    for (tool, reason), failed in list(calls_by_reason.items())[:MOST_PLACES]:
        reasons = f"<bdi>{page.text(tool)}</bdi>, <bdi>{page.text(reason)}</bdi>"
        yield f"{counted(len(failed), 'tool call')} failed: {reasons}: {places(failed)}"
    if len(calls_by_reason) > MOST_PLACES:
        yield f"Tool calls failed for {len(calls_by_reason) - MOST_PLACES:,} more reasons."


def _is_damaged(page: RunPage, branch: Branch) -> bool:
    # The answer in a row is read only for its whole effect.
    whole = page.whole.get(branch.key)
    return isinstance(whole, str) or bool((branch.effect and branch.effect.damage) or (whole and whole.damage))


def _places(page: RunPage, branches: list[Branch], link: EffectLink) -> str:
    links = [
        f'<a href="{escape(link(branch.key))}"><code>{page.text(branch.key)}</code></a>'
        for branch in branches[:MOST_PLACES]
    ]
    more = f" and {len(branches) - MOST_PLACES:,} more" if len(branches) > MOST_PLACES else ""
    return ", ".join(links) + more


def decisions(page: RunPage) -> str:
    """Return how often each rule has allowed or denied the calls of each tool, as a table; empty without calls."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for _, branch in page.waterfall.rows:
        if branch.decision is not None:
            counts[branch.who, branch.decision, branch.rule or ""] += 1
    rows = "".join(
        f"<tr><td><bdi>{page.text(tool)}</bdi></td><td>{page.text(decision)}</td>"
        f'<td class="number">{count:,}</td><td><bdi>{page.text(rule)}</bdi></td></tr>'
        for (tool, decision, rule), count in sorted(counts.items(), key=_denied_first)
    )
    return table("Decisions", ("Tool", "Decision", "Calls", "Rule"), rows) if rows else ""


def _denied_first(counted_decision: tuple[tuple[str, str, str], int]) -> tuple[bool, str, str]:
    tool, decision, _ = counted_decision[0]
    return decision != "deny", tool, decision
