"""The workflows, agents and skills of installed distributions, for a list; nothing is validated."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.distributions.entry_points import read_start
from strands_cli.catalog.packaged_files import BAD_PACKAGED, SKILL, PackagedFile, PackagedKind, files_in, scan_packaged
from strands_cli.errors import Finding, InvalidInput, StrandsCliError, UsageError, Where
from strands_cli.quick_dataclass import dataclass
from strands_cli.yaml_files.document_reader import FILE_NOT_READ, FileSnapshot, read_document
from strands_cli.yaml_files.yaml_events import described_in

if TYPE_CHECKING:
    from strands_cli.catalog.packaged_files import PackagedFile, PackagedKind


# The project of a workflow: the folder below which its files may be, and are a person's own.


def project_root(folder: Path) -> Path:
    """Return the folder below which a workflow may name files.

    It is the repository of the workflow's folder, else the working directory where the folder is below it, else the
    folder itself. One that contains the home directory is none: a workflow must not reach everything of a person.
    """
    own, here = folder.resolve(), Path.cwd().resolve()
    repository = next((above for above in (own, *own.parents) if os.path.exists(above / ".git")), None)  # noqa: PTH110 - Path.exists raises
    root = repository or (here if own.is_relative_to(here) else own)
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - Path.home() raises where there is none
    return own if home.is_relative_to(root) else root


# Workflows, agents and skills of installed distributions, by the names that commands and workflows use.


# How a file of a workflow names one: `$ref: package:strands-flow-your-triage/reader`.
PACKAGE = "package:"


def located(source: str | Path, *kinds: PackagedKind) -> tuple[str | Path, FileSnapshot | None]:
    """Return the file that a name means; for `DIST/NAME`, that of the distribution with its snapshot.

    A file or folder of that path wins.

    Args:
        source: The argument that a person typed: a path, `-`, or `DIST/NAME`.
        kinds: The kinds to look for, in this order; a workflow by default.

    Raises:
        UsageError: It has the form of such a name, and nothing has it.
    """
    name = str(source)
    if "/" not in name or os.path.lexists(name):
        return source, None
    from strands_cli.catalog.packaged_files import is_installed, is_packaged_name

    if not is_packaged_name(name):
        return source, None
    file = _first(name, kinds or ("workflow",))
    if isinstance(file, Finding):
        if Path(name).parent.is_dir() and not is_installed(name):  # a mistyped path
            return source, None
        finding = replace(file, message=f"there is no file {name!r}, and {file.message}")
        raise UsageError(finding.message, findings=[finding])
    return file.path, FileSnapshot(Path(file.path).parent, packaged=file.ref)


def _first(name: str, kinds: tuple[PackagedKind, ...]) -> PackagedFile | Finding:
    from strands_cli.catalog.packaged_files import find_packaged

    answers = [find_packaged(name, kind) for kind in kinds]
    return next((answer for answer in answers if not isinstance(answer, Finding)), answers[0])


def packaged_file(name: str, where: Where, snapshot: FileSnapshot, kind: PackagedKind) -> Path | Finding:
    """Return the file, or the folder of a skill, that `package:DIST/NAME` names; a run has stored which it was."""
    if (stored := snapshot.texts.get(name)) is not None:
        return Path(stored)
    if snapshot.is_all:
        return Finding(FILE_NOT_READ, f"'{name}' is not read here", where, severity="warning")
    from strands_cli.catalog.packaged_files import find_packaged

    file = find_packaged(name.removeprefix(PACKAGE), kind)
    return replace(file, where=where) if isinstance(file, Finding) else Path(file.path)


# The front matter begins the file.
_MAX_SKILL = 128 * 1024


@dataclass(frozen=True, slots=True)
class PackagedItem:
    """One workflow, agent or skill of an installed distribution.

    Attributes:
        file: Its name, its place and its distribution.
        description: The description in its file, the `SKILL.md` of a skill; None where there is none.
        reason: Why its file cannot be read; None where it can.
    """

    file: PackagedFile
    description: str | None = None
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON of `workflows list`."""
        home = self.file.home
        return {
            "name": self.file.ref,
            "kind": self.file.kind,
            "status": "broken" if self.reason else "ok",
            "reason": self.reason,
            "description": self.description,
            "distribution": home.distribution,
            "version": home.version,
            "file": self.file.path,
        }


def list_packaged(path: Sequence[str] | None = None) -> tuple[tuple[PackagedItem, ...], tuple[Finding, ...]]:
    """Return every packaged file, by name, and the faults of the packages.

    Recordings, tests and other files beside workflows are left out.

    Args:
        path: As `discover_catalog` takes it.
    """
    folders, faults = scan_packaged(path)
    findings = list(faults)
    listing: dict[tuple[PackagedKind, str], PackagedItem] = {}
    for folder in folders:
        files, faults = files_in(folder)
        findings += faults
        for file in files:
            for entry in _listed(file, findings):
                listing.setdefault((file.kind, file.path), entry)
    ordered = sorted(listing.values(), key=lambda entry: (entry.file.ref, entry.file.kind))
    return tuple(ordered), tuple(dict.fromkeys(findings))


def _listed(file: PackagedFile, findings: list[Finding]) -> Iterator[PackagedItem]:
    try:
        if file.kind == "skill":
            yield PackagedItem(file, _described_skill(Path(file.path, SKILL)))
            return
        value = read_document(Path(file.path)).value
    except StrandsCliError as error:
        first = error.findings[0] if error.findings else None
        reason = first.message if first is not None else error.message
        where = (first.where if first is not None else None) or Where(file.path)
        findings.append(Finding(BAD_PACKAGED, f"{file.ref} cannot be read: {reason}", where, _report_to(file)))
        yield PackagedItem(file, None, reason)
        return
    if isinstance(value, dict) and _kind_of(value) == file.kind:
        text = value.get("description")
        yield PackagedItem(file, text if isinstance(text, str) and text.strip() else None)


def _described_skill(file: Path) -> str | None:
    """Return the description in a `SKILL.md`; agents do not read a link.

    Raises:
        InvalidInput: Its front matter is not YAML.
    """
    try:
        text = "" if file.is_symlink() else read_start(str(file), _MAX_SKILL).decode("utf-8-sig", "replace")
    except OSError as error:
        raise InvalidInput(f"{SKILL} cannot be read: {error.strerror}", fix="correct its permissions") from error
    return described_in(text, str(file))


def _kind_of(value: dict[str, Any]) -> PackagedKind | None:
    if "pattern" in value:
        return "workflow"
    is_agent = isinstance(value.get("prompt", value.get("$ref")), str) and not {"agents", "recording"} & value.keys()
    return "agent" if is_agent else None


def _report_to(file: PackagedFile) -> str:
    return f"install {file.home.distribution} again, or report it to its author"
