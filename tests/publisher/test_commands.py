"""A verified publisher in the commands: listings, policy and the lock, without sigstore."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.publisher_records import (
    PublisherFacts,
    record_digest,
    remove_publisher_facts,
    write_publisher_facts,
)
from strands_cli.publishers import Publisher
from tests.cli.strands import Folder
from tests.lock.kit import edit, install

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

NAME = "strands-tool-shout"
ACME = Publisher("github", "acme/shout", "release.yml")
EVIL = Publisher("github", "evil/shout", "release.yml")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Return a folder with a workflow that calls `shout`, whose publisher is verified."""
    made = Folder(tmp_path)
    made.work.mkdir()
    made.site.mkdir()
    made.environ["XDG_DATA_HOME"] = str(tmp_path / "data")
    made.environ["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    install(made.site, "shout")
    made.workflow([{"tool": "native:shout", "input": {"text": "hi"}}])
    store(made, ACME)
    yield made
    made.end_started()


def digest_in(folder: Folder) -> str:
    digest = record_digest(NAME, discover_catalog([str(folder.site)]).scan)
    assert digest is not None
    return digest


def store(folder: Folder, publisher: Publisher) -> None:
    published = PublisherFacts(
        NAME, "1.0", "strands_tool_shout-1.0-py3-none-any.whl", "0" * 64, publisher, "2026-11-23"
    )
    write_publisher_facts(digest_in(folder), published, folder.environ)


def rules(folder: Folder, *written: str) -> None:
    place = Path(folder.environ["XDG_CONFIG_HOME"]) / "strands-cli"
    place.mkdir(parents=True)
    (place / "policy.yaml").write_text("version: 1\nrules:\n" + "".join(f"  - {one}\n" for one in written))


def test_listings_show_it(folder: Folder) -> None:
    listed = folder.strands("list-tools", "--source", "--json").document["tools"]
    (tool,) = (one for one in listed if one["name"] == "shout")
    assert tool["source"]["publisher"] == ACME.as_dict()
    assert f"published: by {ACME}" in folder.strands("list-tools", "--source").out
    assert f"published: by {ACME}" in folder.strands("tools", "show", "shout").out
    plugins = {one["name"]: one["publisher"] for one in folder.strands("plugin", "list", "--json").document["plugins"]}
    assert plugins[NAME] == ACME.as_dict()
    assert f"{NAME} is published by {ACME}" in folder.strands("plugin", "list").out


def test_verify_shows_what_was_verified_and_what_was_not(folder: Folder) -> None:
    assert f"published by {ACME}" in folder.strands("plugin", "verify", NAME).out
    remove_publisher_facts(digest_in(folder), folder.environ)
    assert "publisher: unverified" in folder.strands("plugin", "verify", NAME).out
    (found,) = folder.strands("plugin", "verify", NAME, "--json").document["distributions"]
    assert found["publisher"]["status"] == "unverified"


def test_a_changed_file_has_no_verified_publisher(folder: Folder) -> None:
    edit(folder.site, "strands_tool_shout/shout.py", "def shout", "def  shout")
    done = folder.strands("plugin", "verify", NAME, "--json")
    assert done.code == 3
    assert [one["publisher"]["status"] for one in done.document["distributions"]] == ["unverified"]


def test_a_rule_on_the_publisher_decides(folder: Folder) -> None:
    rules(folder, "{allow: '*', publisher: 'github:acme/*'}", "{deny: '*', publisher: '!github:acme/*'}")
    (explained,) = folder.strands("explain", "policy", "native:shout", "--json").document["tools"]
    assert (explained["call"]["effect"], explained["publisher"]) == ("allow", ACME.word)
    assert [rule["publisher"] for rule in explained["rules"]] == [["github:acme/*"]]
    assert folder.strands("run", "flow.yaml").code == 0
    store(folder, EVIL)
    denied = folder.strands("run", "flow.yaml")
    assert (denied.code, denied.codes[-1]) == (21, "tool-denied")
    remove_publisher_facts(digest_in(folder), folder.environ)
    assert folder.strands("run", "flow.yaml").codes[-1] == "tool-denied"


def test_the_lock_notices_another_publisher_and_none(folder: Folder) -> None:
    made = folder.strands("lock", "--json")
    assert [one["publisher"] for one in made.document["distributions"]] == [ACME.as_dict()]
    assert folder.strands("run", "--yes", "flow.yaml").code == 0
    store(folder, EVIL)
    changed = folder.strands("run", "--yes", "flow.yaml")
    assert (changed.code, changed.codes[-1]) == (21, "lock-changed")
    assert str(ACME) in changed.err
    assert str(EVIL) in changed.err
    remove_publisher_facts(digest_in(folder), folder.environ)
    checked = folder.strands("lock", "--check", "--json")
    assert checked.code == 21
    (difference,) = checked.document["differences"]
    assert (difference["field"], difference["old"], difference["new"]) == ("publisher", ACME.as_dict(), None)
    vanished = folder.strands("plan", "flow.yaml")
    assert (vanished.code, vanished.codes[-1]) == (21, "lock-changed")
    assert f"strands plugin publisher {NAME}" in vanished.err
    assert folder.strands("lock", "--update", NAME).code == 0
    assert folder.strands("run", "--yes", "flow.yaml").code == 0


@pytest.mark.parametrize("command", [["list-tools", "--source"], ["plan", "flow.yaml"], ["plugin", "list"]])
def test_nothing_of_sigstore_is_imported_where_publishers_are_read(folder: Folder, command: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "strands_cli", *command],
        cwd=folder.work,
        env=folder.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-500:]
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ran.stderr.splitlines()}
    assert "strands_cli" in imported
    assert not imported & {"sigstore", "pypi_attestations", "cryptography", "tuf", "requests"}
