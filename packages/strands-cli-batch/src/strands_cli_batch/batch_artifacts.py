"""The command `batch artifacts`: the files of all complete rows, listed or written, a folder for each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strands_cli.api import (
    DEFAULT_STORE,
    ArtifactError,
    RunRecordError,
    StoreOptions,
    UsageError,
    counted,
    print_json,
    print_result,
    say,
    table,
    with_run_options,
)
from strands_cli_batch.batch_options import BATCH
from strands_cli_batch.command_parts import JSON, command, one_line

if TYPE_CHECKING:
    from strands_cli.api import RunStore, StoredArtifact


# The fields of each file in JSON.
_SHOWN = ("path", "size", "digest", "stored")


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
    from strands_cli_batch.batch_identity import find_batch

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


def _each(store: RunStore, rows: list[str], *, with_texts: bool) -> Iterator[tuple[str, Sequence[StoredArtifact]]]:
    """Yield each row with files, and these, one row in memory at a time."""
    from strands_cli.api import OpenedRun, journals_of

    for journal in journals_of(store, rows):
        if isinstance(journal, RunRecordError):
            raise journal
        with OpenedRun(journal) as run:
            files = run.artifacts(with_texts=with_texts)
        if files:
            yield run.id, files


def _list(
    store: RunStore, batch: str, complete: list[str], incomplete: int, _out: Path, *, force: bool, as_json: bool
) -> None:
    files = [(row, file) for row, of_row in _each(store, complete, with_texts=False) for file in of_row]
    if as_json:
        listed = [
            {"row": row, **{name: getattr(file, name) for name in ("path", "size", "digest", "stored")}}
            for row, file in files
        ]
        print_json({"run": batch, "artifacts": listed, "incomplete_rows": incomplete})
        return
    heads = ("ROW", "PATH", "BYTES", "SHA-256", "TEXT")
    if files:
        print_result("\n".join(table([heads, *((row, *_cells(file)) for row, file in files)])))
    else:
        say(f"the workflow of the batch {batch} has no artifacts")
    _say_incomplete(incomplete)


def _write(
    store: RunStore, batch: str, complete: list[str], incomplete: int, out: Path, *, force: bool, as_json: bool
) -> None:

    written, rows = [], 0
    for row, files in _each(store, complete, with_texts=True):
        for file in files:
            path = file.write(out, force=force, below=row)
            written.append({"path": str(path), "digest": file.digest, "size": file.size})
        rows += 1
    if not written:
        raise ArtifactError(f"the workflow of the batch {batch} has no artifacts", fix=f"strands batch status {batch}")
    if as_json:
        print_json({"run": batch, "written": written, "incomplete_rows": incomplete})
        return
    say(one_line(f"wrote {counted(len(written), 'file')} of {counted(rows, 'row')} below {out}"))
    _say_incomplete(incomplete)


def _cells(file: StoredArtifact) -> tuple[str, ...]:
    return one_line(file.path), str(file.size), file.digest, "in the store" if file.stored else "in the file only"


def _say_incomplete(incomplete: int) -> None:
    if incomplete:
        say(f"{counted(incomplete, 'row')} not complete, and without artifacts yet")
