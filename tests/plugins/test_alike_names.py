"""Names that some disks do not tell from those of installed packages are found before an installation."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.plugins.unpacked_plugin import UnpackedPlugin


def wrongs(tree: Path, *names: str) -> list[str]:
    info = tree / "new_tool-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: new-tool\nVersion: 1\n")
    for name in names:
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("")
    return [finding.message for finding in UnpackedPlugin("new-tool", tree, info).collisions()]


@pytest.mark.parametrize(
    "name",
    [
        "Strands_cli/x.py",
        "STRANDS_CLI/__init__.py",
        "Jinja2/x.py",
        "\uff4ainja2/x.py",
        "YAML/x.py",
        "\u017ftrands_cli/x.py",
        "Anyio/a.py",
    ],
)
def test_a_package_that_differs_in_case_or_form_only_is_found(name: str, tmp_path: Path) -> None:
    assert any(f"install {name.partition('/')[0]}, " in wrong for wrong in wrongs(tmp_path / "tree", name))


@pytest.mark.parametrize("name", ["SiteCustomize.py", "UserCustomize/__init__.py", "a.PTH"])
def test_what_runs_at_the_start_is_found_in_any_case(name: str, tmp_path: Path) -> None:
    assert any("whenever Python starts" in wrong for wrong in wrongs(tmp_path / "tree", name))


def test_a_name_of_its_own_is_not_reported(tmp_path: Path) -> None:
    assert wrongs(tmp_path / "tree", "new_tool/__init__.py", "new_tool/jinja2.py", "strands_client.py") == []
