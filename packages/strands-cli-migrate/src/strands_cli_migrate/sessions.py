"""The group `sessions`: the earlier words for the commands about stored runs, the program's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import typer

# The words of the program for each, and an example.
_WORDS = {
    "list": (("runs", "list"), "strands sessions list"),
    "show": (("runs", "show"), "strands sessions show last"),
    "cancel": (("runs", "cancel"), "strands sessions cancel last"),
    "delete": (("runs", "delete"), "strands sessions delete last"),
    "prune": (("runs", "prune"), "strands sessions prune --older-than 30d"),
    "cleanup": (("runs", "prune"), "strands sessions cleanup --older-than 30d"),
    "resume": (("resume",), "strands sessions resume last"),
}
# All arguments go on to the command, also --help.
_ALL = {"ignore_unknown_options": True, "allow_extra_args": True}

sessions_app = typer.Typer(
    help="Look at stored runs and continue them: the earlier words for `runs` and `resume`.\n\n"
    "Example: strands sessions list"
)


def _alias(words: Sequence[str]) -> Callable[[typer.Context], Any]:
    """Return the function that runs a command of the program."""

    def run(ctx: typer.Context) -> Any:
        command: Any = ctx.find_root().command
        for word in words:
            command = command.get_command(ctx, word)
        with command.make_context(ctx.info_name, ctx.args, parent=ctx.parent) as inner:
            return command.invoke(inner)

    return run


for _name, (_words, _example) in _WORDS.items():
    _help = f"The earlier words for `{' '.join(_words)}`.\n\nExample: {_example}"
    sessions_app.command(_name, context_settings=_ALL, add_help_option=False, help=_help)(_alias(_words))
