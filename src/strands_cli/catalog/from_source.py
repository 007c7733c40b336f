"""Fill a record from the tool's source, for a tool without a manifest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from strands_cli.catalog.distributions.entry_points import Package, Scan, find_package, module_file, read_file
from strands_cli.catalog.entry_faults import fault_in_source, other_name, unreadable
from strands_cli.catalog.source.source_module import MAX_SOURCE_BYTES, ReadModule, SourceError
from strands_cli.catalog.source.source_reader import read_tool, tools_of_module
from strands_cli.catalog.source.source_tool import SourceTool, catalogue_of
from strands_cli.catalog.tool_record import ToolRecord, summarise
from strands_cli.errors import Finding, Where

if TYPE_CHECKING:
    from collections.abc import Mapping

KNOWN_AFTER_LOAD = "its definition is known only after loading: it has no manifest, and its source does not show it"


def describe(record: ToolRecord, package: Package, scan: Scan) -> ToolRecord:
    """Fill a record from source; a module with invalid Python makes it broken, with a finding."""
    try:
        tool = read_source(record.module, record.attribute, package)
    except SourceError as error:
        return _broken(
            record, unreadable(record.module, error, module_file(package, record.module) or record.path), scan
        )
    if tool.name not in (None, record.name) and tool.kind in ("module", "function", "agent_tool"):
        return _broken(record, other_name(record.name, tool.name, Where(tool.file, tool.line)), scan)
    described = filled(record, tool)
    if described.status == "unknown" or tool.kind == "module":
        fault = fault_in_source(record.module, record.attribute, reader_of(package))
        if fault is not None:
            return _broken(record, fault, scan)
    scan.findings += tool.check_words(record.distribution)
    return described


def _broken(record: ToolRecord, finding: Finding, scan: Scan) -> ToolRecord:
    scan.findings.append(finding)
    return replace(record, status="broken", reason=finding.message, fix=finding.fix)


def name_of(module: str, attribute: str | None, package: Package) -> str | None:
    """Return the name of a tool in its source; None if the source does not show it."""
    try:
        return read_source(module, attribute, package).name
    except SourceError:
        return None


def read_source(module: str, attribute: str | None, package: Package) -> SourceTool:
    """Read the source of a tool.

    Raises:
        SourceError: The source is not Python.
    """
    return read_tool(module, attribute, reader_of(package))


def tools_in(module: str, package: Package) -> list[SourceTool]:
    """Return the tools that a module defines.

    Raises:
        SourceError: The source is not Python.
    """
    return tools_of_module(module, reader_of(package))


def reader_of(package: Package) -> ReadModule:
    """Return the reader of a package's modules; it raises SourceError for one that cannot be opened."""

    def read_module(name: str) -> tuple[str, bytes] | None:
        file = module_file(package, name)
        try:
            raw = read_file(file, MAX_SOURCE_BYTES) if file else None
        except OSError as error:
            raise SourceError(f"the source cannot be opened ({error.strerror})") from None
        return None if file is None or raw is None else (file, raw)

    return read_module


def find_definition(record: ToolRecord, listings: Mapping[str, frozenset[str]]) -> tuple[str | None, int | None]:
    """Return the file and the 1-based line that define a tool; None for facts that the source does not show."""
    package = find_package(record.module.partition(".")[0], listings, record.path)
    if package is None:
        return None, None
    file = module_file(package, record.module)
    try:
        tool = read_source(record.module, record.attribute, package)
    except SourceError as error:
        return file, error.line
    if record.parent and tool.members:
        tool = next((member for member in tool.members if member.name == record.name), tool)
    return tool.file or file, tool.line


def filled(record: ToolRecord, tool: SourceTool) -> ToolRecord:
    """Return the record with the fields from its source, and the status that follows from them."""
    nothing_known = tool.kind == "unknown" or (tool.kind == "provider" and tool.members is None)
    members = None if tool.members is None else tuple(_member(record, member) for member in tool.members)
    description = tool.description
    if description is None and members:
        description = summarise(members)
    return replace(
        record,
        kind=tool.kind,
        status="unknown" if nothing_known else "available",
        reason=KNOWN_AFTER_LOAD if nothing_known else None,
        description=description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=tool.annotations,
        strands_cli=tool.strands_cli,
        members=members,
        **catalogue_of(tool.catalogue),
    )


def _member(record: ToolRecord, tool: SourceTool) -> ToolRecord:
    return replace(filled(record, replace(tool, members=())), name=tool.name or "?", parent=record.name)
