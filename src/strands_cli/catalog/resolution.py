"""Resolve a tool reference to its record, or to the finding with the reason why it has none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Protocol

from strands_cli.catalog.distributions.dist_info import Origin, read_origin
from strands_cli.catalog.distributions.entry_points import Package, Scan, find_package, module_file, normalise
from strands_cli.catalog.manifest import MANY
from strands_cli.catalog.tool_record import (
    LOOK,
    TOOL_CONFLICT,
    ToolRecord,
    adopt_again,
    first_party,
    install_distribution,
    install_tool,
    may_have_tools,
    meet,
)
from strands_cli.errors import Code, Finding, InvalidInput, NotEquipped, clear_edit, did_you_mean, suggest
from strands_cli.toolref import LEGACY_PACKAGE, ToolRef, ToolRefError, with_prefix_corrected
from strands_cli.versions import is_within

BAD_TOOL_REF = Code(
    "bad-tool-ref", "A text does not have a form of a tool reference.", "See the forms: strands explain tool-refs."
)
TOOL_VERSION = Code(
    "tool-version",
    "The installed distribution's version does not satisfy the reference's specifier.",
    "Install a version that does, or change the specifier.",
)
TOOL_BROKEN = Code("tool-broken", "A tool is installed but cannot be used as it is.", "Correct the reported cause.", 18)
TOOL_UNMET = Code(
    "tool-unmet",
    "A tool requires something that this machine does not have.",
    "Provide it, or use another tool.",
    18,
)
NOT_IN_CATALOG = Code(
    "not-in-catalog", "A reference of this form does not name an installed tool.", "Use a form such as native:NAME."
)
UNKNOWN_TOOL = Code(
    "unknown-tool",
    "A tool name that neither the workflow nor an installed distribution provides.",
    "Correct the name, or install the distribution.",
)

LEGACY_DISTRIBUTION = "strands-agents-tools"
_UPGRADE_LEGACY = f"pip install --upgrade {LEGACY_DISTRIBUTION}"

_ELSEWHERE = {
    "mcp": "a tool of an MCP server",
    "agent": "an agent of the workflow",
    "workflow": "a workflow file",
    "custom": "custom Python, which the allowlist decides on",
}
_WHERE_FROM = {
    "mcp": "a workflow starts its server; name one that does: strands tools list --mcp WORKFLOW",
    "agent": "a run of the workflow has it: strands run WORKFLOW",
    "workflow": "run it by itself: strands run WORKFLOW",
    "custom": "a workflow may name it; who may use it: strands explain policy {ref}",
}
_NOT_EQUIPPED = frozenset({TOOL_BROKEN, TOOL_UNMET})


class InstalledCatalog(Protocol):
    """The part of a catalog that resolution needs."""

    @property
    def tools(self) -> tuple[ToolRecord, ...]:
        """All of them, sorted by name."""

    @property
    def scan(self) -> Scan:
        """The scan that found them."""

    @property
    def by_name(self) -> dict[str, list[ToolRecord]]:
        """All records that claim each name."""

    def version_of(self, distribution: str) -> str | None:
        """The version of any installed distribution."""


def require(catalog: InstalledCatalog, ref: ToolRef | str, *, suggests: bool = True) -> ToolRecord:
    """Return the record that a reference names, or raise the finding of `lookup`.

    Raises:
        InvalidInput: The reference must be corrected.
        NotEquipped: The tool cannot be used on this machine.
    """
    record = lookup(catalog, ref, suggests=suggests)
    if isinstance(record, ToolRecord):
        return record
    kind = NotEquipped if record.code in _NOT_EQUIPPED else InvalidInput
    raise kind(record.message, findings=[record], fix=record.fix)


def lookup(catalog: InstalledCatalog, ref: ToolRef | str, *, suggests: bool = True) -> ToolRecord | Finding:
    """Return the record that a reference names, or the finding with the reason why it has none.

    Args:
        catalog: The installed tools.
        ref: The reference.
        suggests: Whether to look for the meaning of an unknown name, which takes milliseconds.
    """
    if isinstance(ref, str):
        try:
            ref = ToolRef.parse(ref)
        except ToolRefError as error:
            return Finding(BAD_TOOL_REF, str(error))
    if ref.kind in _ELSEWHERE:
        return _elsewhere(catalog, ref)
    claimants = catalog.by_name.get(ref.name, [])
    if ref.kind == "legacy" and not claimants:
        return _legacy(catalog, ref)
    if ref.distribution:
        claimants = [record for record in claimants if record.distribution == normalise(ref.distribution)]
    if not claimants:
        return _unknown(catalog, ref) if suggests else Finding(UNKNOWN_TOOL, f"'{ref}' names a tool that is not known")
    sound = [record for record in claimants if record.status != "broken"]
    if len(sound) > 1:
        return _ambiguous(ref, sound)
    return _checked(ref, (sound or claimants)[0], catalog.scan)


def _checked(ref: ToolRef, record: ToolRecord, scan: Scan) -> ToolRecord | Finding:
    if record.status == "broken":
        message = f"'{ref}' is installed but cannot be used: {record.reason}"
        return Finding(TOOL_BROKEN, message, None, fix_of(record, scan))
    if ref.specifier and not (record.version and is_within(record.version, ref.specifier)):
        message = f"'{ref}' asks for {ref.specifier}, but {record.distribution} {record.version or '?'} is installed"
        get = _origin_of(record, scan).how_to_get(record.distribution, ref.specifier)
        fix = f"{get}, or change the version in the reference"
        return Finding(TOOL_VERSION, message, None, fix)
    if ref.member:
        return _member(ref, record)
    return _met(ref, record)


def fix_of(record: ToolRecord, scan: Scan) -> str | None:
    """Return how to make a tool usable, in the same words wherever it is reported; None where it is usable."""
    if record.status != "broken":
        return meet(record.missing) if record.missing else None
    if record.fix is not None:
        return record.fix
    return adopt_again(record) if record.adopted else _origin_of(record, scan).how_to_repair(record.distribution)


def _origin_of(record: ToolRecord, scan: Scan) -> Origin:
    _, dist_info = scan.records[record.distribution][0]
    return read_origin(dist_info)


def _met(ref: ToolRef, record: ToolRecord) -> ToolRecord | Finding:
    # Not the status: that is `conflict` also where the reference names the distribution and something is missing.
    if record.missing:
        message = f"'{ref}' cannot work on this machine: it needs {'; '.join(record.missing)}"
        return Finding(TOOL_UNMET, message, None, meet(record.missing))
    return record


def _member(ref: ToolRef, record: ToolRecord) -> ToolRecord | Finding:
    if record.members is None:  # the members are known only after loading
        return replace(record, name=ref.member or "", parent=record.name, members=(), kind="unknown")
    named_member = next((member for member in record.members if member.name == ref.member), None)
    if named_member is not None:
        met = _met(ref, record)
        return named_member if isinstance(met, ToolRecord) else met
    if not record.members:
        message = f"'{ref}' names a member of '{record.name}', which is a single tool"
        return Finding(UNKNOWN_TOOL, message, None, f"write native:{record.name}")
    names = [member.name for member in record.members]
    fix = suggest(ref.member or "", names, _its_tools(names), form=f"'native:{record.name}.{{}}'")
    message, edits = f"'{ref}' names a tool that '{record.name}' does not have", clear_edit(ref.member or "", names)
    return Finding(UNKNOWN_TOOL, message, None, fix, edits=edits)


def _ambiguous(ref: ToolRef, claimants: list[ToolRecord]) -> Finding:
    owners = list(dict.fromkeys(record.distribution for record in claimants))
    if len(owners) == 1:
        entries = ", ".join(record.entry for record in claimants)
        return Finding(TOOL_CONFLICT, f"'{owners[0]}' declares '{ref.name}' more than once ({entries})")
    tail = f".{ref.member}" if ref.member else ""
    choices = " or ".join(f"'native:{owner}/{ref.name}{tail}'" for owner in owners)
    message = f"'{ref}' is provided by {' and '.join(owners)}"
    return Finding(TOOL_CONFLICT, message, None, f"write one of them: {choices}")


def _unknown(catalog: InstalledCatalog, ref: ToolRef) -> Finding:
    owner = normalise(ref.distribution) if ref.distribution else None
    if owner:
        message = f"'{ref}' names a tool that '{owner}' does not provide"
        if owner not in catalog.scan.records:
            way = install_distribution(owner)
            return Finding(UNKNOWN_TOOL, f"{message}: it is not installed", None, way)
        records = [record for record in catalog.tools if record.distribution == owner]
        if all(record.adopted for record in records) and may_have_tools(owner, catalog.scan.records[owner][0][1]):
            return Finding(UNKNOWN_TOOL, message, None, f"strands plugin adopt {owner} --tool {ref.name}")
        names = [record.name for record in records]
        fix = suggest(ref.name, names, _its_tools(names), form=f"'native:{owner}/{{}}'")
        return Finding(UNKNOWN_TOOL, message, None, fix, edits=clear_edit(ref.name, names))
    message = f"'{ref}' names a tool that no installed distribution provides"
    return Finding(UNKNOWN_TOOL, message, None, _suggestion(catalog, ref), edits=clear_edit(ref.name, catalog.by_name))


def _its_tools(names: list[str]) -> str | None:
    return f"it has: {', '.join(names)}" if names else None


def _suggestion(catalog: InstalledCatalog, ref: ToolRef) -> str:
    prefix = "native:" if ref.kind == "native" else ""
    folded = ref.name.replace("-", "_").lower()
    owned = [record.name for record in catalog.tools if record.distribution == normalise(ref.name)]
    if owned:
        return f"that is a distribution, and its tools are: {', '.join(f'native:{name}' for name in owned)}"
    if ref.member in catalog.by_name:
        return f"did you mean 'native:{ref.member}'?"
    close = folded if folded in catalog.by_name else did_you_mean(folded, catalog.by_name)
    if close:
        adopt = "" if close == folded else _adopt(catalog, ref.name)
        return f"did you mean '{prefix}{close}'? It comes with {catalog.by_name[close][0].distribution}{adopt}"
    owner = next((r for r in catalog.tools for member in r.members or () if member.name == ref.name), None)
    if owner:
        return f"did you mean 'native:{owner.name}.{ref.name}'?"
    return install_tool(folded) + _adopt(catalog, ref.name)


def _adopt(catalog: InstalledCatalog, name: str) -> str:
    """Return the command that looks for an undeclared tool, as the end of a fix; empty where nothing can have one."""
    undeclared = catalog.scan.records.keys() - {distribution.name for distribution in catalog.scan.distributions}
    if not any(
        may_have_tools(owner, catalog.scan.records[owner][0][1]) for owner in undeclared - {LEGACY_DISTRIBUTION}
    ):
        return ""
    return f"; or, if an installed distribution has it without declaring it: strands plugin adopt --tool {name}"


def _elsewhere(catalog: InstalledCatalog, ref: ToolRef) -> Finding:
    message = f"'{ref}' names {_ELSEWHERE[ref.kind]}, not an installed tool"
    fix = _WHERE_FROM[ref.kind].replace("{ref}", str(ref))
    if ref.kind == "custom":
        head, tail = ref.module or "", ref.attribute or ""
        parents = catalog.by_name.get(head, [])
        corrected = with_prefix_corrected(str(ref))
        if any(member.name == tail for record in parents for member in record.members or ()):
            fix = f"did you mean 'native:{head}.{tail}'?"
        elif corrected:
            fix = f"did you mean '{corrected}'?"
    return Finding(NOT_IN_CATALOG, message, None, fix)


def _legacy(catalog: InstalledCatalog, ref: ToolRef) -> ToolRecord | Finding:
    """Return the record of a module of `strands-agents-tools`, which declares no entry points."""
    copies = catalog.scan.records.get(LEGACY_DISTRIBUTION)
    if not copies:
        message = f"'{ref}' names a tool of {LEGACY_DISTRIBUTION}, which is not installed, and the catalog has none"
        owner = first_party().get(ref.name)
        fix = f"{f'pip install {owner}, or ' if owner else ''}pip install {LEGACY_DISTRIBUTION}"
        return Finding(UNKNOWN_TOOL, message, None, fix)
    package = find_package(LEGACY_PACKAGE, catalog.scan.listings, copies[0][0])
    module = ref.module or LEGACY_PACKAGE
    if package is None or module_file(package, module) is None:
        message = f"'{ref}' names a module that {LEGACY_DISTRIBUTION} does not have"
        return Finding(UNKNOWN_TOOL, message, None, _close_module(ref, package))
    bare = ToolRecord(
        name=ref.name,
        distribution=LEGACY_DISTRIBUTION,
        version=catalog.version_of(LEGACY_DISTRIBUTION),
        entry=module,
        entry_name=ref.name,
        module=module,
        attribute=None,
        path=copies[0][0],
        location=package.directory,
    )
    return _described_legacy(ref, bare, package)


def _close_module(ref: ToolRef, package: Package | None) -> str | None:
    folder = Path(package.directory) if package and package.directory else None
    names = sorted({path.stem for path in folder.iterdir() if path.stem.isidentifier()} if folder else ())
    return suggest(ref.name, names, LOOK, form=f"'{LEGACY_PACKAGE}.{{}}'")


def _described_legacy(ref: ToolRef, bare: ToolRecord, package: Package) -> ToolRecord | Finding:
    from strands_cli.catalog.from_source import filled, read_source, tools_in  # parses Python; such references are few
    from strands_cli.catalog.source.source_module import SourceError

    try:
        single = [tool for tool in tools_in(bare.module, package) if tool.kind not in MANY]
        listed = {tool.name: tool for tool in single if not tool.unknown}
        if (listed_tool := listed.get(ref.name)) is not None:
            # The only tool of a module is the module's, as in earlier releases: locks have the entry.
            of_module = len(single) == 1
            named = bare if of_module else replace(bare, entry=listed_tool.entry, attribute=listed_tool.attribute)
            return filled(named, listed_tool)
        whole = read_source(bare.module, ref.attribute, package)
    except SourceError as error:
        return Finding(TOOL_BROKEN, f"'{ref}' is installed but cannot be used: {error}", None, _UPGRADE_LEGACY)
    names = [name for name in listed if name]
    if len(names) > 1 and whole.name is None and f"{LEGACY_PACKAGE}.{ref.name}" == bare.module:
        choices = ", ".join(f"{bare.module}.{name}" for name in names)
        return Finding(UNKNOWN_TOOL, f"'{ref}' is a module with several tools", None, f"name one: {choices}")
    return filled(replace(bare, entry=f"{bare.module}:{ref.attribute}", attribute=ref.attribute), whole)
