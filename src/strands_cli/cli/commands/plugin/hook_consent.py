"""The question of `plugin install` and `upgrade` whether the hooks of what was installed are switched on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from strands_cli.cli.output.messages import say, write_error

ENABLE = Annotated[
    bool | None,
    typer.Option("--enable/--no-enable", help="Switch its hooks on, or leave them off, without the question."),
]


def switch_on_hooks(known: dict[str, Any], enable: bool | None, *, yes: bool) -> None:
    """Switch on the hooks of a distribution, if the person says so, and note in `known` whether they are on.

    `--yes` does not say it: it agrees to an installation, and hooks run in every command.

    Args:
        known: What is known of an installation; `hooks_on` stays None where it has no hooks.
        enable: The person's answer, where it was given with the command.
        yes: Whether no question is asked.

    Raises:
        Denied: Policy denies the distribution, the managed file decides otherwise, or the hooks cannot be used.
        InvalidInput: It has no hooks, or the policy file cannot be edited.
    """
    if not enable and not (known["changed"] and known["hooks"]):
        return
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.catalog.distributions.entry_points import normalise
    from strands_cli.cli.commands.plugin.plugin_switch import hook_files
    from strands_cli.config import load_settings
    from strands_cli.plugins.install.allowed import require_allowed
    from strands_cli.plugins.installed.switching import enable_hooks, is_switched_on
    from strands_cli.user_files.policy_files import load_policy

    name, files = normalise(known["distribution"]), hook_files()
    known["hooks_on"] = is_switched_on(name, files)
    if known["hooks_on"] or not _agrees(name, enable, yes=yes):
        return
    require_allowed(name, load_policy(load_settings(), Path.cwd()).rules)
    done = enable_hooks(name, files, discover_catalog(), may_allow=False)
    known["hooks_on"] = True
    say(f"the hooks of {done.name} are on, in {done.file} (off: strands plugin disable {done.name})")


def _agrees(name: str, enable: bool | None, *, yes: bool) -> bool:
    from strands_cli.cli.terminal.terminal_human import is_interactive

    if enable is not None or yes or not is_interactive():
        return bool(enable)
    return answers_yes(f"switch on the hooks of {name}, whose code then runs in every command of yours?")


def answers_yes(question: str) -> bool:
    """Ask on the terminal, and return whether the answer was yes."""
    write_error(f"{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
