"""The template, filled in, is a distribution that builds, is discovered and passes its own tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CLONE = Path(__file__).parents[2]
TEMPLATE = CLONE / "packages" / "_template"
PLACES = {
    "NAME-WITH-DASHES": "word-count",
    "NAME": "word_count",
    "SUMMARY": "Count the words of a text",
    "AUTHOR": "Jo Doe",
    "FAMILY": "text",
    "CATEGORY": "compute",
}


def filled(text: str) -> str:
    """Return a text with every placeholder replaced, the longer of two that overlap first."""
    for place, words in PLACES.items():
        text = text.replace(place, words)
    return text


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fill the template in, as its README says."""
    target = tmp_path_factory.mktemp("filled") / "strands-tool-word-count"
    for source in TEMPLATE.rglob("*"):
        if source.is_file() and "__pycache__" not in source.parts:
            copy = target / filled(source.relative_to(TEMPLATE).as_posix())
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(filled(source.read_text(encoding="utf-8")), encoding="utf-8")
    return target


@pytest.fixture(scope="module")
def wheel(distribution: Path) -> Path:
    """Build the wheel with the hatchling of this environment, without a network."""
    for kind in ("sdist", "wheel"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", kind]
        subprocess.run(command, cwd=distribution, check=True, capture_output=True)
    (built,) = (distribution / "dist").glob("*.whl")
    assert len(list((distribution / "dist").glob("*.tar.gz"))) == 1
    return built


def test_no_placeholder_is_left(distribution: Path) -> None:
    for path in distribution.rglob("*"):
        assert not any(place in path.name for place in PLACES)
        if path.is_file() and path.suffix in (".py", ".json", ".toml"):
            text = path.read_text(encoding="utf-8")
            assert not [place for place in PLACES if place in text], path


def test_the_wheel_has_the_manifest_the_entry_point_and_the_license(wheel: Path) -> None:
    assert wheel.name == "strands_tool_word_count-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        home = "strands_tool_word_count-0.1.0.dist-info"
        assert {
            "strands_tool_word_count/__init__.py",
            "strands_tool_word_count/word_count.py",
            "strands_tool_word_count/py.typed",
            f"{home}/licenses/LICENSE",
        } <= names
        entry_points = archive.read(f"{home}/entry_points.txt").decode()
        assert entry_points.split() == ["[strands_cli.tools]", "word_count", "=", "strands_tool_word_count.word_count"]
        manifest = json.loads(archive.read("strands_tool_word_count/strands_tools.json"))
        assert manifest["distribution"] == "strands-tool-word-count"
        assert "Requires-Dist" not in archive.read(f"{home}/METADATA").decode()


def test_the_installed_wheel_is_found_and_described_without_import(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    program = (
        "import sys, strands_cli\n"
        f"catalog = strands_cli.discover_catalog([{str(tmp_path)!r}])\n"
        "tool = catalog.get('word_count')\n"
        "print(tool.status, tool.family, tool.distribution, tool.version, list(catalog.findings))\n"
        "print([name for name in sys.modules if name.startswith('strands_tool_')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "available text strands-tool-word-count 0.1.0 []\n[]\n"


def test_the_filled_in_tests_pass_against_the_wheel(distribution: Path, wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(distribution / "tests"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_manifest_is_what_the_writer_makes_of_the_code(distribution: Path) -> None:
    command = [sys.executable, "-m", "strands_cli", "plugin", "manifest", str(distribution), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_package_has_the_same_calling_contract() -> None:
    first, *others = CLONE.glob("packages/*/src/*/_contract.py")
    assert len(others) >= 3
    assert all(other.read_text(encoding="utf-8") == first.read_text(encoding="utf-8") for other in others)


def test_the_readme_explains_every_file() -> None:
    readme = (TEMPLATE / "README.md").read_text(encoding="utf-8")
    for path in TEMPLATE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert f"`{path.relative_to(TEMPLATE).as_posix()}`" in readme
