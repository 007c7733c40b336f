"""The stub of the Python API's choices, which type checkers need written out, from the fields of `RunRequest`."""

from __future__ import annotations

from strands_cli.api.choice_types import choices

HEAD = """# Made by scripts/make_reference.py from the fields of RunRequest.
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from strands_cli.catalog.catalog import Catalog

def choices(*, again: bool) -> Iterator[tuple[str, str, str]]: ...
"""


def choices_stub() -> str:
    """Return the text of the stub."""
    return (
        "\n".join(
            (
                HEAD,
                "class StoredRunChoices(TypedDict, total=False):",
                _fields(again=True),
                "class RunChoices(StoredRunChoices, total=False):",
                _fields(again=False),
            )
        ).rstrip("\n")
        + "\n"
    )


def _fields(*, again: bool) -> str:
    return "".join(f"    {name}: {kind}\n" for name, kind, _ in choices(again=again))
