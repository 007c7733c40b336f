"""A folder to run in, and beside it what no attack may change."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.distributions.scan import search_path
from strands_cli_doctor.sandbox_engines import find_engines
from tests.cli.strands import Folder, empty_folder
from tests.security.outside import Outside, standing


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Return an empty folder to run commands in."""
    with empty_folder(tmp_path) as made:
        yield made


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Outside]:
    """Return what is outside of the folder's workspace."""
    with standing(tmp_path) as found:
        yield found


@pytest.fixture
def held() -> None:
    """Skip where the kernel holds no engine of python_exec; `tests/sandboxes.py` fails the session where it should."""
    if reason := _why_not():
        pytest.skip(reason)


@functools.cache
def _why_not() -> str:
    engines, lines = find_engines(discover_catalog().tools, search_path())
    mine = [engine for engine in engines if engine.tool == "python_exec"]
    if any(engine.available and dict(engine.layers).get("landlock") == "enforced" for engine in mine):
        return ""
    return "; ".join([engine.reason for engine in mine] or [line.message for line in lines] or ["no engine"])
