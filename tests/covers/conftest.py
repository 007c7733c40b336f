"""The world of a covered field: a folder, a model server on loopback, no keys and no proxies of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.covers.kit import World
from tests.fakes.model_server import ModelServer


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith(("STRANDS_", "AWS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    made: list[World] = []
    with ModelServer(lambda request: made[0].answer(request)) as server:
        made.append(World(tmp_path, server))
        yield made[0]
