"""A site directory with the tool `mark`, and an API key that the model server does not look at."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.kit import forget_modules
from tests.patterns.kit import install_counting_tool


@pytest.fixture(autouse=True)
def _machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    site: Path = tmp_path_factory.mktemp("site")
    install_counting_tool(site)
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    before = set(sys.modules)
    yield
    forget_modules(before)
