"""The first line of a run, with its id, is written before the SDK is imported."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.cli.strands import SECONDS, Folder

# Waits for a line on stdin before anything of the SDK is imported.
BLOCKING = """
import importlib.abc, os, sys

class Waits(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "strands":
            sys.meta_path.remove(self)
            os.read(int(sys.argv[1]), 1)

sys.meta_path.insert(0, Waits())
from strands_cli.cli.program import run_program
sys.exit(run_program(sys.argv[2:]))
"""


@pytest.mark.kills
@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are passed on as POSIX does it")
@pytest.mark.parametrize("words", [["run", "flow.yaml"], ["runs", "rerun", "last", "--from", "steps.0"]])
def test_the_first_line_of_a_run_comes_before_the_sdk(words: list[str], folder: Folder) -> None:
    import os

    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "done"}]})
    assert folder.strands("run", "flow.yaml").code == 0
    waits, goes_on = os.pipe()
    command = [sys.executable, "-c", BLOCKING, str(waits), *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "pass_fds": [waits], "text": True}
    with subprocess.Popen(command, cwd=folder.work, env=folder.environment(), **pipes) as running:  # type: ignore[call-overload]
        first = running.stderr.readline()
        before = {entry.name for entry in folder.runs.iterdir()}
        os.close(goes_on)
        out, err = running.communicate(timeout=SECONDS)
    os.close(waits)
    found = re.fullmatch(r"run (\d+-\d+-[0-9a-f]+): flow \(chain, 1 step\)\n", first)
    assert found is not None, first + err
    assert found[1] not in before, "the journal is made when everything is loaded"
    assert (running.returncode, out, "run 2" in err) == (0, "done\n", False), err
    assert (folder.runs / found[1]).is_dir()


def test_a_run_that_cannot_be_loaded_says_that_nothing_is_stored(folder: Folder) -> None:
    folder.tool("torn", "return 1")
    (source,) = folder.site.glob("strands_tool_torn/__init__.py")
    folder.workflow([{"tool": "native:torn", "input": {"text": "x"}}])
    source.write_text(source.read_text() + "\nraise ValueError('torn')\n")
    ran = folder.strands("run", "flow.yaml")
    assert ran.code != 0
    assert "\nrun 2" in ran.err
    assert "the run has not begun" in ran.err
    assert not list(folder.runs.glob("2*"))
    assert "not begun" not in folder.strands("run", "flow.yaml", "--quiet").err
