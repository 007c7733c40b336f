"""Opens the store of runs that a place names: folders here, everything else through the plugin of its scheme."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

from strands_cli.errors import NotEquipped, UsageError, suggest
from strands_cli.store_place import SOURCES, secret_reference

if TYPE_CHECKING:
    from strands_cli.engine.store_port import RunStore, StoreOpener
    from strands_cli.parts.named_parts import Part
    from strands_cli.store_place import StorePlace


def open_store(place: StorePlace) -> RunStore:
    """Return the store of a place; a directory need not exist.

    Raises:
        UsageError: No store has addresses of this form, or its address names a secret without a value. NotEquipped: Its
            distribution is not installed.
        RunRecordError: It cannot be reached or used.
    """
    if place.directory is not None:
        from strands_cli.engine.stored_runs.folder_store import FolderStore

        return FolderStore(place.directory)
    from strands_cli.parts.named_parts import broken_part

    part = _part_of(place)
    opener = _imported(part)
    try:
        return opener.open(place, _whole_address(place.address))
    except ModuleNotFoundError as error:  # a plugin that imports its client when it is used
        raise broken_part(part, f"fails to load: {type(error).__name__}: {error}") from error


def opener_of(place: StorePlace) -> tuple[StoreOpener, str]:
    """Return the opener of the store of an address, and the whole address, which must not be shown.

    Raises:
        UsageError: No store has addresses of this form, or its address names a secret without a value. NotEquipped: Its
            distribution is not installed.
    """
    return _imported(_part_of(place)), _whole_address(place.address)


def require_opener(place: StorePlace) -> None:
    """Check that the opener of a store's address is installed, without importing it.

    Raises:
        UsageError: No store has addresses of this form.
        NotEquipped: Its distribution is not installed.
    """
    _part_of(place)


def _imported(part: Part) -> StoreOpener:
    from strands_cli.engine.store_port import StoreOpener
    from strands_cli.parts.named_parts import imported_with_methods

    return cast("StoreOpener", imported_with_methods(part, StoreOpener))


def _part_of(place: StorePlace) -> Part:
    from strands_cli.default_parts import STORES
    from strands_cli.parts.named_parts import names_in, part_named

    part = part_named(STORES, place.scheme)
    if part is None:
        raise _no_opener(place, list(names_in(STORES)))
    return part


def _no_opener(place: StorePlace, points: list[str]) -> NotEquipped | UsageError:
    from strands_cli.default_parts import OURS, STORES

    distribution = OURS[STORES].get(place.scheme)
    if distribution is not None:
        return NotEquipped(f"no plugin for the store {place} is installed", fix=f"pip install {distribution}")
    schemes = [*points, *OURS[STORES]]
    known = (
        "write postgresql://USER@HOST/DATABASE, name a directory with --runs-dir, or install the store's distribution"
    )
    fix = suggest(place.scheme, schemes, known)
    return UsageError(f"no store has addresses such as {place}", fix=fix)


def _whole_address(address: str) -> str:
    """Return an address with the values of the secrets that it names, encoded for their place in it."""
    from urllib.parse import quote

    from strands_cli.parts.named_parts import read_any_secret
    from strands_cli.secrets.secret_sources import SecretFault, SecretReference

    while (secret := secret_reference(address)) is not None:
        text, source, name = secret
        if source not in SOURCES:
            path, _, key = name.partition("#")
        else:
            path, key = ("", name) if SOURCES[source] == "key" else (name, "")
        reference = SecretReference("the password of the store", key or "password", source, path, Path.cwd())
        try:
            value = read_any_secret(reference, os.environ)
        except SecretFault as error:
            raise UsageError(f"the store cannot be opened: {error}", fix=error.fix) from None
        address = address.replace(text, quote(value, safe=""))
    return address
