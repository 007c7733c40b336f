"""A session says how many tests of the sandbox were skipped, and fails where the machine has what they need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Each test starts processes, and waits for them.
pytestmark = pytest.mark.hostile

CLONE = Path(__file__).parent.parent
TESTS = """
import pytest

@pytest.fixture
def held():
    {held}

def test_one(held): pass

def test_two(held): pass

@pytest.mark.skipif(True, reason="another system")
def test_three(held): pass

def test_four():
    pytest.skip("not of the sandbox")
"""


def session(folder: Path, held: str, walls: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a session of those tests, on a machine that has these walls."""
    (folder / "conftest.py").write_text(
        "from tests import sandboxes\nfrom tests.sandboxes import *\nfrom tests.sandboxes import pytest_sessionfinish\n"
        f"sandboxes.walls_here = lambda: {walls!r}\n"
    )
    (folder / "test_it.py").write_text(TESTS.format(held=held))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null", *options, str(folder)]
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=CLONE, env=environ, capture_output=True, encoding="utf-8", check=False, timeout=300
    )


def test_sandbox_tests_that_are_skipped_fail_a_session_that_could_run_them(tmp_path: Path) -> None:
    # In another process, as in CI: what is counted has to travel.
    done = session(tmp_path, "pytest.skip('no wall holds')", "landlock and seccomp", "-p", "xdist", "-n", "1")
    assert done.returncode == 1, done.stdout
    assert "sandbox tests: 0 run, 2 skipped" in done.stdout
    assert "skipped: Skipped: no wall holds" in done.stdout
    assert "this machine has landlock and seccomp" in done.stdout


def test_where_the_machine_lacks_the_walls_they_are_counted_and_nothing_fails(tmp_path: Path) -> None:
    done = session(tmp_path, "pytest.skip('no wall holds')", "")
    assert done.returncode == 0, done.stdout
    assert "sandbox tests: 0 run, 2 skipped" in done.stdout


def test_where_they_run_the_session_says_so(tmp_path: Path) -> None:
    done = session(tmp_path, "pass", "landlock and seccomp")
    assert done.returncode == 0, done.stdout
    assert "sandbox tests: 2 run, 0 skipped" in done.stdout
