"""What the tests of indexes, publishers and installations share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installing_person import Person, make_home, person_of
from tests.wordings import wording

__all__ = ["wording"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep sigstore's copy of its trusted root out of the home directory, which may be read-only."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with strands-cli, strands-cli-index and strands-cli-dev in place, and pip beside."""
    return make_home(tmp_path_factory.mktemp("installing"), "strands-cli-index", "strands-cli-dev", requires=["pytest"])


@pytest.fixture(params=["pip", "uv"])
def person(environment: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Person]:
    """Return somebody whose environment has pip, and somebody whose has not, but uv on PATH."""
    yield from person_of(environment, tmp_path, request.param)


@pytest.fixture
def anyone(environment: Path, tmp_path: Path) -> Iterator[Person]:
    """Return somebody, for what does not depend on the installer."""
    yield from person_of(environment, tmp_path, "uv")
