"""The command `batch artifacts`: the files of all complete rows, listed or written, a folder for each row."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strands_cli.cli.commands.batch.batch_options import BATCH
from strands_cli.cli.commands.command_options import JSON, with_run_options
from strands_cli.cli.commands.opened_stores import DEFAULT_STORE, StoreOptions
from strands_cli.cli.commands.stored.artifact_lines import artifact_cells, artifact_document
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import table
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import ArtifactError, RunRecordError, UsageError
from strands_cli.run_views.open_questions import command
from strands_cli.texts.phrases import counted

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore
    from strands_cli.run_views.fetched_artifacts import RunArtifacts


@with_run_options()
def fetch_artifacts(
    batch: BATCH,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write the files below this directory.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    where: StoreOptions = DEFAULT_STORE,
    as_json: JSON = False,
) -> None:
    """List the files of all complete rows of a batch, or write them here, a folder for each row.

    Example: strands batch artifacts reviews -o fetched
    """
    from strands_cli.batch.stored.batch_identity import find_batch

    if force and out is None:
        raise UsageError("--force is about files that are written", fix="name where: --out DIR, or omit --force")
    if out == Path("-"):
        raise UsageError("--out names a directory, and - is none", fix="name a directory, such as --out fetched")
    with where.opened() as store:
        name = find_batch(store, batch)
        rows = sorted((run for run in store.runs()[0] if run.whole == name), key=lambda run: run.started_at)
        complete = [run.id for run in rows if run.status == "completed"]
        if not complete:
            fix = f"see what becomes of them: {command('batch', 'status', name, store=store.place)}"
            raise ArtifactError(f"no row of the batch {name} is complete: artifacts are written at the end", fix=fix)
        show = _list if out is None else _write
        show(store, name, complete, len(rows) - len(complete), out or Path(), force=force, as_json=as_json)


def _each(store: RunStore, rows: list[str], *, with_texts: bool) -> Iterator[RunArtifacts]:
    """Yield the files of each row that has some, one row in memory at a time.

    Raises:
        RunRecordError: The journal of a row cannot be read.
    """
    from strands_cli.engine.stored_runs.many_journals import journals_of
    from strands_cli.run_views.fetched_artifacts import artifacts_of

    for journal in journals_of(store, rows):
        if isinstance(journal, RunRecordError):
            raise journal
        with contextlib.closing(journal):
            files = artifacts_of(journal, with_texts=with_texts)
        if files.files:
            yield files


def _list(
    store: RunStore, batch: str, complete: list[str], incomplete: int, _out: Path, *, force: bool, as_json: bool
) -> None:
    files = [(row.run_id, file) for row in _each(store, complete, with_texts=False) for file in row.files]
    if as_json:
        listed = [{"row": row, **artifact_document(file)} for row, file in files]
        print_json({"run": batch, "artifacts": listed, "incomplete_rows": incomplete})
        return
    heads = ("ROW", "PATH", "BYTES", "SHA-256", "TEXT")
    if files:
        print_result("\n".join(table([heads, *((row, *artifact_cells(file)) for row, file in files)])))
    else:
        say(f"the workflow of the batch {batch} has no artifacts")
    _say_incomplete(incomplete)


def _write(
    store: RunStore, batch: str, complete: list[str], incomplete: int, out: Path, *, force: bool, as_json: bool
) -> None:
    from strands_cli.run_views.fetched_artifacts import write_artifacts

    written, rows = [], 0
    for row in _each(store, complete, with_texts=True):
        written += write_artifacts(row.files, out, force=force, below=row.run_id)
        rows += 1
    if not written:
        raise ArtifactError(f"the workflow of the batch {batch} has no artifacts", fix=f"strands batch status {batch}")
    if as_json:
        print_json({"run": batch, "written": written, "incomplete_rows": incomplete})
        return
    say(one_line(f"wrote {counted(len(written), 'file')} of {counted(rows, 'row')} below {out}"))
    _say_incomplete(incomplete)


def _say_incomplete(incomplete: int) -> None:
    if incomplete:
        say(f"{counted(incomplete, 'row')} not complete, and without artifacts yet")
