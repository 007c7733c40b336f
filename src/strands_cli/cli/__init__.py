"""The commands a person types: parse, call `app`, render text or JSON, map errors to exit codes."""

from __future__ import annotations

import sys

VERSION_WORDS = ("--version", "-V", "version")


def main() -> None:
    """Run the command line of `sys.argv`; `--version` is answered before Typer is imported."""
    if sys.argv[1:2] and sys.argv[1] in VERSION_WORDS:
        from strands_cli import __version__

        print(f"strands-cli {__version__}")
        return
    from strands_cli.cli.program import run_program

    sys.exit(run_program(sys.argv[1:]))
