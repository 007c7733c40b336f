"""A record's fields from the tool's source, where no manifest says them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from strands_cli.catalog.distributions import Scan
from strands_cli.catalog.module_files import Package, find_package, module_file, read_file
from strands_cli.catalog.source_reader import MAX_SOURCE_BYTES, SourceError, SourceTool, read_tool
from strands_cli.catalog.tool_record import ToolRecord, summarise
from strands_cli.errors import Finding, Where

if TYPE_CHECKING:
    from collections.abc import Mapping

KNOWN_AFTER_LOAD = "what it is is known after load: it has no manifest, and its source does not say"


def describe(record: ToolRecord, package: Package, seen: Scan) -> ToolRecord:
    """Fill a record from source; a module that is not Python makes it broken, with a finding."""
    try:
        told = read_record(record, package)
    except SourceError as error:
        where = Where(module_file(package, record.module) or record.path, error.line)
        message = f"the tool '{record.name}' of '{record.distribution}' cannot be read: {error}"
        seen.findings.append(Finding("unreadable-source", message, where))
        return replace(record, status="broken", reason=message)
    if told.name not in (None, record.name) and told.kind in ("module", "function"):
        where = Where(told.file, told.line)
        message = f"the entry point is called '{record.name}', but the tool in it calls itself '{told.name}'"
        seen.findings.append(Finding("manifest-untrue", message, where, "give both the same name"))
        return replace(record, status="broken", reason=message)
    return filled(record, told)


def read_record(record: ToolRecord, package: Package) -> SourceTool:
    """Read the source behind a record.

    Raises:
        SourceError: When it is not Python.
    """

    def read_module(module: str) -> tuple[str, bytes] | None:
        file = module_file(package, module)
        try:
            raw = read_file(file, MAX_SOURCE_BYTES) if file else None
        except OSError as error:
            raise SourceError(f"the source cannot be opened ({error.strerror})") from None
        return None if file is None or raw is None else (file, raw)

    return read_tool(record.module, record.attribute, read_module)


def find_definition(record: ToolRecord, listings: Mapping[str, frozenset[str]]) -> tuple[str | None, int | None]:
    """Return the file and the 1-based line that define a tool, as far as source tells."""
    package = find_package(record.module.partition(".")[0], listings, record.path)
    if package is None:
        return None, None
    file = module_file(package, record.module)
    try:
        told = read_record(record, package)
    except SourceError as error:
        return file, error.line
    if record.parent and told.members:
        told = next((member for member in told.members if member.name == record.name), told)
    return told.file or file, told.line


def filled(record: ToolRecord, told: SourceTool) -> ToolRecord:
    """Return the record with what the source says, and the status that follows."""
    nothing_known = told.kind == "unknown" or (told.kind == "provider" and told.members is None)
    members = None if told.members is None else tuple(_member(record, member) for member in told.members)
    description = told.description
    if description is None and members:
        description = summarise(members)
    return replace(
        record,
        kind=told.kind,
        status="unknown" if nothing_known else "available",
        reason=KNOWN_AFTER_LOAD if nothing_known else None,
        description=description,
        input_schema=told.input_schema,
        output_schema=told.output_schema,
        annotations=told.annotations,
        strands_cli=told.strands_cli,
        members=members,
    )


def _member(record: ToolRecord, told: SourceTool) -> ToolRecord:
    return replace(filled(record, replace(told, members=())), name=told.name or "?", parent=record.name)
