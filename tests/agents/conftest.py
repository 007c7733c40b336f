"""Fixtures of this room: a site directory on `sys.path`, and a current directory that is not the clone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.kit import Site, forget_modules


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    directory, here = tmp_path / "site", tmp_path / "here"
    directory.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [str(directory), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield Site(directory)
    forget_modules(before)
