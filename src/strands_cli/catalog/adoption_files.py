"""Which adoption files count for a command, and what an installed tool's name does to an adopted one of that name."""

# Strings and os.path, as the catalog has them.
# ruff: noqa: PTH118
from __future__ import annotations

import os
from dataclasses import replace

from strands_cli.catalog.tool_record import AdoptionLevel, ToolRecord
from strands_cli.config import ADOPTED_FILE, user_config_dir
from strands_cli.errors import Finding


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
    files = [(os.path.join(place, ADOPTED_FILE), level) for place, level in places if place is not None]
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
    kept = []
    for record in records:
        others = owners.get(record.name, []) if record.adopted else []
        if record.distribution in others:
            findings.append(_declared_now(record))
        else:
            kept.append(_outdone(record, others[0]) if others else record)
    return kept


def _declared_now(record: ToolRecord) -> Finding:
    from strands_cli.catalog.adopted.compared_records import ADOPTED_TWICE

    message = f"'{record.distribution}' declares the tool '{record.name}' itself, so that its adoption does nothing"
    return Finding(ADOPTED_TWICE, message, None, severity="warning")


def _outdone(record: ToolRecord, owner: str) -> ToolRecord:
    reason = f"the installed {owner} has a tool '{record.name}', which no adoption replaces; adopt it by another name"
    called = record.adopted.called if record.adopted else record.name
    fix = f"strands plugin adopt {record.distribution} --tool {called}=OTHER_NAME"
    return replace(record, status="broken", reason=reason, fix=fix)
