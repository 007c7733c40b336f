"""`plugin adopt --install` where strands-cli-index is not installed: pip or uv installs, without a preview."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.distributions.wheels import make_wheel
from tests.installing_person import Person, make_home, person_of

pytestmark = pytest.mark.wheels

TOOL = 'from strands import tool\n\n@tool\ndef search(text: str) -> str:\n    """Search."""\n    return text\n'


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with strands-cli and strands-cli-dev."""
    return make_home(tmp_path_factory.mktemp("adopting"), "strands-cli-dev", requires=["pytest"])


@pytest.fixture
def author(environment: Path, tmp_path: Path) -> Iterator[Person]:
    """Return somebody whose environment has no pip, but uv on PATH."""
    yield from person_of(environment, tmp_path, "uv")


def test_tools_are_adopted_from_what_is_installed(author: Person, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "plain-tools", files={"plain_tools.py": TOOL})
    adopted = author.strands("plugin", "adopt", wheel, "--install", "--yes", "--project")
    assert adopted.code == 0, adopted.err
    assert author.strands("plugin", "unadopt", "plain-tools", "--project").code == 0


def test_what_reads_an_index_is_named(author: Person, tmp_path: Path) -> None:
    words = ("plain-tools", "--install", "--index", str(tmp_path), "--yes", "--project")
    refused = author.strands("plugin", "adopt", *words)
    assert (refused.code, "pip install 'strands-cli[index]'" in refused.err) == (18, True), refused.err
