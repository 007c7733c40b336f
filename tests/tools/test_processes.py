"""In a process of its own: a tool that hangs, prints or exits holds up neither the run, its output nor its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agents.kit import SCHEMA, Site

# Each test starts the program in processes of its own.
pytestmark = pytest.mark.hostile

SPEC = {"name": "echo", "description": "E.", "inputSchema": {"json": SCHEMA}, "annotations": {"readOnlyHint": True}}
WORKFLOW = """
version: 2
name: alone
runtime: {provider: replay, recording: recording.yaml}
agents: {a: {prompt: be brief, tools: [native:echo]}}
pattern: {type: chain, config: {steps: [{agent: a, input: go}]}}
"""
RECORDING = """
recording: 1
steps:
  steps.0:
    - calls: [{echo: {text: hi}}]
    - when: "echo: %s"
      text: the end
"""


def start(
    site: Site, body: str, *, status: str, head: str = "", timeout_s: float | None = None
) -> tuple[str, str, float]:
    """Run a workflow with one tool in a process of its own; return stdout, stderr and the seconds it took."""
    claims = {"strands_cli": {"timeout_s": timeout_s}} if timeout_s else {}
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    site.install(f"{head}\nTOOL_SPEC = {SPEC | claims!r}\ndef echo(tool, **kwargs):\n{lines}", manifest=False)
    Path("flow").mkdir()
    Path("flow/w.yaml").write_text(WORKFLOW)
    Path("flow/recording.yaml").write_text(RECORDING % status)
    environ = {**os.environ, "PYTHONPATH": str(site.directory), "PYTHONDONTWRITEBYTECODE": "1"}
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "strands_cli", "run", "flow/w.yaml", "--json", "--runs-dir", "runs"],
        capture_output=True,
        text=True,
        env=environ,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr, time.monotonic() - started


def test_a_sync_tool_that_hangs_holds_up_neither_the_run_nor_the_end_of_the_process(site: Site) -> None:
    out, err, seconds = start(site, "import time\ntime.sleep(600)", status="error", timeout_s=0.2)
    assert json.loads(out)["response"] == "the end"
    assert "timeout" in err
    assert seconds < 300


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_whatever_a_plugin_prints_stays_out_of_the_result(site: Site) -> None:
    body = (
        "import os, sys, subprocess\nprint('printed by the call')\nos.write(1, b'written by the call')\n"
        "sys.__stdout__.write('behind the back')\nsubprocess.run(['echo', 'from a child'])\n"
        "return {'status': 'success', 'content': [{'text': 'x'}]}"
    )
    out, err, _ = start(site, body, head="print('printed by the import')", status="success")
    assert json.loads(out)["response"] == "the end"
    assert "printed by the import" in err


def test_a_tool_that_exits_the_program_does_not(site: Site) -> None:
    out, _, _ = start(site, "import sys\nsys.exit(0)", status="error")
    assert json.loads(out)["response"] == "the end"


def test_nothing_in_the_current_directory_is_imported(site: Site) -> None:
    for name in ("strands", "jsonschema", "strands_tool_echo", "custom_bait"):
        Path(f"{name}.py").write_text("raise SystemExit('taken from the current directory')\n")
    body = (
        "try:\n    import custom_bait\nexcept ImportError:\n"
        "    return {'status': 'success', 'content': [{'text': 'x'}]}"
    )
    out, _, _ = start(site, body, status="success")
    assert json.loads(out)["response"] == "the end"
