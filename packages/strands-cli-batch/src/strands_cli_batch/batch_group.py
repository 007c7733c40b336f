"""The group `batch`: its commands, of which `run` is meant where none is named."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from strands_cli.api import UsageError, suggest
from strands_cli_batch.batch_artifacts import fetch_artifacts
from strands_cli_batch.batch_start import start
from strands_cli_batch.batch_verbs import cancel_batch, resume_batch, retry_batch, show_status

DEFAULT = "run"
_HELP = ("--help", "-h")


class BatchGroup(TyperGroup):
    """A group whose first command may be left out: a workflow whose file has the name of a command is `./status`."""

    default = DEFAULT

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before words that name no command.

        Raises:
            UsageError: The first word is nearly the name of a command, and there is no such file.
        """
        if args and args[0] not in self.commands and args[0] not in _HELP:
            self._require_workflow(args)
            args = [self.default, *args]
        return list(super().parse_args(ctx, args))

    def _require_workflow(self, args: list[str]) -> None:
        word, *more = args
        rest = "".join(f" {shlex.quote(argument)}" for argument in more).replace("{", "{{").replace("}", "}}")
        fix = suggest(word, self.commands, form=f"`strands batch {{}}{rest}`") if word.isalpha() else None
        if fix is not None and not os.path.lexists(word):
            raise UsageError(f"there is neither a command nor a workflow file {word!r}", fix=fix)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the commands that begin so, and completions of the first argument of the default command."""
        command = self.commands[self.default]
        around = command.make_context(self.default, [], parent=ctx, resilient_parsing=True)
        first = next(param for param in command.params if param.param_type_name == "argument")
        return [*super().shell_complete(ctx, incomplete), *first.shell_complete(around, incomplete)]


ABOUT = (
    "Run a workflow once for each row of a CSV or JSON Lines file; `strands batch FLOW ROWS` is `batch run`.\n\n"
    "Example: strands batch reviews.yaml reviews.csv -o results.jsonl"
)
_COMMANDS: dict[str, Callable[..., Any]] = {
    DEFAULT: start,
    "status": show_status,
    "resume": resume_batch,
    "retry": retry_batch,
    "cancel": cancel_batch,
    "artifacts": fetch_artifacts,
}
batch_app = typer.Typer(help=ABOUT, cls=BatchGroup)
for _name, _command in _COMMANDS.items():
    batch_app.command(_name)(_command)
