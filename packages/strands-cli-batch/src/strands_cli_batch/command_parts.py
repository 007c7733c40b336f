"""Small parts that several commands of a batch have in common."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from strands_cli.api import RunParts, StoreOptions, StorePlace

# The name of the command, which the journals of batches have too.
PARTS = RunParts("batch")
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def place_of(runs_dir: Path | None, store: str | None) -> StorePlace:
    """Return the store that two options name, or the default one.

    Raises:
        UsageError: Both are typed, or the store is not an address.
    """
    return StoreOptions(runs_dir, store).place


def command(verb: str, *words: str, store: StorePlace) -> str:
    """Return a command line for a shell; it names the store unless it is the default one."""
    place_words = [] if StoreOptions(None, None).place == store else store.words
    return shlex.join(["strands", verb, *words, *place_words])


def one_line(text: str) -> str:
    r"""Return a text as one line, to be part of a line of ours: a line end becomes `\\n`."""
    return text.replace("\n", "\\n")


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first names, joined by commas, and the number of the others."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def tool_of(key: str) -> str:
    """Return the name of the tool from the key of a call."""
    return key.rpartition("/")[2].split(".", 2)[-1]
