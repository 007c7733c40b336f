"""What `runs artifacts` does with a batch: the files of all complete rows, listed or written, a folder for each row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.cli.commands.stored.artifact_lines import artifact_cells, artifact_document
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import table
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import ArtifactError
from strands_cli.texts.phrases import counted

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore
    from strands_cli.run_views.artifacts_of_rows import BatchArtifacts


def list_files_of_rows(store: RunStore, batch: str, *, as_json: bool) -> None:
    """Print the files of all complete rows.

    Raises:
        ArtifactError: No row is complete.
    """
    from strands_cli.run_views.artifacts_of_rows import batch_artifacts

    found = batch_artifacts(store, batch)
    files = [(row.run_id, one) for row in found.each(with_texts=False) for one in row.files]
    if as_json:
        listed = [{"row": row, **artifact_document(one)} for row, one in files]
        print_json({"run": batch, "artifacts": listed, "incomplete_rows": found.incomplete})
        return
    heads = ("ROW", "PATH", "BYTES", "SHA-256", "TEXT")
    if files:
        print_result("\n".join(table([heads, *((row, *artifact_cells(one)) for row, one in files)])))
    else:
        say(f"the workflow of the batch {batch} has no artifacts")
    _say_incomplete(found)


def write_files_of_rows(store: RunStore, batch: str, out: Path, *, force: bool, as_json: bool) -> None:
    """Write the files of all complete rows, those of each below a folder with its id.

    Raises:
        ArtifactError: No row is complete, the rows have no files, or one cannot be written.
    """
    from strands_cli.run_views.artifacts_of_rows import batch_artifacts
    from strands_cli.run_views.fetched_artifacts import write_artifacts

    found, written, rows = batch_artifacts(store, batch), [], 0
    for row in found.each(with_texts=True):
        written += write_artifacts(row.files, out, force=force, below=row.run_id)
        rows += 1
    if not written:
        raise ArtifactError(f"the workflow of the batch {batch} has no artifacts", fix=f"strands batch status {batch}")
    if as_json:
        print_json({"run": batch, "written": written, "incomplete_rows": found.incomplete})
        return
    say(one_line(f"wrote {counted(len(written), 'file')} of {counted(rows, 'row')} below {out}"))
    _say_incomplete(found)


def _say_incomplete(found: BatchArtifacts) -> None:
    if found.incomplete:
        say(f"{counted(found.incomplete, 'row')} not complete, and without artifacts yet")
