"""Model providers by name: the program's rows, and those of distributions, imported when a workflow names one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from strands_cli.default_parts import PROVIDERS as GROUP
from strands_cli.parts.named_parts import NamingFolder, broken_part, imported_part, names_in, part_named, parts_of
from strands_cli.provider_table import IMPORTED, PROVIDERS, Provider
from strands_cli.providers import SETTING_FIELDS

if TYPE_CHECKING:
    from strands_cli.policy.decision import Policy


def provider_names() -> list[str]:
    """Return the names of all providers, those of installed distributions at the end; nothing is imported."""
    return list(names_in(GROUP))


def provider_by_name(name: str) -> Provider | None:
    """Return a provider without an import: that of a distribution has only its name and its distribution."""
    if name in PROVIDERS:
        return PROVIDERS[name]
    part = next((part for part in parts_of(GROUP) if part.name == name), None)
    return Provider(name, f"of {part.distribution}", distribution=part.distribution) if part is not None else None


def provider_named(name: str, policy: Policy | None = None, lock: NamingFolder | None = None) -> Provider | None:
    """Return a provider; that of a distribution is imported after policy and the lock have been asked.

    Args:
        name: The name in a workflow or a command.
        policy: The policy in force; by default that of this machine and of the current directory.
        lock: The workflow that names it.

    Raises:
        Denied: Two distributions claim the name, policy denies its distribution, or it is not as it was locked.
        NotEquipped: It cannot be imported, or is not a usable `Provider`.
    """
    if name in PROVIDERS:
        return PROVIDERS[name]
    part = part_named(GROUP, name)
    if part is None:
        return None
    row = imported_part(part, policy, lock)
    if (fault := fault_of_row(row, part.name)) is not None:
        raise broken_part(part, f"is not a usable Provider: {fault}")
    IMPORTED[name] = replace(row, distribution=part.distribution)
    return IMPORTED[name]


def fault_of_row(row: object, name: str) -> str | None:
    """Return the fault that keeps an object from being the row of a provider of this name; None without a fault."""
    if not isinstance(row, Provider):
        return f"it is {type(row).__name__}, and not a strands_cli.api.Provider"
    return next(_faults(row, name), None)


def _faults(row: Provider, name: str) -> Iterator[str]:
    if row.name != name:
        yield f"its name is {row.name!r}, but its entry point has {name!r}"
    for field, kinds in _KINDS.items():
        value = getattr(row, field)
        if not isinstance(value, kinds) or isinstance(value, bool) != (kinds is bool):
            yield f"`{field}` is {value!r}"
    if row.default_host is not None and not row.default_host.startswith(("http://", "https://")):
        yield f"`default_host` is {row.default_host!r}, which is not an http or https address"
    if not (callable(row.make) or (isinstance(row.make, str) and all(row.make.partition(":")))):
        yield "`make` is neither a function nor `module:attribute`"
    yield from (f"`{field}` is not a tuple of texts" for field in _TUPLES if not _is_place(getattr(row, field)))
    if row.key_place is not None and not _is_place(row.key_place):
        yield "`key_place` is not a tuple of texts"
    for field in ("options", "needs"):
        if not _are_texts(getattr(row, field)):
            yield f"`{field}` is not a set of texts"
    if row.reads is not None and not _are_texts(row.reads):
        yield "`reads` is not a set of texts"
    for field in ("places", "sections", "option_schemas", "presets"):
        if not isinstance(getattr(row, field), Mapping):
            yield f"`{field}` is not a mapping"
    yield from (f"`keyless` has {path!r}, and not a tuple of texts" for path in row.keyless if not _is_place(path))
    yield from (
        f"`presets` has {preset!r}, and not a tuple of texts" for preset in row.presets if not _is_place(preset)
    )
    yield from (
        f"`sections` has no set of texts for {section!r}"
        for section, keys in row.sections.items()
        if not _are_texts(keys)
    )
    for setting, path in row.places.items():
        if setting not in SETTING_FIELDS:
            yield f"`places` has {setting!r}, and the settings are {', '.join(SETTING_FIELDS)}"
        elif not _is_place(path) or not path:
            yield f"the place of {setting!r} is not a tuple of texts"
    yield from (f"`needs` has {need!r}, which has no place" for need in sorted(set(row.needs) - row.places.keys()))
    for field in ("sections", "option_schemas"):
        unknown = sorted(getattr(row, field).keys() - set(row.options))
        yield from (f"`{field}` has {section!r}, which is not one of its `options`" for section in unknown)
    yield from _faulty_schemas(row)


_WORDS: tuple[type, ...] = (str, type(None))
_KINDS: dict[str, type | tuple[type, ...]] = {
    "title": str,
    "extra": _WORDS,
    "default_host": _WORDS,
    "host_variable": _WORDS,
    "client_class": _WORDS,
    "temperature_max": (int, float, type(None)),
    "least_major": (tuple, type(None)),
    "keyless": tuple,
    "passes_key": bool,
    "aws": bool,
    "adds_v1": bool,
}
_TUPLES = ("modules", "keys", "keyless_variables")


def _is_place(value: object) -> bool:
    return isinstance(value, tuple) and _are_texts(value)


def _are_texts(value: object) -> bool:
    return (
        isinstance(value, Collection)
        and not isinstance(value, (str, bytes))
        and all(isinstance(text, str) and text for text in value)
    )


def _faulty_schemas(row: Provider) -> Iterator[str]:
    if not row.option_schemas:
        return
    from jsonschema import Draft202012Validator, SchemaError

    for option, schema in row.option_schemas.items():
        checked: Any = schema
        try:
            Draft202012Validator.check_schema(checked)
        except SchemaError as error:
            yield f"the schema of the option {option!r} is not valid: {error.message}"
