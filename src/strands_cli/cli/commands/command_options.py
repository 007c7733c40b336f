"""The options that several commands share, made from `RunRequest`, and the one seam that gives them to a command."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import typer

from strands_cli.cli.commands import completions
from strands_cli.errors import UsageError
from strands_cli.planning.run_request import RunRequest, converted, default_of, options
from strands_cli.quick_dataclass import dataclass

if TYPE_CHECKING:
    pass


SPEC_ARGUMENT = typer.Argument(
    metavar="SPEC",
    help="Workflow file, or DIST/NAME of a package; `-` reads standard input.",
    autocompletion=completions.workflow_files,
)
# The argument of a command that takes a workflow.
SPEC = Annotated[str, SPEC_ARGUMENT]


def run_argument(name: str, text: str = "The run's id, the start of it, or `last`.", *, has_parts: bool = False) -> Any:
    """Return Typer's description of an argument that names a stored run; a shell completes it.

    Args:
        name: How the help calls it, such as `RUN`.
        text: Its line in the help.
        has_parts: Whether it names a run that consists of others.
    """
    completer = completions.wholes if has_parts else completions.runs
    return typer.Argument(metavar=name, help=text, autocompletion=completer)


RUN = Annotated[str, run_argument("RUN")]
# The argument of a command that takes a file with one agent.
AGENT = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="File with one agent, or DIST/NAME.", autocompletion=completions.agent_files),
]
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
INDEX = Annotated[
    list[str] | None,
    typer.Option("--index", metavar="URL|DIR", help="Look here, not in the configured indexes; 'pip': that of pip."),
]

# Typer's types of the inputs, which no command line has in the type of their field.
_INPUTS: dict[str, Any] = {"variables": list[str], "values": list[Path]}

Command = Callable[..., Any]


class Log(StrEnum):
    """The form of stderr."""

    TEXT = "text"
    JSON = "json"


AS_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
LOG = Annotated[Log, typer.Option("--log", help="Format of stderr: `text` for a person, `json` one object a line.")]
VERBOSE = Annotated[bool, typer.Option("--verbose", "-v", help="Show what models say and what the SDK logs.")]
QUIET = Annotated[bool, typer.Option("--quiet", "-q", help="Show errors and warnings only.")]


class ShownFlags:
    """How a command that runs workflows shows its work; a data class with the field `log` derives from it."""

    __slots__ = ()
    HEADING: ClassVar[str] = "Output"
    if TYPE_CHECKING:

        @property
        def log(self) -> str:
            """The form of stderr: a value of `Log`."""

    def logged(self) -> AbstractContextManager[None]:
        """Write the log to stderr in the form that was chosen while the command works."""
        if self.log == Log.TEXT:
            return nullcontext()
        from strands_cli.cli.terminal.live_view import json_stderr

        return json_stderr()


@dataclass(frozen=True, slots=True)
class RunFlags(ShownFlags):
    """How a run is shown: each field is an option of every command that starts one or continues one."""

    events: Annotated[
        str | None,
        typer.Option("--events", metavar="FILE", help="Write events as JSON Lines; `-`: stdout."),
    ] = None
    as_json: AS_JSON = False
    trace: Annotated[bool, typer.Option("--trace", help="Write the run's trace beside the artifacts.")] = False
    export: Annotated[
        list[str],
        typer.Option(
            "--export",
            metavar="NAME=FILE",
            help="Write the run when it ends, with an installed exporter.",
            autocompletion=completions.exporters,
        ),
    ] = dataclasses.field(default_factory=list)
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="An HTML page, as --export report=FILE; of strands-cli-ui."),
    ] = None
    log: LOG = Log.TEXT
    verbose: VERBOSE = False
    quiet: QUIET = False

    def require_one_result(self) -> None:
        """Check that only one thing goes to stdout.

        Raises:
            UsageError: two do.
        """
        if self.as_json and self.events == "-":
            raise UsageError("--json and --events - both want stdout", fix="write the events to a file")
        for name, path in self.exported():
            if str(path) == "-":
                fix = f"name a file: --export {name}=FILE"
                raise UsageError("an export is a file: stdout has the answer", fix=fix)

    def exported(self) -> list[tuple[str, Path]]:
        """Return the name of the exporter and the file of each export.

        Raises:
            UsageError: One has no name or no file.
        """
        exports = []
        for written in [*self.export, *([f"report={self.report}"] if self.report is not None else [])]:
            name, _, file = written.partition("=")
            if not name or not file:
                raise UsageError(f"'{written}' is not an export", fix="write --export NAME=FILE")
            exports.append((name, Path(file)))
        return exports

    def placed(self) -> RunFlags:
        """Return the flags with paths that do not depend on the working directory."""
        events = self.events if self.events in (None, "-") else str(Path(self.events).absolute())
        export = [f"{name}={path.absolute()}" for name, path in self.exported()]
        return dataclasses.replace(self, events=events, export=export, report=None)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options of a request as they were typed, by the name of their field."""

    typed: Mapping[str, Any]

    def request(self) -> RunRequest:
        """Return the request of a new run.

        Raises:
            UsageError: an input cannot be read.
        """
        from strands_cli.cli.commands.input_options import read_values, read_variables
        from strands_cli.cli.output.messages import say

        readers: dict[str, Callable[[Any], Any]] = {"variables": read_variables, "values": read_values}
        inputs = {name: read(self.typed[name]) for name, read in readers.items() if name in self.typed}
        return RunRequest(**{**converted(self.typed), **inputs}, tell=say)

    def again(self) -> Chosen:
        """Return the options of commands that continue a stored run, except the folder of artifacts."""
        every = {name: value for name, value in self.typed.items() if options()[name].again and name != "out_dir"}
        # A command that starts a run has the defaults where nothing was typed.
        return Chosen({name: value for name, value in every.items() if value != _default(name, again=False)})

    @property
    def permits(self) -> bool:
        """Whether it decides calls that would ask."""
        return any(self.typed.get(name) for name in ("allow", "yes", "deny"))

    def changes(self) -> dict[str, Any]:
        """Return the fields of a stored run's request that were typed, paths made absolute."""
        from strands_cli.cli.output.messages import say
        from strands_cli.cli.terminal.terminal_human import is_interactive
        from strands_cli.planning.run_request import chosen_place

        typed = converted({name: value for name, value in self.typed.items() if value is not None})
        changes = {name: value.absolute() if isinstance(value, Path) else value for name, value in typed.items()}
        # A run that was detached stays detached, so that its questions wait; but a person at a terminal can be asked.
        if is_interactive():
            changes.setdefault("detach", False)
        elif changes.get("detach"):  # waiting calls are not denied, whatever was chosen before
            changes.setdefault("deny", False)
        store_place = chosen_place(typed.get("runs_dir"), typed.get("store"))
        return {**changes, "runs_dir": store_place.directory, "store": store_place.address or None, "tell": say}


def option_of(name: str, *, again: bool = False) -> Any:
    """Return Typer's description of one field of the request; `again` is for commands that continue a stored run."""
    option = options()[name]
    kind = _INPUTS.get(name) or _types_of_request()[name]
    if get_origin(kind) is tuple:
        kind = list[get_args(kind)[0]]  # type: ignore[misc]
    if again:
        kind = kind | None
    text = (option.help_again if again else None) or option.help
    return Annotated[
        kind,
        typer.Option(
            *option.flags,
            metavar=option.metavar,
            min=option.least,
            help=text,
            autocompletion=completions.OF_OPTIONS.get(name),
            rich_help_panel=option.heading,
        ),
    ]


@functools.cache
def _types_of_request() -> dict[str, Any]:
    """Return the types of the request's fields; evaluating them takes as long as all else of an option."""
    return get_type_hints(RunRequest, localns={"ToolRecord": Any})


POLICY, RUNS_DIR, STORE = option_of("policy"), option_of("runs_dir"), option_of("store")
NO_PLUGINS, TRACE_HOOKS = option_of("no_plugins"), option_of("trace_hooks")


def with_run_options(
    *, again: bool = False, without: Sequence[str] = (), only: Sequence[str] = ()
) -> Callable[[Command], Command]:
    """Put options where a command has the parameter `chosen` (those of the request) or one whose type is a dataclass.

    Typer reads the signature, so it finds each option as if it were written there; the command gets one value.

    Args:
        again: The command continues a stored run, so that options stay unset unless they are typed.
        without: Fields of the request that the command does not have.
        only: The only fields of the request that it has.
    """
    every = [name for name, option in options().items() if option.again or not again]
    names = [name for name in (only or every) if name not in without]
    request = [_parameter(name, option_of(name, again=again), _default(name, again=again)) for name in names]

    def around(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        groups: dict[str, tuple[Callable[..., Any], list[inspect.Parameter]]] = {
            parameter.name: (parameter.annotation, _fields_of(parameter.annotation))
            for parameter in signature.parameters.values()
            if isinstance(parameter.annotation, type) and dataclasses.is_dataclass(parameter.annotation)
        }
        if "chosen" in groups:
            groups["chosen"] = (lambda **typed: Chosen(typed), request)

        @functools.wraps(command)
        def called(**arguments: Any) -> Any:
            if any("-" in str(value) for value in arguments.values() if value):
                from strands_cli.cli.commands.input_options import require_one_reader

                require_one_reader(arguments)
            for name, (make, fields) in groups.items():
                arguments[name] = make(**{field.name: arguments.pop(field.name) for field in fields})
            flags = arguments.get("flags")
            with flags.logged() if isinstance(flags, ShownFlags) else nullcontext():
                return command(**arguments)

        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            single = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            parameters += groups[parameter.name][1] if parameter.name in groups else [single]
        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {item.name: item.annotation for item in parameters}
        return called

    return around


def _fields_of(group: Any) -> list[inspect.Parameter]:
    """Return a parameter for each field of a dataclass of options."""
    types = get_type_hints(group, include_extras=True)
    if heading := getattr(group, "HEADING", None):
        for kind in (types[field.name] for field in dataclasses.fields(group)):
            kind.__metadata__[0].rich_help_panel = heading
    return [
        _parameter(field.name, types[field.name], [] if field.default_factory is list else field.default)
        for field in dataclasses.fields(group)
    ]


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(name: str, *, again: bool) -> Any:
    """Return the default of an option; None for a command that continues a run, which has stored values."""
    default = None if again else default_of(name)
    return list(default) if isinstance(default, (tuple, dict)) else default
