"""Commands on workflow files: validate, plan, schema, run."""

from __future__ import annotations

import typer


def register(program: typer.Typer) -> None:
    """Add these commands to the program."""
