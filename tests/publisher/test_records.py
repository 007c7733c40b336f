"""What was verified is found again by the digest of RECORD, and nothing else is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.publisher_records import (
    PublisherFacts,
    publisher_of,
    read_publisher_facts,
    record_digest,
    remove_publisher_facts,
    write_publisher_facts,
)
from strands_cli.publishers import Publisher
from tests.lock.kit import edit, install, upgrade

ACME = Publisher("github", "acme/shout", "release.yml")
NAME = "strands-tool-shout"


def published(name: str = NAME) -> PublisherFacts:
    return PublisherFacts(name, "1.0", "strands_tool_shout-1.0-py3-none-any.whl", "0" * 64, ACME, "2026-11-23")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    install(tmp_path / "site", "shout")
    return tmp_path / "site"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_DATA_HOME": str(tmp_path / "home")}


@pytest.fixture
def stored(site: Path, environ: dict[str, str]) -> Path:
    """Return the file with what was verified of the installed distribution."""
    digest = record_digest(NAME, discover_catalog([str(site)]).scan)
    assert digest is not None
    write_publisher_facts(digest, published(), environ)
    return next(Path(environ["XDG_DATA_HOME"]).rglob("*.json"))


def found(site: Path, environ: dict[str, str]) -> Publisher | None:
    return publisher_of(NAME, discover_catalog([str(site)]).scan, environ)


def test_what_was_verified_is_found_again(site: Path, environ: dict[str, str], stored: Path) -> None:
    assert read_publisher_facts(NAME, discover_catalog([str(site)]).scan, environ) == published()


def test_nothing_is_known_of_what_was_not_verified(site: Path, environ: dict[str, str]) -> None:
    assert found(site, environ) is None


def test_another_version_has_no_publisher(site: Path, environ: dict[str, str], stored: Path) -> None:
    upgrade(site)
    assert found(site, environ) is None


def test_a_changed_record_has_no_publisher(site: Path, environ: dict[str, str], stored: Path) -> None:
    edit(site, "strands_tool_shout-1.0.dist-info/RECORD", "sha256=", "sha256=A")
    assert found(site, environ) is None


def test_what_is_removed_is_not_found(site: Path, environ: dict[str, str], stored: Path) -> None:
    remove_publisher_facts(f"sha256:{stored.stem}", environ)
    assert found(site, environ) is None


BAD: dict[str, Any] = {
    "another distribution": {"distribution": "strands-tool-other"},
    "another version of the file": {"version": 2},
    "a kind that is not known": {"publisher": {"kind": "acme", "repository": "a/b", "workflow": ""}},
    "a repository that is a glob": {"publisher": {"kind": "github", "repository": "acme/*", "workflow": ""}},
    "a repository of three parts": {"publisher": {"kind": "github", "repository": "acme/a/b", "workflow": ""}},
    "a repository with a line break": {"publisher": {"kind": "github", "repository": "acme/a\n", "workflow": ""}},
    "a repository that is long": {"publisher": {"kind": "github", "repository": "a/" + "b" * 400, "workflow": ""}},
    "a publisher with one key more": {"publisher": {**ACME.as_dict(), "email": "x"}},
    "a publisher that is a text": {"publisher": "github:acme/shout"},
    "a day that is not one": {"verified": "yesterday"},
    "a file that is not a text": {"file": 3},
    "one key more": {"more": True},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_a_record_of_another_form_says_nothing(
    change: dict[str, Any], site: Path, environ: dict[str, str], stored: Path
) -> None:
    stored.write_text(json.dumps({**json.loads(stored.read_text(encoding="utf-8")), **change}), encoding="utf-8")
    assert found(site, environ) is None


@pytest.mark.parametrize("raw", [b"", b"{", b"[" * 15_000, b"\xff\xfe", b" " * 30_000])
def test_a_record_that_cannot_be_read_says_nothing(
    raw: bytes, site: Path, environ: dict[str, str], stored: Path
) -> None:
    stored.write_bytes(raw)
    assert found(site, environ) is None
