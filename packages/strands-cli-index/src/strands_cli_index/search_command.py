"""The command `plugin search`: find plugins in indexes and on this machine, and print them; nothing is imported."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from typing import Annotated, Any, Protocol

import typer

from strands_cli import discover_catalog
from strands_cli.api import (
    ExitCode,
    Finding,
    StrandsCliError,
    ToolRecord,
    counted,
    describe_permissions,
    print_json,
    print_result,
    say,
    say_findings,
)
from strands_cli_index.foreign_text import one_line
from strands_cli_index.reading.index_copies import read_part
from strands_cli_index.reading.index_places import IndexLocation, configured_locations, parse_locations
from strands_cli_index.reading.releases import require_locations
from strands_cli_index.reading.search_file import GROUPS, SearchLine, find_lines
from strands_cli_index.reading.site_files import SEARCHED
from strands_cli_index.wheel_facts import folder_of, names_in, normalise

MOST_TOOLS = 8
MAX_TEXT = 100


class InstalledCatalog(Protocol):
    """The catalog of this machine, as far as a search needs it."""

    @property
    def tools(self) -> tuple[ToolRecord, ...]:
        """The installed tools."""

    def version_of(self, distribution: str) -> str | None:
        """Return the version of an installed distribution."""


def search(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="What to look for; without one, list all.")
    ] = None,
    index: Annotated[
        list[str] | None,
        typer.Option("--index", metavar="URL|DIR", help="Search this index, not the configured ones; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Search plugin indexes and this machine for plugins that have every word; exit 1 if none has them.

    The indexes are those of the config file.

    Example: strands plugin search weather --index https://tools.example.org/strands/
    """
    words, indexes = words or [], index or []
    places = parse_locations(indexes) if indexes else configured_locations()
    require_locations(places if indexes else ())
    installed = discover_catalog()
    plugins: list[dict[str, Any]] = []
    findings: list[Finding] = []
    remarks: list[str] = []
    unread: list[IndexLocation] = []
    code: int = ExitCode.OK
    for location in places:
        try:
            plugins += _in_index(location, words, installed, remarks)
        except StrandsCliError as error:
            findings += error.findings
            code = code or error.exit_code
            unread.append(location)
    plugins += _installed_only(words, installed, {plugin["name"] for plugin in plugins})
    plugins.sort(key=lambda plugin: (_rank(plugin, words), plugin["name"]))
    if as_json:
        finding_documents = [finding.as_dict() for finding in findings]
        print_json({"words": list(words), "plugins": plugins, "remarks": remarks, "findings": finding_documents})
    else:
        for remark in remarks:
            say(f"warning: {remark}")
        say_findings(findings)
        if plugins:
            print_result(
                "\n".join(line for plugin in plugins for line in _lines(plugin, words, is_named=bool(indexes)))
            )
        else:
            say(_nothing(words, places, unread))
    return code or (ExitCode.OK if plugins else ExitCode.NO)


def _nothing(words: Sequence[str], places: Sequence[IndexLocation], unread: Sequence[IndexLocation]) -> str:
    message = f"no plugin has {' '.join(words)!r}" if words else "there is no plugin"
    if places:
        searched = [*(f"in {location}" for location in places if location not in unread), "on this machine"]
        return f"{message} {' or '.join(searched)}"
    fix = "pass --index URL, or see: strands explain plugin-indexes"
    return f"{message} on this machine, and no index is configured\n  fix: {fix}"


def _in_index(
    location: IndexLocation, words: Sequence[str], installed: InstalledCatalog, remarks: list[str]
) -> Iterator[dict[str, Any]]:
    if location.url is None and location.folder is None:  # the index of pip, without manifests
        return
    part = read_part(location, SEARCHED)
    if part.remark:
        remarks.append(part.remark)
    for line in find_lines(part.raw, words, part.file):
        yield _of_line(line, location, installed)


def _of_line(line: SearchLine, location: IndexLocation, installed: InstalledCatalog) -> dict[str, Any]:
    return {
        "name": line.name,
        "version": line.version,
        "versions": list(line.versions),
        "summary": line.summary,
        "tools": [{key: tool[key] for key in ("name", "description", "permissions")} for tool in line.tools],
        **{group: list(line.packaged[group]) for group in GROUPS},
        "publisher": line.publisher or None,
        "check": line.check or None,
        "adopt": line.to_adopt,
        "index": str(location),
        "installed": installed.version_of(line.name),
    }


def _installed_only(words: Sequence[str], installed: InstalledCatalog, listed: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the distributions of this machine with the words that no index with these has."""
    owners: dict[str, list[ToolRecord]] = {}
    for record in installed.tools:
        owners.setdefault(record.distribution, []).append(record)
    groups = _packaged_here()
    folded = [word.casefold() for word in words]
    for name in sorted((owners.keys() | groups.keys()) - listed):
        records = [record for owner in owners.get(name, ()) for record in (owner, *(owner.members or ()))]
        packaged = groups.get(name) or {group: [] for group in GROUPS}
        summary = _summary_of(name)
        texts = [name, summary, *(name for names in packaged.values() for name in names)]
        text = "\n".join([*texts, *(f"{record.name}\n{record.description or ''}" for record in records)]).casefold()
        if all(word in text for word in folded):
            yield _of_records(name, records, packaged, summary, installed)


def _summary_of(name: str) -> str:
    try:
        return str(metadata.distribution(name).metadata.json.get("summary") or "")
    except metadata.PackageNotFoundError:
        return ""


def _packaged_here() -> dict[str, dict[str, list[str]]]:
    """Return the names of installed workflows, agents and skills, by distribution and group."""
    packaged: dict[str, dict[str, list[str]]] = {}
    for group in GROUPS:
        for point in metadata.entry_points(group=f"strands_cli.{group}"):
            if point.dist is not None:
                groups = packaged.setdefault(
                    normalise(point.dist.name), {packaged_group: [] for packaged_group in GROUPS}
                )
                folder = folder_of(point.value)
                names = [point.name, *(names_in(folder, group) if folder is not None else ())]
                groups[group] += [name for name in names if name not in groups[group]]
    return packaged


def _of_records(
    name: str,
    records: Sequence[ToolRecord],
    packaged: Mapping[str, list[str]],
    summary: str,
    installed: InstalledCatalog,
) -> dict[str, Any]:
    version = installed.version_of(name)
    tools = [
        {"name": record.ref_name, "description": record.description or "", "permissions": describe_permissions(record)}
        for record in records
    ]
    unknown = dict.fromkeys(("publisher", "check", "index"))
    facts = {"name": name, "version": version, "versions": [version] if version else [], "summary": summary}
    return {**facts, "tools": tools, **packaged, **unknown, "adopt": False, "installed": version}


def _rank(plugin: Mapping[str, Any], words: Sequence[str]) -> int:
    """Return how well a plugin fits: by its name, then by the names of its tools, then by other texts."""
    folded = [word.casefold() for word in words]
    names = {tool["name"].casefold() for tool in plugin["tools"]}
    if any(word == plugin["name"] or word in names for word in folded):
        return 0
    if all(word in plugin["name"] for word in folded):
        return 1
    return 2 if any(word in name for word in folded for name in names) else 3


def _lines(plugin: Mapping[str, Any], words: Sequence[str], *, is_named: bool) -> Iterator[str]:
    installed = plugin["installed"]
    here = (
        "" if installed is None else " (installed)" if installed == plugin["version"] else f" (installed: {installed})"
    )
    yield f"{plugin['name']} {plugin['version'] or '?'}{here}  {_line(plugin['summary'])}".rstrip()
    tools_shown = _tools_to_show(plugin["tools"], words)
    for tool in tools_shown[:MOST_TOOLS]:
        yield f"    {_line(tool['name'])}  {_line(tool['description'])} ({_line(tool['permissions'])})"
    if len(tools_shown) > MOST_TOOLS:
        yield f"    and {counted(len(tools_shown) - MOST_TOOLS, 'tool')} more"
    for group in GROUPS:
        if plugin[group]:
            yield f"    {group}: {_line(', '.join(plugin[group]))}"
    if plugin["index"]:
        by = plugin["publisher"] or "unverified"
        yield f"    in {plugin['index']}; publisher: {_line(by)}; check: {_line(plugin['check'] or '?')}"
        if installed is None:
            option = f" --index {shlex.quote(plugin['index'])}" if is_named else ""
            command = "strands plugin adopt {} --install" if plugin["adopt"] else "strands plugin install {}"
            yield f"    {command.format(plugin['name'])}{option}"


def _line(text: str) -> str:
    return one_line(text, MAX_TEXT)


def _tools_to_show(tools: Sequence[Mapping[str, str]], words: Sequence[str]) -> list[Mapping[str, str]]:
    """Return the tools with a word, or all of them if the words are elsewhere."""
    folded = [word.casefold() for word in words]
    fitting = [
        tool for tool in tools if any(word in f"{tool['name']}\n{tool['description']}".casefold() for word in folded)
    ]
    return fitting or list(tools)
