"""The work of `plugin search`: find plugins in indexes and on this machine, and print them; nothing is imported."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.cli.output.messages import say, say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import ExitCode, Finding, StrandsCliError
from strands_cli.texts.phrases import counted

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.indexes.index_places import Place
    from strands_cli.indexes.search_file import SearchLine

MOST_TOOLS = 8
MAX_TEXT = 100
_GROUPS = ("workflows", "agents", "skills")


def search_plugins(words: Sequence[str], indexes: Sequence[str], *, as_json: bool = False) -> int:
    """Print the plugins that have every word, and return the exit code.

    Args:
        words: Whatever their case; without any, all plugins are listed.
        indexes: Folders and addresses; without any, those of the config file.
    """
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.config import load_settings
    from strands_cli.indexes.index_places import configured_places, parse_places
    from strands_cli.indexes.releases import require_places

    places = parse_places(indexes) if indexes else configured_places(load_settings().user_config)
    require_places(places if indexes else ())
    catalog = discover_catalog()
    found: list[dict[str, Any]] = []
    findings: list[Finding] = []
    remarks: list[str] = []
    unread: list[Place] = []
    code: int = ExitCode.OK
    for place in places:
        try:
            found += _in_index(place, words, catalog, remarks)
        except StrandsCliError as error:
            findings += error.findings
            code = code or error.exit_code
            unread.append(place)
    found += _installed_only(words, catalog, {one["name"] for one in found})
    found.sort(key=lambda one: (_rank(one, words), one["name"]))
    if as_json:
        shown = [finding.as_dict() for finding in findings]
        print_json({"words": list(words), "plugins": found, "remarks": remarks, "findings": shown})
    else:
        for remark in remarks:
            say(f"warning: {remark}")
        say_findings(findings)
        if found:
            print_result("\n".join(line for one in found for line in _lines(one, words, is_named=bool(indexes))))
        else:
            say(_nothing(words, places, unread))
    return code or (ExitCode.OK if found else ExitCode.NO)


def _nothing(words: Sequence[str], places: Sequence[Place], unread: Sequence[Place]) -> str:
    what = f"no plugin has {' '.join(words)!r}" if words else "there is no plugin"
    if places:
        searched = [*(f"in {place}" for place in places if place not in unread), "on this machine"]
        return f"{what} {' or '.join(searched)}"
    fix = "pass --index URL, or see: strands explain plugin-indexes"
    return f"{what} on this machine, and no index is configured\n  fix: {fix}"


def _in_index(place: Place, words: Sequence[str], catalog: Catalog, remarks: list[str]) -> Iterator[dict[str, Any]]:
    from strands_cli.indexes.index_copies import read_part
    from strands_cli.indexes.search_file import find_lines
    from strands_cli.indexes.site_files import SEARCHED

    if place.url is None and place.folder is None:  # the index of pip, which has no manifests
        return
    part = read_part(place, SEARCHED)
    if part.remark:
        remarks.append(part.remark)
    for line in find_lines(part.raw, words, part.file):
        yield _of_line(line, place, catalog)


def _of_line(line: SearchLine, place: Place, catalog: Catalog) -> dict[str, Any]:
    return {
        "name": line.name,
        "version": line.version,
        "versions": list(line.versions),
        "summary": line.summary,
        "tools": [{key: tool[key] for key in ("name", "description", "permissions")} for tool in line.tools],
        **{group: list(line.packaged[group]) for group in _GROUPS},
        "publisher": line.publisher or None,
        "check": line.check or None,
        "adopt": line.to_adopt,
        "index": str(place),
        "installed": catalog.version_of(line.name),
    }


def _installed_only(words: Sequence[str], catalog: Catalog, listed: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the distributions of this machine that have the words and are in no index that has them."""
    from strands_cli.catalog.distributions.entry_points import read_header

    owners: dict[str, list[ToolRecord]] = {}
    for record in catalog.tools:
        owners.setdefault(record.distribution, []).append(record)
    groups = _packaged_here()
    folded = [word.casefold() for word in words]
    for name in sorted((owners.keys() | groups.keys()) - listed):
        records = [one for held in owners.get(name, ()) for one in (held, *(held.members or ()))]
        packaged = groups.get(name) or {group: [] for group in _GROUPS}
        copies = catalog.seen.records.get(name)
        summary = (read_header(copies[0][1], "Summary") or "") if copies else ""
        texts = [name, summary, *(name for names in packaged.values() for name in names)]
        text = "\n".join([*texts, *(f"{one.name}\n{one.description or ''}" for one in records)]).casefold()
        if all(word in text for word in folded):
            yield _of_records(name, records, packaged, summary, catalog)


def _packaged_here() -> dict[str, dict[str, list[str]]]:
    """Return the names of installed workflows, agents and skills, by distribution and group."""
    from strands_cli.catalog.packaged_files import files_in
    from strands_cli.catalog.packaged_folders import scan_packaged

    found: dict[str, dict[str, list[str]]] = {}
    for folder in scan_packaged()[0]:
        groups = found.setdefault(folder.distribution, {group: [] for group in _GROUPS})
        names = groups[folder.group.rpartition(".")[2]]
        names += [name for name in (folder.name, *(one.name for one in files_in(folder)[0])) if name not in names]
    return found


def _of_records(
    name: str, records: Sequence[ToolRecord], packaged: Mapping[str, list[str]], summary: str, catalog: Catalog
) -> dict[str, Any]:
    from strands_cli.planning.sentences.permission_phrases import describe_permissions

    version = catalog.version_of(name)
    tools = [
        {"name": one.ref_name, "description": one.description or "", "permissions": describe_permissions(one)}
        for one in records
    ]
    unknown = dict.fromkeys(("publisher", "check", "index"))
    known = {"name": name, "version": version, "versions": [version] if version else [], "summary": summary}
    return {**known, "tools": tools, **packaged, **unknown, "adopt": False, "installed": version}


def _rank(found: Mapping[str, Any], words: Sequence[str]) -> int:
    """Return how well a plugin fits: by its name, then by the names of its tools, then by other texts."""
    folded = [word.casefold() for word in words]
    names = {tool["name"].casefold() for tool in found["tools"]}
    if any(word == found["name"] or word in names for word in folded):
        return 0
    if all(word in found["name"] for word in folded):
        return 1
    return 2 if any(word in name for word in folded for name in names) else 3


def _lines(found: Mapping[str, Any], words: Sequence[str], *, is_named: bool) -> Iterator[str]:
    installed = found["installed"]
    here = (
        "" if installed is None else " (installed)" if installed == found["version"] else f" (installed: {installed})"
    )
    yield f"{found['name']} {found['version'] or '?'}{here}  {_flat(found['summary'])}".rstrip()
    shown = _tools_to_show(found["tools"], words)
    for tool in shown[:MOST_TOOLS]:
        yield f"    {_flat(tool['name'])}  {_flat(tool['description'])} ({_flat(tool['permissions'])})"
    if len(shown) > MOST_TOOLS:
        yield f"    and {counted(len(shown) - MOST_TOOLS, 'tool')} more"
    for group in _GROUPS:
        if found[group]:
            yield f"    {group}: {_flat(', '.join(found[group]))}"
    if found["index"]:
        by = found["publisher"] or "unverified"
        yield f"    in {found['index']}; publisher: {_flat(by)}; check: {_flat(found['check'] or '?')}"
        if installed is None:
            option = f" --index {shlex.quote(found['index'])}" if is_named else ""
            command = "strands plugin adopt {} --install" if found["adopt"] else "strands plugin install {}"
            yield f"    {command.format(found['name'])}{option}"


def _tools_to_show(tools: Sequence[Mapping[str, str]], words: Sequence[str]) -> list[Mapping[str, str]]:
    """Return the tools that have a word, or all of them if the words are elsewhere."""
    folded = [word.casefold() for word in words]
    fitting = [
        one for one in tools if any(word in f"{one['name']}\n{one['description']}".casefold() for word in folded)
    ]
    return fitting or list(tools)


def _flat(text: str) -> str:
    """Return foreign text as one short line, so that it cannot look like a line of ours."""
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_TEXT else f"{flat[: MAX_TEXT - 1]}…"


def parse_search(arguments: Sequence[str]) -> tuple[list[str], list[str], bool] | None:
    """Return words, indexes and `as_json` of a simple command line; None if the parser has to read it."""
    words: list[str] = []
    indexes: list[str] = []
    as_json = False
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument == "--json":
            as_json = True
        elif name == "--index":
            value = value if equals else next(rest, "")
            if not value or value.startswith("-"):
                return None
            indexes.append(value)
        elif argument.startswith("-"):
            return None
        else:
            words.append(argument)
    return words, indexes, as_json
