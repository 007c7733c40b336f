"""Check who published what is about to be installed, or is installed, and keep the answer by the digest of RECORD."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.catalog.publisher_records import (
    Published,
    read_published,
    record_digest,
    record_digest_of_wheel,
    remove_published,
    write_published,
)
from strands_cli.errors import ArtifactError, Code, StrandsCliError
from strands_cli.plugins.install.from_index import fetch_target
from strands_cli.plugins.install.requirement import InstallTarget
from strands_cli.plugins.publisher.attested import Attested, unverified
from strands_cli.plugins.publisher.beside import attested_beside, provenance_beside
from strands_cli.plugins.publisher.index_offers import attested_by_indexes
from strands_cli.plugins.publisher.index_settings import find_indexes

if TYPE_CHECKING:
    from strands_cli.catalog.distributions.entry_points import Scan
    from strands_cli.plugins.install.download import Fetched
    from strands_cli.plugins.install.installer import Installer

PUBLISHER_WRONG = Code(
    "publisher-wrong",
    "What is offered as proof of a file's publisher is damaged, about another file, or signed by another.",
    "Do not install it; report it to its author and to the index, and see that sigstore is up to date.",
    21,
)


def check_fetched(fetched: Fetched, installer: Installer) -> Attested:
    """Return who published a distribution that is not installed yet.

    What lies beside the wheel counts first: a folder or a plugin index has it there. Otherwise the package indexes of
    the installer are asked, for what came from one.
    """
    if fetched.wheel is not None and provenance_beside(fetched.wheel) is not None:
        return attested_beside(fetched.wheel)
    if not fetched.is_indexed or fetched.plugin_index is not None:  # a package index may have another of that name
        return unverified("no attestation lies beside the file")
    return attested_by_indexes(fetched.name, _files(fetched), find_indexes(installer, os.environ))


def _files(fetched: Fetched) -> Iterator[tuple[str, str]]:
    name = fetched.wheel.name if fetched.wheel is not None else ""  # uv states only digests
    for digest in fetched.hashes:
        yield name, digest.partition(":")[2].lower()


def keep_publisher(fetched: Fetched, attested: Attested, seen: Scan) -> bool:
    """Store the publisher of a distribution that is installed now; return whether it is known from now on.

    What an earlier check of the same files has found is removed where this one has found nothing.

    Args:
        seen: What is installed, read after the installation.

    Raises:
        ArtifactError: It cannot be written.
    """
    digest = record_digest(fetched.name, seen)
    if digest is None or digest != _digest_of(fetched):
        return False
    file = fetched.wheel.name if fetched.wheel is not None else ""
    try:
        if attested.publisher is None:
            if attested.status == "wrong":
                remove_published(digest)
            return False
        checksum = fetched.hashes[0].partition(":")[2] if fetched.wheel is not None else ""
        day = datetime.now(UTC).date().isoformat()
        write_published(digest, Published(fetched.name, fetched.version, file, checksum, attested.publisher, day))
    except OSError as error:
        message = f"the publisher cannot be stored: {error.strerror}"
        raise ArtifactError(message, fix="correct the permissions, or set XDG_DATA_HOME") from error
    return True


def _digest_of(fetched: Fetched) -> str | None:
    """Return the digest of RECORD that the fetched files will have when they are installed."""
    return record_digest_of_wheel(str(fetched.dist_info), is_mixed=fetched.wheel is None)


def stored_publisher(name: str, seen: Scan, environ: Mapping[str, str] | None = None) -> Attested:
    """Return the publisher of an installed distribution as it was verified earlier; nothing is asked."""
    found = read_published(name, seen, environ)
    return Attested("verified", found.publisher) if found is not None else unverified("it was not verified here")


def check_installed(name: str, seen: Scan, installer: Installer) -> Attested:
    """Return who published an installed distribution, and keep the answer.

    Its wheel is fetched again, because a signature is about the file and not about what an installer made of it. The
    answer counts if that wheel lists the very files that RECORD lists here.

    Raises:
        ArtifactError: The answer cannot be stored.
    """
    asked = _ask_again(name, seen, installer)
    before = stored_publisher(name, seen).publisher
    if asked.status != "unverified" or before is None:
        return asked
    return unverified(f"{asked.reason}; when it was last verified: {before}")


def _ask_again(name: str, seen: Scan, installer: Installer) -> Attested:
    version, digest = seen.version(name), record_digest(name, seen)
    if digest is None or version is None:
        return unverified("it is installed in place or has no RECORD")
    with tempfile.TemporaryDirectory(prefix="strands-") as folder:
        try:
            wanted = InstallTarget(name, "", f"=={version}")
            fetched = fetch_target(wanted, None, installer, Path(folder), lambda reason: False)
        except StrandsCliError:
            return unverified(f"{installer.kind} finds no wheel of {name} {version}")
        if _digest_of(fetched) != digest:
            return unverified(f"other files are installed than those of the wheel that {installer.kind} finds")
        attested = check_fetched(fetched, installer)
        keep_publisher(fetched, attested, seen)
    return attested
