"""`validate` of a megabyte of anything ends in little time and memory, and never with an error of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm import STRANDS
from tests.workflow.hostile_contents import contents

# It reads files that are made to cost much.
pytestmark = pytest.mark.hostile

# Seconds of processor time, four times of what is meant, for machines with much else to do; and megabytes.
CPU_S, MEMORY_MB = 8, 200
CONTENTS = dict(contents())
# A process begins with the peak of the one that it is forked from, so a small one is between it and the tests.
MEASURE = f"""
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_S}, {CPU_S}))
with open("out", "wb") as out:
    code = subprocess.call(sys.argv[1:], stdout=out, stderr=out)
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of processes")
@pytest.mark.parametrize("name", CONTENTS)
def test_a_megabyte_of_anything_is_checked_in_bounds(name: str, tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(CONTENTS[name], encoding="utf-8", errors="surrogatepass")
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, STRANDS, "validate", "flow.yaml"],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        check=True,
    )
    code, kilobytes = map(int, ran.stdout.split())
    assert code in (0, 3), (tmp_path / "out").read_text(errors="replace")[:2000]
    assert kilobytes / 1024 < MEMORY_MB
    assert (tmp_path / "out").stat().st_size < 1_000_000
