"""What every session of this clone's tests has, wherever its tests lie."""

from tests.sandboxes import pytest_runtest_makereport, pytest_sessionfinish, pytest_terminal_summary
from tests.sessions import pytest_collection_finish, pytest_configure

__all__ = [
    "pytest_collection_finish",
    "pytest_configure",
    "pytest_runtest_makereport",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
]
