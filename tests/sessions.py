"""Leaves out of a run what has a nox session of its own, and lets its processes collect the rest cheaply."""

from __future__ import annotations

import gc
import os
import re
import sys
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path

import certifi
import pytest

# Marks of tests whose nox session has the same name; `pyproject.toml` says what each is about.
OWN_SESSIONS = (
    "browser",
    "deploy",
    "docs",
    "hostile",
    "kills",
    "local_model",
    "postgres",
    "terminals",
    "wheels",
)
# Marks within them.
PARTS_OF_SESSIONS = ("clients",)
WITHOUT_THEM = f"not ({' or '.join(OWN_SESSIONS)})"
# Those whose tests may fetch packages, from hosts that have other authorities.
FETCHING = {"browser", "deploy", "docs", "local_model", "wheels"}
AUTHORITIES = "SSL_CERT_FILE"
_MARK = re.compile(rf"\bmark\.({'|'.join(OWN_SESSIONS)})\b")
_MARK_OF_ALL = re.compile(rf"^pytestmark = (?:\[\s*)?pytest\.mark\.({'|'.join(OWN_SESSIONS)})\b", re.MULTILINE)


def pytest_configure(config: pytest.Config) -> None:
    """Leave the marked tests out, unless the command line names paths or marks."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.markexpr:
        config.option.markexpr = WITHOUT_THEM


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the byte code of tests, and look for no garbage, which took a sixth of the time and is little.

    Whatever the environment says of byte code; not while tests run, since a test may write a module twice in a second.
    """
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    gc.disable()
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = writes_none
        gc.freeze()
        # As in the program itself.
        gc.set_threshold(200_000, 20, 20)
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import a file whose text says that the marks leave out all of it."""
    if collection_path.suffix != ".py":
        return None
    if config.option.markexpr == WITHOUT_THEM:
        return bool(_MARK_OF_ALL.search(collection_path.read_text(encoding="utf-8"))) or None
    if config.option.markexpr in OWN_SESSIONS:
        return config.option.markexpr not in _marks_in(collection_path) or None
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a mark that a test has from another file: a run of that mark would not look into its own."""
    for item in items:
        for mark in item.iter_markers():
            if mark.name in OWN_SESSIONS and mark.name not in _marks_in(item.path):
                raise pytest.UsageError(
                    f"{item.nodeid} has the mark {mark.name!r} from another file; also write `pytest.mark.{mark.name}` "
                    "into its own, where a run of the mark looks for it"
                )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let clients know one authority: the servers of tests need none, and reading all takes 20 ms for each client."""
    if AUTHORITIES in os.environ or any(mark.name in FETCHING for mark in item.iter_markers()):
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(AUTHORITIES, str(_one_authority()))
        return (yield)


def pytest_unconfigure() -> None:
    """Remove the file of that authority."""
    if _one_authority.cache_info().currsize:
        _one_authority().unlink(missing_ok=True)


@cache
def _one_authority() -> Path:
    """Write the first authority of `certifi` into a file of this process."""
    whole = Path(certifi.where()).read_text(encoding="utf-8")
    first = whole[whole.index("-----BEGIN") :].partition("-----END CERTIFICATE-----")
    number, name = tempfile.mkstemp(suffix=".pem")
    os.close(number)
    Path(name).write_text("".join(first[:2]) + "\n", encoding="utf-8")
    return Path(name)


@cache
def _marks_in(file: Path) -> frozenset[str]:
    """Return the marks of sessions that the text of a file names."""
    return frozenset(_MARK.findall(file.read_text(encoding="utf-8")))
