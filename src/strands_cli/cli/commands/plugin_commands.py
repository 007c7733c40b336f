"""Commands of hook plugins: looked up only for a name that is not one of the program's own commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from strands_cli.cli.commands.command_table import COMMANDS, HEADINGS, SYNONYMS
from strands_cli.cli.commands.help_group import HelpGroup
from strands_cli.cli.output.messages import say, say_findings
from strands_cli.errors import NotEquipped, RunFailed, StrandsCliError, did_you_mean

if TYPE_CHECKING:
    from strands_cli.hooks.manager import Hooks


class Commands(HelpGroup):
    """The program's commands, followed by those of hook plugins."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": COMMANDS})

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands without building any of them."""
        return list(self.commands)

    def headings(self) -> Mapping[str, Iterable[str]]:
        """Return the headings of the table."""
        return HEADINGS

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of a name; the program's own commands always win."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as unknown:
            name, *rest = args
            hooks = None if name.startswith("-") else open_hooks_of_files()
            if hooks is None:
                _suggest(unknown, name, self.commands)
                raise
            commands = hooks.commands()
            if name not in commands:
                say_findings(hooks.findings)
                _suggest(unknown, name, [*self.commands, *commands])
                raise
            reference, plugin = commands[name]
        # The plugin's command parses its own arguments, `--help` included.
        return name, TyperCommand(name, callback=lambda: run_plugin_command(hooks, name, reference, plugin, rest)), []


def open_hooks_of_files() -> Hooks | None:
    """Return the hook plugins that the policy files switch on; None without any, or if a policy file is invalid."""
    from strands_cli.config import load_settings
    from strands_cli.planning.machine.policy_files import load_policy

    try:
        policy = load_policy(load_settings(), None)
    except StrandsCliError:
        return None
    if not policy.hooks:
        return None
    from strands_cli.planning.machine.hook_selection import hooks_in_force
    from strands_cli.planning.run_request import RunRequest

    return hooks_in_force(policy, RunRequest(tell=say))


def run_plugin_command(hooks: Hooks, name: str, reference: str, plugin: str, arguments: list[str]) -> int:
    """Run a plugin's command and return its exit code.

    Raises:
        Denied: A hook plugin that is switched on cannot be used.
        NotEquipped: The command cannot be imported.
        RunFailed: It raised, or returned something else than an exit code.
    """
    from strands_cli.hooks.hook_plugins import import_named
    from strands_cli.planning.machine.hook_selection import require_hooks

    require_hooks(hooks)
    who = f"the command '{name}' of the hook plugin {plugin}"
    try:
        command = import_named(reference)
    except Exception as error:
        message = f"{who} ({reference}) cannot be imported: {type(error).__name__}: {error}"
        raise NotEquipped(message, fix=f"upgrade {plugin}") from error
    try:
        code = command(list(arguments))
    except StrandsCliError:
        raise
    except Exception as error:
        raise RunFailed(f"{who} failed: {type(error).__name__}: {error}", fix=f"ask the author of {plugin}") from error
    if code is not None and not isinstance(code, int):
        raise RunFailed(f"{who} returned {type(code).__name__}, not an exit code", fix=f"ask the author of {plugin}")
    return int(code or 0)


def _suggest(unknown: Any, name: str, names: Iterable[str]) -> None:
    """Let an error suggest the commands of plugins as well as the program's own."""
    message = getattr(unknown, "message", "").partition(" Did you mean")[0]
    meant = SYNONYMS.get(name.lower())
    guess = f"strands {meant}" if meant else did_you_mean(name, names) if meant is None else None
    unknown.message = f"{message} Did you mean {guess!r}?" if guess else message
