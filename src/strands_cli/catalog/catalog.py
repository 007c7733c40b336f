"""The catalog of installed tools: their records, conflicts between them, and resolution of references."""

# Strings and os.path, as the catalog has them.
# ruff: noqa: PTH118
from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from strands_cli.catalog.distributions.entry_points import BAD_ENTRY_POINTS, Distribution, Scan
from strands_cli.catalog.distributions.scan import scan_installed
from strands_cli.catalog.tool_record import TOOL_CONFLICT, AdoptionLevel, ToolRecord
from strands_cli.config import ADOPTED_FILE, user_config_dir
from strands_cli.errors import Finding, Where
from strands_cli.quick_dataclass import dataclass

if TYPE_CHECKING:
    from strands_cli.toolref import ToolRef


# The adoption files that count for a command, and the rule for an installed and an adopted tool of one name.


def adoption_files(
    project: str | os.PathLike[str] | None = None, *, with_user: bool = True
) -> list[tuple[str, AdoptionLevel]]:
    """Return the adoption files that exist, the user's first, each with its level.

    Args:
        project: The folder of a workflow; None looks in none.
        with_user: Whether the user's file counts.
    """
    folder = user_config_dir(os.environ) if with_user else None
    places: list[tuple[str | os.PathLike[str] | None, AdoptionLevel]] = [(folder, "user"), (project, "project")]
    files = [
        (os.path.join(level_folder, ADOPTED_FILE), level) for level_folder, level in places if level_folder is not None
    ]
    # `lexists`: a link to nowhere is reported, as a file that cannot be read.
    return [(file, level) for file, level in dict.fromkeys(files) if os.path.lexists(file)]


def without_claimed(records: list[ToolRecord], findings: list[Finding]) -> list[ToolRecord]:
    """Return the records with each adopted tool broken whose name an installed tool has: no file shadows that.

    An adopted tool that its own distribution declares by now is left out, with a finding.
    """
    if not any(record.adopted for record in records):
        return records
    owners: dict[str, list[str]] = {}
    for record in records:
        if record.adopted is None:
            owners.setdefault(record.name, []).append(record.distribution)
    sound_records = []
    for record in records:
        others = owners.get(record.name, []) if record.adopted else []
        if record.distribution in others:
            findings.append(_declared_now(record))
        else:
            sound_records.append(_outdone(record, others[0]) if others else record)
    return sound_records


def _declared_now(record: ToolRecord) -> Finding:
    from strands_cli.catalog.adopted.compared_records import ADOPTED_TWICE

    message = f"'{record.distribution}' declares the tool '{record.name}' itself, so that its adoption does nothing"
    return Finding(ADOPTED_TWICE, message, None, severity="warning")


def _outdone(record: ToolRecord, owner: str) -> ToolRecord:
    reason = f"the installed {owner} has a tool '{record.name}', which no adoption replaces; adopt it by another name"
    called = record.adopted.called if record.adopted else record.name
    fix = f"strands plugin adopt {record.distribution} --tool {called}=OTHER_NAME"
    return replace(record, status="broken", reason=reason, fix=fix)


def discover_catalog(path: Sequence[str] | None = None, project: str | os.PathLike[str] | None = None) -> Catalog:
    """Read the declarations of every installed tool distribution, and the adopted tools, importing none of them.

    Args:
        path: Directories to scan, in order of precedence; `sys.path` without the current directory by default, and
            then with the tools that the user adopted.
        project: The folder of a workflow, whose `strands-adopted.json` counts too; None reads none.

    Returns:
        The catalog, sorted by tool name. A broken distribution is in `catalog.findings` and never hides a sound one.
    """
    return join_records(*scan_tools(path, project))


def scan_tools(
    path: Sequence[str] | None = None, project: str | os.PathLike[str] | None = None
) -> tuple[list[ToolRecord], Scan]:
    """Return the records of every installed tool distribution, without conflicts between them, and the scan.

    Args:
        path: As for `discover_catalog`.
        project: As there.
    """
    scan = scan_installed(path)
    records: list[ToolRecord] = []
    for distribution in scan.distributions:
        records += _records(distribution, scan)
    if files := adoption_files(project, with_user=path is None):
        from strands_cli.catalog.adopted.compared_records import adopted_records  # most machines have no adopted tool

        records += adopted_records(files, scan)
    return records, scan


def join_records(records: Iterable[ToolRecord], scan: Scan) -> Catalog:
    """Return a catalog of these records, also of those from hooks; two with one name are in conflict."""
    ordered = sorted(
        without_claimed(list(records), scan.findings), key=lambda record: (record.name, record.distribution)
    )
    tools = _with_conflicts(ordered, scan.findings)
    return Catalog(tuple(tools), tuple(scan.findings), scan)


def _records(distribution: Distribution, scan: Scan) -> list[ToolRecord]:
    from strands_cli.catalog.record_builder import build_records  # a workflow without tools looks at none

    try:
        return build_records(distribution, scan)
    except Exception as error:  # noqa: BLE001 - a fault of one distribution must not hide the others
        message = f"'{distribution.name}' cannot be read ({type(error).__name__}: {error})"
        scan.findings.append(Finding(BAD_ENTRY_POINTS, message, Where(distribution.record)))
        return []


@dataclass(frozen=True)
class Catalog:
    """The installed tools.

    Attributes:
        tools: Sorted by name; a class, suite or provider is one record with `members`.
        findings: The faults of installed distributions.
        scan: The scan: directories, and the records of all distributions.
    """

    tools: tuple[ToolRecord, ...]
    findings: tuple[Finding, ...]
    scan: Scan

    @cached_property
    def by_name(self) -> dict[str, list[ToolRecord]]:
        """Return all records that claim each name."""
        names: dict[str, list[ToolRecord]] = {}
        for record in self.tools:
            names.setdefault(record.name, []).append(record)
        return names

    @property
    def allowed_refs(self) -> tuple[str, ...]:
        """Return every reference that `resolve` accepts, as a workflow writes it, sorted."""
        refs = []
        for record in self.tools:
            qualifier = f"{record.distribution}/" if record.status == "conflict" else ""
            if record.usable or qualifier:
                names = [record.ref_name, *(member.ref_name for member in record.members or ())]
                refs += [f"native:{qualifier}{name}" for name in names]
        return tuple(sorted(refs))

    def get(self, name: str) -> ToolRecord | None:
        """Return the tool with this name (`db.query` for a member); None unless exactly one record claims it."""
        tool, _, member = name.partition(".")
        claimants = self._sound(self.by_name.get(tool, []))
        if len(claimants) != 1:
            return None
        if not member:
            return claimants[0]
        return next((record for record in claimants[0].members or () if record.name == member), None)

    def typed(self, name: str) -> str:
        """Return the reference for a name typed outside a workflow: `db.query` is a member there, not Python."""
        tool, dot, member = name.partition(".")
        is_part = dot and tool in self.by_name and "." not in member and ":" not in name
        return f"native:{name}" if is_part else name

    def version_of(self, distribution: str) -> str | None:
        """Return the version of an installed distribution, with or without tools, by its name."""
        return self.scan.version(distribution)

    def lookup(self, ref: ToolRef | str) -> ToolRecord | Finding:
        """Return the record that a reference names, or the finding that gives the reason why it cannot be used."""
        from strands_cli.catalog.resolution import lookup  # a listing does not need it

        return lookup(self, ref)

    def resolve(self, ref: ToolRef | str, *, suggests: bool = True) -> ToolRecord:
        """Return the record that a reference names.

        Args:
            ref: The reference.
            suggests: Whether to look for the meaning of an unknown name, which takes milliseconds.

        Raises:
            InvalidInput: The name is unknown, ambiguous or of another version; `error.findings` has the reason.
            NotEquipped: The tool is installed, but broken, or this machine lacks one of its requirements.
        """
        from strands_cli.catalog.resolution import require

        return require(self, ref, suggests=suggests)

    def fix_of(self, record: ToolRecord) -> str | None:
        """Return how to make a tool usable, in the same words wherever its fault is reported; None if it is usable."""
        from strands_cli.catalog.resolution import fix_of

        return fix_of(record, self.scan)

    @staticmethod
    def _sound(records: list[ToolRecord]) -> list[ToolRecord]:
        # A broken claimant does not make a sound tool ambiguous.
        return [record for record in records if record.status != "broken"] or records


def _with_conflicts(records: list[ToolRecord], findings: list[Finding]) -> list[ToolRecord]:
    claims: dict[str, list[ToolRecord]] = {}
    for record in records:
        if record.status != "broken":
            claims.setdefault(record.name, []).append(record)
    twins = {name: claimants for name, claimants in claims.items() if len(claimants) > 1}
    for name, claimants in twins.items():
        owners = " and ".join(f"'{record.distribution}'" for record in claimants)
        refs = " or ".join(f"'native:{record.distribution}/{name}'" for record in claimants)
        message = f"the tool name '{name}' is claimed by {owners}"
        findings.append(Finding(TOOL_CONFLICT, message, None, f"name it {refs}, or uninstall one"))
    return [_in_conflict(record, twins) if record.name in twins else record for record in records]


def _in_conflict(record: ToolRecord, twins: dict[str, list[ToolRecord]]) -> ToolRecord:
    if record.status == "broken":
        return record
    others = [other for other in twins[record.name] if other is not record]
    reason = "also provided by " + ", ".join(f"{other.distribution} ({other.entry})" for other in others)
    return replace(record, status="conflict", reason=reason)
