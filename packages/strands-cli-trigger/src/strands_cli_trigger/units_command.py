"""The command `trigger units`: print what makes cron, systemd, Kubernetes or GitHub Actions start a trigger."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from strands_cli.api import UsageError, print_json, print_result, with_run_options
from strands_cli_trigger.run_command import FILE, JSON, NAME
from strands_cli_trigger.trigger_file import DEFAULT_FILE


class Target(StrEnum):
    """What starts a trigger."""

    CRON = "cron"
    SYSTEMD = "systemd"
    KUBERNETES = "kubernetes"
    GITHUB = "github"


@with_run_options()
def print_units(
    *,
    name: NAME,
    target: Annotated[Target, typer.Option("--for", help="What starts it.")],
    file: FILE = Path(DEFAULT_FILE),
    options: Annotated[
        list[str] | None, typer.Argument(metavar="[-- OPTIONS]", help="Options of `trigger run` for each start.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Print the units that start a trigger at the times of its schedule.

    Example: strands trigger units nightly --for systemd
    """
    from strands_cli_trigger.trigger_file import trigger_named
    from strands_cli_trigger.units import units_of

    trigger = trigger_named(name, file)
    if trigger.schedule is None:
        raise UsageError(f"the trigger '{name}' has no schedule", fix="give it one: schedule: '0 6 * * 1-5'")
    units = units_of(trigger, target.value, options or [])
    if as_json:
        print_json({"name": name, "for": target.value, "files": units})
        return
    several = len(units) > 1
    print_result("\n".join(f"# {path}\n{text}" if several else text for path, text in units.items()).rstrip("\n"))
