"""Every distribution is built once for all tests of wheels."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.wheels.clean import CLONE, PACKAGES, Clean, build, make_clean


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Build every distribution once."""
    target = tmp_path_factory.mktemp("dist")
    for place in [CLONE, *PACKAGES]:
        build(place, target)
    return sorted(target.glob("*.whl"))


@pytest.fixture(scope="session")
def clean(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """Return an environment with all wheels, and a folder with the examples."""
    made = make_clean(tmp_path_factory.mktemp("clean"), wheels)
    if (CLONE / "examples").is_dir():
        ignored = shutil.ignore_patterns("__pycache__", "out", "artifacts")
        shutil.copytree(CLONE / "examples", made.folder / "examples", ignore=ignored)
    return made
