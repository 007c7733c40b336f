"""The source of one plugin, a project or an installed distribution: its declarations and definitions, not imported."""

# Strings and os.path: the callees handle thousands of names, and Path costs several times more.
from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from strands_cli.catalog.distributions.dist_info import read_origin
from strands_cli.catalog.distributions.entry_points import (
    GROUP,
    EntryPoint,
    Package,
    Scan,
    find_package,
    manifest_directory,
    module_file,
    normalise,
    read_file,
)
from strands_cli.catalog.distributions.scan import scan_installed
from strands_cli.catalog.entry_faults import (
    BAD_ENTRY_POINT,
    MISSING_ATTRIBUTE,
    MISSING_MODULE,
    UNREADABLE_SOURCE,
    bad_name,
    bad_value,
    fault_in_source,
    no_module,
    other_name,
    unreadable,
)
from strands_cli.catalog.from_source import reader_of
from strands_cli.catalog.manifest import FILE_NAME, TOOL_NAME
from strands_cli.catalog.packaged_files import GROUPS, packaged_folder
from strands_cli.catalog.source.source_module import MAX_SOURCE_BYTES, SourceError
from strands_cli.catalog.source.source_reader import lacks_tool, read_tool, tools_of_module
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.catalog.tool_record import TOOL_CONFLICT
from strands_cli.default_parts import EXPORTERS, HOOKS, OWNERS, PART_GROUPS, STORES, is_part_name, owner_by_name
from strands_cli.errors import Code, Finding, InvalidInput, Where
from strands_cli.parts.named_parts import (
    KINDS,
    PART_TAKEN,
    DeclaredEntryPoint,
    declared_by,
    declared_faults,
    is_meant_as_ours,
    owner_of,
)
from strands_cli.workflow.findings import BAD_SCHEMA

UNKNOWN_DISTRIBUTION = Code(
    "unknown-distribution",
    "No installed distribution of this name declares anything for strands-cli.",
    "Correct the name, or install it.",
)
BAD_PLUGIN = Code(
    "bad-plugin",
    "A plugin project cannot be read, or its code cannot be loaded to describe it.",
    "Correct what the message names.",
)

_VALUE = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\])?")
# A part of these groups may be a module: its functions are the hooks, or the methods of the port.
_MODULES = (HOOKS, STORES, OWNERS, EXPORTERS)


@dataclass(frozen=True, slots=True)
class PluginSource:
    """The source of one plugin; nothing of it is imported.

    Attributes:
        name: Its normalised name.
        root: The directory of its packages.
        declared_in: The file that declares its entry points.
        points: Its entry points in our groups, each as (group, name, value).
        listings: For an installed distribution the names in every directory of the path; None for a project.
        faults: The faults of the file that declares the entry points.
        UNKNOWN: The code of a finding about an absent distribution, or one that declares nothing.
        UNUSABLE: The code of a finding about an unreadable plugin.
        MODULELESS: The code of a finding about an entry point whose module is absent.
        BAD_SCHEMA: The code of a finding about an invalid JSON schema.
    """

    UNKNOWN: ClassVar = UNKNOWN_DISTRIBUTION
    UNUSABLE: ClassVar = BAD_PLUGIN
    MODULELESS: ClassVar = MISSING_MODULE
    BAD_SCHEMA: ClassVar = BAD_SCHEMA

    name: str
    root: Path
    declared_in: Path
    points: Sequence[tuple[str, str, str]] = ()
    listings: Mapping[str, frozenset[str]] | None = None
    faults: Sequence[Finding] = ()

    @classmethod
    def installed(cls, name: str, path: Sequence[str] | None = None) -> PluginSource | None:
        """Return an installed distribution; None where no distribution of that name, in any spelling, is installed.

        Args:
            path: The directories to search; by default those of this interpreter's imports.
        """
        scan, plain_name = scan_installed(path), normalise(name)
        copies = scan.records.get(plain_name)
        if not copies:
            return None
        declaring = next((distribution for distribution in scan.distributions if distribution.name == plain_name), None)
        site, record = (declaring.directory, declaring.record) if declaring else copies[0]
        points = [point for point in declared_by(record, plain_name, scan) if is_meant_as_ours(point.group)]
        faults = [
            finding for finding in scan.findings if finding.where and Path(finding.where.file).is_relative_to(record)
        ]
        return cls(plain_name, Path(site), Path(record) / "entry_points.txt", tuple(points), scan.listings, faults)

    @property
    def tools(self) -> dict[str, str]:
        """Its entry points of tools: name -> value."""
        return {name: value for group, name, value in self.points if group == GROUP}

    @property
    def folders(self) -> list[tuple[str, str, str]]:
        """Its folders of workflows, agents and skills, each as (kind, name, value)."""
        return [(GROUPS[group], name, value) for group, name, value in self.points if group in GROUPS]

    @property
    def parts(self) -> list[tuple[str, str, str]]:
        """Its hooks, and its parts that a person names, such as commands, each as (group, name, value)."""
        return [point for point in self.points if point[0] in (HOOKS, *PART_GROUPS)]

    # -- tools

    def manifest_file(self, tool: str) -> Path:
        """Return the path of the manifest of a tool's package.

        Raises:
            InvalidInput: Its entry point names no module of the plugin, or a single file.
        """
        module, _ = self._reference(tool)
        return Path(manifest_directory(self._package(tool, module), module) or "") / FILE_NAME

    def file_of(self, tool: str) -> Path:
        """Return the file of the module that an entry point of a tool names.

        Raises:
            InvalidInput: It names no module of the plugin.
        """
        module, _ = self._reference(tool)
        return Path(self._module_file(tool, module))

    def read(self, tool: str) -> SourceTool:
        """Return the tools in the source of an entry point.

        Raises:
            InvalidInput: Its entry point names no module of the plugin, the module is not Python, or it surely has no
                such tool.
        """
        module, attribute = self._reference(tool)
        package = self._package(tool, module)
        self._module_file(tool, module)
        try:
            fault = fault_in_source(module, attribute, reader_of(package))
            if fault is None:
                return read_tool(module, attribute, reader_of(package))
        except SourceError as error:
            fault = unreadable(module, error, module_file(package, module) or str(self.root))
        raise _unusable(fault)

    def require_name(self, tool: str, called: str | None, where: Where) -> None:
        """Check that a tool has the name of its entry point.

        Raises:
            InvalidInput: It has another one.
        """
        if called != tool:
            raise _unusable(other_name(tool, called, where))

    def tools_in(self, module: str, file: str, words: Collection[str] = ()) -> list[SourceTool]:
        """Return the tools that a module itself defines, whether or not it is declared.

        Args:
            module: Its dotted name.
            file: Its path.
            words: A module that contains none of them is not parsed, if there are any.

        Raises:
            InvalidInput: It cannot be read as Python.
        """
        package = find_package(module.partition(".")[0], self._listed, str(self.root))
        read = reader_of(package or Package(module, None, None))
        try:
            raw = read_file(file, MAX_SOURCE_BYTES) or b""
            if not _may_have_tools(raw) or (words and not any(word.encode() in raw for word in words)):
                return []
            return tools_of_module(module, lambda name: (file, raw) if name == module else read(name))
        except OSError as error:
            message = f"'{self.name}' has a module that cannot be opened ({error.strerror})"
            raise _unusable(Finding(UNREADABLE_SOURCE, message, Where(file))) from None
        except (SourceError, RecursionError) as error:
            where = Where(file, getattr(error, "line", None))
            message = f"'{self.name}' has a module that cannot be read: {error}"
            raise _unusable(Finding(UNREADABLE_SOURCE, message, where)) from None

    def twins(self) -> Iterator[Finding]:
        """Yield a warning for each tool whose name, ignoring case, another installed distribution has."""
        names = {name.lower().replace("-", "_"): name for name in self.tools}
        for other in scan_installed().distributions:
            for point in other.entry_points:
                name = names.get(point.name.lower().replace("-", "_"))
                if name is not None and other.name != self.name:
                    message = f"the tool '{name}' has the name of the installed tool '{point.name}' of '{other.name}'"
                    fix = f"with both installed, a workflow must write native:{self.name}/{name}"
                    yield Finding(TOOL_CONFLICT, message, Where(str(self.declared_in)), fix, severity="warning")

    # -- folders and parts

    def folder(self, kind: str, name: str) -> Path:
        """Return the folder of workflows, agents or skills that an entry point names.

        Raises:
            InvalidInput: It is not written as `package:folder`, leaves its package, or does not exist.
        """
        group = next(group for group, its in GROUPS.items() if its == kind)
        value = next(value for its, named, value in self.points if (its, named) == (group, name))
        package = value.partition(":")[0].strip()
        if package.partition(".")[0].isidentifier():
            self._package(name, package)
        entry = EntryPoint(name, value, 0)
        directory_and_record = str(self.root), str(self.declared_in.parent)
        packaged = packaged_folder(entry, group, self.name, directory_and_record, Scan(listings=dict(self._listed)))
        if isinstance(packaged, Finding):
            where = Where(str(self.declared_in))
            raise InvalidInput("the package's folders cannot be read", findings=[replace(packaged, where=where)])
        return Path(packaged.folder)

    def group_faults(self) -> Iterator[Finding]:
        """Yield malformed entry points, groups that nothing reads, and names unusable or claimed twice."""
        points = [DeclaredEntryPoint(*point) for point in self.points]
        yield from self.faults
        yield from declared_faults(self.name, points, Where(str(self.declared_in)))

    def part_faults(self, part: tuple[str, str, str], *, here: bool) -> Iterator[Finding]:
        """Yield why a part cannot be used: its name is taken, or its value surely names nothing in the source.

        Args:
            here: Whether other distributions of this machine are searched for the same name.
        """
        group, name, value = part
        if group in PART_GROUPS and is_part_name(group, name):
            yield from self._claims(group, name, here=here)
        yield from self._value_faults(group, name, value)

    def _claims(self, group: str, name: str, *, here: bool) -> Iterator[Finding]:
        noun, where = KINDS[group].noun.format(name), Where(str(self.declared_in))
        owner = owner_by_name(group, name)
        if owner not in (None, self.name):
            message = f"'{self.name}' claims {noun}, which is that of {owner}"
            yield Finding(PART_TAKEN, message, where, "take another name")
        elif here and owner is None and (other := owner_of(group, name)) not in (None, self.name):
            message = f"{noun} is also that of '{other}', which is installed here"
            yield Finding(PART_TAKEN, message, where, "with both installed neither can be used", severity="warning")

    def _value_faults(self, group: str, name: str, value: str) -> Iterator[Finding]:
        where, reference = Where(str(self.declared_in)), split_reference(value)
        if reference is None:
            yield bad_value(name, self.name, value, where)
            return
        module, attribute = reference
        package = self._package_of(module)
        file = (module_file(package, module) or (package.directory if "." not in module else None)) if package else None
        if file is None:
            yield self._moduleless(name, module)
            return
        if attribute is None and group not in _MODULES:
            message = f"the entry point '{name}' names the module {module}, not an object in it"
            yield Finding(BAD_ENTRY_POINT, message, where, f'write {name} = "{module}:NAME"')
        if not file.endswith(".py"):
            return
        raw = Path(file).read_bytes()
        try:
            ast.parse(raw)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            yield unreadable(module, SourceError(str(error), getattr(error, "lineno", None)), file)
            return
        if attribute and lacks_tool(raw, attribute.partition(".")[0]):
            message = f"the entry point {module}:{attribute} names what its module does not define"
            yield Finding(MISSING_ATTRIBUTE, message, Where(file))

    # -- modules

    @property
    def _listed(self) -> Mapping[str, frozenset[str]]:
        return self.listings or {str(self.root): frozenset(os.listdir(self.root))}  # noqa: PTH208 - names

    def _reference(self, tool: str) -> tuple[str, str | None]:
        if not TOOL_NAME.fullmatch(tool):
            raise _unusable(bad_name(tool, self.name, Where(str(self.declared_in))))
        value = self.tools[tool]
        reference = split_reference(value)
        if reference is None:
            raise _unusable(bad_value(tool, self.name, value, Where(str(self.declared_in))))
        return reference

    def _package_of(self, module: str) -> Package | None:
        """Return the top-level package of a module, if the plugin has it."""
        package = find_package(module.partition(".")[0], self._listed, str(self.root))
        location = (package.directory or package.file) if package else None
        return package if location and (self.listings or Path(location).is_relative_to(self.root)) else None

    def _package(self, name: str, module: str) -> Package:
        package = self._package_of(module)
        if package is None:
            raise _unusable(self._moduleless(name, module))
        if package.directory is None:
            fix = f"make it a package: {package.name}/__init__.py"
            message = f"'{module}' is a single file, which cannot contain a manifest"
            raise _unusable(Finding(BAD_PLUGIN, message, Where(str(package.file)), fix))
        return package

    def _module_file(self, name: str, module: str) -> str:
        file = module_file(self._package(name, module), module)
        if file is None:
            raise _unusable(self._moduleless(name, module))
        return file

    def _moduleless(self, name: str, module: str) -> Finding:
        fix = read_origin(str(self.declared_in.parent)).how_to_repair(self.name) if self.listings else None
        return no_module(name, self.name, module, Where(str(self.declared_in)), fix)


def split_reference(value: str) -> tuple[str, str | None] | None:
    """Return the module and the attribute that an entry point's value names; None if the value is malformed."""
    match = _VALUE.fullmatch(value.strip())
    if match is None:
        return None
    parts = ".".join(filter(None, match.groups())).split(".")
    return (match[1], match[2]) if all(part.isidentifier() for part in parts) else None


def _may_have_tools(raw: bytes) -> bool:
    """Return whether a module may define a tool: parsing takes a hundred times longer than this."""
    return b"TOOL_SPEC" in raw or (b"strands" in raw and (b"tool" in raw or b"Tool" in raw))


def _unusable(finding: Finding) -> InvalidInput:
    return InvalidInput("the plugin's manifest cannot be made", findings=[finding])
