"""What every session of this clone's tests has, wherever its tests lie."""

import os
import signal

from hypothesis import settings

from tests.postgres.fixtures import database, make_postgres, postgres_server, store_address
from tests.sandboxes import pytest_runtest_makereport, pytest_sessionfinish, pytest_terminal_summary
from tests.sessions import (
    pytest_collection,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_ignore_collect,
    pytest_runtest_protocol,
    pytest_unconfigure,
)

__all__ = [
    "database",
    "make_postgres",
    "postgres_server",
    "pytest_collection",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_ignore_collect",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_unconfigure",
    "store_address",
]

# How long an example takes is the machine's; what a suite may take as a whole ends a hanging one.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

# What one test's server says of its limits must not slow another one down, which may get the same port.
os.environ["STRANDS_SHARED_RATES"] = "off"

# A shell's background job ignores Ctrl-C, one of `nohup` a closed terminal, and what a test starts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
