"""What the default run leaves out has a nox session of its own, which CI runs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.sessions import OWN_SESSIONS

CLONE = Path(__file__).parent.parent
NOTHING_NAMED = ["-o", "testpaths=tests/outputs"]


def test_each_mark_has_a_session_that_ci_runs() -> None:
    settings = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert tuple(line.partition(":")[0] for line in settings["markers"]) == OWN_SESSIONS
    noxfile = (CLONE / "noxfile.py").read_text(encoding="utf-8")
    assert set(OWN_SESSIONS) <= set(re.findall(r"^@nox\.session\ndef (\w+)", noxfile, re.M))
    assert f"for session in {' '.join(OWN_SESSIONS)}; do" in (CLONE / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "killed", "others"),
    [
        (NOTHING_NAMED, False, True),
        ([*NOTHING_NAMED, "-m", "kills"], True, False),
        (["tests/outputs"], True, True),
        (["tests/outputs/test_notes_killed.py"], True, False),
    ],
    ids=["nothing", "a mark", "a folder", "a file"],
)
def test_only_a_run_that_names_nothing_leaves_them_out(arguments: list[str], killed: bool, others: bool) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *arguments]
    listed = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=True).stdout
    assert ("test_notes_killed.py::" in listed, "test_artifacts.py::" in listed) == (killed, others)
