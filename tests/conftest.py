"""What holds for every test: none leaves its plugins or its search path to the next."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wordings import wording

__all__ = ["wording"]

TEMPORARY = Path(tempfile.gettempdir()).resolve()
# The clone may lie in a temporary folder itself; what is installed there for all tests must stay.
OURS = [Path(__file__).resolve().parent.parent, Path(sys.prefix).resolve()]


@pytest.fixture(autouse=True)
def _imports_are_given_back() -> Iterator[None]:
    """Give back `sys.path` (loading a plugin closes the current directory) and forget plugins of temporary folders."""
    path, known = list(sys.path), len(sys.modules)
    yield
    sys.path[:] = path
    # New ones are the last; a test that has removed others makes this look at more.
    for name in list(sys.modules)[known:]:
        file = getattr(sys.modules[name], "__file__", None)
        if file and Path(file).is_relative_to(TEMPORARY) and not any(map(Path(file).is_relative_to, OURS)):
            del sys.modules[name]
