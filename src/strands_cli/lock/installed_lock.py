"""Describe what is installed as values of a lock, from metadata and files, without importing a plugin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.dependencies import pin_of
from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.catalog.distributions.module_files import find_package
from strands_cli.catalog.distributions.scan import search_path
from strands_cli.catalog.import_files import files_to_import
from strands_cli.catalog.installed_files import UNREADABLE, digest_of_file, files_of
from strands_cli.catalog.publisher_records import publisher_of
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import NotEquipped
from strands_cli.lock.format.lock_model import LockedDistribution, LockedModule, LockedTool
from strands_cli.toolref import ToolRef

_NOTHING: Mapping[str, Iterable[str]] = MappingProxyType({})
_FIELDS = ("description", "input_schema", "output_schema", "annotations", "strands_cli", "entry")


def lock_distributions(
    used: Iterable[ToolRecord], catalog: Catalog, required: Mapping[str, Iterable[str]] = _NOTHING
) -> dict[str, LockedDistribution]:
    """Return the distributions of the used tools, each with all of its tools.

    Args:
        required: The names of the distributions to pin with each one; none by default.
    """
    records: dict[str, list[ToolRecord]] = {}
    for record in used:
        records.setdefault(record.distribution, []).append(record)
    for record in catalog.tools:
        if record.distribution in records and record.status != "broken":
            records[record.distribution].append(record)
    locked = {name: _distribution(name, its, catalog) for name, its in sorted(records.items())}
    return {name: one._replace(requires=_pins(required.get(name, ()), catalog.seen)) for name, one in locked.items()}


def lock_modules(name: str, modules: Iterable[str], seen: Scan, required: Iterable[str]) -> LockedDistribution:
    """Return an installed distribution that is used for these modules, not for tools: one of hook plugins."""
    site, dist_info = seen.records[name][0]
    modules = set(modules)
    packages = [find_package(module.partition(".")[0], seen.listings, site) for module in modules]
    locations = [place for package in packages if package and (place := package.directory or package.file)]
    files, editable = files_of(site, dist_info, locations, list(seen.listings), modules)
    pins = _pins(required, seen)
    return LockedDistribution(name, seen.version(name), files, {}, editable, pins, publisher_of(name, seen))


def _pins(names: Iterable[str], seen: Scan) -> dict[str, str]:
    return {name: pin for name in names if (pin := pin_of(name, seen)) is not None}


def _distribution(name: str, records: Sequence[ToolRecord], catalog: Catalog) -> LockedDistribution:
    site = records[0].path
    copies = catalog.seen.records.get(name, [])
    dist_info = next((record for directory, record in copies if directory == site), "")
    locations = [record.location for record in records if record.location]
    path = list(catalog.seen.listings)
    files, editable = files_of(site, dist_info, locations, path, {record.module for record in records})
    tools = {tool.name: tool for record in records for tool in _tools(record)}
    publisher = publisher_of(name, catalog.seen)
    return LockedDistribution(name, records[0].version, files, tools, editable, publisher=publisher)


def _tools(record: ToolRecord) -> Iterator[LockedTool]:
    for one in record.members or (record,):
        fields = {name: value for name in _FIELDS if (value := _plain(getattr(one, name)))}
        unknown = one.kind == "unknown" or one.status == "unknown" or one.members is None
        yield LockedTool.of(one.ref_name, {"name": one.ref_name, **fields}, after_load=unknown)


def _plain(value: Any) -> Any:
    """Return a value as JSON; a TOOL_SPEC that is read from source may contain any Python literal."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else repr(value)


def lock_module(ref: ToolRef, folder: Path, python_path: Sequence[str]) -> LockedModule:
    """Return custom Python with its file and the `__init__` files of its parent packages, without importing it.

    `sys.path` is searched before the folders, as when the module is loaded.

    Args:
        python_path: Folders for custom Python, relative to `folder`.
    """
    path = [*search_path(), *(str((folder / name).resolve()) for name in python_path)]
    digests = {name: digest_of_file(file) for name, file in files_to_import(ref.module or "", path)}
    return LockedModule(ref.canonical, {name: digest for name, digest in digests.items() if digest})


def require_readable(name: str, files: Mapping[str, str]) -> None:
    """Refuse to lock files that cannot be read or named, or a distribution without files.

    Raises:
        NotEquipped: There is such a file, or there is no file.
    """
    bad = sorted(path for path, digest in files.items() if digest == UNREADABLE)
    if bad:
        raise NotEquipped(f"files of {name} cannot be read: {', '.join(bad[:5])}", fix="correct their permissions")
    if unnamed := sorted(path for path in files if path != path.encode("utf-8", "replace").decode()):
        shown = ", ".join(map(ascii, unnamed[:5]))
        raise NotEquipped(f"files of {name} have names that are not UTF-8: {shown}", fix="rename or remove them")
    if not files:
        raise NotEquipped(f"no file of {name} is found", fix="install it again, or correct the reference")
