"""Leaves out of the default run what has a nox session of its own."""

from __future__ import annotations

import gc

import pytest

# Marks of tests whose nox session has the same name; `pyproject.toml` says what each is about.
OWN_SESSIONS = ("docs", "hostile", "kills", "terminals", "wheels")


def pytest_configure(config: pytest.Config) -> None:
    """Leave the marked tests out, unless the command line names paths or marks."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.markexpr:
        config.option.markexpr = f"not ({' or '.join(OWN_SESSIONS)})"


def pytest_collection_finish() -> None:
    """Set aside what was imported, which no garbage collection has to look at again."""
    gc.collect()
    gc.freeze()
