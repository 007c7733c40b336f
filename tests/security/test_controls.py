"""The attacks of this room are attacks: without what stops them each one succeeds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.security.attacks import CODE, EXCESS, LOOPBACK_URLS, READ_PATHS, WRITE_PATHS
from tests.security.outside import SECRET, Outside

pytestmark = [pytest.mark.hostile, pytest.mark.skipif(sys.platform != "linux", reason="as the engine that is attacked")]
ESCAPED = b"ESCAPED"


def start(code: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start code in a child process with no wall around it."""
    command = [sys.executable, "-I", "-S", "-B", "-c", code]
    return subprocess.Popen(command, cwd=folder, env={**os.environ, "CANARY": SECRET}, stdout=subprocess.PIPE)


def plain(code: str, folder: Path) -> bytes:
    """Return what code prints until it ends, or for 20 s."""
    with start(code, folder) as child:
        try:
            return child.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:
            child.kill()
            return child.communicate()[0]


def is_endless(code: str, folder: Path, printed: int) -> bool:
    """Return whether code has printed so many bytes and runs on until it is killed."""
    with start(code, folder) as child:
        assert child.stdout is not None
        read = child.stdout.read(printed)
        child.kill()
    return len(read) == printed and child.returncode == -signal.SIGKILL


def test_each_attack_on_a_plain_child_process_succeeds(outside: Outside, tmp_path: Path) -> None:
    before = outside.state()
    # The one that ends the process under attack comes last.
    names = sorted(CODE, key=lambda name: name == "signals a process")
    stopped = [name for name in names if ESCAPED not in plain(outside.aimed(CODE[name].source), tmp_path)]
    assert stopped == []
    outside.process.wait(120)
    after = outside.state()
    assert after["alive"] is False
    assert after["connections"] == 1
    assert after["files"] != before["files"]


def test_a_plain_child_process_takes_whatever_code_asks_for(tmp_path: Path) -> None:
    assert is_endless("print('begins', flush=True)\n" + EXCESS["runs for ever"].source, tmp_path, len("begins\n"))
    assert is_endless(EXCESS["floods the output"].source, tmp_path, 1 << 18)
    # Less of each than the attack takes, as nothing would stop it.
    assert ESCAPED in plain(EXCESS["takes all memory"].source.replace("8 << 30", "1 << 30"), tmp_path)
    plain(EXCESS["fills the disk"].source.replace("while True", "for _ in range(8)"), tmp_path)
    assert (tmp_path / "big").stat().st_size == 8 << 20


def test_each_url_that_leads_inside_gets_there_through_a_plain_client(outside: Outside) -> None:
    for url in map(outside.aimed, LOOPBACK_URLS):
        with httpx.Client(trust_env=False) as client:
            assert client.get(url).text == SECRET, url
    assert len(outside.heard) == len(LOOPBACK_URLS)


def test_each_path_that_leads_out_gets_there_through_a_plain_open(outside: Outside, tmp_path: Path) -> None:
    (work := tmp_path / "work" / "notes").mkdir(parents=True)
    work = work.parent
    (work / ".env").write_text(SECRET)
    (work / "link.txt").symlink_to(outside.victim)
    (work / "linked").symlink_to(outside.tree)
    before = outside.state()
    for path in map(outside.aimed, READ_PATHS):
        if "\x00" not in path:  # no system opens that one
            assert (work / path).read_bytes()
    for path in map(outside.aimed, WRITE_PATHS):
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text("taken")
    assert outside.state() != before
    assert outside.victim.read_text() == "taken"
    assert (outside.tree / "new.txt").exists()
