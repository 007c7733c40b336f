"""Commands of installed distributions: listed from their metadata, imported when one is typed."""

from __future__ import annotations

import contextlib
import errno
import inspect
import io
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from strands_cli.cli.commands.command_table import COMMANDS_OF_CORE, HEADINGS, SYNONYMS, built_command
from strands_cli.cli.commands.help_group import HelpGroup
from strands_cli.cli.help_page import plugin_section
from strands_cli.default_parts import COMMANDS, OURS
from strands_cli.errors import Interrupted, PluginFailed, StrandsCliError, did_you_mean

if TYPE_CHECKING:
    from strands_cli.parts.named_parts import Part


# What a process can end with: of a larger number the system keeps the last eight bits, which may be 0.
_HIGHEST_CODE = 255


class OpenGroup(HelpGroup):
    """A group of the core's commands, followed by those that installed distributions add to it by a name with a dot."""

    def _prefix(self) -> str:
        """Return the start of the names that its commands have as entry points: `runs.` for `strands runs`."""
        return f"{self.name}."

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands without building any of them."""
        return list(dict.fromkeys([*self.commands, *self._added()]))

    def own_commands(self) -> dict[str, Any]:
        """Return the core's commands, without plain ones whose place a distribution of this project has taken."""
        added = self._added()
        return {name: command for name, command in super().own_commands().items() if name not in added}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the core's commands below their headings, and those of distributions below one of their own."""
        super().format_commands(ctx, formatter)
        formatter.write(plugin_section(self._prefix()))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, that of a distribution not yet imported; None for an unknown name.

        Raises:
            Denied: Two distributions claim the name.
        """
        name = self._prefix() + cmd_name
        if cmd_name in self.commands and name not in OURS[COMMANDS]:
            return self.commands[cmd_name]
        from strands_cli.parts.named_parts import part_named

        part = None if cmd_name.startswith("-") or "." in cmd_name else part_named(COMMANDS, name)
        return self.commands.get(cmd_name) if part is None else PluginCommand(part, self._added().get(cmd_name, ""))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of a name.

        Raises:
            NotEquipped: A distribution of this project that is not installed has it.
        """
        try:
            return super().resolve_command(ctx, args)
        except StrandsCliError:
            raise
        except Exception:
            if distribution := OURS.get(COMMANDS, {}).get(self._prefix() + args[0]):
                from strands_cli.parts.named_parts import not_installed, typed_name

                raise not_installed(typed_name(COMMANDS, self._prefix() + args[0]), distribution) from None
            raise

    def known_names(self) -> list[str]:
        """Return the names to suggest from, with those of distributions of this project that are not installed."""
        return list(dict.fromkeys([*super().known_names(), *self._names_of_others()]))

    def _names_of_others(self) -> list[str]:
        prefix = self._prefix()
        ours = [name.removeprefix(prefix) for name in OURS.get(COMMANDS, {}) if name.startswith(prefix)]
        return [*self._added(), *(name for name in ours if "." not in name)]

    def _added(self) -> dict[str, str]:
        """Return the commands of installed distributions, each with its line of help; nothing is imported."""
        from strands_cli.catalog.command_names import installed_commands

        prefix = self._prefix()
        return {command.name.removeprefix(prefix): command.help for command in installed_commands(prefix)}


class Commands(OpenGroup):
    """The program: the core's commands, followed by those of installed distributions."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": COMMANDS_OF_CORE})

    def _prefix(self) -> str:
        return ""

    def headings(self) -> Mapping[str, Iterable[str]]:
        """Return the headings of the table."""
        return HEADINGS

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed, and return what it returns.

        Raises:
            Interrupted: Ctrl-C; Typer would end with its code alone, and without a document for `--json`.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted("interrupted") from error

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of a name; the error for an unknown one suggests what other programs call it, too."""
        try:
            return super().resolve_command(ctx, args)
        except StrandsCliError:
            raise
        except Exception as unknown:
            _suggest(unknown, args[0], [*COMMANDS_OF_CORE, *self._names_of_others()])
            raise


class PluginCommand(TyperCommand):
    """The command of a distribution, imported when it is used; help and completion of its name do without."""

    def __init__(self, part: Part, summary: str) -> None:
        super().__init__(part.name.rpartition(".")[2], short_help=summary, callback=lambda: None)
        self.part = part

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the imported command, which parses the arguments.

        Raises:
            Denied: Policy denies its distribution, or it is not as it was locked.
            NotEquipped: It cannot be imported, or is not a command.
            PluginFailed: It raises what only a fault of its own explains.
        """
        if extra.get("resilient_parsing"):
            return self._completed(info_name, args, parent, extra)
        command = self._imported()
        command.invoke = partial(_invoked, command.invoke, self.part)
        return command.make_context(info_name, args, parent=parent, **extra)

    def _completed(self, info_name: str | None, args: list[str], parent: Any, extra: Mapping[str, Any]) -> Any:
        """Return the context in which words are completed: of a broken command none are, and its import prints none."""
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                return self._imported().make_context(info_name, args, parent=parent, **extra)
            except StrandsCliError:
                return super().make_context(info_name, args, parent=parent, **extra)

    def _imported(self) -> Any:
        from strands_cli.parts.named_parts import broken_part, imported_part

        made = imported_part(self.part)
        try:
            return built_command(str(self.name), made)
        except Exception as error:  # a signature that Typer cannot read
            raise broken_part(self.part, f"is not a command: {type(error).__name__}: {error}") from error


def _invoked(invoke: Callable[[Any], Any], part: Part, context: Any) -> int:
    """Run a command of a distribution and return its exit code."""
    try:
        code = invoke(context)
    except (typer.Exit, SystemExit) as ended:
        code = ended.exit_code if isinstance(ended, typer.Exit) else ended.code
        if isinstance(code, str):  # sys.exit("why")
            raise _failed(part, ended) from ended
    except Exception as error:
        if _is_expected(error):
            raise
        raise _failed(part, error) from error
    if code is None or (isinstance(code, int) and not isinstance(code, bool) and 0 <= code <= _HIGHEST_CODE):
        return int(code or 0)
    if inspect.iscoroutine(code):
        code.close()  # Python would warn that it was never awaited
    what = repr(code) if isinstance(code, int) else type(code).__name__
    raise _failed(part, TypeError(f"it returns {what}, not an exit code from 0 to {_HIGHEST_CODE} or None"))


def _is_expected(error: Exception) -> bool:
    """Return whether the command line reports an exception by itself: ours, the parser's, a full disk."""
    if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.ENOSPC, errno.EMFILE, errno.ENFILE):
        return True
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return bool(modules & {"strands_cli", "click", "typer"})


def _failed(part: Part, error: BaseException) -> PluginFailed:
    frames = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" at {frame.filename}:{frame.lineno}" for frame in frames)
    message = f"{part} of {part.distribution} failed: {type(error).__name__}: {error}{place}"
    fix = f"STRANDS_DEBUG=1 prints the whole traceback; report it to the authors of {part.distribution}"
    return PluginFailed(message, fix=fix)


def _suggest(unknown: Any, name: str, names: Iterable[str]) -> None:
    """Let an error suggest the commands of plugins as well as the program's own."""
    message = getattr(unknown, "message", "").partition(" Did you mean")[0]
    meant = SYNONYMS.get(name.lower())
    guess = f"strands {meant}" if meant else did_you_mean(name, names) if meant is None else None
    unknown.message = f"{message} Did you mean {guess!r}?" if guess else message
