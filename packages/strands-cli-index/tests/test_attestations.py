"""Attestations of real files: the right publisher is found, and nothing else passes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from publisher_artifacts import ARTIFACTS, GITHUB, WHEEL, digest_of, document_of

from strands_cli.api import Publisher
from strands_cli_index.publishers.attestations import attested_by
from strands_cli_index.publishers.beside import attested_beside

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

PROJECT = "fdd9283f-e619-46af-8f9c-851f7d3e8b2b"
PIPELINE = "8e4f8ab2-8d7c-4827-9f15-de076d6d647f"
PUBLISHERS = {
    GITHUB: Publisher("github", "trailofbits/pypi-attestations", "release.yml"),
    "gitlab_oidc_project-0.0.3.tar.gz": Publisher("gitlab", "facutuesca/gitlab-oidc-project", ".gitlab-ci.yml"),
    "gcb_attestation_test-0.0.0.tar.gz": Publisher("google", "919436158236-compute@developer.gserviceaccount.com"),
    WHEEL: Publisher("circleci", "github.com/CircleCI-Public/sign-and-publish-examples", f"{PROJECT}/{PIPELINE}"),
}


@pytest.mark.parametrize("name", PUBLISHERS)
def test_a_file_with_its_document_beside_it_has_its_publisher(name: str) -> None:
    found = attested_beside(ARTIFACTS / name)
    assert (found.status, found.publisher, found.reason) == ("verified", PUBLISHERS[name], "")


def test_one_attestation_without_a_document_names_the_publisher_of_its_certificate() -> None:
    raw = (ARTIFACTS / f"{GITHUB}.slsa.attestation").read_bytes()
    assert attested_by(raw, GITHUB, digest_of(GITHUB)).publisher == PUBLISHERS[GITHUB]


def test_a_signature_of_a_person_is_not_one_of_a_publisher() -> None:
    found = attested_beside(ARTIFACTS / "rfc8785-0.1.2-py3-none-any.whl")
    assert (found.status, found.publisher) == ("wrong", None)


def test_a_file_without_a_document_is_unverified(tmp_path: Path) -> None:
    shutil.copy(ARTIFACTS / WHEEL, tmp_path)
    assert attested_beside(tmp_path / WHEEL).status == "unverified"


def test_one_changed_byte_of_the_file_is_refused(tmp_path: Path) -> None:
    content = bytearray((ARTIFACTS / WHEEL).read_bytes())
    content[100] ^= 1
    (tmp_path / WHEEL).write_bytes(content)
    shutil.copy(ARTIFACTS / f"{WHEEL}.provenance", tmp_path)
    assert attested_beside(tmp_path / WHEEL).status == "wrong"


@pytest.mark.parametrize("name", sorted(set(PUBLISHERS) - {GITHUB}))
def test_a_document_for_another_file_is_refused(name: str) -> None:
    assert attested_by(document_of(GITHUB), name, digest_of(name)).status == "wrong"
