"""The check of a store for `strands doctor`: its facts, its warnings, or why it cannot be used."""

from __future__ import annotations

from collections.abc import Iterator

from strands_cli.engine.stored_runs.opened_store import opener_of
from strands_cli.errors import StrandsCliError
from strands_cli.hooks import Check
from strands_cli.store_place import StorePlace

_NAME = "store"
_WARNING, _FIX = "warning: ", "; fix: "


def check_store(place: StorePlace) -> Iterator[Check]:
    """Connect to a store and report what it is; nothing for a directory, which has a check of its own.

    No line has a password: neither those of a place nor those of a store do.
    """
    if place.directory is not None:
        return
    try:
        opener, address = opener_of(place)
        lines = opener.check(place, address)
    except StrandsCliError as error:
        yield Check(_NAME, "failed", error.message, error.fix)
        return
    yield Check(_NAME, "ok", f"{place} can be used")
    yield from map(_check_of, lines)


def _check_of(line: str) -> Check:
    if not line.startswith(_WARNING):
        return Check(_NAME, "ok", line)
    text, _, fix = line.removeprefix(_WARNING).partition(_FIX)
    return Check(_NAME, "warning", text, fix or None)
