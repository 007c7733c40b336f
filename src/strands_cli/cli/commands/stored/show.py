"""`strands runs show`: one run as a tree, one effect of it as a whole, or what a running one does as it does it."""

from __future__ import annotations

import contextlib
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import RUN, with_run_options
from strands_cli.cli.commands.opened_stores import DEFAULT_STORE, StoreOptions
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import UsageError

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore, StoredRun

KEY = Annotated[
    str | None,
    typer.Argument(
        metavar="[KEY]",
        help="One effect, as a whole: `steps.0`, `steps.0/model.0`.",
        show_default=False,
        autocompletion=completions.keys,
    ),
]


@with_run_options()
def show_run(
    run: RUN,
    key: KEY = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show every effect, what models were asked, and all answers.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print what a running run does, until it ends or waits.")
    ] = False,
    where: StoreOptions = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document; with --follow one a line.")] = False,
) -> None:
    """Show what one run did, as a tree: steps, model turns, tool calls, decisions, costs, why it stopped, its answer.

    Example: strands runs show last --full
    """
    if key is not None and (follow or full):
        raise UsageError(
            f"an effect is shown whole and once, without {'--follow' if follow else '--full'}",
            fix=f"strands runs show {shlex.join([run, key])}",
        )
    with where.opened() as runs:
        found = runs.find(run)
        if key is not None:
            _show_effect(runs, found, key, as_json=as_json)
        elif follow:
            from strands_cli.cli.commands.stored.follow import follow_run

            follow_run(runs, found, full=full, as_json=as_json)
        else:
            _show_run(runs, found, full=full, as_json=as_json)


def _show_run(store: RunStore, run: str, *, full: bool, as_json: bool) -> None:
    from strands_cli.cli.commands.run_lines.end import end_lines
    from strands_cli.cli.commands.run_lines.summary_lines import effects_lines, fact_lines, summary_document
    from strands_cli.cli.commands.run_lines.tree_lines import result_columns
    from strands_cli.engine.journal.run_parts import command_of
    from strands_cli.engine.stored_runs.described import run_of
    from strands_cli.engine.stored_runs.summary import summary_of

    with contextlib.closing(store.open(run, hold=False)) as journal:
        if (name := command_of(journal.get("pattern"))) is not None:
            _show_parts(store, run_of(journal), name, as_json=as_json)
            return
        summary = summary_of(journal)
        if as_json:
            from strands_cli.run_views.open_questions import questions_of

            print_json({**summary_document(summary, full=full), "questions": questions_of(journal)})
            return
        lines = [*fact_lines(summary), *effects_lines(summary, columns=result_columns(), full=full)]
        lines += end_lines(summary, journal, full=full)
    print_result("\n".join(lines))


def _show_parts(store: RunStore, run: StoredRun, name: str, *, as_json: bool) -> None:
    """Show a run that consists of others: how many there are by their status, and the commands that tell more."""
    from strands_cli.cli.commands.run_lines.summary_lines import run_document
    from strands_cli.cli.text_layout import one_line
    from strands_cli.run_views.open_questions import command
    from strands_cli.texts.phrases import counted

    parts = Counter(part.status for part in store.runs()[0] if part.whole == run.id)
    if as_json:
        print_json({**run_document(run), "parts": dict(parts), "command": name})
        return
    of_status = ", ".join(f"{number} {status}" for status, number in sorted(parts.items()))
    lines = [
        f"{run.id} of {run.file}: {run.status}{f', {run.reason}' if run.reason else ''}",
        f"{counted(parts.total(), 'run')}{f': {of_status}' if of_status else ''}",
        f"each of them: {command('runs', 'list', '--parts', run.id, store=store.place)}",
        f"how far it is, and how it goes on: {command(name, 'status', run.id, store=store.place)}",
    ]
    print_result("\n".join(map(one_line, lines)))


def _show_effect(store: RunStore, run: str, key: str, *, as_json: bool) -> None:
    from strands_cli.cli.commands.run_lines.one_effect_lines import effect_lines, whole_effect_document
    from strands_cli.run_views.open_questions import answer_commands
    from strands_cli.run_views.whole_effect import effect_of

    with contextlib.closing(store.open(run, hold=False)) as journal:
        effect = effect_of(journal, key)
        waits = effect.status == "waiting"
        ways = answer_commands(journal) if waits else []
    if as_json:
        print_json(whole_effect_document(run, effect))
        return
    own = [way for way in ways if effect.key in shlex.split(way)]
    print_result("\n".join([*effect_lines(effect), *([""] if own else []), *own]))
