"""The check of a store for `strands doctor`: its facts, its warnings, or why it cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from strands_cli.config import Settings
from strands_cli.engine.stored_runs.opened_store import opener_of, store_at
from strands_cli.engine.stored_runs.run_owners import installed_owners
from strands_cli.errors import StrandsCliError
from strands_cli.hooks.hook_values import Check
from strands_cli.planning.store_choice import store_place_of
from strands_cli.store_place import StorePlace

_NAME = "store"
_WARNING, _FIX = "warning: ", "; fix: "


def check_store(settings: Settings) -> Iterator[Check]:
    """Connect to the chosen store and report what it is; nothing for a directory, which has a check of its own.

    No line has a password: neither those of a place nor those of a store do.
    """
    try:
        place = store_place_of(settings)
        if place.directory is not None:
            return
        opener, address = opener_of(place)
        lines = opener.check(place, address)
    except StrandsCliError as error:
        yield Check(_NAME, "failed", error.findings[0].message if error.findings else error.message, error.fix)
        return
    yield Check(_NAME, "ok", f"{place} can be used")
    yield from map(_check_of, lines)
    yield from _check_owners(place)


def _check_owners(place: StorePlace) -> Iterator[Check]:
    """Report what the owners of runs that are installed, such as workers, have in the store."""
    try:
        owners = list(installed_owners())
        if not owners:
            return
        with closing(store_at(place)) as store:
            for name, owner in owners:
                yield from (Check(name, "ok", line) for line in owner.check(store))
    except StrandsCliError as error:
        yield Check("owners", "warning", error.message, error.fix)


def _check_of(line: str) -> Check:
    if not line.startswith(_WARNING):
        return Check(_NAME, "ok", line)
    text, _, fix = line.removeprefix(_WARNING).partition(_FIX)
    return Check(_NAME, "warning", text, fix or None)
