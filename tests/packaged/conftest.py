"""What the tests of packaged workflows share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.strands import Folder, empty_folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Return an empty folder to run commands in, with a directory for installed packages."""
    with empty_folder(tmp_path) as made:
        yield made


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory of `sys.path` in a folder of its own; the working directory is another empty folder."""
    (tmp_path / "site").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "site"
