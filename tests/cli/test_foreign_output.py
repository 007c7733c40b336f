"""What tools log, warn and write to stderr reaches no terminal and no log with secrets or raw escapes in it."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.cli.strands import Folder, Ran

pytestmark = pytest.mark.hostile

VALUE = "tok-0123456789abcdef"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
TEXT = f"{VALUE} \x1b]0;PWN\x07 \x9b31m \u202e end"
WAYS = {
    "logging": f"import logging\nlogging.getLogger('leak').error('LEAK %s', {TEXT!r})",
    "logged exception": f"import logging\ntry:\n    raise ValueError({TEXT!r})\n"
    "except ValueError:\n    logging.getLogger('leak').exception('LEAK')",
    "own handler": "import logging, sys\nlogger = logging.getLogger('leak')\n"
    f"logger.addHandler(logging.StreamHandler(sys.stderr))\nlogger.propagate = False\nlogger.error({TEXT!r} + 'LEAK')",
    "warnings": f"import warnings\nwarnings.warn('LEAK ' + {TEXT!r})",
    "thread": "import threading\ndef fail():\n"
    f"    raise ValueError('LEAK ' + {TEXT!r})\nthread = threading.Thread(target=fail)\nthread.start()\nthread.join()",
    "stderr": f"import sys\nprint('LEAK', {TEXT!r}, file=sys.stderr)",
    "descriptor": f"import os\nos.write(2, ('LEAK ' + {TEXT!r}).encode())",
    "child": f"import subprocess, sys\nsubprocess.run(['echo', 'LEAK', {TEXT!r}], stdout=sys.stderr)",
    "long line": f"import sys\nsys.stderr.write(('LEAK ' + {TEXT!r}) * 60_000)",
    "at the end": f"import atexit, os\natexit.register(lambda: os.write(2, ('LEAK ' + {TEXT!r}).encode()))",
}
MODES = {"plain": [], "quiet": ["--quiet"], "verbose": ["-v"], "json": ["--log", "json"]}


def leaking(folder: Folder, body: str) -> None:
    capabilities = {"capabilities": {"secrets": ["token"]}}
    folder.tool("leak", f"{body}\nreturn answer('ok')", strands_cli=capabilities)
    env = {"secrets": [{"key": "LEAK_TOKEN", "name": "token", "source": "env"}]}
    folder.workflow([{"tool": "leak", "input": {}}], env=env)


def is_clean(ran: Ran) -> bool:
    assert VALUE not in ran.err + ran.out
    return RAW.search(ran.err.replace("\r", "")) is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_a_run_shows_no_secret_and_no_escape(folder: Folder, way: str, mode: str) -> None:
    leaking(folder, WAYS[way])
    ran = folder.strands("run", "flow.yaml", "--yes", *MODES[mode], LEAK_TOKEN=f"{VALUE}\n")
    assert ran.code == 0, ran.err
    assert is_clean(ran)
    assert "LEAK" in ran.err, "it is shown, not lost"
    assert "[secret]" in ran.err or way == "logged exception"
    if mode == "json":
        assert all(json.loads(line) for line in ran.err.splitlines())


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_that_is_called_by_hand_shows_no_escape(folder: Folder, way: str) -> None:
    leaking(folder, WAYS[way])
    ran = folder.strands("tools", "run", "leak")
    assert ran.code == 0, ran.err
    assert RAW.search(ran.err) is None
    assert "LEAK" in ran.err


def test_the_test_of_an_agent_shows_no_secret_and_no_escape(folder: Folder) -> None:
    leaking(folder, WAYS["logging"])
    test = {
        "name": "leaks",
        "input": "x",
        "recording": [{"calls": [{"leak": {}}]}, {"text": "done"}],
        "expect": {"contains": "done"},
    }
    agent = {"name": "one", "version": 2, "prompt": "You leak.", "tools": ["native:leak"], "tests": [test]}
    folder.write("one.yaml", agent)
    # An agent file names no secrets: a tool gets the variable of its name.
    ran = folder.strands("workflows", "agent", "test", "one.yaml", LEAK_API_KEY=VALUE, token="of-the-tool")
    assert ran.code == 0, ran.err
    assert is_clean(ran)
    assert "LEAK [secret]" in ran.err


def test_with_verbose_a_logged_exception_has_its_stack_trace(folder: Folder) -> None:
    leaking(folder, WAYS["logged exception"])
    plain, verbose = (folder.strands("run", "flow.yaml", *more, LEAK_TOKEN=VALUE) for more in ([], ["-v"]))
    assert ("Traceback" in plain.err, "Traceback" in verbose.err) == (False, True)


LIBRARY = """
import asyncio, logging, sys
from strands_cli import Workflow
from strands_cli.api import RedactedFormatter
handler = logging.StreamHandler(sys.stderr)
if "redact" in sys.argv:
    handler.setFormatter(RedactedFormatter("%(message)s"))
logging.getLogger().addHandler(handler)
before = sys.stderr, sys.stdout, list(logging.getLogger().handlers)
Workflow.from_file("flow.yaml").run()
assert before == (sys.stderr, sys.stdout, list(logging.getLogger().handlers)), "a library leaves these to the program"
"""


def test_a_program_that_runs_workflows_chooses_what_its_logs_hide(folder: Folder) -> None:
    leaking(folder, WAYS["logging"])
    hidden = folder.run([sys.executable, "-c", LIBRARY, "redact"], LEAK_TOKEN=VALUE)
    assert (hidden.code, is_clean(hidden)) == (0, True), hidden.err
    assert "LEAK [secret]" in hidden.err
    raw = folder.run([sys.executable, "-c", LIBRARY], LEAK_TOKEN=VALUE)
    assert VALUE in raw.err
