"""What the tests of questions share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.strands import Folder, empty_folder
from tests.fakes.model_server import ModelServer
from tests.wordings import wording

__all__ = ["wording"]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """Return a model over HTTP that repeats each question."""
    with ModelServer() as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path, server: ModelServer) -> Iterator[Folder]:
    """Return an empty folder whose user has that model as the default."""
    with empty_folder(tmp_path) as made:
        made.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-for-tests-only"}
        assert made.strands("models", "default", "openai/tiny").code == 0
        yield made
