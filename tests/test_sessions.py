"""What the default run leaves out has a nox session of its own, which CI runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.sessions import OWN_SESSIONS, PARTS_OF_SESSIONS, WITHOUT_THEM

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
    marks = tuple(line.partition(":")[0] for line in settings["markers"])
    assert marks == (*OWN_SESSIONS, *PARTS_OF_SESSIONS)
    noxfile = (CLONE / "noxfile.py").read_text(encoding="utf-8")
    assert set(OWN_SESSIONS) <= set(re.findall(r"^@nox\.session.*\ndef (\w+)", noxfile, re.M))
    (names,) = re.findall(r'^sessions="(.+)"$', (CLONE / ".ci" / "run").read_text(encoding="utf-8"), re.M)
    assert {*OWN_SESSIONS, "coverage", "lint", "packages", "types"} <= {*names.split()}


@pytest.mark.parametrize("file", [".ci/run", "noxfile.py"])
def test_each_test_that_ci_names_is_there(file: str) -> None:
    text = (CLONE / file).read_text(encoding="utf-8")
    places = set(re.findall(r"(?<![\w./{])(?:tests|packages)/[\w./-]*\w(?![-*\w])", text))
    assert places
    assert sorted(place for place in places if not (CLONE / place).exists()) == []


def test_the_bounds_of_every_distribution_are_readable_here() -> None:
    """The lowest versions are not installed here, so lines are printed; nothing but lines."""
    command = [sys.executable, "scripts/check_minimums.py"]
    ran = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert ": strands-" not in ran.stdout


@pytest.mark.parametrize("run", RUNS)
def test_only_a_run_that_names_nothing_leaves_them_out(run: str, collected: dict[str, list[str]]) -> None:
    _, marked, others = RUNS[run]
    assert ("test_notes_killed.py" in collected[run], "test_trace.py" in collected[run]) == (marked, others)


HOOKS = (
    "pytest_collection",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_ignore_collect",
    "pytest_runtest_protocol",
    "pytest_unconfigure",
)
MARKERS = "\n  ".join(OWN_SESSIONS)
FOLDER = {
    "conftest.py": f"from tests.sessions import {', '.join(HOOKS)}\n",
    "pytest.ini": f"[pytest]\naddopts = --import-mode=importlib\nmarkers =\n  {MARKERS}\n",
    "test_all.py": "import pytest\n\npytestmark = [\n    pytest.mark.kills,\n]\n\n\ndef test_it():\n    pass\n",
    "test_one.py": "import pytest\n\n\n@pytest.mark.kills\ndef test_it():\n    pass\n\n\ndef test_other():\n    pass\n",
    "test_none.py": "def test_it():\n    pass\n",
}


def collected_in(folder: Path, files: dict[str, str], *arguments: str) -> tuple[list[str], str]:
    """Return the tests that a run in a folder has, and what it writes."""
    return run_in(folder, files, "--collect-only", *arguments)


def run_in(folder: Path, files: dict[str, str], *arguments: str) -> tuple[list[str], str]:
    """Run pytest on files in a folder; nothing else there may write byte code."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments]
    inherited = {name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"}
    env = {**inherited, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(CLONE)}
    ran = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return [line for line in ran.stdout.splitlines() if "::" in line], ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("arguments", "tests", "files"),
    [
        (["-m", "kills"], ["test_all.py::test_it", "test_one.py::test_it"], {"all", "one"}),
        (["-m", WITHOUT_THEM], ["test_none.py::test_it", "test_one.py::test_other"], {"none", "one"}),
        (["-m", "kills", "test_none.py"], [], {"none"}),
        (["-m", "kills or hostile"], ["test_all.py::test_it", "test_one.py::test_it"], {"all", "none", "one"}),
    ],
)
def test_only_files_with_tests_of_the_run_are_imported_and_their_byte_code_is_kept(
    arguments: list[str], tests: list[str], files: set[str], tmp_path: Path
) -> None:
    assert collected_in(tmp_path, FOLDER, *arguments)[0] == tests
    kept = {path.name.partition(".")[0] for path in (tmp_path / "__pycache__").glob("test_*.pyc")}
    assert kept == {f"test_{name}" for name in files}


def test_a_mark_from_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "marked.py").write_text(
        "import pytest\n\n\n@pytest.mark.kills\nclass Marked:\n    def test_it(self):\n        pass\n"
    )
    derived = "import sys\n\nsys.path.insert(0, '.')\nfrom marked import Marked\n\n\nclass TestIt(Marked):\n    pass\n"
    _, output = collected_in(tmp_path, {**FOLDER, "test_derived.py": derived})
    assert "INTERNALERROR" not in output
    assert "test_derived.py::TestIt::test_it has the mark 'kills' from another file" in output
    tests, _ = collected_in(tmp_path, {"test_derived.py": f"# pytest.mark.kills\n{derived}"}, "-m", "kills")
    assert "test_derived.py::TestIt::test_it" in tests


def test_clients_know_one_authority_but_where_packages_are_fetched(tmp_path: Path) -> None:
    """What the run prints is the file, which is gone afterwards."""
    known = "print('FILE', file := os.environ['SSL_CERT_FILE'])\n    assert open(file).read().count('BEGIN') == 1"
    test = (
        f"import os\nimport pytest\n\n\ndef test_known():\n    {known}\n\n\n@pytest.mark.wheels\ndef test_fetching():\n"
    )
    files = {**FOLDER, "test_one.py": f"{test}    assert 'SSL_CERT_FILE' not in os.environ\n"}
    _, output = run_in(tmp_path, files, "-s", "-v", "test_one.py")
    assert "2 passed" in output
    assert not Path(re.findall(r"FILE (\S+)", output)[0]).exists()
