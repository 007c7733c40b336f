"""Verify the attestations of a file with sigstore's own trusted root, without a network."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.api import Publisher
from strands_cli_index.publishers.attested import EXTRA, PublisherAttestation, unverified, wrong
from strands_cli_index.publishers.provenance_file import ProvenanceError, read_provenance, wrong_document

if TYPE_CHECKING:
    from pypi_attestations import Attestation, Distribution

# https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md
_OID = "1.3.6.1.4.1.57264.1."
_ISSUER, _SIGNER, _REPOSITORY, _CONFIG = f"{_OID}8", f"{_OID}9", f"{_OID}12", f"{_OID}18"
_GITHUB, _GITLAB = "https://token.actions.githubusercontent.com", "https://gitlab.com"
_GOOGLE, _CIRCLECI = "https://accounts.google.com", "https://oidc.circleci.com"
_PROJECTS = "https://circleci.com/api/v2/projects/"
_MAX_REASON = 200
# The library's text before each reason.
_PREFIX = "Verification failed: "


class _RefusedError(Exception):
    """Why an attestation proves nothing."""


def attested_by(raw: bytes, name: str, digest: str) -> PublisherAttestation:
    """Return who published a file, by a provenance document or an attestation about it.

    Every attestation must be signed by the publisher that the document states, for this name and this digest, with
    a certificate and a log entry that sigstore's trusted root on this machine vouches for. No network is used.

    Args:
        raw: The document.
        name: The name of the file, as the index has it.
        digest: The SHA-256 of the file, hexadecimal.
    """
    try:
        bundles = read_provenance(raw)
    except ProvenanceError as error:
        return wrong_document(error)
    try:
        from pypi_attestations import Distribution
        from sigstore.verify import Verifier
    except ImportError:
        return unverified(EXTRA)
    with _quiet_sigstore():
        try:
            Verifier.production(offline=True)
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing is verified
            return unverified(f"sigstore does not start here: {_plain(error)}")
        try:
            file = Distribution(name=name, digest=digest)
            publishers = {
                _signer(stated, attestation, file) for stated, attestations in bundles for attestation in attestations
            }
        except _RefusedError as error:
            return wrong(str(error))
        except Exception as error:  # noqa: BLE001 - parsers of certificates raise many kinds
            return wrong(f"its attestation cannot be read: {_plain(error)}")
    if len(publishers) != 1:
        return wrong(f"its attestations have several publishers: {', '.join(sorted(map(str, publishers)))}")
    return PublisherAttestation("verified", publishers.pop())


@contextlib.contextmanager
def _quiet_sigstore() -> Iterator[None]:
    """Keep sigstore's warning that it is offline off the terminal; its results are in its exceptions."""
    logger = logging.getLogger("sigstore")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _signer(statement: Mapping[str, Any] | None, attestation: dict[str, Any], file: Distribution) -> Publisher:
    """Return who signed an attestation for a file, and refuse one by another than the document states."""
    from pydantic import TypeAdapter, ValidationError
    from pypi_attestations import Attestation, AttestationError
    from pypi_attestations import Publisher as Stated

    try:
        read = Attestation.model_validate(attestation)
        signer = _certified(read)
        by_certificate = _as_stated(signer)
        identity = TypeAdapter(Stated).validate_python(by_certificate if statement is None else dict(statement))
    except ValidationError as error:
        raise _RefusedError(f"its attestation cannot be read: {_plain(error)}") from None
    try:
        read.verify(identity, file, offline=True)
    except AttestationError as error:
        raise _RefusedError(_plain(error).removeprefix(_PREFIX)) from None
    if statement is not None:  # the reported publisher must be the verified one, word for word
        read.verify(TypeAdapter(Stated).validate_python(by_certificate), file, offline=True)
    return signer


def _certified(attestation: Attestation) -> Publisher:
    """Return the publisher that the certificate of an attestation names."""
    claims = attestation.certificate_claims
    issuer, repository = claims.get(_ISSUER), claims.get(_REPOSITORY, "")
    try:
        if issuer == _GITHUB:
            return _of_service("github", "https://github.com/", "/.github/workflows/", claims)
        if issuer == _GITLAB:
            return _of_service("gitlab", "https://gitlab.com/", "//", claims)
        if issuer == _GOOGLE:
            return Publisher.checked("google", _address(attestation), "")
        if issuer == _CIRCLECI and claims.get(_SIGNER, "").startswith(_PROJECTS):
            project, _, pipeline = claims[_SIGNER].removeprefix(_PROJECTS).partition("/pipeline-definitions/")
            return Publisher.checked("circleci", repository or project, f"{project}/{pipeline}")
    except ValueError as error:
        raise _RefusedError(f"its certificate names no publisher: {error}") from None
    raise _RefusedError(f"it is signed by an account of {_plain(issuer)}, not by the workflow of a repository")


def _of_service(kind: str, prefix: str, between: str, claims: Mapping[str, str]) -> Publisher:
    repository = claims.get(_REPOSITORY, "").removeprefix(prefix)
    config, _, _ = claims.get(_CONFIG, "").rpartition("@")
    start = f"{prefix}{repository}{between}"
    if not config.startswith(start):
        raise ValueError("its workflow is of another repository")
    return Publisher.checked(kind, repository, config.removeprefix(start))


def _address(attestation: Attestation) -> str:
    from cryptography import x509

    certificate = x509.load_der_x509_certificate(attestation.verification_material.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = names.get_values_for_type(x509.RFC822Name)
    if len(addresses) != 1:
        raise ValueError("it has not one address")
    return str(addresses[0])


def _as_stated(publisher: Publisher) -> dict[str, Any]:
    """Return a publisher as a provenance document states one."""
    if publisher.kind == "google":
        return {"kind": "Google", "email": publisher.repository}
    if publisher.kind == "circleci":
        project, _, pipeline = publisher.workflow.partition("/")
        origin = publisher.repository if publisher.repository != project else None
        return {
            "kind": "CircleCI",
            "project_id": project,
            "pipeline_definition_id": pipeline,
            "vcs_origin": origin,
        }
    if publisher.kind == "gitlab":
        return {"kind": "GitLab", "repository": publisher.repository, "workflow_filepath": publisher.workflow}
    return {"kind": "GitHub", "repository": publisher.repository, "workflow": publisher.workflow}


def _plain(error: object) -> str:
    """Return the first line of a message, short enough for a line of ours."""
    first = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return first if len(first) <= _MAX_REASON else f"{first[:_MAX_REASON]}…"
