"""The common parts of the commands about workers and queues."""

from __future__ import annotations

from typing import Annotated

import typer

from strands_cli.api import Chosen, StoreOptions, StorePlace

JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def place_of(chosen: Chosen) -> StorePlace:
    """Return the store that `--store` names, or the default one.

    Raises:
        UsageError: It is not the address of a store.
    """
    return StoreOptions(None, chosen.typed["store"]).place


def one_line(text: str) -> str:
    r"""Return a text as one line, to be part of a line of ours: a line end becomes `\\n`."""
    return text.replace("\n", "\\n")
