"""Commands on tools: list-tools, tools list, tools show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands.command_options import NO_PLUGINS, TRACE_HOOKS
from strands_cli.cli.terminal.output import print_json, print_result, say, say_findings
from strands_cli.errors import StrandsCliError

if TYPE_CHECKING:
    from strands_cli.catalog import Catalog, ToolRecord
    from strands_cli.hooks.manager import Hooks

tools_app = typer.Typer(
    name="tools",
    help="List, show and run installed tools.\n\nExample: strands tools show calculator",
    no_args_is_help=True,
    rich_markup_mode=None,
)

EXIT_FINDINGS = 3
MAX_LINE = 100


def register(program: typer.Typer) -> None:
    """Add these commands to the program."""
    program.command("list-tools")(list_tools)
    tools_app.command("list")(list_tools)
    tools_app.command("show")(show_tool)
    program.add_typer(tools_app)


def list_tools(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    source: Annotated[bool, typer.Option("--source", help="Say where each tool comes from.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit 3 if anything is wrong with what is installed.")] = False,
    family: Annotated[str | None, typer.Option(metavar="F", help="Only tools of this family.")] = None,
    category: Annotated[str | None, typer.Option(metavar="C", help="Only tools of this category.")] = None,
    mcp: Annotated[
        str | None, typer.Option("--mcp", metavar="SPEC", help="Start a workflow's MCP servers and list their tools.")
    ] = None,
    no_plugins: NO_PLUGINS = False,
    trace_hooks: TRACE_HOOKS = False,
) -> None:
    """List the installed tools, importing none of them.

    Example: strands list-tools --source
    """
    if mcp is not None:
        from strands_cli.cli.commands.tools_mcp import list_served

        list_served(mcp, as_json=as_json)
        return
    catalog, _ = hooked_catalog(no_plugins=no_plugins, trace_hooks=trace_hooks)
    chosen = [
        record
        for record in catalog.tools
        if (family is None or record.family == family) and (category is None or record.category == category)
    ]
    if as_json:
        findings = [finding.as_dict() for finding in catalog.findings]
        print_json({"tools": [_listed(record, catalog, source) for record in chosen], "findings": findings})
    else:
        _print_table(chosen, catalog, source)
        say_findings(catalog.findings)
        if not chosen:
            _say_why_none(catalog, family, category)
    if check and catalog.findings:
        raise typer.Exit(EXIT_FINDINGS)


def show_tool(
    name: Annotated[str, typer.Argument(help="A tool's name, 'db.query' for a part, or any reference.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show one tool: input and output schema, annotations, requirements, examples.

    Example: strands tools show calculator
    """
    catalog, _ = hooked_catalog()
    records = _named(catalog, name)
    if as_json:
        documents = [_shown(record, catalog) for record in records]
        print_json(documents[0] if len(documents) == 1 else {"conflict": documents})
        return
    print_result("\n\n".join("\n".join(_page(record, catalog)) for record in records))


def hooked_catalog(*, no_plugins: bool = False, trace_hooks: bool = False) -> tuple[Catalog, Hooks]:
    """Return the catalog and the hook plugins that were asked; a policy file that is wrong is said, and names none."""
    from strands_cli.config import load_settings  # `--help` needs none of it
    from strands_cli.hooks.hook_values import HookContext
    from strands_cli.planning.policy_files import load_policy
    from strands_cli.planning.run_options import RunOptions
    from strands_cli.policy import Policy
    from strands_cli.session.hooked import hooks_in_force

    try:
        policy = load_policy(load_settings(), None)
    except StrandsCliError as error:
        say_findings(error.findings)
        policy = Policy()
    hooks = hooks_in_force(policy, RunOptions(no_plugins=no_plugins, trace_hooks=trace_hooks, tell=say))
    return hooks.discover(HookContext(rules=policy.rules)), hooks


def _listed(record: ToolRecord, catalog: Catalog, with_source: bool) -> dict[str, Any]:
    return {
        "name": record.name,
        "status": record.status,
        "reason": record.reason,
        "description": record.description,
        "distribution": record.distribution,
        "version": record.version,
        "kind": record.kind,
        "family": record.family,
        "category": record.category,
        "deprecated": record.deprecated,
        "members": None if record.members is None else [member.ref_name for member in record.members],
        "source": _source(record, catalog) if with_source else record.source,
    }


def _source(record: ToolRecord, catalog: Catalog) -> dict[str, Any]:
    from strands_cli.catalog.provenance import find_provenance  # reads more files than a listing should

    return {**record.source, **find_provenance(record, catalog).as_dict()}


def _print_table(records: list[ToolRecord], catalog: Catalog, with_source: bool) -> None:
    rows = [(r.name, r.status, f"{r.distribution} {r.version or '?'}") for r in records]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = []
    for row, record in zip(rows, records, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join([*cells, _summary(record)]).rstrip())
        lines += [f"    {line}" for line in _details(record, catalog, with_source)]
    if lines:
        print_result("\n".join(lines))


def _details(record: ToolRecord, catalog: Catalog, with_source: bool) -> Iterable[str]:
    if record.reason:
        yield f"{record.status}: {_one_line(record.reason)}"
    for member in record.members or ():
        yield f"{member.ref_name}  {_summary(member)}".rstrip()
    if with_source:
        yield from _source_lines(_source(record, catalog))


def _source_lines(source: dict[str, Any]) -> Iterable[str]:
    place = source["file"] or source["location"] or source["path"]
    yield f"defined: {place}:{source['line']}" if source["line"] else f"defined: {place}"
    origin = f" from {source['url']}" if source["url"] else ""
    commit = f" at {source['commit']}" if source["commit"] else ""
    yield f"installed: {source['install']}{origin}{commit} in {source['site']} ({source['place']})"
    for copy in source["shadowed"]:
        yield f"shadowed: {copy}"


def _summary(record: ToolRecord) -> str:
    first, stop, _ = (record.description or "").strip().partition("\n")[0].partition(". ")
    text = _one_line(first + "." if stop else first)
    if record.deprecated is not None:
        replacement = record.deprecated.get("replacement")
        text = f"{text} (deprecated{f', use {_one_line(replacement)}' if replacement else ''})"
    return text


def _one_line(text: str) -> str:
    # Foreign text must not be able to imitate further rows of the table.
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_LINE else flat[: MAX_LINE - 3].rstrip() + "..."


def _say_why_none(catalog: Catalog, family: str | None, category: str | None) -> None:
    if not catalog.tools:
        say("no tools are installed\n  fix: pip install 'strands-cli[tools]'")
        return
    from strands_cli.errors import did_you_mean

    for word, wanted, known in (
        ("family", family, {record.family for record in catalog.tools}),
        ("category", category, {record.category for record in catalog.tools}),
    ):
        if wanted is not None:
            close = did_you_mean(wanted, sorted(name for name in known if name))
            say(f"no tool has the {word} '{wanted}'" + (f"; did you mean '{close}'?" if close else ""))


def _named(catalog: Catalog, name: str) -> list[ToolRecord]:
    from strands_cli.catalog import ToolRecord

    found = catalog.lookup(catalog.typed(name))
    if isinstance(found, ToolRecord):
        return [found]
    claimants = catalog.by_name.get(name.removeprefix("native:"), [])
    # What is installed can be looked at even where it cannot be used; the page says why.
    return claimants or [catalog.resolve(name)]


def _shown(record: ToolRecord, catalog: Catalog) -> dict[str, Any]:
    return {**record.as_dict(), "source": _source(record, catalog)}


def _page(record: ToolRecord, catalog: Catalog) -> Iterable[str]:
    import json

    yield f"{record.ref_name}  ({record.kind}, {record.status})"
    yield f"  from {record.distribution} {record.version or '?'}: {record.entry}"
    if record.reason:
        yield f"  {record.status}: {_one_line(record.reason)}"
    if record.description:
        yield from ("", *(f"  {line}" for line in record.description.strip().splitlines()))
    for title, value in _sections(record):
        yield from ("", f"  {title}:")
        yield from (f"    {line}" for line in json.dumps(value, ensure_ascii=False, indent=2).splitlines())
    for member in record.members or ():
        yield from ("", f"  {member.ref_name}  {_summary(member)}".rstrip())
    yield from ("", *(f"  {line}" for line in _source_lines(_source(record, catalog))))


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
