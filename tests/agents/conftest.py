"""Fixtures of this room: a site directory on `sys.path`, and a current directory that is not the clone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.kit import Site, forget_modules
from tests.agents.resumable import ECHO


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


@pytest.fixture
def echo_and_key(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    """Install the tool echo, and leave one key of a provider in the environment."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    site.install(ECHO, {"annotations": {"readOnlyHint": True}})
