"""The command `plugin search`, for the parser; its work needs none."""

from __future__ import annotations

from typing import Annotated

import typer

from strands_cli.cli.commands.plugin.found_plugins import search_plugins


def search(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="What to look for; without one, list all.")
    ] = None,
    index: Annotated[
        list[str] | None,
        typer.Option("--index", metavar="URL|DIR", help="Search this index, not the configured ones; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Search plugin indexes and this machine for plugins that have every word; exit 1 if none has them.

    Names, summaries, tools, workflows, agents and skills are searched. The indexes are those of the config file.

    Example: strands plugin search weather --index https://tools.example.org/strands/
    """
    return search_plugins(words or [], index or [], as_json=as_json)
