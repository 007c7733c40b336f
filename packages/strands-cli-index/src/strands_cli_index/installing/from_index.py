"""Fetch a release of a plugin index: exactly the wheel whose digest the index states, read as any other wheel."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from strands_cli.api import Code, Denied, Finding, PluginInstaller, Where
from strands_cli_index.installing.download import DownloadedDistribution, fetch, unpack_wheel
from strands_cli_index.reading.index_places import IndexLocation, configured_locations, parse_locations
from strands_cli_index.reading.releases import IndexedFile, Release, choose_file, find_release
from strands_cli_index.reading.site_files import MAX_BYTES, WHEELS
from strands_cli_index.reading.web_server import unreachable

INDEX_UNTRUE = Code(
    "index-untrue",
    "A wheel has another digest, name or version than the plugin index states.",
    "Do not install it; report it to the index.",
    21,
)


def release_for(installer: PluginInstaller, indexes: Sequence[str]) -> Release | None:
    """Return the release that a person means in the indexes; None if pip's own index, or a file, provides it.

    Args:
        indexes: Folders and addresses; without any, those of the config file.

    Raises:
        UsageError: One of them is not an index.
        InvalidInput: No index has it, or an index or the config file is not right.
        NotEquipped: An index cannot be read.
        Denied: Two indexes contradict each other.
    """
    target = installer.target
    if target.name is None:
        return None
    places = parse_locations(indexes) if indexes else configured_locations()
    return find_release(target.name, target.specifier, places) if places else None


def fetch_target(
    installer: PluginInstaller,
    release: Release | None,
    folder: Path,
    may_build: Callable[[str], bool],
) -> DownloadedDistribution:
    """Fetch the target of an installer: the release of an index, or the wheel from pip or uv.

    Args:
        release: The result of `release_for`.
        folder: An empty folder.
        may_build: Called with the reason before a wheel is built, because a build runs unreviewed code.

    Raises:
        Denied: It is not the wheel that the index states.
        NotEquipped: There is no wheel for this machine, or it cannot be read.
        InvalidInput: It is not a wheel.
        UsageError: Building a folder or an archive is not allowed.
    """
    if release is None:
        return fetch(installer, folder, may_build)
    return _fetch_release(release, installer, folder)


def _fetch_release(release: Release, installer: PluginInstaller, folder: Path) -> DownloadedDistribution:
    """Get the wheel of a release, and check its digest before anything of it is read."""
    file = choose_file(release)
    wheels = folder / "as-indexed"
    wheels.mkdir()
    wheel = wheels / file.name
    where = _get(release.place, file, wheel)
    tree = folder / "tree"
    tree.mkdir()
    fetched = unpack_wheel(wheel, tree, installer)
    if fetched.version != release.version or fetched.name != release.name:
        raise _untrue(f"it is {fetched.name} {fetched.version}, not {release.name} {release.version}", where)
    return replace(fetched, is_indexed=True, plugin_index=str(release.place))


def _get(location: IndexLocation, file: IndexedFile, wheel: Path) -> str:
    """Write the wheel, and beside it the proof of its publisher; return where it came from."""
    where, digest = _written(location, file.name, wheel, file.size)
    if digest != file.sha256:
        raise _untrue(f"its SHA-256 is {digest}, not {file.sha256}", where)
    if file.provenance is not None:
        _written(location, file.provenance, wheel.with_name(file.provenance), MAX_BYTES)
    return where


def _written(location: IndexLocation, name: str, target: Path, limit: int) -> tuple[str, str]:
    """Write a file of the folder of wheels, and return where it came from, and its digest."""
    if location.url is not None:
        from strands_cli_index.reading.web_server import download

        where = f"{location.url}{WHEELS}/{name}"
        return where, download(where, target, limit)
    source = (location.folder or Path()) / WHEELS / name
    try:
        with source.open("rb") as stream, target.open("wb") as written:
            shutil.copyfileobj(stream, written)
        with target.open("rb") as stream:
            return str(source), hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise unreachable(str(location), f"{error.strerror} ({name})") from None


def _untrue(reason: str, where: str) -> Denied:
    message = f"the wheel is not what the index states: {reason}"
    return Denied(message, findings=[Finding(INDEX_UNTRUE, message, Where(where))])
