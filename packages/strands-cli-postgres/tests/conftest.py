"""An address of a new store for each test; without Postgres's client, there is nothing to collect."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore_glob = [] if find_spec("psycopg") else ["test_*.py"]


@pytest.fixture
def address(store_address: str) -> str:
    """Return the address of a store that is initialised and empty."""
    return store_address


@pytest.fixture
def address_file(address: str, tmp_path: Path) -> Path:
    """Write the address to a file in the test's directory, where its child processes read it."""
    file = tmp_path / "address"
    file.write_text(address)
    return file
