"""The work of `list-tools`: print the installed tools as a table or as JSON, without importing any of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.cli.output.messages import say, say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import one_line, table
from strands_cli.errors import ExitCode, StrandsCliError
from strands_cli.publishers import Publisher

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.planning.machine.installation import Installation


MAX_LINE = 100
# A page on one tool has room for the differences since it was adopted.
MOST_OF_A_REASON = 1_000
# The options without a value, with the parameter that each sets. A command line of only these needs no parser, whose
# import takes as long as the listing itself.
FLAGS = {
    "--json": "as_json",
    "--source": "source",
    "--check": "check",
    "--no-plugins": "no_plugins",
    "--trace-hooks": "trace_hooks",
}


def list_installed(
    *,
    as_json: bool = False,
    source: bool = False,
    check: bool = False,
    only: Mapping[str, str | None] | None = None,
    **hooks: bool,
) -> int:
    """Print the installed tools and return the exit code.

    Args:
        check: Return `ExitCode.INVALID` if there are findings.
        only: The `family` and the `category` that a tool must have; None means any.
        hooks: `no_plugins` and `trace_hooks` of the request.
    """
    filters = {field: value for field, value in (only or {}).items() if value is not None}
    catalog = read_this_installation(**hooks).catalog
    chosen = [
        record for record in catalog.tools if all(getattr(record, field) == value for field, value in filters.items())
    ]
    if as_json:
        findings = [finding.as_dict() for finding in catalog.findings]
        print_json({"tools": [_listed(record, catalog, source) for record in chosen], "findings": findings})
    else:
        _print_table(chosen, catalog, source)
        say_findings(catalog.findings)
        if not chosen:
            _explain_empty_list(catalog, filters)
    return ExitCode.INVALID if check and catalog.findings else ExitCode.OK


def read_this_installation(*, no_plugins: bool = False, trace_hooks: bool = False) -> Installation:
    """Read this installation; an invalid policy file is reported, and counts as absent."""
    from strands_cli.planning.machine.installation import Installation
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.policy.decision import Policy

    request = RunRequest(no_plugins=no_plugins, trace_hooks=trace_hooks, tell=say)
    try:
        return Installation.for_listing(Path.cwd(), request)
    except StrandsCliError as error:
        say_findings(error.findings)
        return Installation.for_listing(Path.cwd(), request, policy=Policy())


_NAMES = ("name", "status", "reason", "description", "distribution", "version", "kind", "family", "category")


def _listed(record: ToolRecord, catalog: Catalog, with_source: bool) -> dict[str, Any]:
    return {
        **{name: getattr(record, name) for name in (*_NAMES, "deprecated")},
        "members": None if record.members is None else [member.ref_name for member in record.members],
        "source": tool_source(record, catalog) if with_source else record.source,
    }


def tool_source(record: ToolRecord, catalog: Catalog) -> dict[str, Any]:
    """Return where a tool comes from, as JSON."""
    from strands_cli.catalog.publisher_records import find_provenance  # reads more files than a plain listing does

    return {**record.source, **find_provenance(record, catalog).as_dict()}


def _print_table(records: list[ToolRecord], catalog: Catalog, with_source: bool) -> None:
    rows = [(r.name, r.status, f"{r.distribution} {r.version or '?'}", _summary_and_family(r)) for r in records]
    lines = []
    for line, record in zip(table(rows), records, strict=True):
        lines += [line, *(f"    {detail}" for detail in _details(record, catalog, with_source))]
    if lines:
        print_result("\n".join(lines))


def _summary_and_family(record: ToolRecord) -> str:
    return f"{summary(record)} [{flat_line(record.family)}]" if record.family else summary(record)


def _details(record: ToolRecord, catalog: Catalog, with_source: bool) -> Iterable[str]:
    if record.reason:
        yield f"{record.status}: {flat_line(record.reason)}"
    for member in record.members or ():
        yield f"{member.ref_name}  {summary(member)}".rstrip()
    if with_source:
        yield from source_lines(tool_source(record, catalog))


def source_lines(source: dict[str, Any]) -> Iterable[str]:
    """Yield lines about where a tool is defined and how it was installed."""
    location = source["file"] or source["location"] or source["path"]
    yield f"defined: {location}:{source['line']}" if source["line"] else f"defined: {location}"
    if source["registered_by"]:
        yield f"registered: by the hook plugin {source['registered_by']}"
    if adopted := source["adopted"]:
        own = f", where it is called '{one_line(adopted['called'])}'"
        yield f"adopted: {adopted['since']} in {one_line(adopted['file'])} ({adopted['level']}){own}"
    origin = f" from {source['url']}" if source["url"] else ""
    commit = f" at {source['commit']}" if source["commit"] else ""
    yield f"installed: {source['install']}{origin}{commit} in {source['site']} ({source['place']})"
    if source["publisher"] is not None:
        yield f"published: by {Publisher(**source['publisher'])}"
    for copy in source["shadowed"]:
        yield f"shadowed: {copy}"


def summary(record: ToolRecord) -> str:
    """Return the first sentence of a tool's description."""
    first, stop, _ = (record.description or "").strip().partition("\n")[0].partition(". ")
    text = flat_line(first + "." if stop else first)
    if record.deprecated is not None:
        replacement = record.deprecated.get("replacement")
        text = f"{text} (deprecated{f', use {flat_line(replacement)}' if replacement else ''})"
    return text


def flat_line(text: str, width: int = MAX_LINE) -> str:
    """Return foreign text as one short line, so that it cannot imitate further rows of the table."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 3].rstrip() + "..."


def _explain_empty_list(catalog: Catalog, filters: Mapping[str, str]) -> None:
    if not catalog.tools:
        say("no tools are installed\n  fix: pip install 'strands-cli[tools]'")
        return
    from strands_cli.errors import suggest

    for field, value in filters.items():
        known_values = sorted({getattr(record, field) or "" for record in catalog.tools} - {""})
        there = f"there are: {', '.join(known_values)}" if known_values else f"omit --{field}: no tool here has one"
        say(f"no tool has the {field} '{value}'\n  fix: {suggest(value, known_values, there)}")
