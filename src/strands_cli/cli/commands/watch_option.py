"""The option `--watch`: `strands run SPEC --watch` is the short form of `strands workflows watch run SPEC`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from strands_cli.default_parts import COMMANDS, OURS

_FLAG, _COMMAND = "--watch", "workflows.watch"


def _watch(context: typer.Context, wants: bool) -> None:
    """Give the words that were typed to the command `workflows watch` before they are looked at."""
    if not wants or context.resilient_parsing:
        return
    from strands_cli.parts.named_parts import not_installed, part_named

    if part_named(COMMANDS, _COMMAND) is None:
        raise not_installed(_FLAG, OURS[COMMANDS][_COMMAND])
    words = [*sys.argv[1:]]
    words.remove(_FLAG)
    program: Any = context.find_root().command
    raise typer.Exit(program.main(args=[*_COMMAND.split("."), *words], prog_name="strands", standalone_mode=False))


WATCH = Annotated[
    bool,
    typer.Option(_FLAG, is_eager=True, callback=_watch, help="Keep running: start again after each change."),
]
