"""The options that several commands share, and the one seam that gives them to a command."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from strands_cli.errors import UsageError

if TYPE_CHECKING:
    from strands_cli.planning.run_options import RunOptions

SPEC = Annotated[str, typer.Argument(metavar="SPEC", help="Workflow file; `-` reads standard input.")]
VAR = Annotated[list[str], typer.Option("--var", metavar="NAME=VALUE", help="Give an input; may be repeated.")]
VARS_FILE = Annotated[list[Path], typer.Option("--vars-file", metavar="FILE", help="Inputs from a YAML or JSON file.")]
PROVIDER = Annotated[str | None, typer.Option("--provider", help="Model provider for all agents, e.g. openai.")]
MODEL = Annotated[str | None, typer.Option("--model", help="Model for all agents.")]
ALLOW = Annotated[list[str], typer.Option("--allow", metavar="TOOL", help="Allow a tool without asking (name, glob).")]
YES = Annotated[bool, typer.Option("--yes", "-y", help="Allow every tool call that would ask.")]
OUT = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where artifacts go.")]
FORCE = Annotated[bool, typer.Option("--force", help="Overwrite artifacts and recordings that exist.")]
POLICY = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="Policy file, in place of strands-policy.yaml.")
]
LOCKED = Annotated[bool, typer.Option("--locked", help="Refuse to run without a strands.lock beside the workflow.")]
NO_PLUGINS = Annotated[bool, typer.Option("--no-plugins", help="Leave out the hook plugins of your own policy file.")]
TRACE_HOOKS = Annotated[bool, typer.Option("--trace-hooks", help="Say on stderr each call of a hook, with its time.")]
RUN = Annotated[str, typer.Argument(metavar="RUN", help="The run's id, as `strands runs list` shows it.")]
RUNS_DIR = Annotated[Path | None, typer.Option("--runs-dir", metavar="DIR", help="Where records of runs are kept.")]

Command = Callable[..., int]


class Log(StrEnum):
    """What stderr is."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class RunFlags:
    """How a run is carried out: each field is an option of every command that starts one or goes on with one."""

    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where artifacts go, if not where they went.")
    ] = None
    force: FORCE = False
    detach: Annotated[bool, typer.Option("--detach", help="Never prompt: questions wait, exit code 19.")] = False
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Write the model's turns to a recording.")
    ] = None
    events: Annotated[
        str | None, typer.Option("--events", metavar="FILE", help="Write events as JSON Lines; `-`: stdout.")
    ] = None
    runs_dir: RUNS_DIR = None
    policy: POLICY = None
    locked: LOCKED = False
    no_plugins: NO_PLUGINS = False
    trace_hooks: TRACE_HOOKS = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False
    trace: Annotated[bool, typer.Option("--trace", help="Write the run's trace beside the artifacts.")] = False
    log: Annotated[
        Log, typer.Option("--log", help="What stderr is: `text` for a person, `json` one object a line.")
    ] = Log.TEXT
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show what models say and what the SDK logs.")] = (
        False
    )
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")] = False

    def over(self, kept: RunOptions, runs_dir: Path) -> RunOptions:
        """Return the options a run was started with, with what has been chosen anew over them."""
        from strands_cli.cli.terminal.output import say
        from strands_cli.cli.terminal.terminal_human import is_interactive

        # What was detached stays so, rather than being denied; but a person at a terminal can be asked.
        detach = self.detach or (kept.detach and not is_interactive())
        return dataclasses.replace(
            kept, detach=detach, record=self.record, runs_dir=runs_dir,
            force=self.force or kept.force, out_dir=self.out or kept.out_dir,
            policy=self.policy or kept.policy, locked=self.locked or kept.locked,
            no_plugins=self.no_plugins, trace_hooks=self.trace_hooks, tell=say,
        )  # fmt: skip

    def require_one_result(self) -> None:
        """Check that only one thing goes to stdout.

        Raises:
            UsageError: two do.
        """
        if self.as_json and self.events == "-":
            raise UsageError("--json and --events - both want stdout", fix="write the events to a file")

    def logged(self) -> AbstractContextManager[None]:
        """Make stderr what it is to be while the command works."""
        if self.log is Log.TEXT:
            return nullcontext()
        from strands_cli.cli.terminal.log_view import json_stderr

        return json_stderr()

    def placed(self) -> RunFlags:
        """Return it with paths that stay what they are when the working directory changes."""
        events = str(Path(self.events).absolute()) if self.events not in (None, "-") else self.events
        places = {name: getattr(self, name) for name in ("out", "record", "runs_dir", "policy")}
        return dataclasses.replace(
            self, events=events, **{name: place and place.absolute() for name, place in places.items()}
        )


def with_manner(*, without: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Put the options of `RunFlags` where a command has its parameter `manner`.

    Typer reads the signature, so it finds each option as if it were written there; the command gets one value.

    Args:
        without: Options that the command does not have, or has in a form of its own.
    """

    def around(command: Command) -> Command:
        types = get_type_hints(RunFlags, include_extras=True)
        fields = [field for field in dataclasses.fields(RunFlags) if field.name not in without]
        options = [
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default,
                              annotation=types[field.name])
            for field in fields
        ]  # fmt: skip

        @functools.wraps(command)
        def called(**given: Any) -> int:
            manner = RunFlags(**{option.name: given.pop(option.name) for option in options})
            with manner.logged():
                return command(**given, manner=manner)

        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            own = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            parameters += options if own.name == "manner" else [own]
        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return around
