"""Commands on tools: list-tools, tools list, tools show, tools run."""

from __future__ import annotations

import typer


def register(program: typer.Typer) -> None:
    """Add these commands to the program."""
