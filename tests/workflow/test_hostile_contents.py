"""Large files of anything are read in little time and memory, and never end with an error of this program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm import STRANDS
from tests.workflow.hostile_contents import contents
from tests.workflow.hostile_files import files

# It reads files that are made to cost much.
pytestmark = pytest.mark.hostile

# Seconds of processor time, far more than is meant: a slow machine with much else to do takes three times that of a
# fast one (fifty thousand rows with a finding each took 4.9 s on a fast one, and over 6 s in CI); and megabytes. What
# grows faster than a file's size takes minutes at this size (edges to unknown nodes did: 43 s).
CPU_S, MEMORY_MB = 15, 120
CONTENTS = dict(contents())
FILES = {name: (command, texts) for name, command, texts in files()}
# A process begins with the peak of the one that it is forked from, so a small one is between it and the tests.
MEASURE = f"""
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_S}, {CPU_S}))
with open("out", "wb") as out:
    code = subprocess.call(sys.argv[1:], stdout=out, stderr=out)
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits of processes")


def bounded(folder: Path, *command: str) -> int:
    """Run a command of strands in a folder within the bounds, and return its exit code."""
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, STRANDS, *command],
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        stdout=subprocess.PIPE,
        check=True,
    )
    code, kilobytes = map(int, ran.stdout.split())
    assert kilobytes / 1024 < MEMORY_MB
    assert (folder / "out").stat().st_size < 1_000_000
    return code


@LINUX
@pytest.mark.parametrize("name", CONTENTS)
def test_a_large_file_of_anything_is_checked_in_bounds(name: str, tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(CONTENTS[name], encoding="utf-8", errors="surrogatepass")
    assert bounded(tmp_path, "validate", "flow.yaml") in (0, 3), (tmp_path / "out").read_text(errors="replace")[:2000]


@LINUX
@pytest.mark.parametrize("name", FILES)
def test_other_large_files_are_read_in_bounds(name: str, tmp_path: Path) -> None:
    command, texts = FILES[name]
    for file, text in texts.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    assert bounded(tmp_path, *command) in (0, 3, 18, 21), (tmp_path / "out").read_text(errors="replace")[:2000]
