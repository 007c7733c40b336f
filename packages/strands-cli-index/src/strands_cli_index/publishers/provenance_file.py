"""Read the offer about a file, a provenance document or one attestation, without believing it."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

from strands_cli_index.publishers.attested import PublisherAttestation, wrong

MAX_BYTES = 1_000_000
MAX_ATTESTATIONS = 20
MAX_DEPTH = 30


class ProvenanceError(ValueError):
    """A document is not provenance; the message gives the reason."""


def read_provenance(raw: bytes) -> list[tuple[dict[str, Any] | None, list[dict[str, Any]]]]:
    """Return the bundles of a document: the publisher that each one states, and its attestations, not verified.

    A file with one attestation is a bundle that states no publisher (None).

    Raises:
        ProvenanceError: It is not such a document, or larger than the limit.
    """
    document = _parsed(raw)
    if "attestation_bundles" not in document:
        bundles: list[tuple[dict[str, Any] | None, list[dict[str, Any]]]] = [(None, [document])]
    else:
        bundles = [*_bundles(document["attestation_bundles"])]
    if sum(len(attestations) for _, attestations in bundles) > MAX_ATTESTATIONS:
        raise ProvenanceError(f"it has more than {MAX_ATTESTATIONS} attestations")
    for _, attestations in bundles:
        for attestation in attestations:
            _require_plain(attestation)
    return bundles


def _parsed(raw: bytes) -> dict[str, Any]:
    if len(raw) > MAX_BYTES:
        raise ProvenanceError(f"it is larger than {MAX_BYTES // 1_000_000} MB")
    try:
        document = json.loads(raw.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ProvenanceError) else type(error).__name__
        raise ProvenanceError(f"it is not JSON: {reason}") from None
    if not isinstance(document, dict) or document.get("version", 1) != 1 or isinstance(document.get("version"), bool):
        raise ProvenanceError("it is not a provenance document of version 1")
    if _is_deep(document, MAX_DEPTH):
        raise ProvenanceError(f"it is nested more than {MAX_DEPTH} times")
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; two readers could take two different values of a name that occurs twice."""
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ProvenanceError("an object has a name twice")
    return mapping


def _no_constant(text: str) -> Any:
    raise ProvenanceError(f"{text} is not JSON")


def _is_deep(value: Any, left: int) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left == 0 or any(_is_deep(part, left - 1) for part in parts)


def _bundles(value: Any) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if not isinstance(value, list) or not value:
        raise ProvenanceError("it has no attestation")
    for bundle in value:
        publisher = bundle.get("publisher") if isinstance(bundle, dict) else None
        attestations = bundle.get("attestations") if isinstance(bundle, dict) else None
        if not isinstance(publisher, dict):
            raise ProvenanceError("a bundle of it states no publisher")
        if not isinstance(attestations, list) or not all(isinstance(attestation, dict) for attestation in attestations):
            raise ProvenanceError("a bundle of it has no list of attestations")
        if not attestations:
            raise ProvenanceError("a bundle of it has no attestation")
        yield publisher, attestations


def _require_plain(attestation: dict[str, Any]) -> None:
    """Require one spelling of the Base64 texts; lenient readers skip characters outside of it."""
    material, envelope = attestation.get("verification_material"), attestation.get("envelope")
    if not isinstance(material, dict) or not isinstance(envelope, dict):
        raise ProvenanceError("an attestation of it has no envelope or no certificate")
    for text in (material.get("certificate"), envelope.get("statement"), envelope.get("signature")):
        plain = text.replace("\n", "") if isinstance(text, str) else ""
        try:
            is_plain = bool(plain) and base64.b64encode(base64.b64decode(plain, validate=True)).decode() == plain
        except (binascii.Error, ValueError):
            is_plain = False
        if not is_plain:
            raise ProvenanceError("an attestation of it is not in Base64")


def wrong_document(error: ProvenanceError) -> PublisherAttestation:
    """Return the result for a file whose document cannot be read."""
    return wrong(f"its provenance cannot be read: {error}")
