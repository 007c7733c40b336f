"""What the workflows of a folder use of a distribution, so that removing it surprises none of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import read_settings
from strands_cli.plugins.switching import workflows_naming
from tests.distributions import make_distribution

POINTS = """\
[strands_cli.providers]
parrot = strands_cli_uses:missing
[strands_cli.filters]
shout = strands_cli_uses:shout
[strands_cli.secrets]
vault = strands_cli_uses:vault
[strands_cli.formats]
version-9 = strands_cli_uses:nine
"""
MODULE = """
from strands_cli.api import Translation


def nine(document):
    return Translation({**document, "version": 2})
"""
FLOW = {
    "version": 2,
    "name": "flow",
    "runtime": {"provider": "replay", "recording": "flow.recording.yaml"},
    "agents": {"writer": {"prompt": "You write."}},
    "pattern": {"type": "chain", "config": {"steps": [{"agent": "writer", "input": "x"}]}},
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site"
    make_distribution(site, "strands-cli-uses", "1.0", POINTS, {"strands_cli_uses.py": MODULE})
    monkeypatch.syspath_prepend(str(site))
    return site


def used(tmp_path: Path, **changed: object) -> list[str]:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "flow.recording.yaml").write_text("recording: 1\nsteps: {}\n", encoding="utf-8")
    (folder / "flow.yaml").write_text(yaml.safe_dump({**FLOW, **changed}), encoding="utf-8")
    settings = read_settings({**os.environ, "XDG_CONFIG_HOME": str(tmp_path)})
    found = workflows_naming("strands-cli-uses", folder, discover_catalog(), settings)
    return found[folder / "flow.yaml"].parts if found else []


STEPS = {"type": "chain", "config": {"steps": [{"agent": "writer", "input": "{{ 'x' | shout }}"}]}}


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"pattern": STEPS}, "`shout`"),
        ({"env": {"secrets": [{"key": "token", "source": "vault"}]}}, "`vault`"),
        ({"version": 9}, "`version-9`"),
        ({"runtime": {"provider": "parrot", "model_id": "x"}}, "`parrot`"),
        ({}, ""),
    ],
)
def test_a_part_that_a_workflow_names(site: Path, tmp_path: Path, changed: dict[str, object], word: str) -> None:
    found = used(tmp_path, **changed)
    assert len(found) == bool(word)
    assert word in "".join(found)


def test_a_name_that_another_distribution_claims_too_keeps_none_from_being_removed(site: Path, tmp_path: Path) -> None:
    make_distribution(site, "strands-cli-more", "1.0", "[strands_cli.filters]\nshout = json:loads\n", {})
    assert used(tmp_path, pattern=STEPS) == []
