"""The commands `plugin enable` and `plugin disable`: hook plugins in the user's own policy file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import JSON
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import UsageError

if TYPE_CHECKING:
    from strands_cli.plugins.installed.switching import HookFiles, Switched

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="The distribution of the hooks.", autocompletion=completions.distributions),
]


def enable(
    name: Name,
    may: Annotated[
        Literal["allow"] | None,
        typer.Option(help="What it may do beside restricting: allow, where only a tool itself asks."),
    ] = None,
    required: Annotated[
        bool | None,
        typer.Option("--required/--not-required", help="Let nothing run in environments where it is not installed."),
    ] = None,
    as_json: JSON = False,
) -> None:
    """Switch on the hooks of an installed distribution, in your own policy file.

    Example: strands plugin enable strands-hooks-yours
    """
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.plugins.installed.switching import enable_hooks

    may_allow, catalog = may == "allow", discover_catalog()
    _report(enable_hooks(name, hook_files(), catalog, may_allow=may_allow, required=required), as_json=as_json)


def disable(name: Name, as_json: JSON = False) -> None:
    """Switch off the hooks of a distribution, in your own policy file.

    Example: strands plugin disable strands-hooks-yours
    """
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.plugins.installed.switching import disable_hooks, require_known

    files = hook_files()
    require_known(name, files, discover_catalog())
    _report(disable_hooks(name, files), as_json=as_json)


def hook_files() -> HookFiles:
    """Return what the policy files switch on, and which of them is the user's own.

    Raises:
        UsageError: There is no home for a file of the user.
    """
    from strands_cli.config import load_settings
    from strands_cli.plugins.installed.switching import HookFiles
    from strands_cli.user_files.policy_files import load_policy

    settings = load_settings()
    if settings.user_policy is None:
        raise UsageError("there is no home directory for your policy file", fix="set HOME or XDG_CONFIG_HOME")
    managed = load_policy(replace(settings, user_policy=None), None)
    return HookFiles(managed, load_policy(replace(settings, managed_policy=None), None), settings.user_policy)


def _report(done: Switched, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": done.name, "before": done.before, "after": done.after, "file": str(done.file)})
    elif done.before == done.after:
        print_result(f"{done.name}: {done.after} already, in {done.file}")
    else:
        print_result(f"{done.name}: {done.after} (was: {done.before}), in {done.file}")
