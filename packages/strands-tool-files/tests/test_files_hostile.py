"""Hostile calls of every file tool: each gets a structured error, nothing outside changes, nothing hangs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from strands_tool_files import _match

pytestmark = [pytest.mark.hostile, pytest.mark.usefixtures("no_leaked_descriptors")]

# Seconds that only a call without an end of its own needs, also on a loaded machine.
PATIENCE = 120
CODES = {"invalid_input", "sandbox_violation", "denied", "unavailable", "timeout"}
SECRET = "the secret outside"
CREDENTIAL = "KEY=inside"
VERBS = {
    "read": {},
    "write": {"content": "owned"},
    "list": {},
    "head": {},
    "tail": {},
    "grep": {"pattern": "."},
    "search": {"query": "e"},
}
# Those that a tool without walls would follow to a secret.
LEADING_OUT = [
    "../secret.txt",
    "docs/../../secret.txt",
    "docs/./.././../secret.txt",
    "{root}/../secret.txt",
    "{outside}/secret.txt",
    "out",
    "absolute",
    "chain",
    "updir/secret.txt",
    "docs/deeplink/secret.txt",
    "root{outside}/secret.txt",
    "proc/self/cwd{outside_from_root}/secret.txt",
    ".env",
    "innocent",
    ".git/config",
    "gitlink/config",
]
NOWHERE = [
    "@data/../secret.txt",
    "@nomount/../../secret.txt",
    "loop",
    "loop/secret.txt",
    "pipe",
    "zero",
    "~/secret.txt",
    "~",
    "a\0/../../secret.txt",
    "../secret.txt\0.md",
    "a\r\nb",
    "\udcff\udcfe",
    "x" * 300 + "/y",
    "x" * 5_000,
    "docs/a.txt/../../../secret.txt",
    "",
]


# Ways out for a tool that decodes or translates; here, odd names inside.
ODD_NAMES = [
    "．．/secret.txt/x",
    "%2e%2e/secret.txt/x",
    "..\\secret.txt/x",
    "file://{outside}/secret.txt",
    "\\\\?\\C:\\secret.txt/x",
]


@pytest.fixture
def trap(room, tmp_path: Path):
    """Fill the workspace with every kind of way out."""
    links = {
        "out": "../secret.txt",
        "absolute": tmp_path / "secret.txt",
        "chain": "docs/../docs/hop",
        "docs/hop": "../../secret.txt",
        "updir": "..",
        "docs/deeplink": "../..",
        "root": "/",
        "proc": "/proc",
        "innocent": ".env",
        "gitlink": ".git",
        "loop": "loop",
        "zero": "/dev/zero",
    }
    for name, target in links.items():
        (room.path / name).symlink_to(target)
    (room.path / ".git").mkdir()
    for name in (".env", ".git/config"):
        (room.path / name).write_text(CREDENTIAL)
    if hasattr(os, "mkfifo"):
        os.mkfifo(room.path / "pipe")
    return room


def filled(path: str, room) -> str:
    outside = str(room.path.parent)
    places = {"root": str(room.path), "outside": outside, "outside_from_root": outside_from_here(outside)}
    return re.sub(r"\{(\w+)\}", lambda found: places[found[1]], path)


def outside_from_here(outside: str) -> str:
    return "/.." * len(Path.cwd().parts) + outside


def snapshot(top: Path) -> dict[str, object]:
    """Return every name below a directory with what it holds."""
    return {
        str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else path.lstat().st_mode
        for path in sorted(top.rglob("*"))
    }


@pytest.mark.parametrize("path", [*LEADING_OUT, *NOWHERE], ids=lambda path: ascii(path)[1:31])
@pytest.mark.parametrize("verb", VERBS)
def test_a_hostile_path_gets_a_structured_error_and_changes_nothing(trap, verb: str, path: str) -> None:
    before = snapshot(trap.path.parent)
    answer = trap.call(verb, path=filled(path, trap), **VERBS[verb])
    assert answer.status == "error"
    error = answer.value["error"]
    assert error["code"] in CODES
    assert error["details"]["reason"]
    assert len(error["message"]) < 6_000
    assert SECRET not in str(answer)
    assert CREDENTIAL not in str(answer)
    assert snapshot(trap.path.parent) == before


@pytest.mark.parametrize("path", ODD_NAMES, ids=lambda path: ascii(path)[1:31])
@pytest.mark.parametrize("verb", VERBS)
def test_an_odd_name_is_a_name_inside_and_nothing_else(trap, verb: str, path: str) -> None:
    before = snapshot(trap.path.parent)
    answer = trap.call(verb, path=filled(path, trap), **VERBS[verb])
    if verb != "write":
        assert answer.error == ("invalid_input", "not-found")
    after = snapshot(trap.path.parent)
    made = {name for name in after if name not in before}
    assert all(name.startswith(str(trap.path) + os.sep) for name in made)
    assert bool(made) is (verb == "write")
    assert {name: after[name] for name in before} == before


def test_a_tool_without_walls_falls_for_those_paths(trap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trap.path)
    reached = [path for path in LEADING_OUT if (trap.path / filled(path, trap)).read_text() in (SECRET, CREDENTIAL)]
    assert reached == LEADING_OUT


@pytest.mark.parametrize("verb", ["grep", "search", "list"])
def test_a_tree_full_of_ways_out_gives_nothing_away(trap, every_way: str, verb: str) -> None:
    (trap.path / "docs" / "b.txt").write_text("a plain text\n")
    more = {"depth": 20, "include_hidden": True} if verb == "list" else {"path": "."}
    answer = trap.call(verb, **VERBS[verb] | more)
    assert answer.status == "success"
    assert SECRET not in str(answer)
    assert CREDENTIAL not in str(answer)
    assert "b.txt" in answer.text


SLOW = ["(a+)+$", "(a|aa)+$", "(a|a?)+$", "(?:a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*a){25}b", "(x+x+)+y|(a+)+$"]
ODD = [
    *("(", "[", "*", "a{2,1}", "(?P<n", "\\", "(?<=a*)b", "(?P=x)", "[z-a]", "a**", "(?z)", "\\8", "(?i"),
    *("a{99999999999999}", "(" * 400 + ")" * 401, "a\nb"),
]
HEAVY = [
    "(?:(?:a{1,500}){1,500}){1,500}b",
    "(" * 400 + "a" + ")" * 400,
    "[\\s\\S]{0,65535}b",
    "\ud800.",
    "\0.",
    "|" * 900,
]


@pytest.fixture
def brief(room, monkeypatch: pytest.MonkeyPatch):
    """Let a pattern be slow for a moment only, on a file that makes it slow."""
    monkeypatch.setattr(_match, "MAX_SECONDS", 0.3)
    (room.path / "docs" / "a.txt").write_text("a" * 40 + "!\n")
    return room


@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_that_never_ends_is_ended_and_other_threads_go_on(brief, pattern: str) -> None:
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.01):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    began = time.monotonic()
    try:
        answer = brief.grep(pattern, "docs/a.txt")
    finally:
        done.set()
        ticker.join()
    assert answer.error == ("timeout", "pattern")
    assert time.monotonic() - began < PATIENCE
    assert len(ticks) >= 3


def test_those_patterns_do_hang_a_plain_search() -> None:
    program = "import re, sys; re.search(sys.argv[1], 'a' * 40 + '!')"
    children = [subprocess.Popen([sys.executable, "-I", "-S", "-c", program, pattern]) for pattern in SLOW]
    try:
        for child in children:
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(timeout=0.15)
    finally:
        for child in children:
            child.kill()
            child.wait()


@pytest.mark.parametrize("pattern", ODD, ids=lambda pattern: ascii(pattern)[1:21])
def test_what_is_not_a_pattern_is_refused_by_both(brief, pattern: str) -> None:
    for answer in (brief.grep(pattern), brief.search(pattern, is_regex=True)):
        assert answer.error == ("invalid_input", "pattern")
        assert "memory" not in answer.value["error"]["message"], "the child ended instead of saying what is wrong"


@pytest.mark.parametrize("pattern", HEAVY, ids=lambda pattern: ascii(pattern)[1:21])
def test_a_heavy_pattern_is_answered_or_refused(brief, pattern: str) -> None:
    answer = brief.grep(pattern, "docs/a.txt")
    assert answer.status == "success" or answer.error in {("timeout", "pattern"), ("invalid_input", "pattern")}


def test_a_cancelled_call_ends_a_pattern_in_its_midst(room, monkeypatch: pytest.MonkeyPatch) -> None:
    (room.path / "x").write_text("a" * 40 + "!\n")
    room.extra = {"deadline": time.monotonic() + 0.5}
    began = time.monotonic()
    assert room.grep("(a+)+$", "x").error == ("timeout", "deadline")
    assert time.monotonic() - began < PATIENCE


@pytest.mark.skipif(not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="needs /proc")
def test_no_process_outlives_its_call(brief) -> None:
    def children() -> list[str]:
        return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()

    before = children()
    for pattern in ("a.", "(", "(a+)+$"):
        brief.grep(pattern, "docs/a.txt")
    assert children() == before
    assert not [thread for thread in threading.enumerate() if thread.name == "strands_tool_files: pattern"]


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("head", {"path": "docs/a.txt", "lines": 0}),
        ("head", {"path": "docs/a.txt", "lines": -1}),
        ("head", {"path": "docs/a.txt", "lines": 10**9}),
        ("tail", {"path": "docs/a.txt", "lines": True}),
        ("tail", {"path": "docs/a.txt", "bytes_limit": 10**12}),
        ("tail", {"path": ["docs/a.txt"]}),
        ("tail", {"path": "docs/a.txt", "follow": True}),
        ("grep", {"pattern": "a"}),
        ("grep", {"pattern": "", "path": "."}),
        ("grep", {"pattern": "a" * 1_001, "path": "."}),
        ("grep", {"pattern": {"$ne": ""}, "path": "."}),
        ("grep", {"pattern": "a", "path": ".", "context_lines": 10**6}),
        ("grep", {"pattern": "a", "path": ".", "max_matches": float("inf")}),
        ("search", {"query": "a", "is_regex": "yes"}),
        ("search", {"query": "a", "max_matches": 0}),
        ("search", {"query": "a", "path": None, "root": "/"}),
    ],
)
def test_a_malformed_call_is_refused_with_the_field_named(room, verb: str, given: dict) -> None:
    answer = room.call(verb, **given)
    assert answer.error[0] == "invalid_input"
    assert answer.value["error"]["details"]["field"]
