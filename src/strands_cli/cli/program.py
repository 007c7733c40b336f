"""The Typer program: its options, and its commands from their table."""

from __future__ import annotations

from typing import Annotated

import typer

from strands_cli.cli.after_report import do_what_is_left
from strands_cli.cli.commands.completion import COMPLETING
from strands_cli.cli.commands.plugin_commands import Commands
from strands_cli.cli.help_page import MOST_COLUMNS
from strands_cli.cli.output.messages import exit_code_of_call
from strands_cli.cli.output.results import print_result

program = typer.Typer(
    name="strands",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MOST_COLUMNS},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=COMPLETING,
)


@program.callback(
    epilog="Exit codes: 0 ok, 1 no, 2 usage, 3 invalid file, 10 run failed, 12 output file, 17 run journal, "
    "18 something is missing here, 19 waiting for a person, 20 budget, 21 denied, 22 loop, 70 internal error, "
    "129 hung up, 130 interrupted, 141 reader stopped, 143 terminated."
)
def strands(
    version: Annotated[bool, typer.Option("--version", "-V", help="Show the version and exit.")] = False,
) -> None:
    """Run agent workflows written in YAML, with tools that are plugins.

    Example: strands run examples/quickstart.yaml
    """
    if version:  # only after another option; alone it is handled before Typer is imported
        from strands_cli.__about__ import __version__

        print_result(f"strands-cli {__version__}")
        raise typer.Exit


def run_program(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    code = exit_code_of_call(lambda: program(args=arguments, prog_name="strands", standalone_mode=False), arguments)
    do_what_is_left()
    return code
