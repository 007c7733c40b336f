"""Rules on publishers: what is unknown never fits a rule that allows, and fits all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli.errors import Denied
from strands_cli.policy.rule import Request, Rule
from strands_cli.user_files.policy_file import read_policy

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

ACME = "github:acme/shout"


def standing(effect: Any, publisher: str | None, *patterns: str) -> str:
    asked = Request(("shout", "native:shout", "strands-tool-shout/shout"), publisher=publisher)
    return Rule(effect, "*", "managed", "here", publisher=patterns).standing(asked)


@pytest.mark.parametrize("effect", ["allow", "ask", "deny"])
@pytest.mark.parametrize(
    ("pattern", "publisher", "fits"),
    [
        ("github:acme/*", ACME, "yes"),
        ("github:Acme/*", "github:aCME/shout", "yes"),
        ("github:acme/shout", ACME, "yes"),
        ("*:acme/*", "gitlab:acme/shout", "yes"),
        ("github:acme/*", "gitlab:acme/shout", "no"),
        ("github:acme/*", "github:acme-evil/shout", "no"),
        ("github:acme/*", "github:evil/acme", "no"),
        ("github:acme/shout", "github:acme/shout2", "no"),
        ("!github:acme/*", ACME, "no"),
        ("!github:acme/*", "github:evil/shout", "yes"),
    ],
)
def test_a_rule_fits_the_publishers_that_it_names(effect: str, pattern: str, publisher: str, fits: str) -> None:
    assert standing(effect, publisher, pattern) == fits


@pytest.mark.parametrize("pattern", ["github:acme/*", "!github:acme/*", "*:*"])
def test_an_unknown_publisher_fits_what_restricts_and_nothing_that_allows(pattern: str) -> None:
    assert [standing(effect, None, pattern) for effect in ("deny", "ask", "allow")] == ["yes", "yes", "no"]


def read(folder: Path, written: str) -> tuple[str, ...]:
    file = folder / "policy.yaml"
    file.write_text(f"version: 1\nrules:\n  - allow: '*'\n    publisher: {written}\n", encoding="utf-8")
    return read_policy(file, "user").rules[0].publisher


@pytest.mark.parametrize(
    ("written", "patterns"),
    [
        ("github:acme/*", ("github:acme/*",)),
        ("'!github:acme/*'", ("!github:acme/*",)),
        (
            "[github:acme/*, 'google:*@acme.iam.gserviceaccount.com']",
            ("github:acme/*", "google:*@acme.iam.gserviceaccount.com"),
        ),
    ],
)
def test_a_policy_file_names_publishers(written: str, patterns: tuple[str, ...], tmp_path: Path) -> None:
    assert read(tmp_path, written) == patterns


@pytest.mark.parametrize(
    "written", ["acme", "acme/*", "githib:acme/*", "'github:'", "'github:acme/[a]'", "{}", "[]", "3", "!github:acme/*"]
)
def test_a_text_that_names_no_publisher_stops_everything(written: str, tmp_path: Path) -> None:
    with pytest.raises(Denied) as caught:
        read(tmp_path, written)
    assert {finding.code for finding in caught.value.findings} == {"bad-policy"}
