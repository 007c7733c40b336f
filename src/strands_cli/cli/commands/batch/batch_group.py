"""The group `batch`: its commands, of which `run` is meant where none is named."""

from __future__ import annotations

from typing import Any

from strands_cli.cli.commands.batch.batch_start import start
from strands_cli.cli.commands.batch.batch_verbs import cancel_batch, resume_batch, retry_batch, show_status
from strands_cli.cli.commands.help_group import HelpGroup, group

DEFAULT = "run"
_HELP = ("--help", "-h")


class BatchGroup(HelpGroup):
    """A group whose first command may be left out: a workflow whose file has the name of a command is `./status`."""

    default = DEFAULT

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before words that name no command."""
        if args and args[0] not in self.commands and args[0] not in _HELP:
            args = [self.default, *args]
        return list(super().parse_args(ctx, args))

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
    },
    cls=BatchGroup,
)
