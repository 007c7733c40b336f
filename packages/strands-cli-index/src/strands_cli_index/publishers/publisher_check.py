"""Check who published a distribution before or after its installation, and keep the answer for policy and lock."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

from strands_cli.api import Code, Finding, PluginInstaller, StrandsCliError
from strands_cli_index.foreign_text import one_line
from strands_cli_index.installing.download import DownloadedDistribution
from strands_cli_index.installing.from_index import fetch_target
from strands_cli_index.publishers.attested import PublisherAttestation, unverified
from strands_cli_index.publishers.beside import attested_beside, provenance_beside
from strands_cli_index.publishers.index_offers import attested_by_indexes
from strands_cli_index.publishers.index_settings import find_indexes

PUBLISHER_WRONG = Code(
    "publisher-wrong",
    "The proof of a file's publisher is damaged, about another file, or signed by another.",
    "Do not install it; report it to its author and the index. Update sigstore.",
    21,
)
_REPORT = "pip install --upgrade sigstore, and try again; if it stays wrong, report it to its author and to the index"
_WIDTH = 4_000


def check_fetched(fetched: DownloadedDistribution, installer: PluginInstaller) -> PublisherAttestation:
    """Return who published a distribution before its installation.

    A proof beside the wheel counts first: a folder or a plugin index has it there. Otherwise the package indexes of the
    installer are asked, for a wheel from one.
    """
    if fetched.wheel is not None and provenance_beside(fetched.wheel) is not None:
        return attested_beside(fetched.wheel)
    if not fetched.is_indexed or fetched.plugin_index is not None:  # a package index may have another of that name
        return unverified("no attestation lies beside the file")
    return attested_by_indexes(fetched.name, _files(fetched), find_indexes(installer, os.environ))


def _files(fetched: DownloadedDistribution) -> Iterator[tuple[str, str]]:
    name = fetched.wheel.name if fetched.wheel is not None else ""  # uv states only digests
    for digest in fetched.hashes:
        yield name, digest.partition(":")[2].lower()


def keep_publisher(fetched: DownloadedDistribution, attested: PublisherAttestation) -> None:
    """Keep the publisher of a distribution whose files are installed now; forget one that proves to be wrong.

    Raises:
        ArtifactError: It cannot be written.
    """
    if attested.publisher is None and attested.status != "wrong":
        return
    has_wheel = fetched.wheel is not None
    fetched.plugin.keep_publisher(
        attested.publisher,
        file=fetched.wheel.name if fetched.wheel is not None else "",
        sha256=fetched.hashes[0].partition(":")[2] if has_wheel else "",
        day=datetime.now(UTC).date().isoformat(),
    )


def check_installed(name: str) -> PublisherAttestation:
    """Return who published an installed distribution, and keep the answer.

    Its wheel is fetched again, because a signature is about the file and not about its installed form. The answer
    counts if that wheel lists the very files that RECORD lists here.

    Raises:
        ArtifactError: The answer cannot be stored.
    """
    version = _recorded_version(name)
    if version is None:
        return unverified("it is installed in place or has no RECORD")
    installer = PluginInstaller(f"{name}=={version}")
    if not installer.is_intact(name):
        return unverified("its files are not as they were installed")
    answer = _ask_again(name, version, installer)
    before = installer.kept_publisher(name)
    if answer.status != "unverified" or before is None:
        return answer
    return unverified(f"{answer.reason}; when it was last verified: {before}")


def _recorded_version(name: str) -> str | None:
    """Return the version of a distribution whose RECORD lists its files; None of one in place, or without RECORD."""
    try:
        installed = Distribution.from_name(name)
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    is_editable = bool(origin.get("dir_info", {}).get("editable"))
    return None if is_editable or not installed.read_text("RECORD") else installed.version


def _ask_again(name: str, version: str, installer: PluginInstaller) -> PublisherAttestation:
    kind = installer.program.kind
    with tempfile.TemporaryDirectory(prefix="strands-") as folder:
        try:
            fetched = fetch_target(installer, None, Path(folder), lambda reason: False)
        except StrandsCliError:
            return unverified(f"{kind} finds no wheel of {name} {version}")
        if not fetched.plugin.is_installed():
            return unverified(f"other files are installed than those of the wheel that {kind} finds")
        attested = check_fetched(fetched, installer)
        keep_publisher(fetched, attested)
    return attested


def wrong_publisher(name: str, attested: PublisherAttestation) -> Finding:
    """Return the finding about a publisher that the offer does not prove."""
    message = f"the publisher of '{name}' is not proved: {one_line(attested.reason, _WIDTH)}"
    return Finding(PUBLISHER_WRONG, message, None, _REPORT)


def publisher_words(attested: PublisherAttestation) -> str:
    """Return `published by github:acme/tool (release.yml)`, or `publisher: unverified (REASON)`."""
    if attested.publisher is not None:
        return f"published by {attested.publisher}"
    return f"publisher: {attested.status} ({one_line(attested.reason, _WIDTH)})"
