"""What the requirements of a distribution lead to, and those that this environment does not meet."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.catalog.distributions.dist_info import unmet_in_closure
from strands_cli.catalog.distributions.scan import scan_installed
from tests.distributions import make_distribution


def install(site: Path, name: str, version: str, *needs: str) -> None:
    record = make_distribution(site, name, version)
    with (record / "METADATA").open("a") as stream:
        stream.writelines(f"Requires-Dist: {need}\n" for need in needs)


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        (["mcp<2.2"], ["sdk 1.62 needs mcp<2.2, and 2.3.0 is installed"]),
        (["MCP >= 2"], []),
        (["mcp~=2.3"], []),
        (["absent>1"], ["sdk 1.62 needs absent>1, which is not installed"]),
        (["absent; python_version < '3'", "absent; extra == 'x'"], []),
        (["mcp!=2.3.0", "absent"], 2),
        (["not a requirement !"], []),
    ],
)
def test_a_conflict_of_a_dependency_of_a_dependency_is_found(tmp_path: Path, needs: list[str], said: object) -> None:
    install(tmp_path, "ours", "1.0", "sdk>=1")
    install(tmp_path, "sdk", "1.62", "ours", *needs)
    install(tmp_path, "mcp", "2.3.0")
    install(tmp_path, "stranger", "1.0", "mcp<1")
    found = list(unmet_in_closure("ours", scan_installed([str(tmp_path)])))
    assert (len(found) if isinstance(said, int) else found) == said


def test_a_pre_release_that_is_installed_fits(tmp_path: Path) -> None:
    install(tmp_path, "ours", "1.0", "sdk>=1")
    install(tmp_path, "sdk", "2.0b1")
    assert list(unmet_in_closure("ours", scan_installed([str(tmp_path)]))) == []
