"""Streams that are closed, full or somebody else's: a run does its work, and nothing foreign gets onto stdout."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.cli.strands import SECONDS, STRANDS, Folder, Ran

pytestmark = pytest.mark.hostile

if sys.platform == "win32":
    pytest.skip("these are written in the words of a POSIX shell", allow_module_level=True)

ONE_STEP = [{"agent": "writer", "input": "Write."}]
RUN = "$STRANDS run flow.yaml"


def shell(folder: Folder, script: str) -> Ran:
    """Run a line of bash; `$STRANDS` is the program."""
    return folder.run(["bash", "-c", script], STRANDS=STRANDS)


def saying(folder: Folder, body: str) -> Path:
    """Write a workflow whose one tool does `body`."""
    folder.tool("noisy", body)
    agents = {"writer": {"prompt": "You write.", "tools": ["native:noisy"]}}
    return folder.workflow(ONE_STEP, {"steps.0": [{"calls": [{"noisy": {}}]}, {"text": "the answer"}]}, agents=agents)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "<&- >&-"])
def test_a_run_does_its_work_whichever_streams_are_closed(folder: Folder, closed: str) -> None:
    folder.examples()
    ran = shell(folder, f"$STRANDS run examples/quickstart.yaml {closed}")
    assert ran.code == 0
    assert "Traceback" not in ran.err
    assert (folder.work / "artifacts" / "report.md").read_text().startswith("# Sales")
    assert ran.out == "" if ">&-" in closed.split() else ran.out.startswith("# Sales")


@pytest.mark.parametrize(
    "command",
    ["list-tools", "--help", "run --help", "--version", "workflows schema", "plan flow.yaml", "run flow.yaml -q"],
)
def test_a_reader_that_stops_early_is_not_an_error(folder: Folder, command: str) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [{"text": "line\n" * 100_000}]})
    ran = shell(folder, f"$STRANDS {command} | true; exit ${{PIPESTATUS[0]}}")
    assert (ran.code, ran.err) == (0, "")


def test_a_run_goes_on_when_the_reader_of_its_events_stops(folder: Folder) -> None:
    folder.examples()
    ran = shell(folder, "$STRANDS run examples/quickstart.yaml --events - | true; exit ${PIPESTATUS[0]}")
    assert ran.code == 0
    assert re.search(r"^warning: .*\bstdout: Broken pipe", ran.err, re.MULTILINE)
    assert (folder.work / "artifacts" / "report.md").exists()
    assert folder.record()["status"] == "completed"


def test_a_run_goes_on_when_no_one_reads_stderr(folder: Folder) -> None:
    folder.examples()
    ran = shell(folder, "$STRANDS run examples/quickstart.yaml 2> >(true)")
    assert ran.code == 0
    assert ran.out.startswith("# Sales")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["--version", "--help", "list-tools", "plan flow.yaml", "run flow.yaml -q"])
def test_a_result_that_cannot_be_written_is_an_error_of_the_output(folder: Folder, command: str) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [{"text": "hi"}]})
    ran = shell(folder, f"$STRANDS {command} > /dev/full")
    assert ran.code == 12
    assert re.match(r"error: .*\bstdout: No space left on device\n", ran.err)
    assert "Traceback" not in ran.err


PRINTS = {
    "print": "print('NOISE')\nreturn answer('ok')",
    "descriptor": "import os\nos.write(1, b'NOISE')\nreturn answer('ok')",
    "child": "import subprocess\nsubprocess.run(['echo', 'NOISE'])\nreturn answer('ok')",
    "after": "import atexit\natexit.register(lambda: __import__('os').write(1, b'NOISE'))\nreturn answer('ok')",
    "closes": "import sys\nprint('NOISE', flush=True)\nsys.stdout.close()\nreturn answer('ok')",
    "replaces": "import sys\nprint('NOISE', flush=True)\nsys.stdout = None\nreturn answer('ok')",
    "not text": "import os\nos.write(1, b'NOISE \\xff\\xfe')\nreturn answer('ok')",
    "unflushed": "import sys\nsys.stdout.write('NOISE')\nreturn answer('ok')",
}


@pytest.mark.parametrize("how", PRINTS)
def test_nothing_that_a_tool_prints_gets_onto_stdout(folder: Folder, how: str) -> None:
    saying(folder, PRINTS[how])
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, ran.out) == (0, "the answer\n")
    assert "NOISE" in ran.err, "and it is not lost either"
    called = folder.strands("tools", "run", "noisy", "--json")
    assert called.document["status"] == "success"
    assert "NOISE" in called.err


def test_a_tool_that_prints_while_it_is_imported_does_not_get_onto_stdout(folder: Folder) -> None:
    saying(folder, "return answer('ok')")
    module = folder.site / "strands_tool_noisy" / "__init__.py"
    module.write_text("print('NOISE')\n" + module.read_text())
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, ran.out) == (0, "the answer\n")
    assert "  | NOISE\n" in ran.err


def test_a_tool_that_prints_without_end_of_line_neither_grows_nor_blocks(folder: Folder) -> None:
    saying(folder, "print('x' * 3_000_000, end='', flush=True)\nreturn answer('ok')")
    ran = folder.strands("run", "flow.yaml", "--events", "-")
    assert ran.code == 0
    assert ran.err.count("x") >= 3_000_000
    assert '"RunFinished"' in ran.out.splitlines()[-1]


def test_a_tool_reads_nothing_from_our_stdin(folder: Folder) -> None:
    saying(folder, "import sys\nreturn answer(repr(sys.stdin.read()))")
    ran = folder.run([STRANDS, "tools", "run", "noisy"], given="a secret answer\n")
    assert (ran.code, ran.out) == (0, "''\n")


def test_a_child_process_left_behind_does_not_keep_the_run(folder: Folder) -> None:
    left = f"subprocess.Popen(['sleep', '{SECONDS}'], stderr=subprocess.DEVNULL)"
    saying(folder, f"import subprocess\n{left}\nreturn answer('ok')")
    ran = shell(folder, f"timeout {SECONDS // 2} {RUN} -q")
    assert (ran.code, ran.out) == (0, "the answer\n")
