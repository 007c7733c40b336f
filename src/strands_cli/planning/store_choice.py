"""Where the runs of a person are stored: an option, a variable, the user's config file, or the default directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.config import REFERENCES, Settings, load_settings
from strands_cli.errors import UsageError
from strands_cli.store_place import (
    SOURCES,
    StorePlace,
    has_wrong_reference,
    is_address,
    other_sources,
    without_password,
)

if TYPE_CHECKING:
    from strands_cli.user_files.user_config import ConfigPart

_FORM = "write `store: postgresql://USER@HOST/DATABASE`, or a mapping with `address` and `password`"


def store_place_of(settings: Settings) -> StorePlace:
    """Return where runs are stored; the config file is only read where neither an option nor a variable chooses.

    Raises:
        InvalidInput: The user's config file is not valid.
        UsageError: The address refers to a source of secrets that is not installed.
    """
    if not settings.is_chosen and (address := _configured(settings.user_config)):
        return _place_at(address)
    return _place_at(settings.store) if settings.store else StorePlace(settings.runs_dir)


def _place_at(address: str) -> StorePlace:
    if not _has_known_sources(address):
        # Not which word: it may be the beginning of a password.
        raise UsageError("the braces in the address of the store do not refer to a secret", fix=_references())
    return StorePlace(address=address, sources=other_sources(address))


def _has_known_sources(address: str) -> bool:
    """Return whether a program's or an installed distribution's source is before each colon in braces."""
    sources = other_sources(address)
    return not sources or set(sources) <= set(_installed_sources())


def _installed_sources() -> list[str]:
    from strands_cli.default_parts import DEFAULTS, SECRETS
    from strands_cli.parts.named_parts import names_in

    return [name for name in names_in(SECRETS) if name not in DEFAULTS[SECRETS]]


def _references() -> str:
    also = ", ".join(f"{{{name}:PATH#KEY}}" for name in _installed_sources())
    return f"{REFERENCES}; installed too: {also}" if also else REFERENCES


def chosen_place(runs_dir: Path | None = None, store: str | None = None) -> StorePlace:
    """Return where the runs are that options name; without any, where they are stored by default.

    Raises:
        UsageError: Both are given, or the store is not an address.
        InvalidInput: The user's config file is not valid.
    """
    return store_place_of(load_settings(runs_dir=runs_dir, store=store))


def _configured(config: Path | None) -> str:
    """Return the address that a config file has; empty without one."""
    if config is None or not os.path.lexists(config):
        return ""
    from strands_cli.user_files.user_config import ConfigPart  # YAML: most have no such file

    part = ConfigPart.read("store", "stores", config)
    if part is None:
        return ""
    address = _address_in(part)
    part.require_valid()
    return address


def _name_of(value: Mapping[str, Any], source: str) -> Any:
    """Return what an address has after the source of a password: one word, or `PATH#KEY` for that of a distribution."""
    if source in SOURCES:
        return value.get(SOURCES[source], "")
    path, key = value.get("path", ""), value.get("key", "")
    return f"{path}#{key}" if isinstance(path, str) and isinstance(key, str) and path and key else path


def _address_in(part: ConfigPart) -> str:
    """Return the address of a store with the reference to its password in it; report what is wrong with it."""
    if part.value is None:
        return ""
    whole = part.value if isinstance(part.value, Mapping) else {"address": part.value}
    part.check_keys("/store", dict(whole), ("address", "password"), "a store")
    text = whole.get("address")
    if not isinstance(text, str) or not is_address(text):
        part.report("/store", "`store` is the address of a store", _FORM)
        return ""
    if has_wrong_reference(text) or not _has_known_sources(text):
        part.report("/store", "the braces in `store` do not refer to a secret", _references())
    return _with_password(part, text, whole["password"]) if "password" in whole else text


def _with_password(part: ConfigPart, address: str, value: Any) -> str:
    source = value.get("source", "env") if isinstance(value, dict) else None
    name = _name_of(value, str(source)) if isinstance(value, dict) else ""
    if not isinstance(name, str) or not name.strip() or set(name) & set("{}"):
        example = "`{source: env, key: PGPASSWORD}` or `{source: file, path: /run/secrets/postgres}`"
        part.report("/store/password", f"`password` is a reference to a secret, such as {example}")
        return address
    scheme, _, rest = without_password(address).partition("://")
    user, at, place = rest.partition("@")
    if not at:
        part.report("/store/address", "an address with a password names its user: postgresql://USER@HOST/...")
    return f"{scheme}://{user}:{{{source}:{name}}}@{place}" if at else address
