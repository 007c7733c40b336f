"""Build the record of each declared tool from its manifest, else its source, else only its name."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH110, PTH118
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from strands_cli.catalog.distributions.dist_info import read_origin
from strands_cli.catalog.distributions.entry_points import (
    Distribution,
    EntryPoint,
    Package,
    Scan,
    find_package,
    manifest_directory,
    module_file,
    read_file,
)
from strands_cli.catalog.entry_faults import bad_name, bad_value, no_module
from strands_cli.catalog.manifest import (
    BAD_MANIFEST,
    CONTRACT,
    FILE_NAME,
    MANIFEST_UNTRUE,
    MANIFEST_VERSION,
    MANY,
    MAX_BYTES,
    TOOL_NAME,
    Manifest,
)
from strands_cli.catalog.tool_record import ToolRecord, summarise
from strands_cli.errors import Code, Finding, Where, suggest

_VALUE = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[(.*)\]\s*)?")


def build_records(distribution: Distribution, scan: Scan) -> list[ToolRecord]:
    """Return the records of one distribution; its faults go to `scan.findings`."""
    builder = _Builder(distribution, scan)
    records = [builder.record(entry_point) for entry_point in distribution.entry_points]
    builder.check_leftovers()
    return records


def build_record(reference: str, name: str, distribution: str, scan: Scan) -> ToolRecord:
    """Return the record of a tool that its distribution does not declare; its faults go to `scan.findings`.

    Args:
        reference: Its object reference, `module` or `module:attribute`.
        name: The tool's name; empty for the one in its source.
        distribution: The installed distribution with the module.
    """
    directory, record = scan.records[distribution][0]
    owner = Distribution(distribution, scan.version(distribution), directory, record, ())
    return _Builder(owner, scan).record(EntryPoint(name or _name_in_source(reference, directory, scan), reference, 0))


def _name_in_source(reference: str, directory: str, scan: Scan) -> str:
    from strands_cli.catalog.from_source import name_of  # parses Python

    module, _, attribute = reference.partition(":")
    package = find_package(module.partition(".")[0], scan.listings, directory)
    return (name_of(module, attribute or None, package) if package else None) or reference.replace(":", ".").rpartition(
        "."
    )[2]


class _Builder:
    """Build the records of one distribution, reading each of its manifests once."""

    def __init__(self, distribution: Distribution, scan: Scan) -> None:
        self.distribution = distribution
        self.scan = scan
        self.manifests: dict[str, tuple[Manifest | None, Finding | None]] = {}  # by folder, each with its fault
        # (entry, name) of each entry point, and (entry, None): the members of a class or suite have other names.
        self.declared: set[tuple[str, str | None]] = set()

    def record(self, entry_point: EntryPoint) -> ToolRecord:
        """Return the record of one entry point."""
        value = _VALUE.fullmatch(entry_point.value)
        module, attribute = (value[1], value[2]) if value else ("", None)
        entry = _plain(f"{module}:{attribute}" if attribute else module) or entry_point.value
        if not _is_reference(module, attribute):
            bare = self._bare(entry_point.name, entry, module, attribute)
            fault = bad_value(entry_point.name, self.distribution.name, entry_point.value, self._line(entry_point))
            return self._faulty(bare, fault)
        self.declared |= {(entry, entry_point.name), (entry, None)}
        package = find_package(module.partition(".")[0], self.scan.listings, self.distribution.directory)
        location = (package.directory or package.file) if package else None
        bare = self._bare(entry_point.name, entry, module, attribute, location)
        if not TOOL_NAME.fullmatch(entry_point.name):
            return self._faulty(bare, bad_name(bare.name, bare.distribution, self._line(entry_point)))
        if package is None or not self._has_module(package, module):
            return self._moduleless(bare, self._line(entry_point))
        described = self._described(bare, package)
        return self._with_extras(described, value[3]) if value and value[3] else described

    def _with_extras(self, record: ToolRecord, extras: str) -> ToolRecord:
        """Return a record with the requirements of the extras of its entry point (`module [extra]`) too."""
        from strands_cli.catalog.distributions.dist_info import unmet  # few entry points have extras

        requirements = [f"{record.distribution}[{extra}]" for extra in "".join(extras.split()).split(",") if extra]
        missing = [
            requirement
            for requirement in unmet({"distributions": requirements}, self.scan)
            if "pip install" in requirement
        ]
        return record if record.status == "broken" else _lacking(record, [*record.missing, *missing])

    def check_leftovers(self) -> None:
        """Report tools that a manifest lists and no entry point declares: they are never loaded."""
        for manifest, _ in self.manifests.values():
            for index, tool in enumerate(manifest.tools if manifest else ()):
                identity = (_plain(tool["entry"]), None if tool["kind"] in MANY else tool["name"])
                if manifest and identity not in self.declared:
                    message = f"no entry point declares the manifest's tool '{tool['name']}' ({tool['entry']})"
                    where = Where(manifest.file, pointer=f"/tools/{index}/entry")
                    self.scan.findings.append(Finding(MANIFEST_UNTRUE, message, where))

    def _line(self, entry_point: EntryPoint) -> Where:
        return Where(os.path.join(self.distribution.record, "entry_points.txt"), entry_point.line or None)

    def _bare(
        self, name: str, entry: str, module: str, attribute: str | None, location: str | None = None
    ) -> ToolRecord:
        owner = self.distribution
        return ToolRecord(
            name=name,
            distribution=owner.name,
            version=owner.version,
            entry=entry,
            entry_name=name,
            module=module,
            attribute=attribute,
            path=owner.directory,
            location=location,
        )

    def _broken(self, record: ToolRecord, code: Code, message: str, where: Where, fix: str | None = None) -> ToolRecord:
        return self._faulty(record, Finding(code, message, where, fix))

    def _faulty(self, record: ToolRecord, finding: Finding) -> ToolRecord:
        self.scan.findings.append(finding)
        return replace(record, status="broken", reason=finding.message, fix=finding.fix)

    def _moduleless(self, record: ToolRecord, where: Where) -> ToolRecord:
        top = record.module.partition(".")[0]
        fix = read_origin(self.distribution.record).how_to_repair(record.distribution)
        is_here = os.path.exists(top) or os.path.exists(f"{top}.py")
        fault = no_module(record.name, record.distribution, record.module, where, fix, is_here=is_here)
        return self._faulty(record, fault)

    def _has_module(self, package: Package, module: str) -> bool:
        # A namespace package is a folder without a file.
        return module_file(package, module) is not None or (package.file is None and module == package.name)

    def _described(self, record: ToolRecord, package: Package) -> ToolRecord:
        manifest, fault = self._manifest(package, record.module)
        if fault is not None:
            return replace(record, status="broken", reason=fault.message, fix=fault.fix)
        if manifest is None:
            return self._required(_from_source(record, package, self.scan))
        matching = [tool for tool in manifest.tools if _plain(tool["entry"]) == record.entry]
        same_name = [tool for tool in matching if tool["name"] == record.name and tool["kind"] not in MANY]
        if not manifest.low <= CONTRACT <= manifest.high:
            return self._other_contract(record, manifest)
        if same_name:
            return self._required(_filled(record, same_name[0], manifest))
        if matching and all(tool["kind"] in MANY for tool in matching):
            return self._required(_joined(record, matching, manifest))
        return self._undescribed(record, package, manifest, bool(matching))

    def _manifest(self, package: Package, module: str) -> tuple[Manifest | None, Finding | None]:
        folder = manifest_directory(package, module)
        if folder is None:
            return None, None
        if folder not in self.manifests:
            self.manifests[folder] = self._read_manifest(f"{folder}{os.sep}{FILE_NAME}")
        return self.manifests[folder]

    def _read_manifest(self, file: str) -> tuple[Manifest | None, Finding | None]:
        try:
            raw = read_file(file, MAX_BYTES)
        except OSError as error:
            message = f"the manifest cannot be read ({error.strerror})"
            finding = Finding(BAD_MANIFEST, message, Where(file))
            self.scan.findings.append(finding)
            return None, finding
        if raw is None:
            return None, None
        manifest, findings = Manifest.parse(raw, file, self.distribution.name)
        self.scan.findings.extend(findings)
        fault = next((finding for finding in findings if finding.severity == "error"), None)
        return manifest, fault if manifest is None else None

    def _other_contract(self, record: ToolRecord, manifest: Manifest) -> ToolRecord:
        message = f"'{record.distribution}' has calling contract {manifest.contracts}, this strands-cli {CONTRACT}"
        finding = Finding(MANIFEST_VERSION, message, Where(manifest.file, pointer="/api"))
        if finding not in self.scan.findings:
            self.scan.findings.append(finding)
        lacking = _lacking(record, [f"a strands-cli with calling contract {manifest.contracts}"])
        return replace(lacking, manifest=manifest.file, members=None)

    def _undescribed(self, record: ToolRecord, package: Package, manifest: Manifest, renamed: bool) -> ToolRecord:
        where = Where(manifest.file, pointer="/tools")
        if renamed:
            message = f"the manifest gives the entry of '{record.name}' another name"
            return self._broken(record, MANIFEST_UNTRUE, message, where)
        message = f"the manifest does not describe '{record.name}' ({record.entry})"
        fix = suggest(record.entry, [tool["entry"] for tool in manifest.tools])
        self.scan.findings.append(Finding(MANIFEST_UNTRUE, message, where, fix, severity="warning"))
        return _from_source(record, package, self.scan)

    def _required(self, record: ToolRecord) -> ToolRecord:
        if not record.requires:
            return record
        from strands_cli.catalog.distributions.dist_info import unmet  # most tools have no requirements

        return _lacking(record, unmet(record.requires, self.scan))


def _plain(reference: str) -> str:
    return "".join(reference.split())


def _is_reference(module: str, attribute: str | None) -> bool:
    dotted = f"{module}.{attribute}" if attribute else module
    return bool(module) and all(part.isidentifier() for part in dotted.split("."))


def _lacking(record: ToolRecord, missing: list[str]) -> ToolRecord:
    if not missing:
        return record
    return replace(record, status="unmet", reason="needs " + "; ".join(missing), missing=tuple(missing))


def _filled(record: ToolRecord, tool: Mapping[str, Any], manifest: Manifest) -> ToolRecord:
    # Not `replace`: it reads every field of the old record, which a listing of a thousand tools notices.
    return ToolRecord(
        name=record.name,
        distribution=record.distribution,
        version=record.version,
        entry=record.entry,
        entry_name=record.entry_name,
        module=record.module,
        attribute=record.attribute,
        path=record.path,
        location=record.location,
        kind=tool["kind"],
        description=tool.get("description"),
        input_schema=tool.get("input_schema"),
        output_schema=tool.get("output_schema"),
        annotations=tool.get("annotations", {}),
        strands_cli=tool.get("strands_cli", {}),
        requires=tool.get("requires", {}),
        config_schema=tool.get("config_schema"),
        examples=tuple(tool.get("examples", ())),
        family=tool.get("family"),
        category=tool.get("category"),
        deprecated=tool.get("deprecated"),
        manifest=manifest.file,
    )


def _joined(record: ToolRecord, tools: list[Mapping[str, Any]], manifest: Manifest) -> ToolRecord:
    """Return one record for a class, suite or provider from the manifest's tool objects, one for each member."""
    members = tuple(replace(_filled(record, tool, manifest), name=tool["name"], parent=record.name) for tool in tools)
    first = tools[0]
    return replace(
        record,
        kind=first["kind"],
        description=summarise(members),
        requires=_merged_requires(tools),
        config_schema=first.get("config_schema"),
        family=first.get("family"),
        category=first.get("category"),
        manifest=manifest.file,
        members=members,
    )


def _merged_requires(tools: list[Mapping[str, Any]]) -> dict[str, Any]:
    # One entry point is loaded as a whole, so it needs the requirements of all its members.
    merged: dict[str, Any] = {}
    for tool in tools:
        for key, requirement in tool.get("requires", {}).items():
            if isinstance(requirement, list):
                merged[key] = list(dict.fromkeys([*merged.get(key, ()), *requirement]))
            else:
                merged[key] = ",".join(dict.fromkeys([*merged.get(key, "").split(","), requirement])).strip(",")
    return merged


def _from_source(record: ToolRecord, package: Package, scan: Scan) -> ToolRecord:
    from strands_cli.catalog.from_source import describe  # parses Python; tools with a manifest do not need it

    return describe(record, package, scan)
