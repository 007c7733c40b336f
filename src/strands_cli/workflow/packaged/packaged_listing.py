"""What the installed distributions bring as workflows, agents and skills, for a list; nothing is validated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from strands_cli.catalog.distributions.module_files import read_start
from strands_cli.catalog.packaged_files import SKILL, PackagedFile, files_in
from strands_cli.catalog.packaged_folders import BAD_PACKAGED, PackagedKind, scan_packaged
from strands_cli.errors import Finding, InvalidInput, StrandsCliError, Where
from strands_cli.quick_dataclass import dataclass
from strands_cli.yaml_files.document_reader import read_document
from strands_cli.yaml_files.front_matter import described_in

# The front matter begins the file.
_MAX_SKILL = 128 * 1024


@dataclass(frozen=True, slots=True)
class Listed:
    """One workflow, agent or skill of an installed distribution.

    Attributes:
        file: Its name, its place and its distribution.
        description: What its file says of it, the `SKILL.md` of a skill; None for one that says nothing.
        reason: Why its file cannot be read; None where it can.
    """

    file: PackagedFile
    description: str | None = None
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON of `list-workflows`."""
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


def list_packaged(path: Sequence[str] | None = None) -> tuple[tuple[Listed, ...], tuple[Finding, ...]]:
    """Return everything that is packaged, by name, and what is wrong with the packages.

    Recordings, tests and other files beside workflows are left out.

    Args:
        path: As `discover_catalog` takes it.
    """
    folders, faults = scan_packaged(path)
    findings = list(faults)
    found: dict[tuple[PackagedKind, str], Listed] = {}
    for folder in folders:
        files, faults = files_in(folder)
        findings += faults
        for file in files:
            for one in _listed(file, findings):
                found.setdefault((file.kind, file.path), one)
    ordered = sorted(found.values(), key=lambda one: (one.file.ref, one.file.kind))
    return tuple(ordered), tuple(dict.fromkeys(findings))


def _listed(file: PackagedFile, findings: list[Finding]) -> Iterator[Listed]:
    try:
        if file.kind == "skill":
            yield Listed(file, _described_skill(Path(file.path, SKILL)))
            return
        value = read_document(Path(file.path)).value
    except StrandsCliError as error:
        first = error.findings[0] if error.findings else None
        reason = first.message if first is not None else error.message
        where = (first.where if first is not None else None) or Where(file.path)
        findings.append(Finding(BAD_PACKAGED, f"{file.ref} cannot be read: {reason}", where, _report_to(file)))
        yield Listed(file, None, reason)
        return
    if isinstance(value, dict) and _kind_of(value) == file.kind:
        text = value.get("description")
        yield Listed(file, text if isinstance(text, str) and text.strip() else None)


def _described_skill(file: Path) -> str | None:
    """Return what a `SKILL.md` says of its skill; agents do not read one that is a link.

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
