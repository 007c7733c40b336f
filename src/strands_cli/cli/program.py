"""The Typer program: every command in one list, and the one place where errors become exit codes."""

from __future__ import annotations

import typer

from strands_cli.cli import plan, plugins, run, tools, tools_run, validate
from strands_cli.cli.output import report_error

HELP = """Run agent workflows written in YAML, with tools that are plugins.

Example: strands run examples/quickstart.yaml
"""

program = typer.Typer(
    name="strands",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for room in (run, plan, validate, tools, plugins):
    room.register(program)
tools_run.register(tools.tools_app)


def run_program(arguments: list[str]) -> int:
    """Run one command line and return its exit code; nothing else in the CLI maps errors to codes."""
    try:
        code = program(args=arguments, prog_name="strands", standalone_mode=False)
    except BaseException as error:  # noqa: BLE001 - the one place where every error becomes an exit code
        return report_error(error)
    return int(code or 0)
