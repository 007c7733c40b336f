"""What the default run leaves out has a nox session of its own, which CI runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.sessions import OWN_SESSIONS

# It reads every source.
pytestmark = pytest.mark.docs

CLONE = Path(__file__).parent.parent
NOTHING_NAMED = ["-o", "testpaths=tests/outputs"]
# The name of a run, its arguments, and whether it has tests that are marked and others.
RUNS = {
    "nothing": (NOTHING_NAMED, False, True),
    "a mark": ([*NOTHING_NAMED, "-m", "kills"], True, False),
    "a folder": (["tests/outputs"], True, True),
    "a file": (["tests/outputs/test_notes_killed.py"], True, False),
}
COLLECTING = """
import json, sys
import pytest

class Seen:
    def pytest_collection_finish(self, session):
        files.append(sorted({item.path.name for item in session.items}))

files = []
for arguments in json.loads(sys.argv[1]):
    pytest.main(["--collect-only", "-qq", *arguments], plugins=[Seen()])
print(json.dumps(files))
"""


@pytest.fixture(scope="module")
def collected() -> dict[str, list[str]]:
    """Return the files whose tests each run has; one process collects for all, since it imports them only once."""
    asked = json.dumps([arguments for arguments, *_ in RUNS.values()])
    command = [sys.executable, "-c", COLLECTING, asked]
    ran = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=True)
    return dict(zip(RUNS, json.loads(ran.stdout.splitlines()[-1]), strict=True))


def test_each_mark_has_a_session_that_ci_runs() -> None:
    settings = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert tuple(line.partition(":")[0] for line in settings["markers"]) == OWN_SESSIONS
    noxfile = (CLONE / "noxfile.py").read_text(encoding="utf-8")
    assert set(OWN_SESSIONS) <= set(re.findall(r"^@nox\.session.*\ndef (\w+)", noxfile, re.M))
    assert f"for session in {' '.join(OWN_SESSIONS)}; do" in (CLONE / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("run", RUNS)
def test_only_a_run_that_names_nothing_leaves_them_out(run: str, collected: dict[str, list[str]]) -> None:
    _, marked, others = RUNS[run]
    assert ("test_notes_killed.py" in collected[run], "test_trace.py" in collected[run]) == (marked, others)
