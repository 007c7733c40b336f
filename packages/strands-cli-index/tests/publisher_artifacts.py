"""The signed artifacts in `files/`, and their documents."""

from __future__ import annotations

import hashlib
from pathlib import Path

ARTIFACTS = Path(__file__).parent / "files"
GITHUB = "pypi_attestations-0.0.19.tar.gz"
WHEEL = "circleci_sign_publish_example-0.0.1.dev137-py3-none-any.whl"


def document_of(name: str) -> bytes:
    """Return the provenance document of an artifact."""
    return (ARTIFACTS / f"{name}.provenance").read_bytes()


def digest_of(name: str) -> str:
    """Return the SHA-256 of an artifact, hexadecimal."""
    return hashlib.sha256((ARTIFACTS / name).read_bytes()).hexdigest()
