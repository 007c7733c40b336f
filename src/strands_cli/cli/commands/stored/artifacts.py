"""The command `runs artifacts`: the files of a run, listed, printed, or written here from wherever the run was."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import JSON, RUN, with_run_options
from strands_cli.cli.commands.opened_stores import DEFAULT_STORE, StoreOptions
from strands_cli.cli.commands.stored.artifact_lines import artifact_cells, artifact_document
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_response, print_result
from strands_cli.cli.terminal_text import table
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import UsageError

if TYPE_CHECKING:
    from strands_cli.run_views.fetched_artifacts import RunArtifacts


@with_run_options()
def fetch_artifacts(
    run: RUN,
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="[PATH]",
            help="One file, to be printed to stdout.",
            show_default=False,
            autocompletion=completions.artifacts,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write the files below this directory.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    where: StoreOptions = DEFAULT_STORE,
    as_json: JSON = False,
) -> None:
    """List the files of a complete run, print one of them, or write them here.

    A store in a database has their texts, so that they need not be on this machine.

    Example: strands runs artifacts last -o fetched
    """
    from strands_cli.run_views.fetched_artifacts import artifacts_of

    if force and out is None:
        raise UsageError("--force is about files that are written", fix="name where: --out DIR, or omit --force")
    if out == Path("-"):
        fix = f"one file goes to stdout: {shlex.join(['strands', 'runs', 'artifacts', run])} {path or 'PATH'}"
        raise UsageError("--out names a directory, and - is none", fix=fix)
    with where.opened() as opened:
        name = opened.find(run)
        with contextlib.closing(opened.open(name, hold=False)) as journal:
            found = artifacts_of(journal, with_texts=path is not None or out is not None)
    if out is not None:
        _write(found, path, out, force=force, as_json=as_json)
    elif path is not None:
        _print(found, path, as_json=as_json)
    else:
        _list(found, as_json=as_json)


def _write(found: RunArtifacts, path: str | None, out: Path, *, force: bool, as_json: bool) -> None:
    from strands_cli.run_views.fetched_artifacts import write_artifacts

    written = write_artifacts(found.chosen([path] if path is not None else []), out, force=force)
    if as_json:
        print_json({"run": found.run_id, "written": written})
        return
    for one in written:
        say(one_line(f"wrote {one['path']} ({one['size']} bytes)"))


def _print(found: RunArtifacts, path: str, *, as_json: bool) -> None:
    (chosen,) = found.chosen([path])
    if as_json:
        print_json({"run": found.run_id, **artifact_document(chosen), "text": chosen.read()})
    else:
        print_response(chosen.read(), is_file=True)


def _list(found: RunArtifacts, *, as_json: bool) -> None:
    if as_json:
        place = None if found.worked_on is None else dataclasses.asdict(found.worked_on)
        print_json(
            {"run": found.run_id, "worked_on": place, "artifacts": [artifact_document(one) for one in found.files]}
        )
        return
    if not found.files:
        say(f"the workflow of the run {found.run_id} has no artifacts")
        return
    print_result("\n".join(table([("PATH", "BYTES", "SHA-256", "TEXT"), *map(artifact_cells, found.files)])))
    if found.worked_on is not None:
        say(one_line(f"written on {found.worked_on.words}"))
