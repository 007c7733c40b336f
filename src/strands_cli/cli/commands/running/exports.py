"""The files of `--export NAME=FILE`: each is made by an exporter of a distribution when a run ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from strands_cli.cli.output.export_file import ExportFile
from strands_cli.cli.output.messages import say
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import StrandsCliError, UsageError, suggest

if TYPE_CHECKING:
    from strands_cli.cli.commands.command_options import RunFlags
    from strands_cli.parts.named_parts import Part
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.run_views.opened_runs import OpenedRun
    from strands_cli.store_place import StorePlace


class Exporter(Protocol):
    """The object behind an entry point of the group `strands_cli.exporters`: it makes one file of a run that has ended.

    Its attribute `mark`, which it need not have, is the text that each of its files begins with: a file that begins so
    is overwritten without `--force`.
    """

    def export(self, run: OpenedRun) -> str | bytes:
        """Return the content of the file; a text is written in UTF-8.

        Args:
            run: The run that has completed, failed or waits. It is closed when the method returns.
        """


class Export(NamedTuple):
    """One file to make at the end of a run."""

    part: Part
    exporter: Exporter
    file: ExportFile


def planned_exports(planned: Plan, request: RunRequest, flags: RunFlags) -> list[Export]:
    """Return the exports of a run that is about to begin, imported, and checked as far as they can be before it.

    Raises:
        UsageError: No exporter has this name.
        NotEquipped: Its distribution is not installed, or it cannot be imported.
        Denied: Policy denies its distribution, or it is not as it was locked.
        ArtifactError: A file cannot be written.
    """
    exports = [_export(name, path, request) for name, path in flags.exported()]
    if not exports:
        return []
    folder = request.beside / request.out_dir
    others = [folder / artifact.path for artifact in planned.spec.outputs.artifacts]
    others += [planned.base_dir / name for name in (planned.file, *planned.files)]
    others += [agent.recording for agent in planned.agents.values() if agent.recording is not None]
    others += [Path(flags.events)] if flags.events not in (None, "-") else []
    for export in exports:
        export.file.require_writable(others)
        others.append(export.file.path)
    return exports


def _export(name: str, path: Path, request: RunRequest) -> Export:
    from strands_cli.default_parts import EXPORTERS, OURS
    from strands_cli.parts.named_parts import imported_with_methods, names_in, not_installed, part_named

    part = part_named(EXPORTERS, name)
    if part is None and (owner := OURS[EXPORTERS].get(name)):
        raise not_installed(f"--{name}", owner)
    if part is None:
        names = sorted({*names_in(EXPORTERS), *OURS[EXPORTERS]})
        raise UsageError(f"there is no exporter '{name}'", fix=suggest(name, names, f"there are: {', '.join(names)}"))
    exporter = imported_with_methods(part, Exporter)
    mark = getattr(exporter, "mark", "")
    return Export(part, exporter, ExportFile(path, name, mark if isinstance(mark, str) else "", request.force))


def leave_exports(exports: Sequence[Export], run_id: str | None, place: StorePlace, *, quiet: bool) -> None:
    """Write the exports of a run, also of a failed one; a failure to write one does not fail the run."""
    if not exports or run_id is None:
        return
    from strands_cli.run_views.opened_runs import Runs

    for export in exports:
        file = export.file
        try:
            with Runs(place) as runs, runs.open(run_id) as run:
                size = file.write(_content(export, run))
        except StrandsCliError as error:
            say(one_line(f"warning: the {file.noun} is not written: {error.message}"))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - of the exporter; the run has ended, and its result counts
            reason = f"{export.part} of {export.part.distribution} failed: {type(error).__name__}: {error}"
            say(one_line(f"warning: the {file.noun} is not written: {reason}"))
        else:
            if not quiet:
                say(one_line(f"{file.noun} {file.path} ({size} bytes)"))


def _content(export: Export, run: OpenedRun) -> str | bytes:
    content: object = export.exporter.export(run)
    if isinstance(content, (str, bytes)):
        return content
    raise TypeError(f"it returns {type(content).__name__}, not text or bytes")
