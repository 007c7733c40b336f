"""Names of parts that two installed distributions claim, or one that is not their owner, are warnings with a fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.default_parts import (
    COMMANDS,
    CORE,
    DEFAULTS,
    FILTERS,
    FORMATS,
    OURS,
    OWNERS,
    PART_GROUPS,
    PATTERNS,
    PROVIDERS,
    SECRETS,
    STORES,
)
from tests.cli.strands import Folder
from tests.distributions import make_distribution
from tests.wordings import Wording

# Names of every group that somebody owns; the owner of each is in `default_parts`.
OWNED = [
    (COMMANDS, "run"),
    (COMMANDS, "ui"),
    (PROVIDERS, "openai"),
    (PROVIDERS, "local"),
    (PATTERNS, "chain"),
    (FILTERS, "regex_search"),
    (SECRETS, "env"),
    (STORES, "postgresql"),
    (OWNERS, "workers"),
]


def install(site: Path, distribution: str, *claims: tuple[str, str]) -> None:
    """Install a distribution with these entry points, whose module cannot be imported."""
    points = "".join(f"[{group}]\n{name} = strands_cli_yours.faulty:value\n" for group, name in claims)
    files = {"strands_cli_yours/__init__.py": "", "strands_cli_yours/faulty.py": "raise SystemExit('imported')\n"}
    make_distribution(site, distribution, "1.0", points, files)


def contested(folder: Folder, code: int) -> list[dict[str, str]]:
    ran = folder.strands("doctor", "--no-engines", "--json")
    assert ran.code == code, ran.out + ran.err
    return [line for line in ran.document["checks"] if line["name"] == "parts"]


@pytest.mark.parametrize("group", PART_GROUPS)
def test_a_name_that_two_distributions_claim(sane: Folder, group: str, wording: Wording) -> None:
    install(sane.site, "strands-cli-yours", (group, "shelf"))
    install(sane.site, "strands-cli-theirs", (group, "shelf"))
    # What is wrong with a provider fails by itself, as none of that name can be used.
    (line,) = contested(sane, 18 if group == PROVIDERS else 0)
    assert line["status"] == "warning"
    assert all(name in line["message"] for name in ("strands-cli-yours", "strands-cli-theirs", "shelf"))
    assert "strands plugin uninstall strands-cli-" in line["fix"]
    wording(line["message"])


@pytest.mark.parametrize(("group", "name"), OWNED)
def test_a_name_that_has_an_owner_and_that_another_distribution_claims(sane: Folder, group: str, name: str) -> None:
    owner = CORE if name in DEFAULTS.get(group, {}) else OURS[group][name]
    install(sane.site, "strands-cli-yours", (group, name))
    (line,) = contested(sane, 18 if (group, name) == (PROVIDERS, "local") else 0)
    assert line["status"] == "warning"
    assert {"strands-cli-yours", owner} <= set(line["message"].replace(",", " ").split())
    assert line["fix"].endswith("strands plugin uninstall strands-cli-yours")


def test_a_name_of_the_core_that_two_others_claim_has_all_three(sane: Folder) -> None:
    install(sane.site, "strands-cli-yours", (PATTERNS, "chain"))
    install(sane.site, "strands-cli-theirs", (PATTERNS, "chain"))
    (line,) = contested(sane, 0)
    assert {"strands-cli-yours", "strands-cli-theirs", CORE} <= set(line["message"].replace(",", " ").split())


def test_each_contested_name_has_a_line_of_its_own_and_the_text_shows_the_fix(sane: Folder) -> None:
    install(sane.site, "strands-cli-yours", (PATTERNS, "chain"), (FORMATS, "shelf"), (SECRETS, "lone"))
    install(sane.site, "strands-cli-theirs", (FORMATS, "shelf"))
    assert [line["status"] for line in contested(sane, 0)] == ["warning", "warning"]
    assert sane.strands("doctor", "--no-engines").out.count("strands plugin uninstall") == 2


def test_where_each_name_has_its_owner_there_is_nothing_to_do(sane: Folder) -> None:
    install(sane.site, "strands-cli-yours", *((group, "shelf") for group in (FORMATS, SECRETS)))
    (line,) = contested(sane, 0)
    assert (line["status"], line["fix"]) == ("ok", None)


def test_another_distribution_never_becomes_the_doctor(sane: Folder) -> None:
    install(sane.site, "strands-cli-yours", (COMMANDS, "doctor"))
    (line,) = contested(sane, 0)  # ours ran, and says so
    assert line["status"] == "warning"
    assert "strands plugin uninstall strands-cli-yours" in line["fix"]


@pytest.mark.parametrize("needed", [f"{CORE}<0.1", f"{CORE}>=99,<100"])
def test_a_distribution_of_another_version_than_the_core(sane: Folder, needed: str) -> None:
    install(sane.site, "strands-cli-yours", (COMMANDS, "shelf"))
    (metadata,) = sane.site.glob("strands_cli_yours-*/METADATA")
    metadata.write_text(f"{metadata.read_text()}Requires-Dist: {needed}\n")
    ran = sane.strands("doctor", "--no-engines", "--json")
    (line,) = [line for line in ran.document["checks"] if line["name"] == "dependencies"]
    assert (ran.code, line["status"]) == (0, "warning")
    assert line["fix"] == f"pip install --upgrade {CORE} strands-cli-yours"
    broken = sane.strands("shelf")
    assert (broken.code, f"fix: {line['fix']}, or" in broken.err, line["message"] in broken.err) == (18, True, True)
