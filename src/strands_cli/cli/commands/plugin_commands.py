"""Commands of installed distributions: listed from their metadata, imported when one is typed."""

from __future__ import annotations

import contextlib
import errno
import inspect
import io
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from strands_cli.cli.help_page import UNLIMITED, fitted, plugin_section
from strands_cli.default_parts import COMMANDS, DEFAULTS, MOVED, OURS, PROMISED
from strands_cli.errors import Interrupted, PluginFailed, StrandsCliError, did_you_mean

if TYPE_CHECKING:
    from strands_cli.parts.named_parts import Part


# Commands and groups whose help has headings and whole sentences, fitted to the terminal.


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
        """Return the shown commands, by name."""
        return {name: command for name, command in self.commands.items() if not command.hidden}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of a name; the error for an unknown one names the closest command, or all of them."""
        try:
            return super().resolve_command(ctx, args)
        except StrandsCliError:  # a command that is known, and cannot be used
            raise
        except Exception as unknown:
            error_shown: Any = unknown
            message = getattr(error_shown, "message", None)
            if message is not None and ctx.parent is not None:  # the program itself has suggestions of its own
                plain = message.partition(" Did you mean")[0].rstrip(".")
                error_shown.message = f"{plain}. {_commands_near(args[0], self.known_names())}"
            raise

    def known_names(self) -> list[str]:
        """Return the names to suggest from."""
        return list(self.own_commands())

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands below their headings, each with its first sentence."""
        commands = self.own_commands()
        width = max(map(len, commands), default=0)
        for heading, names in self.headings().items():
            rows = [
                (name.ljust(width), commands[name].get_short_help_str(UNLIMITED)) for name in names if name in commands
            ]
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


# The core's commands by name; the module of a command is imported when the command is used.


# The names of `default_parts.DEFAULTS` by the headings of the help; all others are below one of these.
HEADINGS = {
    "Workflows": ("run", "new", "validate", "plan", "explain", "workflows"),
    "Stored runs": ("runs", "resume", "approve", "reject"),
    "Tools": ("tools", "plugin", "lock"),
    "This machine": ("models",),
}

# Words of other programs, with the command that does the same here.
SYNONYMS = {
    "help": "--help",
    "init": "new",
    "create": "new",
    "start": "run",
    "exec": "run",
    "check": "validate",
    "lint": "validate",
    "logs": "runs show",
    "log": "runs show",
    "show": "runs show",
    "history": "runs list",
    "ps": "runs list",
    "diff": "runs diff",
    "compare": "runs diff",
    "stats": "runs stats",
    "grep": "runs search",
    "list": "tools list",
    "install": "plugin install",
    "search": "tools list",
    "providers": "models",
    "model": "models",
    "key": "models keys",
    "agent": "workflows agent",
    "test": "workflows agent test",
    "policy": "explain policy",
    "status": "runs list",
    "cancel": "runs cancel",
    "delete": "runs delete",
    "uninstall": "plugin uninstall",
    "version": "--version",
    # No command here does the same, and no name looks like them either.
    "login": "models keys set",
}


OWN = DEFAULTS[COMMANDS]


class CommandTable(Mapping[str, Any]):
    """The core's commands of the program or of a group, by name; a command is built when it is looked up."""

    def __init__(self, prefix: str = "", others: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Select the commands.

        Args:
            prefix: The start of their names in `default_parts.DEFAULTS`: `runs.`.
            others: Commands that are there already.
        """
        self._built, self._prefix = dict(others), prefix
        names = (name.removeprefix(prefix) for name in OWN if name.startswith(prefix))
        self._names = dict.fromkeys([*others, *(name for name in names if "." not in name)])

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            module, _, attribute = OWN[self._prefix + name].partition(":")
            self._built[name] = built_command(name, getattr(import_module(module), attribute))
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def built_command(name: str, value: Any) -> Any:
    """Return the command or the group that an entry point of the group `strands_cli.commands` names.

    Args:
        value: A Typer application, whose only command without a callback is the command itself, or a function.

    Raises:
        TypeError: It is neither.
    """
    around = App()
    if isinstance(value, typer.Typer):
        _fit(value)
        only = value.registered_commands
        has_callback = value.registered_callback or callable(value.info.callback)
        if not (only or value.registered_groups or has_callback or value.info.cls is OpenGroup):
            raise TypeError("it is a Typer application without a command")
        if len(only) == 1 and not value.registered_groups and value.registered_callback is None:
            command = copy(only[0])
            command.name = name
            around.registered_commands.append(command)
        else:
            around.add_typer(value, name=name)
    elif callable(value) and not isinstance(value, type) and not hasattr(value, "make_context"):
        around.command(name)(value)
    else:
        raise TypeError(f"it is {type(value).__name__}, not a Typer application or a function")
    return get_group(around).commands[name]


def _fit(app: typer.Typer) -> None:
    """Give the groups and commands of an application the help of the program's own, unless they have classes."""
    if isinstance(app, App):
        return
    app.rich_markup_mode = None
    kind = app.info.cls
    if not isinstance(kind, type) or kind is TyperGroup:
        app.info.cls = HelpGroup
    elif issubclass(kind, TyperGroup) and not issubclass(kind, HelpGroup):
        app.info.cls = type(kind.__name__, (kind, HelpGroup), {})
    if app.registered_callback is None and not app.info.invoke_without_command:
        app.info.no_args_is_help = True
    for command in app.registered_commands:
        # Typer gives its own class to a command that names none.
        command.cls = HelpCommand if command.cls in (None, TyperCommand) else command.cls
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _fit(group.typer_instance)


COMMANDS_OF_CORE = CommandTable()


# The highest exit code of a process: of a larger number the system keeps the last eight bits, which may be 0.
_HIGHEST_CODE = 255


class OpenGroup(HelpGroup):
    """A group of the core's commands, followed by those that installed distributions add to it by a name with a dot."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = CommandTable(self._prefix(), self.commands)

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
            NotEquipped: A distribution of this project has it, and is not installed.
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
        """Return the names to suggest from, also of absent distributions of this project."""
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

    def _prefix(self) -> str:
        return ""

    def headings(self) -> Mapping[str, Iterable[str]]:
        """Return the headings of the table."""
        return HEADINGS

    def invoke(self, ctx: Any) -> Any:
        """Run the typed command, and return its result.

        Raises:
            Interrupted: Ctrl-C; Typer would end with its code alone, and without a document for `--json`.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted("interrupted") from error

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of a name; the error for an unknown one suggests the names of other programs, too."""
        args = _with_present_words(args, says_so=not ctx.resilient_parsing)
        try:
            return super().resolve_command(ctx, args)
        except StrandsCliError:
            raise
        except Exception as unknown:
            _suggest(unknown, args[0], [*self.commands, *self._names_of_others(), *MOVED])
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
            PluginFailed: It raises an exception that only a fault of its own explains.
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

        command = imported_part(self.part)
        try:
            return built_command(str(self.name), command)
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
    shown_code = repr(code) if isinstance(code, int) else type(code).__name__
    raise _failed(part, TypeError(f"it returns {shown_code}, not an exit code from 0 to {_HIGHEST_CODE} or None"))


def _is_expected(error: Exception) -> bool:
    """Return whether the command line reports an exception by itself: ours, the parser's, a full disk."""
    if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.ENOSPC, errno.EMFILE, errno.ENFILE):
        return True
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return bool(modules & {"strands_cli", "click", "typer"})


def _failed(part: Part, error: BaseException) -> PluginFailed:
    frames = traceback.extract_tb(error.__traceback__)[-1:]
    locations = "".join(f" at {frame.filename}:{frame.lineno}" for frame in frames)
    message = f"{part} of {part.distribution} failed: {type(error).__name__}: {error}{locations}"
    fix = f"STRANDS_DEBUG=1 prints the whole traceback; report it to the authors of {part.distribution}"
    return PluginFailed(message, fix=fix)


def _with_present_words(args: list[str], *, says_so: bool) -> list[str]:
    """Return a command line with the present words for its command."""
    for count in (2, 1):
        earlier = " ".join(args[:count])
        if earlier in MOVED:
            if says_so and earlier not in PROMISED:
                from strands_cli.cli.output.messages import say

                say(f"`strands {earlier}` is now `strands {MOVED[earlier]}`")
            return [*MOVED[earlier].split(), *args[count:]]
    return args


def _suggest(unknown: Any, name: str, names: Iterable[str]) -> None:
    """Let an error suggest the commands of plugins as well as the program's own."""
    message = getattr(unknown, "message", "").partition(" Did you mean")[0]
    close = did_you_mean(name, names)
    words = SYNONYMS.get(name.lower()) or (None if close in PROMISED else MOVED.get(close or ""))
    guess = f"strands {words}" if words else close
    unknown.message = f"{message} Did you mean {guess!r}?" if guess else message
