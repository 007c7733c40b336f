"""A workflow that names 3 of 1,000 installed tools imports these 3."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.measure import Command
from bench.rows import CHOSEN, three_against_importing_them

PROGRAM = """import runpy, sys
sys.argv = ['three_of_many', 'three.yaml']
runpy.run_module('bench.three_of_many', run_name='__main__')
print(*sorted(name for name in sys.modules if name.startswith('strands_tool')))
"""


def test_a_workflow_imports_just_the_tools_that_it_names(tmp_path: Path) -> None:
    with three_against_importing_them(tmp_path) as pair:
        subject: Command = pair.subject
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=dict(subject.environment),
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
    named, imported = done.stdout.splitlines()
    assert named.split() == [f"made_{number}" for number in CHOSEN]
    assert imported.split() == sorted(f"strands_tool_made_{number}" for number in CHOSEN)
