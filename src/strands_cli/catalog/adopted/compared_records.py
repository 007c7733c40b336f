"""The records of adopted tools, each compared with the installed files."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH120
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.adopted.adopted_file import (
    BAD_ADOPTED_FILE,
    AdoptedDistribution,
    AdoptedFile,
    AdoptedTool,
    changed_files,
    home_of,
    root_of,
)
from strands_cli.catalog.distributions.dist_info import read_origin, read_record
from strands_cli.catalog.distributions.entry_points import Package, Scan, find_package, module_file
from strands_cli.catalog.tool_record import AdoptionLevel, AdoptionOrigin, ToolRecord, adopt_again, summarise
from strands_cli.errors import Code, Finding, Where
from strands_cli.texts.phrases import first_of

if TYPE_CHECKING:
    from strands_cli.catalog.adopted.adoption_claims import DefinitionsNow


# Whether a file belongs to an installed distribution, so that no adoption file passes off one as another's.


class Owner:
    """An installed distribution; `dist_info` is its record."""

    def __init__(self, dist_info: str) -> None:
        self.dist_info = dist_info

    def has(self, path: str, file: str) -> bool:
        """Return whether a file is one of the distribution's.

        Args:
            path: The file's path below the directory of `sys.path`.
            file: Its whole path.
        """
        if path in self._recorded:
            return True
        if self.dist_info.endswith(".egg-info"):
            return _is_below(file, os.path.dirname(self.dist_info))
        origin = read_origin(self.dist_info)
        if origin.install != "editable" or origin.url is None:
            return False
        from urllib.parse import unquote, urlsplit  # few distributions are editable

        return _is_below(file, unquote(urlsplit(origin.url).path))

    @cached_property
    def _recorded(self) -> frozenset[str]:
        return frozenset(row.path for row in read_record(self.dist_info) or ())


def _is_below(file: str, folder: str) -> bool:
    real = os.path.realpath(folder)
    return os.path.realpath(file).startswith(real.rstrip(os.sep) + os.sep)


# Of several changed files, as many are named.
_SHOWN = 3


ADOPTED_CLAIM = Code(
    "adopted-claim",
    "A project's strands-adopted.json claims of a tool what its source does not say; that does not count.",
    "Adopt it again from its source, or leave the claim out.",
)
ADOPTED_CHANGED = Code(
    "adopted-changed",
    "A distribution has changed since its tools were adopted; none of them can be used.",
    "Read the change, then: strands plugin adopt DIST",
)
ADOPTED_TWICE = Code(
    "adopted-twice",
    "Two adoption files use one name for different tools, or the tool's distribution declares it by now.",
    "Adopt one by another name, or remove it from the file.",
)

_FIELDS = ("description", "input_schema", "output_schema", "config_schema", "family", "category", "deprecated")
_MAPPINGS = ("annotations", "strands_cli", "requires")


def adopted_records(files: Iterable[tuple[str, AdoptionLevel]], scan: Scan) -> list[ToolRecord]:
    """Return a record for each adopted tool, in the order of the files; faults go to `scan.findings`.

    Of two files that adopt one tool alike there is one record; if they differ, the first is taken.
    """
    all_records: list[ToolRecord] = []
    earlier: dict[str, ToolRecord] = {}  # by name, of the files before this one
    for file, level in files:
        adopted, findings = AdoptedFile.read(file)
        scan.findings += findings
        records: list[ToolRecord] = []
        for distribution in adopted.distributions.values():
            reader = _Reader(file, level, distribution, scan)
            for tool in distribution.tools.values():
                record = reader.record(tool)
                if record.status == "broken" and record.reason:
                    scan.findings.append(reader.finding(record))
                if (other := earlier.get(tool.name)) is None:
                    records.append(record)
                elif not _is_equal(record, other):
                    scan.findings.append(_twice(record, other))
        earlier = {record.name: record for record in records} | earlier
        all_records += records
    return all_records


def _is_equal(record: ToolRecord, other: ToolRecord) -> bool:
    fields = ("distribution", "entry", "description", "input_schema", "output_schema", "kind")
    called = {either.adopted.called for either in (record, other) if either.adopted}
    return len(called) == 1 and all(getattr(record, name) == getattr(other, name) for name in fields)


def _twice(record: ToolRecord, other: ToolRecord) -> Finding:
    file, used_file = (either.adopted.file if either.adopted else "" for either in (record, other))
    message = f"the tool '{record.name}' of '{record.distribution}' is another one in {used_file}, which is used"
    where = Where(file, pointer=_pointer(record.distribution, record.name))
    return Finding(ADOPTED_TWICE, message, where, severity="warning")


def _pointer(distribution: str, tool: str) -> str:
    return f"/distributions/{distribution}/tools/{tool}"


class _Reader:
    """Make the records of one adopted distribution, comparing its files once."""

    def __init__(self, file: str, level: AdoptionLevel, adopted: AdoptedDistribution, scan: Scan) -> None:
        self.file, self.level, self.adopted, self.scan = file, level, adopted, scan
        self.home = home_of(adopted.name, scan)
        self.version = scan.version(adopted.name)
        self.owner = Owner(scan.records[adopted.name][0][1] if adopted.name in scan.records else "")
        self.packages: dict[str, Package | None] = {}
        self.wrong: dict[str, str | None] = {}  # by module, why it is not one of the distribution
        self.fault = self._compared()

    def _compared(self) -> str | None:
        """Return why no tool of it can be used, if that is so."""
        if self.adopted.name not in self.scan.records:
            return f"'{self.adopted.name}' is not installed"
        tops = {path.partition("/")[0].partition(".")[0] for path in self.adopted.files}
        roots = {top: root_of(package) for top in tops if (package := self._package(top)) is not None}
        if self.version != self.adopted.version:
            return f"{self.adopted.name} is version {self.version}, adopted was {self.adopted.version}"
        changed = changed_files(self.adopted.files, roots)
        return f"{first_of(changed, _SHOWN)} changed since it was adopted" if changed else None

    def _package(self, top: str) -> Package | None:
        if top not in self.packages:
            self.packages[top] = find_package(top, self.scan.listings, self.home)
        return self.packages[top]

    def record(self, tool: AdoptedTool) -> ToolRecord:
        """Return the record of one tool."""
        package = self._package(tool.module.partition(".")[0])
        if self.adopted.name not in self.scan.records or package is None:
            return self._broken(tool, package, self.fault or f"the module '{tool.module}' does not exist")
        if self.fault is not None:
            return self._broken(tool, package, self._changes(tool, package))
        if tool.module not in self.wrong:
            self.wrong[tool.module] = self._misplaced(tool.module, package)
        if (wrong := self.wrong[tool.module]) is not None:
            return self._broken(tool, package, wrong)
        if self.level == "project":
            tool_now = self._now.listed(tool, package)
            if tool_now is None:
                return self._broken(
                    tool, package, f"its source shows no tool '{tool.entry}', and a project adopts no other"
                )
            if tool_now.name is not None and tool_now.name != tool.called:
                self._ignored(tool, ["called"], "")
                tool = replace(tool, called=tool_now.name)
        definition = tool.definition if self.level == "user" else self._proven(tool, package)
        record = self._record(tool, package, kind=definition["kind"], **_fields_of(definition))
        return _with_members(record, definition["members"]) if definition.get("members") else record

    def finding(self, record: ToolRecord) -> Finding:
        """Return the finding for a tool that cannot be used."""
        code = BAD_ADOPTED_FILE if self.fault is None else ADOPTED_CHANGED
        where = Where(self.file, pointer=_pointer(self.adopted.name, record.name))
        message = f"the adopted tool '{record.name}' cannot be used: {record.reason}"
        return Finding(code, message, where, adopt_again(record))

    def _changes(self, tool: AdoptedTool, package: Package) -> str:

        from strands_cli.catalog.adopted.adoption_claims import changes_in

        fields = changes_in(tool, self._now.of(tool, package))
        return f"{self.fault}: {fields}" if fields else str(self.fault)

    def _proven(self, tool: AdoptedTool, package: Package) -> Mapping[str, Any]:

        from strands_cli.catalog.adopted.adoption_claims import proven

        definition, ignored = proven(tool, self._now.of(tool, package))
        if ignored:
            self._ignored(tool, ignored, "/definition")
        return definition

    def _ignored(self, tool: AdoptedTool, fields: Sequence[str], below: str) -> None:
        message = f"'{tool.name}' of '{self.adopted.name}': its source does not say {', '.join(fields)}"
        where = Where(self.file, pointer=f"{_pointer(self.adopted.name, tool.name)}{below}")
        self.scan.findings.append(Finding(ADOPTED_CLAIM, message, where, severity="warning"))

    @cached_property
    def _now(self) -> DefinitionsNow:

        from strands_cli.catalog.adopted.adoption_claims import DefinitionsNow  # parses Python

        return DefinitionsNow()

    def _misplaced(self, module: str, package: Package) -> str | None:
        """Return why the module is not one that the distribution has and the file has a digest of."""
        file = module_file(package, module)
        if file is None:
            return f"the module '{module}' does not exist"
        path = os.path.relpath(file, root_of(package)).replace(os.sep, "/")
        if path not in self.adopted.files:
            return f"the adoption file has no digest of {path}"
        if not self.owner.has(path, file):
            return f"{path} is not a file of {self.adopted.name}"
        return None

    def _broken(self, tool: AdoptedTool, package: Package | None, reason: str) -> ToolRecord:
        return self._record(tool, package, status="broken", reason=reason)

    def _record(self, tool: AdoptedTool, package: Package | None, **fields: Any) -> ToolRecord:
        module, _, attribute = tool.entry.partition(":")
        return ToolRecord(
            name=tool.name,
            distribution=self.adopted.name,
            version=self.version,
            entry=tool.entry,
            entry_name=tool.name,
            module=module,
            attribute=attribute or None,
            path=self.home,
            location=(package.directory or package.file) if package else None,
            adopted=AdoptionOrigin(self.file, self.level, self.adopted.adopted, tool.called, self.adopted.imported),
            **fields,
        )


def _with_members(record: ToolRecord, members: Mapping[str, Mapping[str, Any]]) -> ToolRecord:
    parts = tuple(_members(record, members))
    return replace(record, members=parts, description=record.description or summarise(parts))


def _members(record: ToolRecord, members: Mapping[str, Mapping[str, Any]]) -> Iterator[ToolRecord]:
    for name, definition in members.items():
        yield replace(
            record, name=name, parent=record.name, members=(), kind=definition["kind"], **_fields_of(definition)
        )


def _fields_of(definition: Mapping[str, Any]) -> dict[str, Any]:
    examples: Sequence[Any] = definition.get("examples", ())
    return {
        **{name: definition.get(name) for name in _FIELDS},
        **{name: definition.get(name, {}) for name in _MAPPINGS},
        "examples": tuple(examples),
    }
