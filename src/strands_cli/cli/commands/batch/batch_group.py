"""The group `batch`: its commands, of which `run` is meant where none is named."""

from __future__ import annotations

import os
import shlex
from typing import Any

from strands_cli.cli.commands.batch.batch_artifacts import fetch_artifacts
from strands_cli.cli.commands.batch.batch_start import start
from strands_cli.cli.commands.batch.batch_verbs import cancel_batch, resume_batch, retry_batch, show_status
from strands_cli.cli.commands.help_group import HelpGroup, group
from strands_cli.errors import UsageError, did_you_mean

DEFAULT = "run"
_HELP = ("--help", "-h")


class BatchGroup(HelpGroup):
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
        close = did_you_mean(word, self.commands) if word.isalpha() and not os.path.lexists(word) else None
        if close is not None:
            fix = f"did you mean `{shlex.join(['strands', 'batch', close, *more])}`?"
            raise UsageError(f"there is neither a command nor a workflow file {word!r}", fix=fix)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the commands that begin so, and what the first argument of the default command may be."""
        command = self.commands[self.default]
        around = command.make_context(self.default, [], parent=ctx, resilient_parsing=True)
        first = next(one for one in command.params if one.param_type_name == "argument")
        return [*super().shell_complete(ctx, incomplete), *first.shell_complete(around, incomplete)]


ABOUT = (
    "Run a workflow once for each row of a CSV or JSON Lines file; `strands batch FLOW ROWS` is `batch run`.\n\n"
    "Example: strands batch reviews.yaml reviews.csv -o results.jsonl"
)
batch_app = group(
    ABOUT,
    {
        DEFAULT: start,
        "status": show_status,
        "resume": resume_batch,
        "retry": retry_batch,
        "cancel": cancel_batch,
        "artifacts": fetch_artifacts,
    },
    cls=BatchGroup,
)
