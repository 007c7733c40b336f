"""Leaves out of the default run what has a nox session of its own."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

# Marks of tests whose nox session has the same name; `pyproject.toml` says what each is about.
OWN_SESSIONS = ("browser", "deploy", "docs", "hostile", "kills", "local_model", "postgres", "terminals", "wheels")


def pytest_configure(config: pytest.Config) -> None:
    """Leave the marked tests out, unless the command line names paths or marks."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.markexpr:
        config.option.markexpr = f"not ({' or '.join(OWN_SESSIONS)})"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage meanwhile, which took a sixth of the time, and afterwards at nothing that was imported."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        # As in the program itself.
        gc.set_threshold(200_000, 20, 20)
        gc.enable()
