"""Commands and groups whose help has headings and whole sentences, fitted to the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from strands_cli.cli.help_page import UNLIMITED, fitted
from strands_cli.errors import did_you_mean

ARGUMENTS, OPTIONS = "Arguments", "Options"


class FittedHelp:
    """A command or a group whose help is fitted to the terminal, with whole words and whole sentences."""

    def full_help(self, ctx: Any) -> str:
        """Return the help with each paragraph and each description on one line."""
        ctx.terminal_width = ctx.max_content_width = UNLIMITED
        return str(super().get_help(ctx))  # type: ignore[misc]

    def get_help(self, ctx: Any) -> str:
        """Return the help, fitted to the terminal."""
        return fitted(self.full_help(ctx)).rstrip("\n")


class HelpCommand(FittedHelp, TyperCommand):
    """A command whose options are below the headings that they name."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options by their headings, and those without one."""
        sections: dict[str, list[tuple[str, str]]] = {ARGUMENTS: [], OPTIONS: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            of_options = getattr(parameter, "rich_help_panel", None) or OPTIONS
            if record is not None:
                heading = ARGUMENTS if parameter.param_type_name == "argument" else of_options
                sections.setdefault(heading, []).append(record)
        sections[OPTIONS] = sections.pop(OPTIONS)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class HelpGroup(FittedHelp, TyperGroup):
    """A group that cuts no description; a subclass may put its commands below several headings."""

    def headings(self) -> Mapping[str, Iterable[str]]:
        """Return the names of the commands by the heading above them."""
        return {"Commands": list(self.commands)}

    def own_commands(self) -> dict[str, Any]:
        """Return the commands that are shown, by name."""
        return {name: command for name, command in self.commands.items() if not command.hidden}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of a name; the error for an unknown one names the closest command, or all of them."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as unknown:
            shown: Any = unknown
            message = getattr(shown, "message", None)
            if message is not None and ctx.parent is not None:  # the program itself has suggestions of its own
                plain = message.partition(" Did you mean")[0].rstrip(".")
                shown.message = f"{plain}. {_commands_near(args[0], self.known_names())}"
            raise

    def known_names(self) -> list[str]:
        """Return the names to suggest from."""
        return list(self.own_commands())

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands below their headings, each with its first sentence."""
        shown = self.own_commands()
        width = max(map(len, shown), default=0)
        for heading, names in self.headings().items():
            rows = [(name.ljust(width), shown[name].get_short_help_str(UNLIMITED)) for name in names if name in shown]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


def _commands_near(name: str, commands: Iterable[str]) -> str:
    close = did_you_mean(name, commands)
    return f"Did you mean '{close}'?" if close else f"There are: {', '.join(commands)}"


class App(typer.Typer):
    """A group of commands in the making, with the settings that all of the program's groups share."""

    def __init__(self, **attributes: Any) -> None:
        shared: dict[str, Any] = {"cls": HelpGroup, "rich_markup_mode": None, "pretty_exceptions_enable": False}
        super().__init__(**{**shared, "no_args_is_help": True, **attributes})

    def command(self, name: str | None = None, **attributes: Any) -> Any:
        """Return a decorator that adds a command."""
        return super().command(name, **{"cls": HelpCommand, **attributes})


def group(about: str, commands: Mapping[str, Callable[..., Any]], **attributes: Any) -> App:
    """Return a group of commands by their names."""
    app = App(help=about, **attributes)
    for name, command in commands.items():
        app.command(name)(command)
    return app
