"""`strands runs show`: one run as a tree, one effect of it as a whole, or what a running one does as it does it."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import Annotated

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import RUN, RUNS_DIR
from strands_cli.cli.output import print_json, print_result
from strands_cli.errors import UsageError

KEY = Annotated[
    str | None,
    typer.Argument(
        metavar="[KEY]",
        help="One effect, as a whole: `steps.0`, `steps.0/model.0`.",
        show_default=False,
        autocompletion=completions.keys,
    ),
]


def show_run(
    run: RUN,
    key: KEY = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show every effect, what models were asked, and all answers.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print what a running run does, until it ends or waits.")
    ] = False,
    runs_dir: RUNS_DIR = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document; with --follow one a line.")] = False,
) -> None:
    """Show what one run did, as a tree: steps, model turns, tool calls, decisions, costs, why it stopped, its answer.

    Example: strands runs show last --full
    """
    from strands_cli.config import load_settings
    from strands_cli.engine.stored_runs import find_run

    if key is not None and (follow or full):
        raise UsageError(
            f"an effect is shown whole and once, without {'--follow' if follow else '--full'}",
            fix=f"strands runs show {shlex.join([run, key])}",
        )
    place = load_settings(runs_dir=runs_dir).runs_dir
    directory = find_run(place, run)
    if key is not None:
        _show_effect(directory, key, place, as_json=as_json)
    elif follow:
        from strands_cli.cli.commands.stored.run_follow import follow_run

        follow_run(directory, place, full=full, as_json=as_json)
    else:
        _show_run(directory, place, full=full, as_json=as_json)


def _show_run(directory: Path, place: Path, *, full: bool, as_json: bool) -> None:
    from strands_cli.cli.commands.run_lines import (
        effects_lines,
        end_lines,
        fact_lines,
        result_columns,
        summary_document,
    )
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.engine.stored_runs import summary_of

    with contextlib.closing(SqliteJournal.open(directory, hold=False)) as journal:
        summary = summary_of(directory, journal)
        if as_json:
            from strands_cli.run_views import questions_of

            print_json({**summary_document(summary, full=full), "questions": questions_of(journal)})
            return
        lines = [*fact_lines(summary), *effects_lines(summary, columns=result_columns(), full=full)]
        lines += end_lines(summary, journal, place, full=full)
    print_result("\n".join(lines))


def _show_effect(directory: Path, key: str, place: Path, *, as_json: bool) -> None:
    from strands_cli.cli.commands.run_lines import effect_lines, whole_effect_document
    from strands_cli.engine.journal import SqliteJournal
    from strands_cli.run_views import answer_commands
    from strands_cli.run_views.effects import effect_of

    with contextlib.closing(SqliteJournal.open(directory, hold=False)) as journal:
        effect = effect_of(journal, key)
        waits = effect.status == "waiting"
        ways = answer_commands(journal, directory.name, place) if waits else []
    if as_json:
        print_json(whole_effect_document(directory.name, effect))
        return
    own = [way for way in ways if key in shlex.split(way)]
    print_result("\n".join([*effect_lines(effect), *([""] if own else []), *own]))
