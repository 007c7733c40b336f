"""What every session of this clone's tests has, wherever its tests lie."""

from hypothesis import settings

from tests.sandboxes import pytest_runtest_makereport, pytest_sessionfinish, pytest_terminal_summary
from tests.sessions import pytest_collection_finish, pytest_configure

__all__ = [
    "pytest_collection_finish",
    "pytest_configure",
    "pytest_runtest_makereport",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
]

# How long an example takes is the machine's; what a suite may take as a whole ends a hanging one.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
