"""One browser for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser import chromium as chromiums
from tests.browser.chromium import Chromium, Window


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave these tests out where no browser was named."""
    if not chromiums.PROGRAM:
        skipped = pytest.mark.skip(reason="needs a browser: python3 dev.py nox -s browser")
        for item in items:
            if "chromium" in getattr(item, "fixturenames", ()):
                item.add_marker(skipped)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Return the browser, from which a test opens its windows."""
    with chromiums.running() as started:
        yield started


@pytest.fixture
def window(chromium: Chromium) -> Iterator[Window]:
    """Return one window of 800 pixels."""
    with chromium.window() as opened:
        yield opened
