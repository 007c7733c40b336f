"""`validate` of a megabyte of anything ends in little time and memory, and never with an error of its own."""

from __future__ import annotations

import os
import resource
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


@pytest.mark.skipif(sys.platform != "linux", reason="limits of processes")
@pytest.mark.parametrize("name", CONTENTS)
def test_a_megabyte_of_anything_is_checked_in_bounds(name: str, tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(CONTENTS[name], encoding="utf-8", errors="surrogatepass")
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(
            [STRANDS, "validate", "flow.yaml"],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path)},
            stdout=out,
            stderr=out,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S)),
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 3), (tmp_path / "out").read_text(errors="replace")[:2000]
    assert used.ru_maxrss / 1024 < MEMORY_MB
    assert (tmp_path / "out").stat().st_size < 1_000_000
