"""What is below the effects of a shown run: what waits, the answer, and the commands that tell more or go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strands_cli.cli.commands.next_commands import waiting_lines
from strands_cli.cli.commands.run_lines.summary_lines import answer_lines
from strands_cli.cli.commands.run_lines.tree_lines import MOST
from strands_cli.run_views.open_questions import answer_commands, command, questions_of

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import StoredJournal
    from strands_cli.engine.stored_runs.summary import RunSummary


def end_lines(summary: RunSummary, journal: StoredJournal, *, full: bool) -> list[str]:
    """Return the lines below the effects: what waits, the answer, and the commands that tell more or go on."""
    run, place = summary.run, journal.place
    ways = answer_commands(journal)
    lines: list[str] = []
    for question in questions_of(journal):
        lines += ["", *waiting_lines(question)]
    lines += answer_lines(summary, full=full)
    more = []
    if run.status == "running":
        more.append(f"as it goes on: {command('runs', 'show', run.id, '--follow', store=place)}")
    if run.status == "interrupted" or (run.status == "waiting" and not ways):
        more.append(f"to continue it: {command('resume', run.id, store=place)}")
    if not full and len(summary.effects) > MOST:
        more.append(f"all {len(summary.effects)} effects: {command('runs', 'show', run.id, '--full', store=place)}")
    elif not full and run.status != "completed" and summary.spent.model_calls:
        more.append(f"what was asked and answered: {command('runs', 'show', run.id, '--full', store=place)}")
    if summary.effects and not full:
        example = _example(summary)
        more.append(f"one effect as a whole, such as: {command('runs', 'show', run.id, example, store=place)}")
    return [*lines, *([""] if more else []), *more, *([""] if ways else []), *ways]


def _example(summary: RunSummary) -> str:
    """Return the key that a person is likeliest to want: of what failed, or of the last answer."""
    rows = [one.row for one in summary.effects]
    failed = [one.row.key for one in summary.effects if one.error or one.tool_error]
    return (failed or [row.key for row in rows if row.kind == "model"] or [row.key for row in rows])[-1]
