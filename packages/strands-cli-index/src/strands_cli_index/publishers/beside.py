"""The provenance or attestation that lies beside a wheel or archive."""

from __future__ import annotations

import hashlib
from pathlib import Path

from strands_cli_index.publishers.attestations import attested_by
from strands_cli_index.publishers.attested import PublisherAttestation, unverified
from strands_cli_index.publishers.provenance_file import MAX_BYTES
from strands_cli_index.wheel_facts import read_start

# As indexes and build tools name them.
_SUFFIXES = (".provenance", ".publish.attestation")


def provenance_beside(file: Path) -> Path | None:
    """Return the file with the provenance or attestation of a wheel or archive that lies beside it; None without."""
    candidates = (file.with_name(file.name + suffix) for suffix in _SUFFIXES)
    return next((path for path in candidates if path.is_file()), None)


def attested_beside(file: Path) -> PublisherAttestation:
    """Return who published a wheel or archive, by the provenance or attestation beside it; it needs no network.

    Raises:
        OSError: The file cannot be read.
    """
    path = provenance_beside(file)
    if path is None:
        return unverified("no attestation is offered")
    try:
        raw = read_start(path, MAX_BYTES + 1)
    except OSError as error:
        return unverified(f"{path.name} cannot be read: {error.strerror}")
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return attested_by(raw, file.name, digest)
