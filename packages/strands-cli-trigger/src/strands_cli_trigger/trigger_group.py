"""The group `trigger`: its commands, of which `run` is meant where none is named."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from strands_cli_trigger.run_command import run_trigger
from strands_cli_trigger.trigger_views import list_triggers, show_trigger
from strands_cli_trigger.units_command import print_units

DEFAULT = "run"


class TriggerGroup(TyperGroup):
    """A group whose first command may be left out: no trigger has the name of a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before the name of a trigger."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = [DEFAULT, *args]
        return list(super().parse_args(ctx, args))


ABOUT = (
    "Start one run for each occurrence of a trigger; the word `run` may be left out.\n\n"
    "Example: strands trigger run nightly --occurrence latest"
)
trigger_app = typer.Typer(help=ABOUT, cls=TriggerGroup)
trigger_app.command(DEFAULT)(run_trigger)
trigger_app.command("list")(list_triggers)
trigger_app.command("show")(show_trigger)
trigger_app.command("units")(print_units)
