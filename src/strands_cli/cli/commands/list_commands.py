"""The page `explain supported`, from the code that implements the listed parts, and `workflows list`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import JSON
from strands_cli.cli.commands.tool_list import flat_line
from strands_cli.cli.output.messages import say, say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import one_line, table
from strands_cli.default_parts import DEFAULTS, FILTERS, SECRETS
from strands_cli.default_parts import PATTERNS as PATTERN_GROUP
from strands_cli.errors import ExitCode, UsageError, suggest
from strands_cli.parts.named_parts import parts_of

if TYPE_CHECKING:
    from strands_cli.workflow.packaged_listing import PackagedItem


Rows = list[dict[str, Any]]
# One example of each form of reference that `toolref` reads; a test parses them.
REFERENCES = {
    "foo": "the workflow's own names first, then the installed tools",
    "native:foo@>=1.2,<2": "an installed tool, of a version",
    "native:strands-tool-yours/foo": "the tool of one distribution",
    "native:db.query": "one tool of a class, suite or provider",
    "strands_tools.foo": "the installed tool, or else the one of the older collection",
    "package.module:attr": "your own Python, if the allowlist names it",
    "mcp:server/tool": "a tool of an MCP server",
    "agent:researcher": "another agent of the workflow, as a tool",
    "workflow:./sub.yaml": "another workflow, as a tool",
}


def list_supported(*, as_json: bool) -> None:
    """Print what this version supports: patterns, steps, providers, tool references, template filters, exit codes."""
    sections = {name.replace("_", " "): rows() for name, rows in _SECTIONS.items()}
    if as_json:
        print_json(dict(zip(_SECTIONS, sections.values(), strict=True)))
        return
    lines: list[str] = []
    for title, rows in sections.items():
        if not any(row["description"] for row in rows):
            lines += ["", title, f"  {', '.join(str(row['name']) for row in rows)}"]
            continue
        width = max(len(str(row["name"])) for row in rows)
        lines += ["", title, *(f"  {row['name']!s:{width}}  {row['description']}".rstrip() for row in rows)]
    print_result("\n".join(lines[1:]))


def _patterns() -> Rows:
    from strands_cli.workflow.patterns.pattern_models import PATTERNS

    rows = _named_parts(PATTERN_GROUP)
    return [{**row, "description": row["description"] or PATTERNS[str(row["name"])].purpose} for row in rows]


def _steps() -> Rows:
    from strands_cli.workflow.steps import AgentStep, CallStep, GateStep

    names = {"agent": AgentStep, "hitl": GateStep, "tool": CallStep}
    return [{"name": name, "description": (kind.__doc__ or "").split("\n")[0]} for name, kind in names.items()]


def _providers() -> Rows:
    from strands_cli.parts.named_providers import provider_by_name, provider_names

    providers = filter(None, map(provider_by_name, provider_names()))
    return [
        {
            "name": provider.name,
            "description": f"{provider.title}{_needs(provider.extra, provider.keys)}",
            "extra": provider.extra,
            "keys": list(provider.keys),
        }
        for provider in providers
    ]


def _needs(extra: str | None, keys: tuple[str, ...]) -> str:
    words = [*([f"pip install 'strands-cli[{extra}]'"] if extra else []), *([" or ".join(keys)] if keys else [])]
    return f" ({'; '.join(words)})" if words else ""


def _template_filters() -> Rows:
    from strands_cli.workflow.templates.sandbox import Sandbox

    own = [{"name": name, "description": ""} for name in sorted(Sandbox().filters)]
    return [
        *own,
        *(row for row in _named_parts(FILTERS) if row["name"] not in {filter_row["name"] for filter_row in own}),
    ]


def _named_parts(group: str) -> Rows:
    """Return the names of the core in a group, and those of installed distributions."""
    others = {part.name: part.distribution for part in parts_of(group) if part.name not in DEFAULTS[group]}
    own = [{"name": name, "description": ""} for name in DEFAULTS[group]]
    return [*own, *({"name": name, "description": f"of {others[name]}"} for name in sorted(others))]


def _secret_sources() -> Rows:
    return _named_parts(SECRETS)


def _exit_codes() -> Rows:
    from strands_cli.errors import exit_code_meanings

    return [{"name": code.value, "description": meaning} for code, meaning in exit_code_meanings().items()]


def _fields(kind: Any) -> dict[str, Any]:
    fields: dict[str, Any] = getattr(kind, "model_fields", {})
    return fields


_SECTIONS: dict[str, Callable[[], Rows]] = {
    "patterns": _patterns,
    "steps": _steps,
    "providers": _providers,
    "tool_references": lambda: [{"name": form, "description": meaning} for form, meaning in REFERENCES.items()],
    "template_filters": _template_filters,
    "secret_sources": _secret_sources,
    "exit_codes": _exit_codes,
}


# The command `workflows list`: workflows, agents and skills of installed distributions, without an import of them.


def list_workflows(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="DIST, or DIST/NAME.", autocompletion=completions.packaged),
    ] = None,
    source: Annotated[bool, typer.Option("--source", help="Show their files and how they were installed.")] = False,
    as_json: JSON = False,
) -> int:
    """List the workflows, agents and skills that installed packages bring, without importing any of them.

    Example: strands workflows list --source
    """
    from strands_cli.workflow.packaged_listing import list_packaged

    every, findings = list_packaged()
    chosen = _chosen(every, names or [])
    if as_json:
        listed = [{**listing.as_dict(), **({"source": _source(listing)} if source else {})} for listing in chosen]
        print_json({"workflows": listed, "findings": [finding.as_dict() for finding in findings]})
        return ExitCode.OK
    if chosen:
        rows = [(listing.file.ref, listing.file.kind, _version(listing), _summary(listing)) for listing in chosen]
        lines = []
        for line, listing in zip(table(rows), chosen, strict=True):
            lines += [line, *(f"    {detail}" for detail in (_source_lines(listing) if source else ()))]
        print_result("\n".join(lines))
    say_findings(findings)
    if not every:
        say("no installed package brings a workflow\n  fix: write one: strands plugin new NAME --form workflow")
    return ExitCode.OK


def _chosen(every: Sequence[PackagedItem], names: Sequence[str]) -> list[PackagedItem]:
    """Return those with these names, or of these distributions."""
    from strands_cli.catalog.distributions.entry_points import normalise

    pairs = [(normalise(name.partition("/")[0]), name.partition("/")[2]) for name in names]
    for typed, (distribution, name) in zip(names, pairs, strict=True):
        if not any(_fits(listing, distribution, name) for listing in every):
            refs = {listing.file.ref for listing in every} | {listing.file.home.distribution for listing in every}
            fix = suggest(typed, refs, "see them all: strands workflows list", form="strands workflows list {}")
            raise UsageError(f"no installed package brings {typed!r}", fix=fix)
    return [listing for listing in every if not pairs or any(_fits(listing, *pair) for pair in pairs)]


def _fits(listing: PackagedItem, distribution: str, name: str) -> bool:
    return listing.file.home.distribution == distribution and name in ("", listing.file.name)


def _version(listing: PackagedItem) -> str:
    return listing.file.home.version or "?"


def _summary(listing: PackagedItem) -> str:
    if listing.reason:
        return f"broken: {flat_line(listing.reason)}"
    first, stop, _ = (listing.description or "").strip().partition("\n")[0].partition(". ")
    return flat_line(first + "." if stop else first)


def _source(listing: PackagedItem) -> dict[str, Any]:
    from strands_cli.catalog.distributions.dist_info import read_origin

    home = listing.file.home
    origin = read_origin(home.record)
    return {
        "entry_point": home.name,
        "group": home.group,
        "package": home.package,
        "folder": home.folder,
        "record": home.record,
        "install": origin.install,
        "url": origin.url,
        "commit": origin.commit,
    }


def _source_lines(listing: PackagedItem) -> Iterator[str]:
    source = _source(listing)
    yield one_line(f"defined: {listing.file.path}")
    yield one_line(f"registered: the entry point {source['entry_point']} of {source['group']}")
    origin = f" from {source['url']}" if source["url"] else ""
    commit = f" at {source['commit']}" if source["commit"] else ""
    yield one_line(f"installed: {source['install']}{origin}{commit} ({source['record']})")
