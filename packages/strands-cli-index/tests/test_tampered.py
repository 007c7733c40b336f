"""Tampered documents, certificates, signatures, statements, log entries, files and names: all are refused."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from publisher_artifacts import GITHUB, WHEEL, digest_of, document_of

from strands_cli_index.publishers.attestations import attested_by

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

Document = dict[str, Any]


def flipped(text: str, at: int) -> str:
    """Return Base64 of the same bytes but one."""
    raw = bytearray(base64.b64decode(text))
    raw[at % len(raw)] ^= 1
    return base64.b64encode(raw).decode()


def bundle(document: Document) -> Document:
    found: Document = document["attestation_bundles"][0]
    return found


def attestation(document: Document) -> Document:
    found: Document = bundle(document)["attestations"][0]
    return found


def material(document: Document) -> Document:
    found: Document = attestation(document)["verification_material"]
    return found


def envelope(document: Document) -> Document:
    found: Document = attestation(document)["envelope"]
    return found


def entry(document: Document) -> Document:
    found: Document = material(document)["transparency_entries"][0]
    return found


def restated(document: Document, change: Callable[[Document], object]) -> None:
    """Change the statement, which the signature covers."""
    statement = json.loads(base64.b64decode(envelope(document)["statement"]))
    change(statement)
    envelope(document)["statement"] = base64.b64encode(json.dumps(statement).encode()).decode()


OTHER: Document = json.loads(document_of(WHEEL))
VARIANTS: dict[str, Callable[[Document], object]] = {
    **{
        f"certificate, byte {at}": lambda d, at=at: material(d).update(
            certificate=flipped(material(d)["certificate"], at)
        )
        for at in (0, 40, 200, 400, 600, -1)
    },
    **{
        f"signature, byte {at}": lambda d, at=at: envelope(d).update(signature=flipped(envelope(d)["signature"], at))
        for at in (0, 5, 30, -1)
    },
    **{
        f"statement, byte {at}": lambda d, at=at: envelope(d).update(statement=flipped(envelope(d)["statement"], at))
        for at in (0, 60, 120, -1)
    },
    "statement about another name": lambda d: restated(d, lambda s: s["subject"][0].update(name=WHEEL)),
    "statement about another digest": lambda d: restated(
        d, lambda s: s["subject"][0]["digest"].update(sha256=digest_of(WHEEL))
    ),
    "statement with one subject more": lambda d: restated(d, lambda s: s["subject"].append(s["subject"][0])),
    "statement without a subject": lambda d: restated(d, lambda s: s["subject"].clear()),
    "statement of another type": lambda d: restated(d, lambda s: s.update(predicateType="https://example.com/v1")),
    "statement with a predicate": lambda d: restated(d, lambda s: s.update(predicate={"a": 1})),
    "statement in another spelling": lambda d: restated(d, lambda s: None),
    "publisher of another owner": lambda d: bundle(d)["publisher"].update(repository="evil/pypi-attestations"),
    "publisher of another repository": lambda d: bundle(d)["publisher"].update(repository="trailofbits/evil"),
    "publisher with a glob": lambda d: bundle(d)["publisher"].update(repository="trailofbits/*"),
    "publisher with a longer name": lambda d: bundle(d)["publisher"].update(
        repository="trailofbits/pypi-attestations-evil"
    ),
    "publisher of another workflow": lambda d: bundle(d)["publisher"].update(workflow="evil.yml"),
    "publisher of another service": lambda d: bundle(d).update(
        publisher={"kind": "GitLab", "repository": "trailofbits/pypi-attestations", "workflow_filepath": "release.yml"}
    ),
    "publisher of an unknown service": lambda d: bundle(d)["publisher"].update(kind="Evil"),
    "publisher that is null": lambda d: bundle(d).update(publisher=None),
    "no transparency entry": lambda d: material(d)["transparency_entries"].clear(),
    "another log index": lambda d: entry(d).update(logIndex="1"),
    "another log": lambda d: entry(d)["logId"].update(keyId=flipped(entry(d)["logId"]["keyId"], 3)),
    "another time": lambda d: entry(d).update(integratedTime=str(int(entry(d)["integratedTime"]) + 1)),
    "another log body": lambda d: entry(d).update(canonicalizedBody=entry(OTHER)["canonicalizedBody"]),
    "another promise": lambda d: entry(d)["inclusionPromise"].update(
        signedEntryTimestamp=flipped(entry(d)["inclusionPromise"]["signedEntryTimestamp"], 20)
    ),
    "another root of the log": lambda d: entry(d)["inclusionProof"].update(
        rootHash=flipped(entry(d)["inclusionProof"]["rootHash"], 0)
    ),
    "certificate of another file": lambda d: material(d).update(certificate=material(OTHER)["certificate"]),
    "envelope of another file": lambda d: attestation(d).update(envelope=envelope(OTHER)),
    "log entry of another file": lambda d: material(d).update(transparency_entries=[entry(OTHER)]),
    "bundle of another file too": lambda d: d["attestation_bundles"].append(bundle(OTHER)),
    "attestation of another file too": lambda d: bundle(d)["attestations"].append(attestation(OTHER)),
    "no bundle": lambda d: d["attestation_bundles"].clear(),
    "no attestation": lambda d: bundle(d)["attestations"].clear(),
    "more attestations than are read": lambda d: bundle(d).update(attestations=[attestation(d)] * 21),
    "another version": lambda d: d.update(version=2),
    "version that is true": lambda d: d.update(version=True),
    "another version of the attestation": lambda d: attestation(d).update(version=2),
    "Base64 with characters that are skipped": lambda d: envelope(d).update(signature=f"!{envelope(d)['signature']}"),
    "signature that is empty": lambda d: envelope(d).update(signature=""),
    "certificate that is a number": lambda d: material(d).update(certificate=3),
    "bundles that are an object": lambda d: d.update(attestation_bundles={"a": 1}),
}


@pytest.mark.parametrize("change", VARIANTS.values(), ids=VARIANTS)
def test_a_tampered_document_is_refused(change: Callable[[Document], object]) -> None:
    document = json.loads(document_of(GITHUB))
    before = copy.deepcopy(document)
    change(document)
    raw = json.dumps(document).encode()
    assert json.dumps(before).encode() != raw
    found = attested_by(raw, GITHUB, digest_of(GITHUB))
    assert (found.status, found.publisher) == ("wrong", None)
    assert found.reason


def test_what_is_tampered_with_is_sound_before() -> None:
    raw = json.dumps(json.loads(document_of(GITHUB))).encode()
    assert attested_by(raw, GITHUB, digest_of(GITHUB)).status == "verified"


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        (GITHUB, digest_of(WHEEL)),
        (GITHUB, "0" * 64),
        (GITHUB, ""),
        (GITHUB.replace("0.0.19", "0.0.20"), digest_of(GITHUB)),
        (GITHUB.replace("pypi", "evil"), digest_of(GITHUB)),
        (GITHUB.replace(".tar.gz", "-py3-none-any.whl"), digest_of(GITHUB)),
        ("no-distribution.txt", digest_of(GITHUB)),
        ("", digest_of(GITHUB)),
    ],
)
def test_a_document_proves_nothing_about_another_name_or_digest(name: str, digest: str) -> None:
    assert attested_by(document_of(GITHUB), name, digest).status == "wrong"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b'"version"',
        b"<html></html>",
        b"\xff\xfe{",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"version": NaN, "attestation_bundles": []}',
        b'{"version": 1, "version": 1, "attestation_bundles": []}',
        b'{"version": 1}',
        b" " * 1_000_001,
        document_of(GITHUB)[:-20],
    ],
    ids=range(13),
)
def test_what_is_not_a_document_is_refused(raw: bytes) -> None:
    assert attested_by(raw, GITHUB, digest_of(GITHUB)).status == "wrong"
