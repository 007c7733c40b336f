"""Commands on tools: list-tools, tools list, tools show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import Chosen, with_run_options
from strands_cli.cli.commands.help_group import group
from strands_cli.cli.commands.plugin_commands import OpenGroup
from strands_cli.cli.commands.tools.tool_list import (
    MOST_OF_A_REASON,
    flat_line,
    list_installed,
    read_this_installation,
    source_lines,
    summary,
    tool_source,
)
from strands_cli.cli.commands.tools.tools_mcp import import_servers, list_server_tools
from strands_cli.cli.commands.tools.tools_run import run_tool
from strands_cli.cli.output.results import print_json, print_result

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.tool_record import ToolRecord


@dataclass(frozen=True, slots=True)
class ListFlags:
    """Which tools are listed, and how."""

    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False
    source: Annotated[bool, typer.Option("--source", help="Show where each tool comes from.")] = False
    check: Annotated[bool, typer.Option("--check", help="Exit 3 if there are findings about installed tools.")] = False
    family: Annotated[
        str | None,
        typer.Option("--family", metavar="F", help="Only tools of this family.", autocompletion=completions.families),
    ] = None
    category: Annotated[
        str | None,
        typer.Option(
            "--category", metavar="C", help="Only tools of this category.", autocompletion=completions.categories
        ),
    ] = None
    mcp: Annotated[
        str | None,
        typer.Option(
            "--mcp",
            metavar="FILE",
            help="Start the MCP servers of a workflow, or of another client's JSON file, and list their tools.",
            autocompletion=completions.server_files,
        ),
    ] = None


@with_run_options(only=("no_plugins", "trace_hooks"))
def list_tools(*, shows: ListFlags, chosen: Chosen) -> int:
    """List the installed tools without importing any of them.

    Example: strands list-tools --source
    """
    if shows.mcp is not None:
        list_server_tools(shows.mcp, as_json=shows.as_json)
        return 0
    only = {"family": shows.family, "category": shows.category}
    return list_installed(as_json=shows.as_json, source=shows.source, check=shows.check, only=only, **chosen.typed)


def show_tool(
    name: Annotated[
        str,
        typer.Argument(
            help="A tool's name, 'db.query' for a part, 'native:files.*' for a family, or any reference.",
            autocompletion=completions.tools,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show one tool, or each of a family: input and output schema, annotations, requirements, examples.

    Example: strands tools show calculator
    """
    catalog = read_this_installation().catalog
    family = _family(catalog, name)
    records = family or _named(catalog, name)
    if as_json:
        documents = [{**record.as_dict(), "source": tool_source(record, catalog)} for record in records]
        several = {"tools" if family else "conflict": documents}
        print_json(several if family or len(documents) > 1 else documents[0])
        return
    print_result("\n\n".join("\n".join(_page(record, catalog)) for record in records))


def _family(catalog: Catalog, name: str) -> Sequence[ToolRecord]:
    """Return the tools of a family; none if the name is another one."""
    from strands_cli.planning.resolve.tool_families import require_family
    from strands_cli.toolref import FAMILY, ToolRef, ToolRefError

    try:
        ref = ToolRef.parse(name)
    except ToolRefError:  # the catalog says so
        return ()
    return require_family(ref, catalog) if ref.kind == "native" and ref.member == FAMILY else ()


def _named(catalog: Catalog, name: str) -> list[ToolRecord]:
    from strands_cli.catalog.tool_record import ToolRecord

    found = catalog.lookup(catalog.typed(name))
    if isinstance(found, ToolRecord):
        return [found]
    claimants = catalog.by_name.get(name.removeprefix("native:"), [])
    # An installed tool can be shown even if it cannot be used; the page shows why.
    return claimants or [catalog.resolve(name)]


def _page(record: ToolRecord, catalog: Catalog) -> Iterable[str]:
    import json

    yield f"{record.ref_name}  ({record.kind}, {record.status})"
    yield f"  from {record.distribution} {record.version or '?'}: {record.entry}"
    if record.reason:
        yield f"  {record.status}: {flat_line(record.reason, MOST_OF_A_REASON)}"
    if record.description:
        yield from ("", *(f"  {line}" for line in record.description.strip().splitlines()))
    for title, value in _sections(record):
        yield from ("", f"  {title}:")
        yield from (f"    {line}" for line in json.dumps(value, ensure_ascii=False, indent=2).splitlines())
    for member in record.members or ():
        yield from ("", f"  {member.ref_name}  {summary(member)}".rstrip())
    yield from ("", *(f"  {line}" for line in source_lines(tool_source(record, catalog))))


def _sections(record: ToolRecord) -> Iterable[tuple[str, Any]]:
    single = record.members == ()
    if single:
        yield "input", record.input_schema if record.input_schema is not None else "unknown until it is loaded"
        yield "annotations", dict(record.annotations) or "none: every call asks"
    for title, value in (
        ("output", record.output_schema),
        ("strands_cli", record.strands_cli),
        ("requires", record.requires),
        ("config", record.config_schema),
        ("family", record.family),
        ("category", record.category),
        ("deprecated", record.deprecated),
        ("examples", list(record.examples)),
    ):
        if value:
            yield title, value


tools_app = group(
    "List, show and run tools; import MCP servers.\n\nExample: strands tools show calculator",
    {"list": list_tools, "show": show_tool, "run": run_tool, "import": import_servers},
    cls=OpenGroup,
)
