"""The command `plugin index build`: make an index from a folder of wheels."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from strands_cli.api import ExitCode, NotEquipped, print_json, print_result, say_findings

index_app = typer.Typer()


@index_app.callback()
def index() -> None:
    """Make plugin indexes.

    Example: strands plugin index build wheels -o site
    """


@index_app.command()
def build(
    wheelhouse: Annotated[Path, typer.Argument(metavar="WHEELHOUSE", help="A folder with wheels.")],
    site: Annotated[
        Path, typer.Option("--out", "-o", metavar="SITE", help="The folder to make; an index there is replaced.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Make a plugin index from wheels: a folder for a web server, also for pip.

    No wheel is imported, and the same wheels make the same bytes. An improper wheel is left out; exit 3 then.

    Example: strands plugin index build wheels -o site
    """
    if find_spec("strands_cli_dev") is None:
        raise NotEquipped("an index states what `plugin check` finds", fix="pip install 'strands-cli[dev]'")
    from strands_cli_index.building.site import build_site, summary_lines

    built = build_site(wheelhouse.absolute(), site.absolute())
    if as_json:
        print_json(
            {
                "site": str(site),
                "releases": [
                    {"name": release["name"], "version": release["version"], "check": release["check"]}
                    for release in built.document["releases"]
                ],
                "libraries": [
                    {"name": release["name"], "version": release["version"]} for release in built.document["libraries"]
                ],
                "findings": [finding.as_dict() for finding in built.findings],
            }
        )
    else:
        say_findings(built.findings)
        print_result("\n".join(summary_lines(built)))
    return ExitCode.INVALID if any(finding.severity == "error" for finding in built.findings) else ExitCode.OK
