"""The Typer program: every command in one list, and the one place where errors become exit codes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from strands_cli.cli.commands import atomic_commands as atomic
from strands_cli.cli.commands import completion, tools_run
from strands_cli.cli.commands import doctor_command as doctor
from strands_cli.cli.commands import explain_command as explain
from strands_cli.cli.commands import list_supported as supported
from strands_cli.cli.commands import lock_command as lock
from strands_cli.cli.commands import new_command as new
from strands_cli.cli.commands import plan_command as plan
from strands_cli.cli.commands import plugin_group as plugins
from strands_cli.cli.commands import resume_command as resume
from strands_cli.cli.commands import run_command as run
from strands_cli.cli.commands import runs_commands as runs
from strands_cli.cli.commands import tools_commands as tools
from strands_cli.cli.commands import validate_command as validate
from strands_cli.cli.commands.completion import COMPLETING
from strands_cli.cli.commands.plugin_commands import Commands
from strands_cli.cli.terminal.output import let_go, print_result, report_error, result_lost

program = typer.Typer(
    name="strands",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=COMPLETING,
)
for room in (run, plan, validate, new, resume, runs, tools, plugins, lock, explain, supported, doctor, completion):
    room.register(program)
atomic.register(program)
tools_run.register(tools.tools_app)


@program.callback(
    epilog="Exit codes: 0 ok, 2 usage, 3 wrong file, 10 run failed, 12 output file, 17 run record, 18 not equipped, "
    "19 waiting for a person, 20 budget, 21 denied, 70 our fault, 130 interrupted, 143 terminated."
)
def strands(
    version: Annotated[bool, typer.Option("--version", "-V", help="Show the version and exit.")] = False,
) -> None:
    """Run agent workflows written in YAML, with tools that are plugins.

    Example: strands run examples/quickstart.yaml
    """
    if version:  # only after another option; alone it is answered before Typer is imported
        from strands_cli import __version__

        print_result(f"strands-cli {__version__}")
        raise typer.Exit


def run_program(arguments: list[str]) -> int:
    """Run one command line and return its exit code; nothing else in the CLI maps errors to codes."""
    try:
        code = int(program(args=arguments, prog_name="strands", standalone_mode=False) or 0)
    except BaseException as error:  # noqa: BLE001 - the one place where every error becomes an exit code
        code = report_error(error)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        let_go(sys.stdout)
    except (OSError, ValueError) as error:
        let_go(sys.stdout)
        code = code or report_error(result_lost(error))
    return code
