"""The options that several commands share, made from `RunRequest`, and the decorator that adds them to a command."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from strands_cli.errors import UsageError
from strands_cli.planning import RunRequest, default_of, options

SPEC = Annotated[str, typer.Argument(metavar="SPEC", help="Workflow file; `-` reads standard input.")]
RUN = Annotated[str, typer.Argument(metavar="RUN", help="The run's id, as `strands runs list` shows it.")]

# The types that typer reads for fields of the request whose own type a command line cannot express.
_TYPED: dict[str, Any] = {"variables": list[str], "values": list[Path], "allow": list[str]}

Command = Callable[..., int]


class Log(StrEnum):
    """What stderr is."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class RunFlags:
    """How a run is shown: each field is an option of every command that starts or continues a run."""

    events: Annotated[
        str | None, typer.Option("--events", metavar="FILE", help="Write events as JSON Lines; `-`: stdout.")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False
    trace: Annotated[bool, typer.Option("--trace", help="Write the run's trace beside the artifacts.")] = False
    log: Annotated[
        Log, typer.Option("--log", help="Format of stderr: `text` for a person, `json` one object per line.")
    ] = Log.TEXT
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show what models write and what the SDK logs.")] = (
        False
    )
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")] = False

    def require_one_result(self) -> None:
        """Check that at most one option writes to stdout.

        Raises:
            UsageError: Two options do.
        """
        if self.as_json and self.events == "-":
            raise UsageError("--json and --events - both write to stdout", fix="write the events to a file")

    def logged(self) -> AbstractContextManager[None]:
        """Write stderr in the chosen format while the command runs."""
        if self.log is Log.TEXT:
            return nullcontext()
        from strands_cli.cli.terminal import json_stderr

        return json_stderr()

    def placed(self) -> RunFlags:
        """Return the flags with an absolute path for events."""
        if self.events in (None, "-"):
            return self
        return dataclasses.replace(self, events=str(Path(self.events or "").absolute()))


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options of a request as typed, by field name."""

    typed: Mapping[str, Any]

    def request(self) -> RunRequest:
        """Return the request of a new run.

        Raises:
            UsageError: An input cannot be read.
        """
        from strands_cli.cli.commands.input_options import read_values, read_variables
        from strands_cli.cli.terminal import say

        readers: dict[str, Callable[[Any], Any]] = {"variables": read_variables, "values": read_values, "allow": tuple}
        fields = {name: readers.get(name, lambda value: value)(value) for name, value in self.typed.items()}
        return RunRequest(**fields, tell=say)

    def again(self) -> Chosen:
        """Return the options that commands for a stored run accept, without the directory of artifacts."""
        return Chosen(
            {name: value for name, value in self.typed.items() if options()[name].again and name != "out_dir"}
        )

    def changes(self) -> dict[str, Any]:
        """Return the fields of a stored run's request that were typed, paths made absolute."""
        from strands_cli.cli.terminal import is_interactive, say
        from strands_cli.config import load_settings

        changes = {
            name: value.absolute() if isinstance(value, Path) else value for name, value in self.typed.items() if value
        }
        # A detached run stays detached, so that its questions wait, except that a person at a terminal can be asked.
        if is_interactive():
            changes.setdefault("detach", False)
        return {**changes, "runs_dir": load_settings(runs_dir=changes.get("runs_dir")).runs_dir, "tell": say}


def option_of(name: str, *, again: bool = False) -> Any:
    """Return the typer option for one field of the request; `again` is for commands that continue a stored run."""
    one, types = options()[name], get_type_hints(RunRequest, localns={"ToolRecord": Any})
    kind = _TYPED.get(name, types[name] | None if again and name == "out_dir" else types[name])
    text = (one.help_again if again else None) or one.help
    return Annotated[kind, typer.Option(*one.flags, metavar=one.metavar, help=text)]


POLICY, RUNS_DIR = option_of("policy"), option_of("runs_dir")
NO_PLUGINS, TRACE_HOOKS = option_of("no_plugins"), option_of("trace_hooks")


def with_run_options(
    *, again: bool = False, without: Sequence[str] = (), only: Sequence[str] = ()
) -> Callable[[Command], Command]:
    """Add options to a command: those of the request for the parameter `chosen`, and those of each dataclass parameter.

    Typer reads the changed signature and finds each option in it; the command gets one value per parameter.

    Args:
        again: The command continues a stored run, so that options stay unset unless they are typed.
        without: Fields of the request that the command does not have.
        only: The only fields of the request that it has.
    """
    every = [name for name, one in options().items() if one.again or not again]
    names = [name for name in (only or every) if name not in without]
    request = [_parameter(name, option_of(name, again=again), _default(name, again=again)) for name in names]

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        groups: dict[str, tuple[Callable[..., Any], list[inspect.Parameter]]] = {
            one.name: (one.annotation, _fields_of(one.annotation))
            for one in signature.parameters.values()
            if isinstance(one.annotation, type) and dataclasses.is_dataclass(one.annotation)
        }
        if "chosen" in groups:
            groups["chosen"] = (lambda **typed: Chosen(typed), request)

        @functools.wraps(command)
        def called(**arguments: Any) -> int:
            for name, (make, fields) in groups.items():
                arguments[name] = make(**{field.name: arguments.pop(field.name) for field in fields})
            flags = arguments.get("flags")
            with flags.logged() if isinstance(flags, RunFlags) else nullcontext():
                return command(**arguments)

        parameters: list[inspect.Parameter] = []
        for one in signature.parameters.values():
            single = one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            parameters += groups[one.name][1] if one.name in groups else [single]
        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return decorate


def _fields_of(group: Any) -> list[inspect.Parameter]:
    """Return a parameter for each field of a dataclass of options."""
    types = get_type_hints(group, include_extras=True)
    return [
        _parameter(field.name, types[field.name], [] if field.default_factory is list else field.default)
        for field in dataclasses.fields(group)
    ]


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(name: str, *, again: bool) -> Any:
    if name in _TYPED:
        return []
    return None if again and name == "out_dir" else default_of(name)
