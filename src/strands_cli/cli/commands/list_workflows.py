"""The command `list-workflows`: workflows, agents and skills of installed distributions, without an import of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import JSON
from strands_cli.cli.commands.tools.tool_list import flat_line
from strands_cli.cli.output.messages import say, say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import table
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import ExitCode, UsageError, suggest

if TYPE_CHECKING:
    from strands_cli.workflow.packaged.packaged_listing import Listed


def list_workflows(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="DIST, or DIST/NAME.", autocompletion=completions.packaged),
    ] = None,
    source: Annotated[bool, typer.Option("--source", help="Show their files and how they were installed.")] = False,
    as_json: JSON = False,
) -> int:
    """List the workflows, agents and skills that installed packages bring, without importing any of them.

    Example: strands list-workflows --source
    """
    from strands_cli.workflow.packaged.packaged_listing import list_packaged

    every, findings = list_packaged()
    chosen = _chosen(every, names or [])
    if as_json:
        listed = [{**one.as_dict(), **({"source": _source(one)} if source else {})} for one in chosen]
        print_json({"workflows": listed, "findings": [finding.as_dict() for finding in findings]})
        return ExitCode.OK
    if chosen:
        rows = [(one.file.ref, one.file.kind, _version(one), _summary(one)) for one in chosen]
        lines = []
        for line, one in zip(table(rows), chosen, strict=True):
            lines += [line, *(f"    {detail}" for detail in (_source_lines(one) if source else ()))]
        print_result("\n".join(lines))
    say_findings(findings)
    if not every:
        say("no installed package brings a workflow\n  fix: write one: strands plugin new NAME --form workflow")
    return ExitCode.OK


def _chosen(every: Sequence[Listed], names: Sequence[str]) -> list[Listed]:
    """Return those with these names, or of these distributions.

    Raises:
        UsageError: One of the names has none.
    """
    from strands_cli.catalog.distributions.entry_points import normalise

    wanted = [(normalise(name.partition("/")[0]), name.partition("/")[2]) for name in names]
    for typed, (distribution, name) in zip(names, wanted, strict=True):
        if not any(_fits(one, distribution, name) for one in every):
            known = {one.file.ref for one in every} | {one.file.home.distribution for one in every}
            fix = suggest(typed, known, "see them all: strands list-workflows", form="strands list-workflows {}")
            raise UsageError(f"no installed package brings {typed!r}", fix=fix)
    return [one for one in every if not wanted or any(_fits(one, *pair) for pair in wanted)]


def _fits(one: Listed, distribution: str, name: str) -> bool:
    return one.file.home.distribution == distribution and name in ("", one.file.name)


def _version(one: Listed) -> str:
    return one.file.home.version or "?"


def _summary(one: Listed) -> str:
    if one.reason:
        return f"broken: {flat_line(one.reason)}"
    first, stop, _ = (one.description or "").strip().partition("\n")[0].partition(". ")
    return flat_line(first + "." if stop else first)


def _source(one: Listed) -> dict[str, Any]:
    from strands_cli.catalog.distributions.dist_info import read_origin

    home = one.file.home
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


def _source_lines(one: Listed) -> Iterator[str]:
    found = _source(one)
    yield one_line(f"defined: {one.file.path}")
    yield one_line(f"registered: the entry point {found['entry_point']} of {found['group']}")
    origin = f" from {found['url']}" if found["url"] else ""
    commit = f" at {found['commit']}" if found["commit"] else ""
    yield one_line(f"installed: {found['install']}{origin}{commit} ({found['record']})")
