"""Commands for plugin authors: plugin manifest."""

from __future__ import annotations

import typer


def register(program: typer.Typer) -> None:
    """Add these commands to the program."""
