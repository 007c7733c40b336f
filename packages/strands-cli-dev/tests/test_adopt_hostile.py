"""Packages that misbehave while they are imported: `--import` ends, says why, and adopts nothing of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strands_cli_dev.child_import import ImportFailure, import_in_child

pytestmark = pytest.mark.hostile

TOOL = "from strands import tool\n@tool\ndef made(x: int) -> str:\n    'Do.'\n"


def load(tmp_path: Path, source: str, seconds: float = 20.0) -> list[object]:
    (tmp_path / "strange_tools.py").write_text(source, encoding="utf-8")
    try:
        return [*import_in_child([str(tmp_path)], "strange_tools", ["made"], seconds, is_limited=True).tools]
    except ImportFailure as failure:
        return [str(failure)]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise ValueError('no key')", "ValueError: no key"),
        ("raise SystemExit(0)", "ended the process"),
        ("import os; os._exit(0)", "ended the process"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended the process"),
        ("import sys\nsys.modules.clear()\nmade = None", ""),
        ("import sys\nsys.modules[__name__] = 3", ""),
        ("made = 3", ""),
        ("class Bad(Exception):\n    def __str__(self): raise self\nraise Bad", "Bad"),
        ("x = bytearray(8 * 1024**3)", "MemoryError"),
        ("open('big', 'wb').write(b'x' * 64 * 1024**2)", ""),
        ("import sys\nopen(sys.argv[1], 'w').write('[{}]')\nimport os; os._exit(0)", "ended the process"),
        ("import sys\nopen(sys.argv[1], 'w').write('{' * 10**6)\nimport os; os._exit(0)", "ended the process"),
        ("def f(): f()\nf()", "RecursionError"),
    ],
)
def test_the_reason_is_a_phrase(tmp_path: Path, source: str, reason: str) -> None:
    (found,) = load(tmp_path, source)
    assert isinstance(found, str)
    assert reason in found
    assert "\n" not in found


def test_an_import_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    (found,) = load(tmp_path, "import subprocess, time\nsubprocess.Popen(['sleep', '777'])\ntime.sleep(777)", 4)
    assert "4 seconds" in str(found)
    assert "777" not in " ".join(_commands())


def _commands() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return [command for command in found if command.startswith("sleep 777")]


@pytest.mark.parametrize(
    "before",
    [
        "print('x' * 100_000)",
        "import os; os.fork()",
        "import sys; sys.modules['json'] = sys.modules['strands'] = None",
        "import threading, time; threading.Thread(target=time.sleep, args=(777,)).start()",
        "import os; os.chdir('/'); os.environ.clear()",
    ],
)
def test_what_leaves_the_answer_as_it_is_does_not_matter(tmp_path: Path, before: str) -> None:
    (found,) = load(tmp_path, f"{TOOL}{before}\n")
    assert not isinstance(found, str), found
    assert getattr(found, "input_schema", None) is not None


def test_the_child_has_no_secrets_and_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "sesame")
    source = "import os\nassert os.environ.get('ACME_API_KEY') is None\nassert os.environ['HOME'] == os.getcwd()\n"
    (found,) = load(tmp_path, f"{source}assert {os.getpid()} != os.getpid()\n{TOOL}")
    assert not isinstance(found, str), found
