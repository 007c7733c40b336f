"""The file of a report: where it may be written, and writing it whole or not at all."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.cli.output.messages import say
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import ArtifactError, StrandsCliError

if TYPE_CHECKING:
    from strands_cli.cli.commands.command_options import RunFlags
    from strands_cli.engine.ports.store_port import RunStore
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest


def require_report_place(place: Path, *, force: bool, others: Iterable[Path] = ()) -> None:
    """Check that a report can be written to a place, before anything is paid for.

    Args:
        force: Whether another file there may be overwritten; an earlier report may always.
        others: Files that are used or written too.

    Raises:
        ArtifactError: It cannot.
    """
    from strands_cli.outputs.artifacts import obstacle

    if any(place.resolve() == other.resolve() for other in others):
        raise ArtifactError(f"the report {place} is a file of the run too", fix="give the report another name")
    if place.is_dir():
        raise ArtifactError(f"the report {place} is a directory", fix=f"name a file: {place / 'run.html'}")
    if not place.parent.is_dir():
        missing = f"the report {place} cannot be written: there is no directory {place.parent}"
        raise ArtifactError(missing, fix="make the directory, or choose another place")
    if reason := obstacle(place.parent):
        raise ArtifactError(f"the report {place} cannot be written: {reason}", fix="choose another place")
    _require_free(place, force=force)


def _require_free(place: Path, *, force: bool) -> None:
    if place.exists() and not place.is_file():  # a device would be replaced by the file
        raise ArtifactError(f"the report {place} is neither new nor a file", fix="choose another place")
    if not force and (place.exists() or place.is_symlink()) and not _is_report(place):
        fix = "pass --force to overwrite it, or choose another name"
        raise ArtifactError(f"{place} exists already, and is not a report", fix=fix)


def _is_report(place: Path) -> bool:
    from strands_cli.pages.page_frame import MARK

    if place.is_symlink() or not place.is_file():  # a device may never end
        return False
    with contextlib.suppress(OSError), place.open("rb") as stream:
        return stream.read(len(MARK)) == MARK.encode()
    return False


def write_report(place: Path, text: str, *, force: bool) -> int:
    """Write a report and return its size in bytes; only its user may read it, as the journal.

    Raises:
        ArtifactError: It cannot be written.
    """
    from strands_cli.system.atomic_file import write_atomically

    content = text.encode()
    _require_free(place, force=force)
    try:
        write_atomically(place, content, force=True, mode=0o600)
    except OSError as error:
        reason = error.strerror or error
        raise ArtifactError(f"the report {place} cannot be written: {reason}", fix="choose another place") from error
    return len(content)


def report_of(store: RunStore, run: str, other: str | None = None) -> str:
    """Return the report of one stored run as HTML, or the comparison of two.

    Raises:
        RunRecordError: Its journal cannot be read.
    """
    from strands_cli.pages.comparison import comparison_html
    from strands_cli.pages.run_page import run_page_of
    from strands_cli.pages.run_parts import run_html
    from strands_cli.run_views.open_questions import command

    with _no_collection(), contextlib.closing(store.open(run, hold=False)) as journal:
        if other is None:
            return run_html(run_page_of(journal))
        first = run_page_of(journal, most_whole=0)
        with contextlib.closing(store.open(other, hold=False)) as second:
            same = command("runs", "diff", run, other, store=store.place)
            return comparison_html(first, run_page_of(second, most_whole=0), command=same)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Collect no circles of objects: a long page makes none, and the search for them took a third of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def require_report_of_run(planned: Plan, request: RunRequest, flags: RunFlags) -> None:
    """Check the place of the report of a run that is about to begin.

    Raises:
        ArtifactError: The report cannot be written there.
    """
    if flags.report is None:
        return
    folder = request.beside / request.out_dir

    others = [folder / one.path for one in planned.spec.outputs.artifacts]
    others += [planned.base_dir / name for name in (planned.file, *planned.files)]
    others += [agent.recording for agent in planned.agents.values() if agent.recording is not None]
    others += [Path(flags.events)] if flags.events not in (None, "-") else []
    require_report_place(Path(flags.report), force=request.force, others=others)


def leave_report(flags: RunFlags, run_id: str | None, planned: Plan, request: RunRequest) -> None:
    """Write the report of a run, also of a failed one; a failure to write it does not fail the run."""
    if flags.report is None or run_id is None:
        return
    from strands_cli.engine.stored_runs.opened_store import store_at

    try:
        with contextlib.closing(store_at(planned.store)) as store:
            size = write_report(Path(flags.report), report_of(store, run_id), force=request.force)
    except StrandsCliError as error:
        say(one_line(f"warning: the report is not written: {error.message}"))
        return
    if not flags.quiet:
        say(one_line(f"report {flags.report} ({size} bytes)"))
