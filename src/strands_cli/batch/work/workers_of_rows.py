"""The distribution whose workers run rows: its modules are imported when rows are handed to it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from strands_cli.default_parts import OURS, OWNERS, install_of
from strands_cli.errors import NotEquipped
from strands_cli.parts.named_parts import part_named, require_admitted

NAME = "workers"


def imported_of_workers(module: str) -> Any:
    """Return a module of the distribution.

    Raises:
        NotEquipped: The distribution is not installed.
        Denied: Policy or the lock does not admit it.
    """
    distribution = OURS[OWNERS][NAME]
    part = part_named(OWNERS, NAME)
    if part is None:
        raise NotEquipped(f"`--engine dbos` comes with {distribution}", fix=install_of(distribution))
    require_admitted(part)
    return import_module(f"{distribution.replace('-', '_')}.{module}")
