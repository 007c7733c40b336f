"""The group `workers`: start and list workers, submit runs to them, and look at their queues."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from strands_cli_workers.queue_commands import queue_app
from strands_cli_workers.submit_command import submit
from strands_cli_workers.worker_command import list_workers, start

_DEFAULT = "list"
_HELP = ("--help", "-h")


class WorkersGroup(TyperGroup):
    """A group that lists the workers if no command is typed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command that lists before options without a command."""
        if not args or (args[0].startswith("-") and args[0] not in _HELP):
            args = [_DEFAULT, *args]
        return list(super().parse_args(ctx, args))


workers_app = typer.Typer(
    help="Let workers on several machines run what is submitted: start and list them, submit, limit queues.\n\n"
    "Without a command it lists the workers.\n\nExample: strands workers list",
    cls=WorkersGroup,
)
for _name, _command in {"start": start, _DEFAULT: list_workers, "submit": submit}.items():
    workers_app.command(_name)(_command)
workers_app.add_typer(queue_app, name="queue")
